"""Which loops a condition skips that data decide: as affine code they run in any case, under the condition in each iteration.

    for i in range(n):
        if not known[i]:
            for j in range(m):        runs n*m times, and nothing is added where known[i]
                total[i] += A[i, j]

As a region, with a branch, the loop over j runs where it has to. That pays, since its statements share too little for tiles: a nest that
tiles pay for keeps its condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyml import polyhedra
from polyml.frontend import syntax, traversal
from polyml.model.core.scop import Load, Scop, Statement
from polyml.model.lowering.regions.region_building import jumps
from polyml.source import Loc

_MOST_LOOPS = 2  # under a condition


def conditional_loops(scop: Scop) -> frozenset[Loc]:
    """Returns the places of the outermost loops that conditions skip."""
    found = (loop for statement in scop.statements.values() for loop in _skipped(statement))
    return frozenset(found)


def _skipped(statement: Statement) -> Iterator[Loc]:
    """Yields the place of the outermost loop around an assignment that a condition of it skips."""
    depth = len(statement.iterators)
    for condition in _conditions(statement):
        used = _iterators(statement, condition)
        inside = depth - 1 - max(used, default=-1)
        if used and 0 < inside <= _MOST_LOOPS and not (inside > 1 and jumps(statement)):
            place = statement.loops[depth - inside] if len(statement.loops) == depth else None
            if place is not None:
                yield place


def _conditions(statement: Statement) -> Iterator[syntax.Expr]:
    """Yields the conditions by which an assignment changes nothing: where it keeps its element, or adds zero to it."""
    for node in traversal.nodes(statement.value) if statement.region is None else ():
        if not isinstance(node, syntax.IfExp):
            continue
        for side in (node.then, node.orelse):
            keeps = isinstance(side, Load) and statement.reads[side.access] == statement.write
            adds_zero = node is not statement.value and isinstance(side, syntax.Const) and side.value == 0
            if keeps or adds_zero:
                yield node.condition


def _iterators(statement: Statement, condition: syntax.Expr) -> set[int]:
    """Returns the positions of the iterators in the subscripts of the elements that a condition reads."""
    loads = (node for node in traversal.nodes(condition) if isinstance(node, Load))
    subscripts = (value for load in loads for value in statement.reads[load.access].subscripts)
    return {position for value in subscripts for position in polyhedra.used_iterators(value)}
