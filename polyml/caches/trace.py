"""Program -> LLVM text that makes every access of its instances, to simulated caches instead of memory.

Loops, guards and subscripts are those of the compiled kernel, sizes and addresses are numbers. An instance uses what its
statement reads, in the source's order, then what it writes; an access that a condition on data decides counts as made. So does
one that the kernel spares because a register holds the element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyml.caches import levels, stack
from polyml.caches.layout import Layout, counter
from polyml.caches.numbers import Numbered
from polyml.caches.placement import Placed, in_memory
from polyml.caches.turns import in_turn
from polyml.codegen.accesses import reads_and_write
from polyml.codegen.ast import Instance, Loop, Program, instances
from polyml.codegen.ir import Function, Unit
from polyml.errors import PolymlValueError
from polyml.model.nest import subvalues
from polyml.model.scop import Gather

ENTRY = "polyml_trace"


@dataclass(frozen=True)
class Reference:
    """One access of a statement: number `position` of its reads, and behind them its write."""

    statement: str
    position: int
    array: str
    is_write: bool


def references(program: Program) -> tuple[Reference, ...]:
    """Those to memory, by the statements' order in the text. Raises PolymlValueError where data decide which elements are used."""
    found = []
    for name in dict.fromkeys(node.statement for node in instances(program.body)):
        statement = program.scop.statements[name]
        by_data = next((value for value in subvalues(statement.value) if isinstance(value, Gather)), None)
        if by_data is not None:
            raise PolymlValueError(f"data decide which elements of {by_data.array} are used; they are not simulated", loc=by_data.loc)
        for position, access in enumerate(reads_and_write(statement)):
            if in_memory(program.scop.arrays[access.array]):
                found.append(Reference(name, position, access.array, position == len(statement.reads)))
    return tuple(found)


def trace(
    program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], layout: Layout
) -> tuple[Unit, ...]:
    """`i64 @polyml_trace(ptr state, ptr lines, ptr counters)` and the functions of the caches."""
    tracer = _Tracer(program, sizes, places, layout)
    functions = [*tracer.define(in_turn(program.body)), *levels.units(layout)]
    return (*functions, stack.unit(layout)) if layout.capacities else tuple(functions)


class _Tracer(Numbered):
    """The loops; what they compute are addresses alone."""

    def __init__(self, program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], layout: Layout):
        super().__init__(program, sizes, places, ENTRY, "i64 @{}(ptr %state, ptr %lines, ptr %counters)")
        self.layout = layout
        self.is_counted = False  # whether a loop around has counted what is used
        self.values = _Uses(self)

    def loop(self, node: Loop, following: Loop | None = None, begin: str | None = None) -> str | None:
        """What an innermost loop uses is counted before it."""
        counted = self.is_counted
        if not counted and all(isinstance(inside, Instance) for inside in node.body):
            many = self.iterations(node, begin)
            for inside in node.body:
                self.values.count(inside, many)
            self.is_counted = True
        end = super().loop(node, following, begin)
        self.is_counted = counted
        return end


class _Uses:
    """In place of what evaluates statements: an instance uses lines."""

    def __init__(self, tracer: _Tracer):
        self._tracer = tracer
        self._numbers = {(r.statement, r.position): n for n, r in enumerate(references(tracer.module.program))}

    def count(self, node: Instance, times: str) -> None:
        """So many uses of each of the statement's references."""
        layout, statement = self._tracer.layout, self._tracer.scop.statements[node.statement]
        for position, _ in enumerate(reads_and_write(statement)):
            number = self._numbers.get((statement.name, position))
            if number is not None:
                counter(self._tracer.fn, "%counters", number * layout.counters + layout.accesses, times)

    def instance(self, node: Instance) -> None:
        if not self._tracer.is_counted:
            self.count(node, "1")
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
