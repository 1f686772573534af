"""Masked assignment: a loop over all elements with a condition inside.

    A[m] = x          ->          for every point p: if m[p]: A[p] = x

m is an array of truth values of A's shape, and x is made of numbers and of B[m].
"""

from __future__ import annotations

import dataclasses

from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.loop_builder import LoopBuilder
from polyml.frontend.arrays.views import Elements, Point, any_point, element, inside, is_truth, require_equal
from polyml.frontend.syntax import Expr, Stmt


def assign(builder: LoopBuilder, stmt: syntax.Assign) -> bool:
    """Adds the loops of A[m] = x or A[m] op= x, and returns whether it did.

    It does where m is an array of truth values, one for each element of A, and x is made of numbers and of B[m].
    """
    if isinstance(stmt.target, syntax.Name):
        return False
    chosen = stmt.target.indices
    wanted = chosen[0] if len(chosen) == 1 else None
    if not isinstance(wanted, Expr):
        return False
    mask = builder.value(wanted)
    if not isinstance(mask, Elements) or not is_truth(mask.sample, builder.truths):
        return False
    target = stmt.target
    base = builder.array(target.array, target.loc) if isinstance(target, syntax.Subscript) else builder.value(target.base)
    if not isinstance(base, Elements) or base.storage is None or base.rank != mask.rank:
        return False
    builder.check_changes(base.storage, stmt.loc)
    update = stmt.value if stmt.in_place and isinstance(stmt.value, syntax.Binary) else None
    if update is not None and update.left != stmt.target:
        return False
    chosen_arrays: list[Elements] = []
    number = of_whole_arrays(builder, stmt.value if update is None else update.right, chosen, chosen_arrays)
    if number is None or any(not _goes_with(base, array) for array in chosen_arrays):
        return False
    value = builder.value(number)
    for array in (mask, *chosen_arrays):
        for own, other in zip(base.shape, array.shape):
            require_equal(own, other, "a mask of another size than its array", builder.require, stmt.loc)
    if any(builder.may_be_one(n.array, base.storage) for n in traversal.nodes(mask.sample) if isinstance(n, syntax.Subscript)):
        mask = builder.memory(mask, "_mask", stmt.loc)
    if not isinstance(value, Elements):
        value = inside(value, builder.require)
    if _reads_what_changes(builder, value, base):
        value = builder.held(value, stmt.loc)

    def body(point: Point) -> list[Stmt]:
        lvalue, here = base.lvalue(point), element(value, point)
        new = here if update is None else dataclasses.replace(update, left=lvalue, right=here)
        store = dataclasses.replace(stmt, target=dataclasses.replace(lvalue, loc=target.loc), value=new, whole=True)
        return [syntax.If(mask.at(point), (store,), loc=stmt.loc)]

    builder.loops(base.shape, body, stmt.loc)
    return True


def _reads_what_changes(builder: LoopBuilder, value: Expr | Elements, base: Elements) -> bool:
    """Returns whether the value for one element of the assigned array `base` reads another element of it."""
    point = any_point(base.rank)
    own, nodes = base.lvalue(point), traversal.nodes(element(value, point))
    reads = [n for n in nodes if isinstance(n, syntax.Subscript) and builder.may_be_one(n.array, base.memory)]
    return any(read.array != own.array or read.indices != own.indices for read in reads)


def of_whole_arrays(builder: LoopBuilder, number: Expr, chosen: tuple, found: list[Elements]) -> Expr | None:
    """Returns the expression with the whole array B in the place of each B[m], where m is the mask of an assignment A[m] = x.

    None is returned where the expression has arrays other than B[m].

    chosen: the subscripts (m,) of the masked assignment
    found: a list to which each B is appended
    """
    if isinstance(number, (syntax.Subscript, syntax.Part)) and number.indices == chosen:
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
    operands = traversal.operands(number)
    parts = [of_whole_arrays(builder, part, chosen, found) for part in operands]
    known = tuple(part for part in parts if part is not None)
    return traversal.with_operands(number, known) if len(known) == len(operands) else None


def _goes_with(base: Elements, other: Elements) -> bool:
    """Returns whether B[m] may be read in the masked assignment A[m] = x.

    It may where B is in memory, has as many dimensions as A, and is either stored elsewhere or the same view as A, so that each
    element reads only itself.

    base: the array A
    other: the array B
    """
    if other.storage is None or other.rank != base.rank:
        return False
    point = any_point(base.rank)
    return other.storage != base.storage or other.at(point) == base.at(point)
