"""Where arrays are not zero: np.nonzero, np.flatnonzero, np.argwhere, and masks as subscripts, which stand for these places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from polyml.dtypes import I64
from polyml.errors import NotAffineError, PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.selecting.compaction import selection
from polyml.frontend.arrays.shapes import Extent, checked_axis
from polyml.frontend.arrays.views import Elements, Point, is_truth, require_equal
from polyml.frontend.syntax import Expr
from polyml.source import Loc


def is_mask(value: object, builder: LoopBuilder) -> TypeGuard[Elements]:
    """Returns whether a subscript is an array of truth values."""
    return isinstance(value, Elements) and bool(value.rank) and is_truth(value.sample, builder.truths)


def selected(builder: LoopBuilder, base: Elements, values: Sequence, loc: Loc | None) -> Elements | None:
    """Returns base[values] as a new vector where that has one subscript, a mask of the array's shape; None for other subscripts."""
    if len(values) != 1 or not is_mask(values[0], builder) or values[0].rank != base.rank:
        return None
    mask: Elements = values[0]
    _require_shape(builder, base.shape, mask, loc)
    found = selection(builder, mask)
    chosen = found.vector(builder, syntax.TypeOf(base.sample), loc)
    found.collect(builder, lambda point: [(chosen.lvalue((found.count,)), base.at(point))], loc)
    return chosen


def without_masks(builder: LoopBuilder, base: Elements, values: Sequence, loc: Loc | None) -> tuple:
    """Returns the subscripts of base[values] with the places at which they are true in the place of masks."""
    found: list = []
    dim = 0
    for value in values:
        if not is_mask(value, builder):
            found.append(value)
            dim += not isinstance(value, syntax.NewAxis)
            if isinstance(value, syntax.Dots) and any(is_mask(each, builder) for each in values):
                raise NotAffineError("a mask beside `...`", loc=loc, notes=["polyml compiles: `A[:, mask]`"], code="PML-F021")
            continue
        _require_shape(builder, base.shape[dim:], value, loc)
        found += places(builder, value, loc)
        dim += value.rank
    return tuple(found)


def _require_shape(builder: LoopBuilder, shape: Sequence[Extent], mask: Elements, loc: Loc | None) -> None:
    if len(shape) < mask.rank:
        raise PolymlTypeError("a mask has more dimensions than its array", loc=loc, notes=["accepted: a mask of the array's shape"])
    for own, other in zip(shape, mask.shape):
        require_equal(own, other, "a mask of another size than its array", builder.require, loc)


def places(builder: LoopBuilder, array: Elements, loc: Loc | None, axis: int | None = None) -> list[Elements]:
    """Returns the indices of the elements of an array that are not zero along each dimension, or along one axis, as new vectors of int64."""
    axes = range(array.rank) if axis is None else (axis,)
    found = selection(builder, array)
    vectors = [found.vector(builder, I64, loc) for _ in axes]

    def stores(point: Point) -> list[tuple[syntax.Subscript, Expr]]:
        return [(v.lvalue((found.count,)), syntax.Cast(point[axis], I64)) for v, axis in zip(vectors, axes)]

    found.collect(builder, stores, loc)
    return vectors


def _nonzero(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, ndim = _array(args[0], loc), options.get("ndim")
    if ndim not in (None, array.rank):
        told = f"np.nonzero of an array of {array.rank} dimensions gives {array.rank} arrays, not {ndim}"
        raise PolymlTypeError(told, loc=loc, notes=["accepted: a target for each dimension"])
    axis = checked_axis(options["axis"], array.rank, loc)
    if ndim is None:
        return places(builder, array, loc, axis)[0]
    if axis == 0:
        builder.found_places = array, places(builder, array, loc)
    of, vectors = builder.found_places or (None, [])
    if of is not array:
        raise TypeError("the first part of np.nonzero is computed before the others")
    return vectors[axis]


def _flatnonzero(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _array(args[0], loc)
    found = selection(builder, array)
    vector = found.vector(builder, I64, loc)

    def stores(point: Point) -> list[tuple[syntax.Subscript, Expr]]:
        place: Expr = point[0]
        for index, size in zip(point[1:], array.shape[1:]):
            place = syntax.Binary("+", syntax.Binary("*", place, size.expr), index)
        return [(vector.lvalue((found.count,)), syntax.Cast(place, I64))]

    found.collect(builder, stores, loc)
    return vector


def _argwhere(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _array(args[0], loc)
    found = selection(builder, array)
    rows = builder.allocated("_places", (found.extent, Extent.constant(array.rank)), I64, None, loc)

    def stores(point: Point) -> list[tuple[syntax.Subscript, Expr]]:
        places = (rows.lvalue((found.count, syntax.Const(dim))) for dim in range(array.rank))
        return [(place, syntax.Cast(index, I64)) for place, index in zip(places, point)]

    found.collect(builder, stores, loc)
    return rows


def _array(value: Value, loc: Loc | None) -> Elements:
    if not isinstance(value, Elements) or not value.rank:
        raise NotAffineError("np.nonzero of a number", loc=loc, notes=["polyml compiles: arrays with dimensions"])
    return value


FUNCTIONS: dict[str, Callable[..., Value]] = {"nonzero": _nonzero, "flatnonzero": _flatnonzero, "argwhere": _argwhere}
