"""np.arange of floats and of numbers that a kernel computes, which are perhaps not integers: start, start + step, start + 2 * step, ...

np.arange(a, b, h)    ->    length = ceil((b - a) / h)
                            first = a; distance = (a + h) - a
                            first + i * distance
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from polyml.dtypes import F64, DType
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import Extent, Linear, strided
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant
from polyml.frontend.syntax import Expr
from polyml.source import Loc

_ACCEPTED = "polyml compiles: ints and floats of Python, int64 and float64, and of floats no dtype= other than float64"
_LONGEST = 2.0**62
_OF_ARANGE = (("ValueError", "arange: cannot compute length"), ("ValueError", "Maximum allowed size exceeded"))
_OF_CEIL = (
    ("ValueError", "cannot convert float NaN to integer"),
    ("OverflowError", "cannot convert float infinity to integer"),
)


@dataclass(frozen=True)
class _Errors:
    """An _Errors says what a number of elements that is none means.

    texts: the error and its text for NaN, and for an infinite number
    clipped: whether a negative number means no elements; else it is an error
    """

    texts: tuple[tuple[str, str], tuple[str, str]]
    clipped: bool


def computed_range(builder: LoopBuilder, start: Expr, stop: Expr, step: Expr, dtype: DType | None, loc: Loc | None) -> Elements:
    """Returns the array that np.arange makes of numbers of which it is not known that they are integers, in float64 where one is a float.

    Raises NotAffineError for arrays, and for another `dtype`.
    """
    whole = all(map(builder.is_integer, (start, stop, step)))
    known = constant(step)
    if any(isinstance(each, Elements) for each in (start, stop, step)) or known == 0 or not whole and dtype not in (None, F64):
        raise NotAffineError("np.arange of this", loc=loc, notes=[_ACCEPTED])
    first, last, by = (each if isinstance(each, syntax.Const) else builder.held_number(each, loc) for each in (start, stop, step))
    extent = _extent(builder, first, last, by, _Errors(_OF_ARANGE, True), loc)
    second: Expr = syntax.Binary("+", first, by, loc=loc)
    distance: Expr = syntax.Binary("-", second, first, loc=loc)
    apart = constant(distance)
    distance = syntax.Const(apart) if apart is not MISSING else builder.held_number(distance, loc)
    moved = not isinstance(distance, syntax.Const) or constant(syntax.Binary("+", first, distance)) != constant(second)
    if moved:
        second = builder.held_number(second, loc)

    def at(point: Point) -> Expr:
        value: Expr = syntax.Binary("+", syntax.Binary("*", point[0], distance), first, loc=loc)
        if moved:  # the second element is not computed from the distance
            value = syntax.IfExp(syntax.Compare("==", point[0], syntax.Const(1)), second, value, loc=loc)
        element = syntax.Call("of_range", (value, last), loc=loc)
        return element if dtype is None else syntax.Cast(element, dtype, loc=loc)

    return Elements((extent,), at)


def _known_length(start: Expr, stop: Expr, step: Expr) -> int | None:
    """Returns how many numbers there are; None where that is not known, or where NumPy raises an error."""
    values = [constant(each) for each in (start, stop, step)]
    if not all(isinstance(value, (int, float)) and math.isfinite(value) for value in values):
        return None
    first, last, by = values
    if not isinstance(first, (int, float)) or not isinstance(last, (int, float)) or not isinstance(by, (int, float)) or not by:
        return None
    length = (last - first) / by
    return math.ceil(length) if length < _LONGEST else None


def _extent(builder: LoopBuilder, start: Expr, stop: Expr, step: Expr, errors: _Errors, loc: Loc | None) -> Extent:
    """Returns the number of elements, after adding its computation, and the errors of a number of steps that is none."""
    known = _known_length(start, stop, step)
    if known is not None and (known >= 0 or errors.clipped):
        return Extent.constant(max(0, known))
    steps = builder.held_number(syntax.Binary("/", syntax.Binary("-", stop, start), step, loc=loc), loc)
    wrongs = (syntax.Compare("!=", steps, steps), syntax.Compare(">", steps, syntax.Const(_LONGEST)))
    for wrong, (name, text) in zip(wrongs, errors.texts):
        builder.out.append(syntax.If(wrong, (syntax.Raise(name, (text,), loc=loc),), loc=loc))
    within = syntax.Binary("max", steps, syntax.Const(0.0)) if errors.clipped else steps
    return builder.new_extent(syntax.Call("ceil", (within,), "math", loc=loc))


def _spaced(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the points i * step + start, as many as np.arange has, of integers or in float64."""
    (start, stop, step), clipped = args, bool(options["clipped"])
    known = constant(step)
    if any(isinstance(each, Elements) for each in args) or known == 0:
        raise NotAffineError("a grid of such numbers", loc=loc, notes=[_ACCEPTED])
    if all(map(builder.is_integer, args)) and isinstance(known, int):
        length = (Linear.of(stop) - Linear.of(start)) * (1 if known > 0 else -1)
        length = strided(length, abs(known))
        if not clipped:
            builder.require(syntax.Compare(">=", length.expr, syntax.Const(0)), "a grid with a negative size", loc)
        extent = Extent.constant(max(0, length.constant)) if length.is_constant else Extent(length)
    else:
        start, stop, step = (each if isinstance(each, syntax.Const) else builder.held_number(each, loc) for each in args)
        extent = _extent(builder, start, stop, step, _Errors(_OF_CEIL, clipped), loc)

    def at(point: Point) -> Expr:
        value = syntax.Binary("+", syntax.Binary("*", point[0], step), start, loc=loc)
        return syntax.Call("of_range", (value, stop), loc=loc)

    return Elements((extent,), at)


FUNCTIONS: dict[str, Callable[..., Value]] = {"spaced": _spaced}
