"""The code of loops for which sizes and addresses are numbers, not what a call tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyml.codegen.ir.array_layout import Placed
from polyml.codegen.ir.program import Loop, Program
from polyml.codegen.llvm.addresses import LINE_BYTES, ArrayArguments, FloatArithmetic, Module
from polyml.codegen.llvm.builder import Unit
from polyml.codegen.llvm.function import Body
from polyml.codegen.llvm.outline import trips
from polyml.frontend.syntax import ArrayType
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class _Strides:
    """Of the arrays, in place of what a call tells."""

    places: Mapping[str, Placed]

    def strides(self, array: str) -> tuple[int, ...]:
        return self.places[array].strides

    def unaligned(self, array: str) -> bool:
        return False


@dataclass(frozen=True)
class CallConstants:
    """x"""

    sizes: Mapping[str, int]
    places: Mapping[str, Placed]
    threads: int = 1


class ConstantBody(Body):
    """One function with the program's loops. threads: that run it, each `thread`'s own copy of an array where each has one.
    aliased: every access as it stands, nothing in registers around a loop.
    """

    def __init__(self, program: Program, constants: CallConstants, name: str, signature: str, aliased: bool = True):
        count = sum(isinstance(kind, ArrayType) for kind in program.scop.types)
        module = Module(
            program,
            ArrayArguments(("C",) * count, aliased),
            FloatArithmetic("strict", False),
            threads=False,
            finished=lambda unit: None,
        )
        module.slots = _Strides(constants.places)
        super().__init__(module, name, signature)
        self._sizes, self._places, self.threads = constants.sizes, constants.places, constants.threads
        self._own: dict[str, str] = {}  # where arrays begin of which each thread has one

    def define(self, nodes) -> list[Unit]:
        """The function whose body are these nodes."""
        start = self.fn.block("start")
        self.fn.jump(start)
        self.fn.current = start
        self.nodes(nodes)
        self.leave()
        self.fn.current.terminator = "ret i64 0"
        self.finish()
        return self.module.units

    def leave(self) -> None:
        """What comes behind the nodes: nothing."""

    def parameter(self, name: str) -> str:
        program = self.module.program
        if name in program.phases:
            array = program.phases[name]
            return str(self._places[array].address % LINE_BYTES // self.scop.arrays[array].element.size_bytes)
        known = {program.threads: str(self.threads), program.thread: self.thread}
        return known[name] if name in known else str(self._sizes[name])

    def base(self, array: str) -> str:
        place = self._places[array]
        if place.copies == 1:
            return f"inttoptr (i64 {place.address} to ptr)"
        if array not in self._own:
            entry = self.fn.blocks[0]
            distance = self.fn.emit(f"mul i64 {self.thread}, {place.apart_bytes}", entry)
            address = self.fn.emit(f"add i64 {distance}, {place.address}", entry)
            self._own[array] = self.fn.emit(f"inttoptr i64 {address} to ptr", entry)
        return self._own[array]

    def step_bytes(self, array: str, subscripts: tuple[Affine, ...], loop: Loop) -> int | None:
        """How far apart the elements of two neighbouring iterations are; None where it is not always so far."""
        total = 0
        for e, stride in zip(self.within_window(array, subscripts), self._places[array].strides):
            for atom, factor in e.terms:
                if atom == loop.var:
                    total += factor * stride * loop.step
                elif not isinstance(atom, str) and loop.var in atom.names:
                    return None
        return total

    def iterations(self, node: Loop, lower: str, upper: str) -> str:
        """How often a loop runs between these bounds."""
        count = trips(self, node, lower, upper)  # not more than 0 where there are none
        self.declared.setdefault("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
        return self.fn.emit(f"call i64 @llvm.smax.i64(i64 {count}, i64 0)")
