"""Program -> LLVM text that makes every access of its instances, to simulated caches instead of memory.

Loops, guards and subscripts are those of the compiled kernel, sizes and addresses are numbers. An instance uses what its
statement reads, in the source's order, then what it writes; an access that a condition on data decides counts as made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyml.caches import levels, stack
from polyml.caches.layout import Layout
from polyml.caches.placement import Placed, in_memory
from polyml.codegen.accesses import reads_and_write
from polyml.codegen.ast import Instance, Program, instances
from polyml.codegen.body import Body, Module
from polyml.codegen.ir import Function, Unit
from polyml.frontend.syntax import ArrayType

ENTRY = "polyml_trace"


@dataclass(frozen=True)
class Reference:
    """One access of a statement: number `position` of its reads, and behind them its write."""

    statement: str
    position: int
    array: str
    is_write: bool


def references(program: Program) -> tuple[Reference, ...]:
    """Those to memory, by the statements' order in the text."""
    found = []
    for name in dict.fromkeys(node.statement for node in instances(program.body)):
        statement = program.scop.statements[name]
        for position, access in enumerate(reads_and_write(statement)):
            if in_memory(program.scop.arrays[access.array]):
                found.append(Reference(name, position, access.array, position == len(statement.reads)))
    return tuple(found)


def trace(
    program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], layout: Layout
) -> tuple[Unit, ...]:
    """`i64 @polyml_trace(ptr state, ptr lines, ptr counters)` and the functions of the caches."""
    tracer = _Tracer(program, sizes, places, layout)
    tracer.define()
    functions = [*tracer.module.units, *levels.units(layout)]
    return (*functions, stack.unit(layout)) if layout.capacities else tuple(functions)


@dataclass(frozen=True)
class _Strides:
    """Of the arrays, in place of what a call tells."""

    places: Mapping[str, Placed]

    def strides(self, array: str) -> tuple[int, ...]:
        return self.places[array].strides


class _Tracer(Body):
    """The loops; what they compute are addresses alone."""

    def __init__(self, program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], layout: Layout):
        count = sum(isinstance(kind, ArrayType) for kind in program.scop.types)
        module = Module(program, "strict", True, ("C",) * count, fused=False, threads=False, finished=lambda unit: None)
        module.slots = _Strides(places)
        super().__init__(module, ENTRY, "i64 @{}(ptr %state, ptr %lines, ptr %counters)")
        self.layout, self._sizes, self._places = layout, sizes, places
        self.values = _Uses(self)

    def define(self) -> None:
        start = self.fn.block("start")
        self.fn.jump(start)
        self.fn.current = start
        self.nodes(self.module.program.body)
        self.fn.current.terminator = "ret i64 0"
        self.finish()

    def parameter(self, name: str) -> str:
        program = self.module.program
        known = {program.threads: "1", program.thread: self.thread}
        return known[name] if name in known else str(self._sizes[name])

    def base(self, array: str) -> str:
        return f"inttoptr (i64 {self._places[array].address} to ptr)"


class _Uses:
    """In place of what evaluates statements: an instance uses lines."""

    def __init__(self, tracer: _Tracer):
        self._tracer = tracer
        self._numbers = {(r.statement, r.position): n for n, r in enumerate(references(tracer.module.program))}

    def instance(self, node: Instance) -> None:
        body, statement = self._tracer, self._tracer.scop.statements[node.statement]
        iterators = dict(zip(statement.iterators, node.point))
        for position, access in enumerate(reads_and_write(statement)):
            number = self._numbers.get((statement.name, position))
            if number is not None:
                subscripts = tuple(e.substitute(iterators) for e in body.module.table.subscripts(access))
                self._use(body.fn, body.pointer(access.array, subscripts), number, position == len(statement.reads))

    def _use(self, fn: Function, address: str, number: int, write: bool) -> None:
        layout = self._tracer.layout
        shift = layout.line_bytes.bit_length() - 1
        line = fn.emit(f"lshr i64 {fn.emit(f'ptrtoint ptr {address} to i64')}, {shift}")
        count = fn.emit(f"getelementptr i64, ptr %counters, i64 {number * layout.counters}")
        levels.touch(fn, line, count, write, layout.sets[0])
        if layout.capacities:
            stack.touch(fn, line, count)
