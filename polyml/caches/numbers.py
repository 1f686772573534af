"""The code of loops for which sizes and addresses are numbers, not what a call tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyml.caches.placement import Placed
from polyml.codegen.ast import Program
from polyml.codegen.body import LINE_BYTES, Body, Module
from polyml.codegen.ir import Unit
from polyml.frontend.syntax import ArrayType


@dataclass(frozen=True)
class _Strides:
    """Of the arrays, in place of what a call tells."""

    places: Mapping[str, Placed]

    def strides(self, array: str) -> tuple[int, ...]:
        return self.places[array].strides


class Numbered(Body):
    """One function with the program's loops; every access as it stands, nothing in registers around a loop."""

    def __init__(self, program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], name: str, signature: str):
        count = sum(isinstance(kind, ArrayType) for kind in program.scop.types)
        module = Module(program, "strict", True, ("C",) * count, fused=False, threads=False, finished=lambda unit: None)
        module.slots = _Strides(places)
        super().__init__(module, name, signature)
        self._sizes, self._places = sizes, places

    def define(self, nodes) -> list[Unit]:
        """The function whose body are these nodes."""
        start = self.fn.block("start")
        self.fn.jump(start)
        self.fn.current = start
        self.nodes(nodes)
        self.fn.current.terminator = "ret i64 0"
        self.finish()
        return self.module.units

    def parameter(self, name: str) -> str:
        program = self.module.program
        if name in program.phases:
            array = program.phases[name]
            return str(self._places[array].address % LINE_BYTES // self.scop.arrays[array].element.size_bytes)
        known = {program.threads: "1", program.thread: self.thread}
        return known[name] if name in known else str(self._sizes[name])

    def base(self, array: str) -> str:
        return f"inttoptr (i64 {self._places[array].address} to ptr)"

    def iterations(self, node, begin: str | None) -> str:
        """How often a loop runs, from `begin` if not as its bounds say."""
        fn = self.fn
        lower, upper = self.bounds(node)
        length = fn.emit(f"add i64 {fn.emit(f'sub i64 {upper}, {begin or lower}')}, {node.step}")
        count = fn.emit(f"sdiv i64 {length}, {node.step}")  # not more than 0 where there are none
        self.declared.setdefault("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
        return fn.emit(f"call i64 @llvm.smax.i64(i64 {count}, i64 0)")
