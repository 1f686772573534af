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
from polyml.caches.placement import Placed, in_memory
from polyml.caches.turns import in_turn
from polyml.codegen.accesses import reads_and_write
from polyml.codegen.ast import Instance, Loop, Program, instances
from polyml.codegen.body import LINE_BYTES, Body, Module
from polyml.codegen.integers import extremum
from polyml.codegen.ir import Function, Unit
from polyml.errors import PolymlValueError
from polyml.frontend.syntax import ArrayType
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
        self.is_counted = False  # whether a loop around has counted what is used
        self.values = _Uses(self)

    def define(self) -> None:
        start = self.fn.block("start")
        self.fn.jump(start)
        self.fn.current = start
        self.nodes(in_turn(self.module.program.body))
        self.fn.current.terminator = "ret i64 0"
        self.finish()

    def parameter(self, name: str) -> str:
        program = self.module.program
        if name in program.phases:
            array = program.phases[name]
            return str(self._places[array].address % LINE_BYTES // self.scop.arrays[array].element.size_bytes)
        known = {program.threads: "1", program.thread: self.thread}
        return known[name] if name in known else str(self._sizes[name])

    def loop(self, node: Loop, following: Loop | None = None, begin: str | None = None) -> str | None:
        """What an innermost loop uses is counted before it."""
        counted = self.is_counted
        if not counted and all(isinstance(inside, Instance) for inside in node.body):
            self._count_iterations(node, begin)
            self.is_counted = True
        end = super().loop(node, following, begin)
        self.is_counted = counted
        return end

    def _count_iterations(self, node: Loop, begin: str | None) -> None:
        fn = self.fn
        lower, upper = begin or self.integer(extremum("max", node.lower)), self.integer(extremum("min", node.upper))
        length = fn.emit(f"add i64 {fn.emit(f'sub i64 {upper}, {lower}')}, {node.step}")
        iterations = fn.emit(f"sdiv i64 {length}, {node.step}")  # not more than 0 where there are none
        self.declared.setdefault("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
        many = fn.emit(f"call i64 @llvm.smax.i64(i64 {iterations}, i64 0)")
        for inside in node.body:
            self.values.count(inside, many)

    def base(self, array: str) -> str:
        return f"inttoptr (i64 {self._places[array].address} to ptr)"


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
