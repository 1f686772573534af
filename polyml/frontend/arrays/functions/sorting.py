"""NumPy's sorting: np.sort, np.argsort of kind="stable", and np.median, row by row.

A vector that is sorted by itself, outside of loops, is left to NumPy, whose vectorised sort is faster than any that this language can say.
"""

from __future__ import annotations

from collections.abc import Callable

from polyml.dtypes import I64
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays.functions.array_operands import as_array, with_axes
from polyml.frontend.arrays.functions.library_calls import for_each, inlined, statements_of
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import checked_axis
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.library import sorting
from polyml.frontend.syntax import Expr
from polyml.source import Loc

_STABLE = ("stable", "mergesort")


def _sort(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, axis = _sorted_along(args[0], options, "sort", loc)
    if not _is_stable(options):
        _check_in_loop(builder, array, "sort", loc)
    result = builder.memory(array, "_sorted", loc)
    spare = builder.allocated("_spare", array.shape, syntax.TypeOf(array.sample), None, loc)
    cells = builder.allocated("_cells", array.shape, I64, None, loc)

    def body(point: Point) -> list[syntax.Stmt]:
        rows = [_row(whole, point, axis) for whole in (result, spare, cells)]
        return statements_of(builder, lambda: inlined(builder, sorting.sort, [*rows, _is_counted(result, loc)], loc))

    builder.loops(_without(array, axis), body, loc)
    return result


def _argsort(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, axis = _sorted_along(args[0], options, "argsort", loc)
    if not _is_stable(options):
        why = "the order in which np.argsort leaves equal elements"
        raise NotAffineError(why, loc=loc, notes=["polyml compiles: kind='stable', which says what it is"])
    array = builder.in_memory(array, loc)
    result, spare, cells = (builder.allocated(stem, array.shape, I64, None, loc) for stem in ("_order", "_spare", "_cells"))

    def body(point: Point) -> list[syntax.Stmt]:
        rows = [_row(whole, point, axis) for whole in (array, result, spare, cells)]
        return statements_of(builder, lambda: inlined(builder, sorting.sort_places, [*rows, _is_counted(array, loc)], loc))

    builder.loops(_without(array, axis), body, loc)
    return result


def _median(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the value of np.median: the middle element of each sorted row or the mean of both; NaN where a row has one."""
    if builder.halves or options.get("keepdims") or options.get("overwrite_input"):
        raise NotAffineError("np.median of this", loc=loc, notes=["polyml compiles: np.median(a, axis), not in float16"])
    array, axis = _sorted_along(args[0], {"axis": None, **options}, "median", loc)
    _check_in_loop(builder, array, "median", loc)
    size = array.shape[axis].expr
    builder.require(syntax.Compare(">=", size, syntax.Const(1)), "the median of no elements", loc)
    rows = _sort(builder, [array], {"axis": axis, "kind": "stable"}, loc)
    kind = syntax.TypeOf(syntax.Call("inexact", (array.sample,), loc=loc))
    result = builder.allocated("_median", _without(array, axis), kind, None, loc)
    half, one, two = syntax.Binary("//", size, syntax.Const(2)), syntax.Const(1), syntax.Const(2)

    def at(point: Point) -> Expr:
        def element(place: Expr) -> Expr:
            return syntax.Call("inexact", (as_array(rows, loc).at(with_axes(point, [axis], place)),), loc=loc)

        last, upper, lower = (element(place) for place in (_minus(size, one), half, _minus(half, one)))
        mean = syntax.Binary("/", syntax.Binary("+", lower, upper), two, loc=loc)
        is_odd = syntax.Compare("==", syntax.Binary("%", size, two), one)
        return syntax.IfExp(syntax.Compare("!=", last, last), last, syntax.IfExp(is_odd, upper, mean), loc=loc)

    for_each(builder, result, at, loc)
    return result if result.rank else result.at(())


def _is_counted(array: Elements, loc: Loc | None) -> Expr:
    return syntax.Call("is_integer", (array.sample,), loc=loc)


def _minus(left: Expr, right: Expr) -> Expr:
    return syntax.Binary("-", left, right)


def _sorted_along(value: Value, options: dict, name: str, loc: Loc | None) -> tuple[Elements, int]:
    """Returns the array that is sorted, and along which axis. Raises NotAffineError where that is not one of its axes."""
    array, axis = as_array(value, loc), options.get("axis", -1)
    if options.get("order") is not None or not array.rank or axis is None and array.rank != 1 or isinstance(axis, tuple):
        known = f"polyml compiles: np.{name} of an array along one axis"
        raise NotAffineError(f"np.{name} of this", loc=loc, notes=[known])
    return array, checked_axis(0 if axis is None else axis, array.rank, loc)


def _is_stable(options: dict) -> bool:
    return options.get("kind") in _STABLE or options.get("stable") is True


def _check_in_loop(builder: LoopBuilder, array: Elements, name: str, loc: Loc | None) -> None:
    if array.rank == 1 and not builder.in_loop:
        known = f"polyml compiles: np.{name} in loops, and along one of several axes"
        raise NotAffineError(f"np.{name} of a single vector, which NumPy does faster", loc=loc, notes=[known])


def _row(whole: Elements, point: Point, axis: int) -> Elements:
    """Returns the elements of an array along one axis, at a point of the other axes."""
    return Elements((whole.shape[axis],), lambda along: whole.at(with_axes(point, [axis], along[0])), whole.storage)


def _without(array: Elements, axis: int) -> tuple:
    return (*array.shape[:axis], *array.shape[axis + 1 :])


def _for_groups(make: Callable[..., Value]) -> Callable[..., Value]:
    """Returns the function that sorts a vector of which equal elements are brought together; outside of loops one of integers alone.

    make: lowers the function that sorts
    """

    def made(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array = as_array(args[0], loc)
        if array.rank == 1 and not builder.in_loop:
            what = "a single vector of floats is sorted, which NumPy does faster; one of integers, and others in loops"
            builder.out.append(syntax.Require(_is_counted(array, loc), what, loc=loc))
        return make(builder, args, {"kind": "stable"}, loc)

    return made


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "sort": _sort, "argsort": _argsort, "median": _median, "grouped": _for_groups(_sort), "grouped_places": _for_groups(_argsort),
}  # fmt: skip
