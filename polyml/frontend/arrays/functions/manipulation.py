"""NumPy's array manipulation: the same elements in another shape, order or type. Views where NumPy gives views."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from polyml.errors import LanguageError, NotAffineError, PolymlTypeError, SizesNeeded
from polyml.frontend import syntax
from polyml.frontend.arrays import views
from polyml.frontend.arrays.functions.array_operands import ZERO, as_array, count, element_type_of, reduced_axes, rounded
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import Extent, Linear, checked_axis
from polyml.frontend.arrays.views import Elements
from polyml.frontend.syntax import Expr
from polyml.source import Loc


def _astype(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, to = as_array(args[0], loc), options.get("dtype")
    if to is None:
        raise LanguageError("astype needs a type", loc=loc, notes=["accepted: A.astype(np.float32)"])
    if isinstance(to, syntax.TypeOf):
        return rounded(builder, array, element_type_of(builder, to, loc), loc)
    cast = Elements(array.shape, lambda point: syntax.Cast(array.at(point), to, loc=loc))
    return builder.memory(cast, "_copy", loc)


def _copy(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return builder.memory(as_array(args[0], loc), "_copy", loc)


def _flatten(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return builder.memory(_as_shape(builder, as_array(args[0], loc), [syntax.Const(-1)], loc), "_copy", loc)


def _reshape(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    made = builder.view_or_copy(array, _as_shape(builder, array, args[1:], loc))
    return dataclasses.replace(made, rows_of=array.storage if array.whole else None)


def _ravel(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    return builder.view_or_copy(array, _as_shape(builder, array, [syntax.Const(-1)], loc))


def _as_shape(builder: LoopBuilder, array: Elements, sizes: Sequence[Expr], loc: Loc | None) -> Elements:
    """Returns a view of an array in another shape, in which one size may be -1, which stands for the size that fits.

    Raises SizesNeeded where that size is not known without the sizes of a call.
    """
    shape = [Extent(Linear.of(size), True) for size in sizes]
    open_at = [k for k, extent in enumerate(shape) if extent.known is not None and extent.known < 0]
    if len(open_at) > 1 or any(shape[k].known != -1 for k in open_at):
        raise NotAffineError("a shape with negative sizes", loc=loc, notes=["polyml compiles: one -1"])
    if open_at:
        for extent in (each for k, each in enumerate(shape) if k not in open_at and not each.known):
            if extent.known == 0:
                raise NotAffineError(
                    "a reshape with -1 beside a size of 0", loc=loc, notes=["polyml compiles: the size in place of -1"]
                )
            some = syntax.Compare("!=", extent.expr, syntax.Const(0))
            builder.require(some, "a reshape with -1 beside a size of 0", loc)
        rest = [extent for k, extent in enumerate(shape) if k not in open_at and not extent.is_one]
        have = [extent for extent in array.shape if not extent.is_one]
        for extent in list(rest):
            same = next((own for own in have if own.length == extent.length), None)
            if same is not None:
                rest.remove(extent)
                have.remove(same)
        if len(have) == 1 and not rest:
            shape[open_at[0]] = have[0]
        elif any(extent.known is None for extent in (*rest, *have)):
            raise SizesNeeded("a reshape of unknown sizes", loc=loc, notes=["polyml compiles: a call, whose sizes are known"])
        else:
            total, others = (math.prod(extent.number for extent in extents) for extents in (have, rest))
            shape[open_at[0]] = Extent.constant(total // others if others else 0)
    return views.reshaped(array, shape, builder.lengths, loc)


def _transpose(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    axes = options.get("axes")
    order = range(array.rank)[::-1] if axes is None else [checked_axis(axis, array.rank, loc) for axis in axes]
    if sorted(order) != list(range(array.rank)):
        raise PolymlTypeError("the axes of a transpose are not those of the array", loc=loc, notes=["accepted: each axis once"])
    return views.permuted(array, list(order))


def _swapaxes(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    one, other = (checked_axis(options.get(name), array.rank, loc) for name in ("axis1", "axis2"))
    order = list(range(array.rank))
    order[one], order[other] = other, one
    return views.permuted(array, order)


def _flip(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, axes = as_array(args[0], loc), reduced_axes(args[0], options, loc)
    if not array.rank and options.get("axis") is None:
        return array.at(())  # NumPy returns m[()], a number
    if not array.rank:
        raise NotAffineError("an array without dimensions is flipped along one", loc=loc, notes=["polyml compiles: an axis it has"])
    back = [syntax.Slice(None, None, -1 if axis in axes else 1) for axis in range(array.rank)]
    return views.subscripted(array, back, builder.require, loc)


def _flipped(axis: int):
    def flip(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        return _flip(builder, args, {"axis": axis}, loc)

    return flip


def _moveaxis(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    if any(type(options.get(name)) is not int for name in ("source", "destination")):
        raise NotAffineError("np.moveaxis of several axes", loc=loc, notes=["polyml compiles: np.moveaxis of one axis, transpose"])
    source, destination = (checked_axis(options.get(name), array.rank, loc) for name in ("source", "destination"))
    order = [axis for axis in range(array.rank) if axis != source]
    order.insert(destination, source)
    return views.permuted(array, order)


def _ascontiguousarray(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the value of np.ascontiguousarray: a view where the rows lie one after the other, else a copy."""
    array = as_array(args[0], loc)
    if not array.rank:
        return views.with_axis(array, 0)  # NumPy's result has at least one dimension
    return builder.view_or_copy(array, Elements(array.shape, array.at))


def _expand_dims(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    return views.with_axis(array, checked_axis(options.get("axis"), array.rank + 1, loc))


def _squeeze(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    if options.get("axis") is None:
        axes = tuple(dim for dim, extent in enumerate(array.shape) if extent.is_one)
        if any(not extent.is_one and not extent.length.is_constant for extent in array.shape):
            raise NotAffineError("squeeze without axis= depends on the sizes", loc=loc, notes=["polyml compiles: axis="])
    else:
        axes = reduced_axes(args[0], options, loc)
        for axis in axes:
            one = syntax.Compare("==", array.shape[axis].expr, syntax.Const(1))
            builder.require(one, "a dimension that is squeezed is not of size 1", loc)
    fixed = [ZERO if axis in axes else syntax.Slice(None, None) for axis in range(array.rank)]
    return views.subscripted(array, fixed, builder.require, loc)


def _size(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    return count(array, tuple(range(array.rank)), 0)


def _ndim(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return syntax.Const(as_array(args[0], loc).rank, loc=loc)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "astype": _astype,
    "copy": _copy,
    "ascontiguousarray": _ascontiguousarray,
    "flatten": _flatten,
    "reshape": _reshape,
    "ravel": _ravel,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "moveaxis": _moveaxis,
    "flip": _flip,
    "fliplr": _flipped(1),
    "flipud": _flipped(0),
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "size": _size,
    "ndim": _ndim,
}
