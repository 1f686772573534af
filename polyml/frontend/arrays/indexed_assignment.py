"""Assignments to the elements that index arrays choose: loops over the index arrays, in their order.

    v[k] = x              ->          for p: test that k[p] is inside
                                      for p: v[k[p]] = x[p]
    v[k] += x             ->          for p: old[p] = v[k[p]]
                                      for p: v[k[p]] = old[p] + x[p]
    np.add.at(v, k, x)    ->          for p: v[k[p]] = v[k[p]] + x[p]       (after the test, too)

An element that is chosen several times keeps the last value, and only `np.add.at` and its kin add to it each time. As in NumPy, an index
outside of its array raises before anything is stored.
"""

from __future__ import annotations

import dataclasses

from polyml.errors import NotAffineError, PolymlTypeError
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.views import (
    Elements,
    Point,
    any_point,
    element,
    inside,
    require_equal,
    subscripted,
    without_leading,
)
from polyml.frontend.syntax import Expr, Stmt


def chosen_indices(builder: LoopBuilder, indices: tuple, memory: str) -> tuple:
    """Returns the subscripts of an assignment, in which the arrays are copied that would change with the assigned array.

    memory: the name of the assigned array in memory
    """

    def reads(index: Elements) -> bool:
        nodes = traversal.nodes(index.at(any_point(index.rank)))
        return any(builder.may_be_one(n.array, memory) for n in nodes if isinstance(n, syntax.Subscript))

    return tuple(builder.memory(i, "_index", None) if isinstance(i, Elements) and reads(i) else i for i in indices)


def assign(builder: LoopBuilder, stmt: syntax.Assign, base: Elements, indices: tuple) -> None:
    """Adds the loops of base[indices] = x, where some of the indices are arrays of integers."""
    loc = stmt.target.loc
    if base.storage is None or not builder.counts_from_start(base, indices, loc):
        known = "polyml compiles: index arrays along whole dimensions of arrays, such as `A[i, k] = x`"
        raise NotAffineError(
            "elements of a part of an array are assigned at an index array", loc=loc, notes=[known], code="PML-F021"
        )
    if any(isinstance(index, Elements) and index.rank > 1 for index in indices):
        known = "polyml compiles: index arrays of one dimension, such as `A[rows, columns] = x`"
        raise NotAffineError(
            "elements are assigned at an index array of several dimensions", loc=loc, notes=[known], code="PML-F021"
        )
    builder.check_changes(base.memory, stmt.loc)
    target = subscripted(base, chosen_indices(builder, indices, base.memory), builder.require, loc)
    target = dataclasses.replace(target, storage=base.memory)
    update = stmt.value if isinstance(stmt.value, syntax.Function) and stmt.value.function == "at" else None
    value = _held(builder, builder.value(stmt.value if update is None else update.args[1]), target, stmt)
    if update is not None or not stmt.in_place:
        _test(builder, target, loc)

    def body(point: Point) -> list[Stmt]:
        lvalue = dataclasses.replace(target.lvalue(point), loc=loc)
        here: Expr = element(value, point)
        if update is not None:
            here = _updated(str(dict(update.options)["op"]), lvalue, here, stmt)
        return [dataclasses.replace(stmt, target=lvalue, value=here, in_place=stmt.in_place or update is not None, whole=True)]

    builder.loops(target.shape, body, stmt.loc)


def _updated(op: str, old: Expr, value: Expr, stmt: syntax.Assign) -> Expr:
    if op in ("maximum", "minimum", "fmax", "fmin"):
        return syntax.Call(op, (old, value), loc=stmt.loc)
    return syntax.Binary(op, old, value, loc=stmt.loc)


def _held(builder: LoopBuilder, value: Value, target: Elements, stmt: syntax.Assign) -> Value:
    """Returns the assigned value, as it is before anything is stored, with its shape tested."""
    if not isinstance(value, Elements):
        value = inside(value, builder.require)
        return builder.held_number(value, stmt.loc)
    extra = max(value.rank - target.rank, 0)
    if not all(extent.is_one for extent in value.shape[:extra]):
        why = f"an array of {value.rank} dimensions cannot be assigned to one of {target.rank}"
        raise PolymlTypeError(why, loc=stmt.loc, notes=["accepted: a shape that broadcasts to that of the target"])
    value = without_leading(value, extra) if extra else value
    for own, other in zip(reversed(target.shape), reversed(value.shape)):
        if not other.is_one:
            require_equal(own, other, "an array that is assigned to a part of another size", builder.require, stmt.loc)
    nodes = traversal.nodes(value.at(any_point(value.rank)))
    reads = [n for n in nodes if isinstance(n, syntax.Subscript) and (not n.inside or builder.may_be_one(n.array, target.memory))]
    return builder.memory(value, "_value", stmt.loc) if reads else value


def _test(builder: LoopBuilder, target: Elements, loc) -> None:
    """Adds loops that read what the index arrays choose, which raises IndexError where an index is outside."""
    rank = target.rank
    read = syntax.Name(builder.fresh("_tested"), loc=loc)
    moving = [dim for dim, index in enumerate(any_point(rank)) if index in _of_index_arrays(target)]

    def body(point: Point) -> list[Stmt]:
        place = iter(point)
        here = tuple(next(place) if dim in moving else syntax.Const(0) for dim in range(rank))
        return [syntax.Assign(read, dataclasses.replace(target.lvalue(here), loc=loc), loc=loc)]

    for dim in range(rank):
        if dim not in moving and not target.shape[dim].is_one:
            some = syntax.Compare(">=", target.shape[dim].expr, syntax.Const(1))
            builder.require(some, "an array without elements that is assigned at an index array", loc)
    builder.loops(tuple(target.shape[dim] for dim in moving), body, loc)


def _of_index_arrays(target: Elements) -> set[Expr]:
    """Returns the indices of `any_point` on which subscripts depend that are elements of index arrays."""
    found: set[Expr] = set()
    for index in target.lvalue(any_point(target.rank)).indices:
        if any(isinstance(node, syntax.Subscript) for node in traversal.nodes(index)):
            found |= {node for node in traversal.nodes(index) if isinstance(node, syntax.Name)}
    return found
