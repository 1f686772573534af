"""Regions in lanes: iterations of a loop that runs a region, none of which depends on another one, run together.

    for i: R[i]   ->   for i by 8: together i ... i + 7: R[i]

Each lane goes its own way through the region, and waits where others go another one. So the loop has to have work for which that pays:
operations on numbers and branches that processors guess wrong, not elements that are scattered in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polyml.codegen.analysis.region_lanes import (
    Cell,
    LaneNumbers,
    cells,
    fixed_cells,
    is_slow_in_lanes,
    lane_numbers,
    may_fail,
    read_cells,
)  # fmt: skip
from polyml.codegen.ir.program import Instance, Jam, Loop, Node, Program, with_body
from polyml.frontend import syntax, traversal
from polyml.frontend.syntax import Stmt
from polyml.machines.cpu import CpuMachine
from polyml.model.core.nest import Integer
from polyml.model.core.scop import Statement
from polyml.quasi_affine.affine import extremum, variable

_WORD_BYTES = 8  # of the largest numbers
_CALL, _CHOICE = 8.0, 4.0  # operations that a function of floats, and a branch that data decide, count as
_GATHER = 9.0  # operations that pay the load of elements from several places
_SMALL, _SMALL_GATHERS = 32, 3  # loads that one of elements of fewer bits counts as: processors load these one by one
_TIMES = 8.0  # iterations that a loop in a region is taken to have


def region_lanes(program: Program, machine: CpuMachine) -> Program:
    """Returns the program with the loops in lanes for which that pays."""
    lanes = machine.vector_bytes // _WORD_BYTES
    if lanes < 2:
        return program
    notes: list[str] = []
    body = tuple(_with_lanes(node, program, lanes, notes) for node in program.body)
    return replace(program, body=body, notes=(*program.notes, *dict.fromkeys(notes)))


def _with_lanes(node: Node, program: Program, lanes: int, notes: list[str]) -> Node:
    """Returns a node in which loops are in lanes. notes: sentences on them are added to these."""
    if isinstance(node, Instance):
        return node
    if not isinstance(node, Loop) or not node.apart or not isinstance(node.body[0], Instance):
        return with_body(node, tuple(_with_lanes(inner, program, lanes, notes) for inner in node.body))
    statement = program.scop.statements[node.body[0].statement]
    own = {name for name, e in zip(statement.iterators, node.body[0].point) if node.var in e.names}
    if len(node.body) > 1 or node.step != 1 or node.last or not _pays(statement, own, program):
        return node
    notes.append(f"{statement.name}: {lanes} iterations of its loop run together")
    group = f"{node.var}_lanes"
    limit = extremum("min", node.upper)
    jam = Jam(node.var, variable(group), 1, lanes, limit, node.body)
    return replace(node, var=group, step=lanes, body=(jam,), apart=False)


def _pays(statement: Statement, own: set[str], program: Program) -> bool:
    """Returns whether instances of a statement may run in lanes, and are expected to be faster so. own: iterators that differ."""
    region = statement.region
    if region is None or region.restarts:
        return False
    sizes, numbers = frozenset(p.name for p in program.scop.parameters if p.is_size), lane_numbers(region, own)
    written = cells(region)
    if written is None and may_fail(region, sizes):
        return False
    known = (written or frozenset()) | fixed_cells(region, numbers)
    if not all(e.inside for e in region.elements if (e.array, e.indices) in known & read_cells(region)):
        return False
    if is_slow_in_lanes(region, sizes):
        return False
    work = [*_work(region.body, numbers, known)]
    gain = sum(each.operations * each.times for each in work)
    return any(each.times > 1.0 for each in work) and gain >= sum(each.gathers * each.times for each in work) * _GATHER


@dataclass(frozen=True)
class _Work:
    """A _Work is what a statement takes: operations, and loads or stores of elements from several places, so many times."""

    operations: float
    gathers: float
    times: float


def _work(body: Sequence[Stmt], numbers: LaneNumbers, known: frozenset[Cell], times: float = 1.0) -> Iterator[_Work]:
    """Yields the work of each statement, and of those inside of it."""
    gathered: set[Cell] = set()
    for stmt in body:
        operations, gathers = 0.0, 0.0
        for node in (node for expr in traversal.accessed(stmt) for node in traversal.nodes(expr)):
            operations += _operations(node)
            if isinstance(node, syntax.Subscript) and node.indices and not numbers.is_uniform(node) and not _is_row(node):
                cell = node.array, node.indices
                if cell not in known and cell not in gathered:
                    gathered.add(cell)
                    gathers += _SMALL_GATHERS if node.dtype.bits < _SMALL else 1
        if isinstance(stmt, (syntax.If, syntax.While)) and not numbers.is_uniform(stmt.condition):
            operations += _CHOICE
        inside = times * _TIMES if isinstance(stmt, (syntax.For, syntax.While)) else times
        yield _Work(operations, gathers, inside if isinstance(stmt, syntax.While) else times)
        for inner in traversal.bodies(stmt):
            yield from _work(inner, numbers, known, inside)


def _operations(node: syntax.Expr) -> float:
    match node:
        case syntax.Binary(op="**", right=right):
            return 1.0 if isinstance(right, syntax.Const) and right.value == 2 else _CALL
        case syntax.Call():
            return 1.0 if node.function in ("abs", "sqrt", "minimum", "maximum") else _CALL
        case syntax.Binary() | syntax.Compare() | syntax.Unary() | syntax.Logical() | syntax.IfExp():
            return 1.0
    return 0.0


def _is_row(element: syntax.Subscript) -> bool:
    """Returns whether the lanes' elements are likely to lie side by side."""
    return isinstance(element.indices[-1], Integer) and len(element.indices[-1].affine.names) == 1
