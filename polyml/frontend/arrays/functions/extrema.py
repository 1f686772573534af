"""NumPy's np.max and np.min, and where these elements are: np.argmax and np.argmin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyml.dtypes import I64
from polyml.frontend import syntax
from polyml.frontend.arrays.functions.array_operands import (
    ZERO,
    as_array,
    each_element,
    map_elements,
    reduced_axes,
    reduced_point,
    reduced_shape,
    rounded,
    with_axes,
)
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import Extent, strided
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.syntax import Expr
from polyml.source import Loc

_EMPTY = {op: f"attempt to get {name} of an empty sequence" for op, name in ((">", "argmax"), ("<", "argmin"))}
ARGMAX_BLOCK = 1024  # so few elements that they are still in the nearest cache when they are read again


def _extremum(function: str):
    """Returns the function that lowers np.max or np.min.

    The first result is the least or greatest value of the elements' type, which no element changes: if it were an element, it would
    have to be computed before the others. float16 and bfloat16 are compared in float32.

    function: "maximum" or "minimum"
    """

    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        given, axes = as_array(args[0], loc), reduced_axes(args[0], options, loc)
        keep = bool(options.get("keepdims"))
        array = each_element(given, lambda part: syntax.Call("wide", (part,))) if builder.halves else given
        raised = f"zero-size array to reduction operation {function} which has no identity"
        _require_some(builder, array, axes, f"the {function[:3]} of no elements", raised, loc)
        start = syntax.Call("least" if function == "maximum" else "greatest", (array.sample,), loc=loc)
        best = builder.allocated("_best", reduced_shape(array, axes, keep), syntax.TypeOf(array.sample), start, loc)

        def body(point: Point) -> list[syntax.Stmt]:
            lvalue = best.lvalue(reduced_point(point, axes, keep))
            return [syntax.Assign(lvalue, syntax.Call(function, (lvalue, array.at(point))), loc=loc)]

        builder.loops(array.shape, body, loc)
        if builder.halves:
            best = rounded(builder, best, syntax.TypeOf(given.sample), loc)
        return best if best.rank else best.at(())

    return reduce


def first_elements(
    builder: LoopBuilder, array: Elements, axes: Sequence[int], keep: bool, raised: str, loc: Loc | None
) -> Elements:
    """Returns the elements of an array at index 0 of some axes, stored in a new array, and requires that there are any.

    keep: whether the new array has these axes too, with size 1; if not, it lacks them
    raised: the text of the error that NumPy raises where there are none
    """
    _require_some(builder, array, axes, "the extremum of no elements", raised, loc)

    def at(point: Point) -> Expr:
        return array.at(reduced_point(point, axes, True) if keep else with_axes(point, axes, ZERO))

    return builder.memory(Elements(reduced_shape(array, axes, keep), at), "_best", loc)


def _require_some(builder: LoopBuilder, array: Elements, axes: Sequence[int], otherwise: str, raised: str, loc: Loc | None) -> None:
    """Requires an array to have elements along some axes; where data decide that, an array without any raises what NumPy raises.

    raised: the text of NumPy's ValueError
    """
    for axis in axes:
        if builder.is_counted(array.shape[axis]):
            none = syntax.Compare("<", array.shape[axis].expr, syntax.Const(1))
            builder.out.append(syntax.If(none, (syntax.Raise("ValueError", (raised,), loc=loc),), loc=loc))
            continue
        builder.require(syntax.Compare(">=", array.shape[axis].expr, syntax.Const(1)), otherwise, loc)


def _arg_extremum(op: str):
    """Returns the function that lowers np.argmax or np.argmin: the index of the first extremum, or of the first NaN if there is
    one.

    op: the comparison by which an element is better than another, ">" or "<"
    """

    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array, axes = as_array(args[0], loc), reduced_axes(args[0], options, loc)
        keep = bool(options.get("keepdims"))
        if array.rank and len(axes) == array.rank and not builder.halves:
            return _flat_arg_extremum(builder, array, op, keep, loc)
        best = first_elements(builder, array, axes, keep, _EMPTY[op], loc)
        indices = builder.allocated("_place", best.shape, I64, ZERO, loc)

        def body(point: Point) -> list[syntax.Stmt]:
            target = reduced_point(point, axes, keep)
            part, old, index = array.at(point), best.lvalue(target), indices.lvalue(target)
            better = _is_better(op, part, old)
            here: Expr = ZERO
            for axis in axes:
                here = syntax.Binary("+", syntax.Binary("*", here, array.shape[axis].expr), point[axis])
            here = syntax.Cast(point[axes[0]] if len(axes) == 1 else here, I64)
            return [
                syntax.Assign(index, syntax.IfExp(better, here, index), loc=loc),
                syntax.Assign(old, syntax.IfExp(better, part, old), loc=loc),
            ]

        builder.loops(array.shape, body, loc)
        return indices if indices.rank else indices.at(())

    return reduce


def _is_better(op: str, part: Expr, best: Expr) -> Expr:
    first_nan = syntax.Logical("and", (syntax.Compare("!=", part, part), syntax.Compare("==", best, best)))
    return syntax.Logical("or", (syntax.Compare(op, part, best), first_nan))


def _flat_arg_extremum(builder: LoopBuilder, array: Elements, op: str, keep: bool, loc: Loc | None) -> Value:
    """Returns the index of the first extremum of all elements of an array, counted through the flattened array.

    Each row (the elements along the last dimension) is divided into blocks. In a block one reduction finds the extremum, and a
    second one the first index at which it stands, while the block is still in the cache; both may use vectors and threads. A loop
    then compares the blocks in order.

    op: the comparison by which an element is better than another, ">" or "<"
    keep: whether the result is an array with as many dimensions as the operand, each of size 1; a number if False
    """
    axes = tuple(range(array.rank))
    _require_some(builder, array, axes, "the extremum of no elements", _EMPTY[op], loc)
    array = builder.in_memory(array, loc)  # so that what is found is equal to what is looked for
    *outer, row = array.shape
    size, past = syntax.Const(ARGMAX_BLOCK), syntax.Cast(row.expr, I64)
    blocks = (*outer, Extent(strided(row.length, ARGMAX_BLOCK), row.positive))
    extreme = builder.allocated("_extreme", blocks, syntax.TypeOf(array.sample), None, loc)
    first = builder.allocated("_first", blocks, I64, None, loc)

    def of_block(point: Point) -> list[syntax.Stmt]:
        start = syntax.Binary("*", point[-1], size)
        count = syntax.Binary("min", size, syntax.Binary("-", row.expr, start))
        index = syntax.Name(builder.fresh("_j"))
        here = syntax.Binary("+", start, index)
        part, most, nearest = array.at((*point[:-1], here)), extreme.lvalue(point), first.lvalue(point)
        nans = syntax.Logical("and", (syntax.Compare("!=", part, part), syntax.Compare("!=", most, most)))
        found = syntax.IfExp(syntax.Logical("or", (syntax.Compare("==", part, most), nans)), syntax.Cast(here, I64), past)
        more = syntax.Assign(most, syntax.Call("maximum" if op == ">" else "minimum", (most, part)), loc=loc)
        update = syntax.Assign(nearest, syntax.Call("minimum", (nearest, found)), loc=loc)
        return [
            syntax.Assign(most, array.at((*point[:-1], start)), loc=loc),
            syntax.For(index.name, ZERO, count, 1, (more,), loc=loc),
            syntax.Assign(nearest, past, loc=loc),
            syntax.For(index.name, ZERO, count, 1, (update,), loc=loc),
        ]

    builder.loops(blocks, of_block, loc)
    origin = (ZERO,) * array.rank
    best = builder.memory(Elements((), lambda _: extreme.at(origin)), "_best", loc)
    indices = builder.memory(Elements(reduced_shape(array, axes, keep), lambda _: first.at(origin)), "_place", loc)

    def in_turn(point: Point) -> list[syntax.Stmt]:
        old, index = best.lvalue(()), indices.lvalue(reduced_point(point, axes, keep))
        better = _is_better(op, extreme.at(point), old)
        here: Expr = syntax.Cast(ZERO, I64)
        for position, extent in zip((*point[:-1], first.at(point)), array.shape):
            here = syntax.Binary("+", syntax.Binary("*", here, extent.expr), position)
        here = here if outer else first.at(point)
        return [
            syntax.Assign(index, syntax.IfExp(better, here, index), loc=loc),
            syntax.Assign(old, syntax.IfExp(better, extreme.at(point), old), loc=loc),
        ]

    builder.loops(blocks, in_turn, loc)
    return indices if indices.rank else indices.at(())


def _ptp(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    ends = [find(builder, args, options, loc) for find in (_max, _min)]
    return map_elements(builder, ends, lambda most, least: syntax.Binary("-", most, least, loc=loc), loc)


_max, _min = _extremum("maximum"), _extremum("minimum")

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "max": _max,
    "min": _min,
    "ptp": _ptp,
    "argmax": _arg_extremum(">"),
    "argmin": _arg_extremum("<"),
}
