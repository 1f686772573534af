"""Arrays as large as numbers in other arrays say: np.bincount, and np.repeat with counts."""

from __future__ import annotations

from collections.abc import Callable

from polyml.dtypes import F64, I64
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays.functions.array_operands import as_array
from polyml.frontend.arrays.functions.library_calls import inlined, number
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import Extent, checked_axis
from polyml.frontend.arrays.views import Elements, require_equal
from polyml.frontend.library import counting
from polyml.frontend.syntax import Expr
from polyml.source import Loc


def _bincount(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    numbers, least = as_array(args[0], loc), options.get("minlength", 0)
    if numbers.rank != 1 or type(least) is not int or least < 0:
        raise NotAffineError(
            "np.bincount of this", loc=loc, notes=["polyml compiles: np.bincount(x, weights, minlength=n) of vectors, a constant n"]
        )
    numbers = _as_numbers(builder, numbers, loc)
    given = None if len(args) < 2 else as_array(args[1], loc)
    if given is not None:
        if given.rank != 1:
            raise NotAffineError("np.bincount with weights of other dimensions", loc=loc, notes=["polyml compiles: vectors"])
        require_equal(
            numbers.shape[0], given.shape[0], "a call of np.bincount with another number of weights", builder.require, loc
        )
        some = syntax.Compare(">=", numbers.shape[0].expr, syntax.Const(1))
        builder.require(some, "a call of np.bincount with weights of no numbers, which gives integers", loc)
        given = _as_floats(given, loc)
    size = number(builder, counting.past_largest, [numbers, syntax.Const(least)], loc)
    cells = builder.allocated("_cells", (builder.new_extent(size),), I64 if given is None else F64, syntax.Const(0), loc)
    if given is None:
        inlined(builder, counting.count, [numbers, cells], loc)
    else:
        inlined(builder, counting.add_up, [numbers, given, cells], loc)
    return cells


def _repeat(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, counts = as_array(args[0], loc), args[1]
    axis = options.get("axis")
    if array.rank < 1 or axis is None and array.rank > 1 or isinstance(axis, tuple):
        raise NotAffineError("np.repeat of this", loc=loc, notes=["polyml compiles: np.repeat of a vector, or along one axis"])
    axis = checked_axis(0 if axis is None else axis, array.rank, loc)
    if isinstance(counts, syntax.Const) and type(counts.value) is int and counts.value > 0:
        return _repeated_alike(array, counts.value, axis)
    is_alike = not isinstance(counts, Elements)
    if not isinstance(counts, Elements):
        same = counts
        counts = Elements((array.shape[axis],), lambda point: same)
    if counts.rank != 1 or array.rank > 1:
        raise NotAffineError("np.repeat of this with counts", loc=loc, notes=["polyml compiles: np.repeat(x, counts) of vectors"])
    require_equal(array.shape[0], counts.shape[0], "a call of np.repeat with another number of counts", builder.require, loc)
    counts = _as_numbers(builder, counts, loc)
    size = syntax.Binary("*", array.shape[0].expr, counts.sample) if is_alike else number(builder, counting.total, [counts], loc)
    repeated = builder.allocated("_repeated", (builder.new_extent(size),), syntax.TypeOf(array.sample), None, loc)
    inlined(builder, counting.repeat, [builder.in_memory(array, loc), counts, repeated], loc)
    return repeated


def _repeated_alike(array: Elements, times: int, axis: int) -> Elements:
    old = array.shape[axis]
    longer = Extent(old.length * times, old.positive)

    def at(point: tuple[Expr, ...]) -> Expr:
        index = syntax.Binary("//", point[axis], syntax.Const(times))
        return array.at((*point[:axis], index, *point[axis + 1 :]))

    return Elements((*array.shape[:axis], longer, *array.shape[axis + 1 :]), at)


def _as_numbers(builder: LoopBuilder, array: Elements, loc: Loc | None) -> Elements:
    """Returns the integers that NumPy makes of an array in memory where it converts it to int64 safely."""
    kept = builder.in_memory(array, loc)
    return Elements(kept.shape, lambda point: syntax.Call("intp", (kept.at(point),), loc=loc))


def _as_floats(array: Elements, loc: Loc | None) -> Elements:
    return Elements(array.shape, lambda point: syntax.Call("double", (array.at(point),), loc=loc))


FUNCTIONS: dict[str, Callable[..., Value]] = {"bincount": _bincount, "repeat": _repeat}
