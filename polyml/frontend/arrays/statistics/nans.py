"""Reductions that leave NaN out: np.nansum, nanmean, nanvar, nanstd, nanmax and nanmin.

np.nanmean(x)    ->    sum of (x[p] if x[p] is no NaN else 0), divided by how many of them are none
"""

from __future__ import annotations

import math
from collections.abc import Callable

from polyml.dtypes import PYINT
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays.functions import array_reductions
from polyml.frontend.arrays.functions.array_operands import as_array, map_elements, reduced_axes, reduced_point
from polyml.frontend.arrays.functions.extrema import first_elements
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.syntax import Expr
from polyml.source import Loc


def _sum(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return array_reductions.FUNCTIONS["sum"](builder, [_or_zero(builder, as_array(args[0], loc), loc)], options, loc)


def _mean(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _checked(builder, args[0], options, loc)
    total = array_reductions.sum_as_mean(builder, [_or_zero(builder, array, loc)], options, loc)
    counts = _counts(builder, array, options, loc)
    return map_elements(builder, [total, counts], lambda part, count: syntax.Binary("/", part, count, loc=loc), loc)


def _variance(root: bool) -> Callable[..., Value]:
    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array, ddof = builder.in_memory(_checked(builder, args[0], options, loc), loc), options.get("ddof", 0)
        kept = {name: option for name, option in options.items() if name != "ddof"}
        mean = _mean(builder, [array], {**kept, "keepdims": True}, loc)
        mean = builder.memory(mean, "_mean", loc) if isinstance(mean, Elements) else mean
        distance = as_array(map_elements(builder, [array, mean], lambda a, b: syntax.Binary("-", a, b), loc), loc)
        squares = Elements(
            array.shape,
            lambda point: builder.or_zero(_there(array.at(point), loc), syntax.Call("norm", (distance.at(point),)), loc),
        )
        total = array_reductions.sum_as_mean(builder, [squares], kept, loc)
        counts = _counts(builder, array, kept, loc)

        def finished(part: Expr, count: Expr) -> Expr:
            freedom = syntax.Binary("-", count, syntax.Const(ddof))
            none = syntax.Compare("<=", freedom, syntax.Const(0))
            value = syntax.Call("where", (none, syntax.Const(math.nan), syntax.Binary("/", part, freedom, loc=loc)), loc=loc)
            return syntax.Call("sqrt", (value,)) if root else value

        return map_elements(builder, [total, counts], finished, loc)

    return reduce


def _extremum(function: str) -> Callable[..., Value]:
    """Returns the function that lowers np.nanmax or np.nanmin, which are reductions by np.fmax and np.fmin."""

    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array = _checked(builder, args[0], options, loc)
        axes, keep = reduced_axes(array, options, loc), bool(options.get("keepdims"))
        raised = f"zero-size array to reduction operation {function} which has no identity"
        best = first_elements(builder, array, axes, keep, raised, loc)

        def body(point: Point) -> list[syntax.Stmt]:
            lvalue = best.lvalue(reduced_point(point, axes, keep))
            return [syntax.Assign(lvalue, syntax.Call(function, (lvalue, array.at(point))), loc=loc)]

        builder.loops(array.shape, body, loc)
        return best if best.rank else best.at(())

    return reduce


def _checked(builder: LoopBuilder, value: Value, options: dict, loc: Loc | None) -> Elements:
    array = as_array(value, loc)
    if builder.halves or options.get("dtype") is not None or not array.rank:
        raise NotAffineError(
            "a reduction without NaN of this", loc=loc, notes=["polyml compiles: arrays, without dtype=, not in float16"]
        )
    return array


def _there(part: Expr, loc: Loc | None) -> Expr:
    return syntax.Compare("==", part, part, loc=loc)


def _or_zero(builder: LoopBuilder, array: Elements, loc: Loc | None) -> Elements:
    return Elements(array.shape, lambda point: builder.or_zero(_there(array.at(point), loc), array.at(point), loc))


def _counts(builder: LoopBuilder, array: Elements, options: dict, loc: Loc | None) -> Value:
    """Returns how many elements are no NaN, as Python ints."""
    there = Elements(array.shape, lambda point: _there(array.at(point), loc))
    counts = array_reductions.FUNCTIONS["sum"](builder, [there], options, loc)
    made = map_elements(builder, [counts], lambda part: syntax.Cast(part, PYINT, loc=loc), loc)
    return made if isinstance(made, Elements) else builder.held_number(made, loc)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "nansum": _sum, "nanmean": _mean, "nanvar": _variance(False), "nanstd": _variance(True), "nanmax": _extremum("fmax"),
    "nanmin": _extremum("fmin"),
}  # fmt: skip
