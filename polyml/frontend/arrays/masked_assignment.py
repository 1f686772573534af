"""A[m] = x and A[m] op= x, m an array of truth values of A's shape, x made of numbers and of B[m]: a select for every
element."""

from __future__ import annotations

import dataclasses

from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.loop_builder import LoopBuilder
from polyml.frontend.arrays.views import Elements, Point, any_point, element, is_truth, need_equal, need_inside
from polyml.frontend.syntax import Expr, Stmt


def assign(builder: LoopBuilder, stmt: syntax.Assign) -> bool:
    """A[m] = x and A[m] op= x, with truth values m for all of A; False for anything else."""
    chosen = stmt.target.indices
    if len(chosen) != 1 or isinstance(chosen[0], (syntax.Slice, syntax.NewAxis, syntax.Dots)):
        return False
    mask = builder.value(chosen[0])
    if not isinstance(mask, Elements) or not is_truth(mask.sample, builder.truths):
        return False
    named = isinstance(stmt.target, syntax.Subscript)
    base = builder.array(stmt.target.array, stmt.target.loc) if named else builder.value(stmt.target.base)
    if not isinstance(base, Elements) or base.storage is None or base.rank != mask.rank:
        return False
    builder.check_changes(base.storage, stmt.loc)
    number = stmt.value.right if stmt.in_place else stmt.value
    if stmt.in_place and stmt.value.left != stmt.target:
        return False
    chosen_arrays: list[Elements] = []
    number = _of_whole_arrays(builder, number, chosen, chosen_arrays)
    if number is None or any(not _goes_with(base, array) for array in chosen_arrays):
        return False
    value = builder.value(number)
    for array in (mask, *chosen_arrays):
        for own, other in zip(base.shape, array.shape):
            need_equal(own, other, "a mask of another size than its array", builder.need, stmt.loc)
    if any(builder.may_be_one(n.array, base.storage) for n in traversal.nodes(mask.sample) if isinstance(n, syntax.Subscript)):
        mask = builder.memory(mask, "_mask", stmt.loc)
    if not isinstance(value, Elements):
        need_inside(value, builder.need)
    if _reads_what_changes(builder, value, base):
        value = builder.held(value, stmt.loc)

    def body(point: Point) -> list[Stmt]:
        place, here = base.at(point), element(value, point)
        new = dataclasses.replace(stmt.value, left=place, right=here) if stmt.in_place else here
        store = dataclasses.replace(stmt, target=dataclasses.replace(place, loc=stmt.target.loc), value=new, whole=True)
        return [syntax.If(mask.at(point), (store,), loc=stmt.loc)]

    builder.loops(base.shape, body, stmt.loc)
    return True


def _reads_what_changes(builder: LoopBuilder, value: Expr | Elements, base: Elements) -> bool:
    """Whether the value at one element reads another one of the array that is assigned."""
    point = any_point(base.rank)
    own, nodes = base.at(point), traversal.nodes(element(value, point))
    reads = [n for n in nodes if isinstance(n, syntax.Subscript) and builder.may_be_one(n.array, base.storage)]
    return any(read.array != own.array or read.indices != own.indices for read in reads)


def _of_whole_arrays(builder: LoopBuilder, number: Expr, chosen: tuple[Expr, ...], found: list[Elements]) -> Expr | None:
    """The expression with B for each B[m], which are `found`; None where it has other arrays."""
    is_masked = isinstance(number, (syntax.Subscript, syntax.Part)) and number.indices == chosen
    if is_masked:
        whole = number.base if isinstance(number, syntax.Part) else syntax.Name(number.array, loc=number.loc)
        array = builder.value(whole)
        if not isinstance(array, Elements):
            return None
        found.append(array)
        return whole
    is_array = isinstance(number, syntax.Name) and isinstance(builder.value(number), Elements)
    if is_array or isinstance(number, (syntax.Part, syntax.Function)):
        return None
    if isinstance(number, syntax.Subscript):
        return None if isinstance(builder.value(number), Elements) else number
    parts = [_of_whole_arrays(builder, part, chosen, found) for part in traversal.operands(number)]
    return None if None in parts else traversal.with_operands(number, tuple(parts))


def _goes_with(base: Elements, other: Elements) -> bool:
    """Whether the array has as many dimensions as that which is assigned, and is that one only element by element."""
    if other.storage is None or other.rank != base.rank:
        return False
    point = any_point(base.rank)
    return other.storage != base.storage or other.at(point) == base.at(point)
