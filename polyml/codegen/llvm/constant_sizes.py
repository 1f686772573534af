"""Code for one call whose sizes and addresses are known, so that they are constants of the code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyml.codegen.ir.array_layout import Placed
from polyml.codegen.ir.program import Loop, Node, Program
from polyml.codegen.llvm.addresses import LINE_BYTES, ArrayArguments, Module
from polyml.codegen.llvm.arithmetic import FloatArithmetic
from polyml.codegen.llvm.builder import Unit
from polyml.codegen.llvm.function import Body
from polyml.codegen.llvm.loops.loop_bounds import trips
from polyml.frontend.syntax import ArrayType
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class _Strides:
    """A _Strides gives the constant strides of arrays at known addresses, in place of those that a call would give."""

    places: Mapping[str, Placed]

    def strides(self, array: str) -> tuple[int, ...]:
        """Returns the array's strides in bytes, by dimension."""
        return self.places[array].strides

    def unaligned(self, array: str) -> bool:
        """Returns whether the array's elements may begin at any byte; False, since at known addresses they are aligned."""
        return False


@dataclass(frozen=True)
class CallConstants:
    """A CallConstants holds as constants what a call would give.

    sizes: values of parameters.
    places: the address and strides of each array.
    threads: how many threads run the code.
    """

    sizes: Mapping[str, int]
    places: Mapping[str, Placed]
    threads: int = 1


class ConstantBody(Body):
    """A ConstantBody emits one function with a program's loops, for a call whose sizes and addresses are constants. Private arrays
    have one copy per thread.

    aliased: whether arrays are taken to overlap: all accesses are then emitted in order; if not, elements may stay in registers.
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
        module.layout = _Strides(constants.places)
        super().__init__(module, name, signature)
        self._sizes, self._places, self.threads = constants.sizes, constants.places, constants.threads
        self._own: dict[str, str] = {}  # addresses of arrays of which each thread has a copy

    def define(self, nodes: tuple[Node, ...]) -> list[Unit]:
        """Emits the nodes as the body of the function, finishes it, and returns the functions of its module."""
        start = self.fn.block("start")
        self.fn.jump(start)
        self.fn.current = start
        self.nodes(nodes)
        self.leave()
        self.fn.current.terminator = "ret i64 0"
        self.finish()
        return self.module.units

    def leave(self) -> None:
        """Emits what follows the nodes: nothing, unless a subclass overrides it."""

    def parameter(self, name: str) -> str:
        """Returns the value of a parameter, or of another of the program's integers, as a constant; of `Program.thread`, the
        running thread's number, the SSA name.
        """
        program = self.module.program
        if name in program.phases:
            array = program.phases[name]
            return str(self._places[array].address % LINE_BYTES // self.scop.arrays[array].element.size_bytes)
        known = {program.threads: str(self.threads), program.thread: self.thread}
        return known[name] if name in known else str(self._sizes[name])

    def base(self, array: str) -> str:
        """Returns the address of the array, or of the running thread's copy of it."""
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
        """Returns the bytes from the element that one iteration of the loop accesses to that of the next; None if they differ
        between iterations.
        """
        total = 0
        for e, stride in zip(self.within_window(array, subscripts), self._places[array].strides):
            for atom, factor in e.terms:
                if atom == loop.var:
                    total += factor * stride * loop.step
                elif not isinstance(atom, str) and loop.var in atom.names:
                    return None
        return total

    def iterations(self, node: Loop, lower: str, upper: str) -> str:
        """Emits the number of iterations of a loop between these bounds, 0 if there are none, and returns its SSA name."""
        count = trips(self, node, lower, upper)  # 0 or less if there are none
        self.declared.setdefault("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
        return self.fn.emit(f"call i64 @llvm.smax.i64(i64 {count}, i64 0)")
