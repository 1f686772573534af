"""NumPy's sums, products, differences and averages as loops over elements, and running results along an axis."""

from __future__ import annotations

from collections.abc import Callable

from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays import views
from polyml.frontend.arrays.functions.array_operands import (
    ZERO,
    as_array,
    count,
    each_element,
    element_type,
    map_elements,
    reduced_axes,
    reduced_point,
    reduced_shape,
    rounded,
)
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import checked_axis
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.syntax import Expr
from polyml.source import Loc


def _reduction(start: object, combine: Callable[[Expr, Expr], Expr], typed: str, wide: bool = False):
    """Returns the function that lowers calls which combine all elements along some axes, such as np.sum.

    start: the result for no elements
    combine: gives the next result from the result so far and an element
    typed: the rule by which NumPy derives the result's type, such as "sum"; `TypeOf.function` lists them
    wide: whether the result for float16 and bfloat16 stays float32; if not, it is rounded to their type
    """

    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array, axes = _with_dtype(args[0], options, loc), reduced_axes(args[0], options, loc)
        halves = builder.halves and typed != "truth"
        kind = element_type(array.sample, options, f"wide {typed}" if halves else typed, loc)
        keep = bool(options.get("keepdims"))
        total = builder.allocated("_total", reduced_shape(array, axes, keep), kind, syntax.Const(start), loc)

        def body(point: Point) -> list[syntax.Stmt]:
            lvalue = total.lvalue(reduced_point(point, axes, keep))
            return [syntax.Assign(lvalue, combine(lvalue, array.at(point)), loc=loc)]

        builder.loops(array.shape, body, loc)
        if halves and not wide:
            total = rounded(builder, total, element_type(array.sample, options, typed, loc), loc)
        return total if total.rank else total.at(())

    return reduce


def _mean(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, axes = as_array(args[0], loc), reduced_axes(args[0], options, loc)
    if options.get("dtype") is not None and options["dtype"].kind not in "cf":
        raise NotAffineError("np.mean in integers", loc=loc, notes=["polyml compiles: dtype= of floats"])
    total = sum_as_mean(builder, args, options, loc)
    mean = each_element(total, lambda part: syntax.Binary("/", part, count(array, axes, 0), loc=loc))
    return _mean_of_halves(builder, mean, array, options, loc) if builder.halves else mean


def _mean_of_halves(builder: LoopBuilder, mean: Value, array: Elements, options: dict, loc: Loc | None) -> Value:
    result = rounded(builder, mean, element_type(array.sample, options, "mean", loc), loc)
    return result if result.rank else result.at(())


def _variance(root: bool):
    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array, axes = _with_dtype(args[0], options, loc), reduced_axes(args[0], options, loc)
        array = builder.in_memory(array, loc)
        mean = _mean(builder, [array], {"axis": options.get("axis"), "keepdims": True}, loc)
        mean = builder.memory(mean, "_mean", loc) if isinstance(mean, Elements) else mean
        distance = as_array(map_elements(builder, [array, mean], lambda a, b: syntax.Binary("-", a, b), loc), loc)
        square = Elements(distance.shape, lambda point: syntax.Call("norm", (distance.at(point),)))
        kept = {"axis": options.get("axis"), "keepdims": options.get("keepdims")}
        total = sum_as_mean(builder, [square], kept, loc)
        ddof = options.get("ddof", 0)

        def finished(part: Expr) -> Expr:
            value = syntax.Binary("/", part, count(array, axes, ddof), loc=loc)
            return syntax.Call("sqrt", (value,)) if root else value

        result = each_element(total, finished)
        return _mean_of_halves(builder, result, square, kept, loc) if builder.halves else result

    return reduce


def _running(combine: Callable[[Expr, Expr], Expr], typed: str, first_axis: bool = False):
    """Returns the function that lowers calls which join each element to the result before it, such as np.cumsum.

    combine: gives the next result from the result so far and an element
    typed: the rule for the type of the result, one of TypeOf.function
    first_axis: whether the first axis is taken where no axis is given
    """

    def running(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array, axis = _with_dtype(args[0], options, loc), options.get("axis", 0 if first_axis else None)
        if axis is None:
            if array.rank != 1:
                raise NotAffineError(
                    "np.cumsum or np.cumprod of a flattened array is not affine", loc=loc, notes=["polyml compiles: axis="]
                )
            axis = 0
        axis = checked_axis(axis, array.rank, loc)
        result = builder.allocated("_running", array.shape, element_type(array.sample, options, typed, loc), None, loc)

        def body(point: Point) -> list[syntax.Stmt]:
            here, index = result.lvalue(point), point[axis]
            before = result.at((*point[:axis], syntax.Binary("-", index, syntax.Const(1)), *point[axis + 1 :]))
            more = syntax.Assign(here, combine(before, array.at(point)), loc=loc)
            first = syntax.Assign(here, array.at(point), loc=loc)
            return [syntax.If(syntax.Compare(">", index, ZERO), (more,), (first,), loc=loc)]

        builder.loops(array.shape, body, loc)
        return result

    return running


def _with_dtype(value: Value, options: dict, loc: Loc | None) -> Elements:
    """Returns a value as an array, its elements converted to the type of dtype= where the call's options have it."""
    array, to = as_array(value, loc), options.get("dtype")
    if to is None:
        return array
    return Elements(array.shape, lambda point: syntax.Cast(array.at(point), to, loc=loc))


def _diff(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    if options.get("n", 1) != 1:
        raise NotAffineError("np.diff of higher order", loc=loc, notes=["polyml compiles: np.diff of np.diff"])
    axis = checked_axis(options.get("axis", -1), array.rank, loc)
    ends = []
    for part in (syntax.Slice(syntax.Const(1), None), syntax.Slice(None, syntax.Const(-1))):
        along = [part if dim == axis else syntax.Slice(None, None) for dim in range(array.rank)]
        ends.append(views.subscripted(array, along, builder.require, loc))
    if views.is_truth(array.sample, builder.truths):
        return map_elements(builder, ends, lambda after, before: syntax.Compare("!=", after, before, loc=loc), loc)
    return map_elements(builder, ends, lambda after, before: syntax.Binary("-", after, before, loc=loc), loc)


def _truth(part: Expr) -> Expr:
    return syntax.Compare("!=", part, ZERO)


def _plus(total: Expr, part: Expr) -> Expr:
    return syntax.Binary("+", total, part)


def _times(total: Expr, part: Expr) -> Expr:
    return syntax.Binary("*", total, part)


def _call(function: str) -> Callable[[Expr, Expr], Expr]:
    return lambda left, right: syntax.Call(function, (left, right))


sum_elements = _reduction(0, _plus, "sum")
sum_as_mean = _reduction(0, _plus, "mean", wide=True)

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "sum": sum_elements,
    "prod": _reduction(1, _times, "sum"),
    "any": _reduction(False, lambda total, part: syntax.Binary("|", total, _truth(part)), "truth"),
    "all": _reduction(True, lambda total, part: syntax.Binary("&", total, _truth(part)), "truth"),
    "mean": _mean,
    "var": _variance(False),
    "std": _variance(True),
    "cumsum": _running(_plus, "sum"),
    "cumprod": _running(_times, "sum"),
    "add_accumulate": _running(_plus, "sum", first_axis=True),
    "multiply_accumulate": _running(_times, "sum", first_axis=True),
    **{f"{name}_accumulate": _running(_call(name), "", first_axis=True) for name in ("maximum", "minimum", "fmax", "fmin")},
    "diff": _diff,
}
