"""Reductions of what a mask selects, which need no array whose size data decide.

v[m].sum()            ->          sum of v[p] over the points p where m[p] is true
(v[m] * w[m]).mean()  ->          that sum of v[p] * w[p], divided by how often m[p] is true
"""

from __future__ import annotations

from collections.abc import Callable

from polyml.dtypes import PYINT
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.functions import array_reductions
from polyml.frontend.arrays.functions.array_operands import each_element
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.masked_assignment import of_whole_arrays
from polyml.frontend.arrays.views import Elements, is_truth, require_equal
from polyml.frontend.syntax import Expr
from polyml.source import Loc

_ALONG = {"axis": (None, 0, -1), "keepdims": (False,)}  # what a selection, which has one dimension, may be reduced along


def reduced(builder: LoopBuilder, call: syntax.Function) -> Value | None:
    """Returns the value of a reduction of elements that a mask selects, after adding its loops; None for any other call."""
    make, options = _REDUCTIONS.get(call.function), dict(call.options)
    if (
        make is None
        or make is _mean
        and builder.halves
        or any(value not in _ALONG.get(name, (value,)) for name, value in options.items())
    ):
        return None
    chosen = _selection(builder, call.args[0])
    if chosen is None:
        return None
    mask, arrays = builder.value(chosen[0]), list[Elements]()
    whole = of_whole_arrays(builder, call.args[0], chosen, arrays)
    value = None if whole is None else builder.value(whole)
    if not isinstance(mask, Elements) or not isinstance(value, Elements) or any(array.rank != mask.rank for array in arrays):
        return None
    for array in arrays:
        for own, other in zip(mask.shape, array.shape):
            require_equal(own, other, "a mask of another size than its array", builder.require, call.loc)
    kept = {name: option for name, option in options.items() if name not in _ALONG}
    return make(builder, builder.in_memory(mask, call.loc) if call.function == "mean" else mask, value, kept, call.loc)


def _selection(builder: LoopBuilder, expr: Expr) -> tuple | None:
    """Returns the subscripts (m,) by which an expression has B[m] with a mask m, or None where it has none."""
    for node in traversal.nodes(expr):
        chosen = node.indices if isinstance(node, (syntax.Subscript, syntax.Part)) else ()
        if len(chosen) == 1 and isinstance(chosen[0], Expr) and not isinstance(chosen[0], (syntax.Const, syntax.Shape)):
            mask = builder.value(chosen[0])
            if isinstance(mask, Elements) and mask.rank and is_truth(mask.sample, builder.truths):
                return chosen
    return None


def _sum(builder: LoopBuilder, mask: Elements, value: Elements, options: dict, loc: Loc | None) -> Value:
    selected = Elements(mask.shape, lambda point: builder.or_zero(mask.at(point), value.at(point), loc))
    return array_reductions.FUNCTIONS["sum"](builder, [selected], options, loc)


def _any(builder: LoopBuilder, mask: Elements, value: Elements, options: dict, loc: Loc | None) -> Value:
    zero = syntax.Const(0)
    selected = Elements(mask.shape, lambda p: syntax.Binary("&", mask.at(p), syntax.Compare("!=", value.at(p), zero), loc=loc))
    return array_reductions.FUNCTIONS["any"](builder, [selected], options, loc)


def _all(builder: LoopBuilder, mask: Elements, value: Elements, options: dict, loc: Loc | None) -> Value:
    zero = syntax.Const(0)

    def at(point):
        return syntax.Binary("|", syntax.Unary("not", mask.at(point)), syntax.Compare("!=", value.at(point), zero), loc=loc)

    return array_reductions.FUNCTIONS["all"](builder, [Elements(mask.shape, at)], options, loc)


def _size(builder: LoopBuilder, mask: Elements, value: Elements, options: dict, loc: Loc | None) -> Expr:
    """Returns how many elements a mask selects, as one of Python's ints."""
    count = array_reductions.FUNCTIONS["sum"](builder, [mask], {}, loc)
    return syntax.Cast(count.at(()) if isinstance(count, Elements) else count, PYINT, loc=loc)


def _mean(builder: LoopBuilder, mask: Elements, value: Elements, options: dict, loc: Loc | None) -> Value:
    selected = Elements(mask.shape, lambda point: builder.or_zero(mask.at(point), value.at(point), loc))
    count = builder.held_number(_size(builder, mask, value, {}, loc), loc)
    total = array_reductions.sum_as_mean(builder, [selected], options, loc)
    return each_element(total, lambda part: syntax.Binary("/", part, count, loc=loc))


_REDUCTIONS: dict[str, Callable[..., Value]] = {"sum": _sum, "any": _any, "all": _all, "size": _size, "mean": _mean}
