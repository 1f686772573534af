"""A number that a condition replaces by a larger or smaller one becomes a maximum or minimum.

    if A[i] > x:
        x = A[i]          ->        x = max(x, A[i])

Both keep x where the comparison does not hold, as where one side is NaN, so that no bit differs. Maxima are reductions, which have lanes
and threads; a branch has neither.
"""

from __future__ import annotations

import dataclasses

from polyml.frontend import syntax, traversal
from polyml.frontend.syntax import Stmt


def with_extrema(kernel: syntax.Kernel) -> syntax.Kernel:
    """Returns the typed kernel with maxima and minima in place of conditions that compute these."""
    return dataclasses.replace(kernel, body=_block(kernel.body))


def _block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(_extremum(traversal.with_bodies(stmt, _block)) for stmt in body)


def _extremum(stmt: Stmt) -> Stmt:
    """Returns the assignment of a maximum or minimum that a statement is; the statement itself where it is none."""
    match stmt:
        case syntax.If(
            condition=syntax.Compare(op=">" | "<" as op, left=left, right=right),
            then=(syntax.Assign(target=syntax.Name() | syntax.Subscript() as target, value=value) as assigned,),
            orelse=(),
        ):
            if any(isinstance(node, syntax.Subscript) for index in traversal.operands(target) for node in traversal.nodes(index)):
                return stmt  # elements anywhere in memory are better left alone than stored again
            is_turned = (left, right) == (target, value)
            if not (is_turned or (left, right) == (value, target)) or target.dtype != value.dtype or target.dtype.kind == "b":
                return stmt
            name = "max" if (op == ">") is not is_turned else "min"
            extremum = syntax.Binary(name, target, value, dtype=value.dtype, loc=assigned.loc)
            return dataclasses.replace(assigned, value=extremum, loc=stmt.loc)
    return stmt
