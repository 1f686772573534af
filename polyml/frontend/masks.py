"""A[m] = number and A[m] op= number, m an array of truth values of A's shape: a select for every element."""

from __future__ import annotations

import dataclasses
from collections.abc import Set
from typing import TYPE_CHECKING

from polyml.frontend import syntax, walk
from polyml.frontend.elements import Elements, Point, need_equal, need_inside
from polyml.frontend.syntax import Expr, Stmt

if TYPE_CHECKING:
    from polyml.frontend.arrays import Lowering


def assign(lowering: Lowering, stmt: syntax.Assign) -> bool:
    """A[m] = number and A[m] op= number, with truth values m for all of A; False for anything else."""
    chosen = stmt.target.indices
    if len(chosen) != 1 or isinstance(chosen[0], (syntax.Slice, syntax.NewAxis, syntax.Dots)):
        return False
    mask = lowering.value(chosen[0])
    if not isinstance(mask, Elements) or not is_truth(mask.sample, lowering.truths):
        return False
    named = isinstance(stmt.target, syntax.Subscript)
    base = lowering.array(stmt.target.array, stmt.target.loc) if named else lowering.value(stmt.target.base)
    if not isinstance(base, Elements) or base.storage is None or base.rank != mask.rank:
        return False
    lowering.check_changes(base.storage, stmt.loc)
    number = stmt.value.right if stmt.in_place else stmt.value
    if stmt.in_place and stmt.value.left != stmt.target:
        return False
    value = lowering.value(number)
    if isinstance(value, Elements):
        return False
    for own, other in zip(base.shape, mask.shape):
        need_equal(own, other, "a mask of another size than its array", lowering.need, stmt.loc)
    if any(isinstance(n, syntax.Subscript) and n.array == base.storage for n in walk.nodes(mask.sample)):
        mask = lowering.memory(mask, "_mask", stmt.loc)
    need_inside(value, lowering.need)

    def body(point: Point) -> list[Stmt]:
        place = base.at(point)
        new = dataclasses.replace(stmt.value, left=place, right=value) if stmt.in_place else value
        store = dataclasses.replace(stmt, target=dataclasses.replace(place, loc=stmt.target.loc), value=new, whole=True)
        return [syntax.If(mask.at(point), (store,), loc=stmt.loc)]

    lowering.loops(base.shape, body, stmt.loc)
    return True


def is_truth(expr: Expr, truths: Set[str]) -> bool:
    """Whether the number is certainly a truth value of NumPy."""
    match expr:
        case syntax.Compare():
            return True
        case syntax.Unary(op="~", operand=operand):
            return is_truth(operand, truths)
        case syntax.Binary(op="&" | "|" | "^", left=left, right=right):
            return is_truth(left, truths) and is_truth(right, truths)
        case syntax.Call(function=function):
            return function in ("isnan", "isinf", "isfinite")
        case syntax.Subscript(array=array):
            return array in truths
    return False
