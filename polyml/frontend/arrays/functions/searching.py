"""Searches in sorted arrays: np.searchsorted and np.interp."""

from __future__ import annotations

from collections.abc import Callable

from polyml.dtypes import F64, I64, DType
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays.functions.array_operands import as_array
from polyml.frontend.arrays.functions.library_calls import for_each, number
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.views import Elements, require_equal
from polyml.frontend.library import searching
from polyml.frontend.syntax import Expr
from polyml.source import Loc

_SIDES = {"left": searching.first_place, "right": searching.last_place}


def _searchsorted(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    side, array = options.get("side", "left"), as_array(args[0], loc)
    if options.get("sorter") is not None or side not in _SIDES or array.rank != 1:
        known = "polyml compiles: np.searchsorted(a, v, side='left') of a vector a, or side='right', without sorter="
        raise NotAffineError("np.searchsorted of this", loc=loc, notes=[known])
    array = builder.in_memory(array, loc)
    kept = syntax.Call("least", (array.sample,), loc=loc)

    def place(key: Expr) -> Expr:
        """Returns the number of elements before a key, which NumPy converts to the type that it and the array have in common."""
        common = builder.promoted([key, kept], loc)
        return syntax.Cast(number(builder, _SIDES[side], [array, common], loc), I64, loc=loc)

    if isinstance(args[1], Elements):
        return _for_each_of(builder, args[1], place, I64, loc)
    return place(
        builder.memory(as_array(args[1], loc), "_key", loc).at(())
    )  # an element's type is NumPy's, also of a Python number


def _interp(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    points, values = (as_array(arg, loc) for arg in args[1:])
    ends = (options.get("left"), options.get("right"))
    if options.get("period") is not None or points.rank != 1 or values.rank != 1:
        known = "polyml compiles: np.interp(x, xp, fp, left=, right=) of vectors xp and fp, without period="
        raise NotAffineError("np.interp of this", loc=loc, notes=[known])
    require_equal(
        points.shape[0], values.shape[0], "a call of np.interp with more points than values, or fewer", builder.require, loc
    )
    count = points.shape[0].expr
    builder.require(syntax.Compare(">=", count, syntax.Const(1)), "a call of np.interp without points", loc)
    xs, ys = (builder.in_memory(_as_floats(array, loc), loc) for array in (points, values))
    places = (syntax.Const(0), syntax.Binary("-", count, syntax.Const(1)))
    below, above = (
        ys.at((place,)) if end is None else syntax.Cast(syntax.Const(end), F64, loc=loc) for end, place in zip(ends, places)
    )

    def value(x: Expr) -> Expr:
        return number(builder, searching.interpolated, [xs, ys, syntax.Cast(x, F64, loc=loc), below, above], loc)

    return _for_each_of(builder, args[0], value, F64, loc) if isinstance(args[0], Elements) else value(args[0])


def _as_floats(array: Elements, loc: Loc | None) -> Elements:
    """Returns an array with its elements converted to float64; the array itself, in memory, where it is known to have these."""
    return Elements(array.shape, lambda point: syntax.Cast(array.at(point), F64, loc=loc))


def _for_each_of(builder: LoopBuilder, keys: Elements, make: Callable[[Expr], Expr], to: DType, loc: Loc | None) -> Value:
    """Returns a new array of what `make` gives for each element of an array; a number for an array without dimensions."""
    if not keys.rank:
        return make(keys.at(()))
    result = builder.allocated("_found", keys.shape, to, None, loc)
    for_each(builder, result, lambda point: make(keys.at(point)), loc)
    return result


FUNCTIONS: dict[str, Callable[..., Value]] = {"searchsorted": _searchsorted, "interp": _interp}
