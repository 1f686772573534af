"""`np.array` and `np.asarray`: an array of elements or rows that are written out, a copy of an array, an array of one number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from polyml.dtypes import BOOL, F64, DType
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays.functions.array_operands import as_array
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import Extent
from polyml.frontend.arrays.views import Elements, Point, is_truth, require_equal
from polyml.frontend.syntax import Expr
from polyml.source import Loc


def array(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Elements:
    """Returns the new array of a call of np.array.

    args: the elements or rows that are written out, in order, or the one array or number that is copied; behind them the array whose
        type the elements get, where the option `like` is given
    options: `shape` of what is written out; `sizes`, whether the elements are the sizes of the array; `dtype`, the type of the elements,
        where it is given; `listed`, whether the one array holds the elements of a list, `grows`, whether that may be empty, `returned`,
        whether it is a result, which is one of float64 then
    """
    values, like = (args[:-1], args[-1]) if options.get("like") else (args, None)
    if options.get("sizes"):
        values = [extent.expr for extent in as_array(values[0], loc).shape]
    shape = (len(values),) if options.get("sizes") else options.get("shape", ())
    parts = [_part(value) for value in values]
    rank = parts[0].rank if parts else 0
    if any(part.rank != rank for part in parts):
        raise NotAffineError(
            "an array of numbers and rows, or of rows of different ranks", loc=loc, notes=["polyml compiles: rows of one rank"]
        )
    for part in parts[1:]:
        for one, other in zip(parts[0].shape, part.shape):
            require_equal(one, other, "an array of rows of different lengths", builder.require, loc)
    if options.get("listed"):
        kind: syntax.TypeOf | DType = syntax.TypeOf(parts[0].sample, "array", loc=loc)
        if like is None and options.get("dtype") is None or not options.get("grows"):
            _require_elements(builder, parts[0], options, loc)
    if not options.get("listed") or like is not None or options.get("dtype") is not None:
        kind = _element(builder, values, like, options.get("dtype"), loc)
    extents = (*map(Extent.constant, shape), *(parts[0].shape if parts else ()))
    result = builder.allocated("_array", extents, kind, None, loc)
    for place, part in zip(itertools.product(*map(range, shape)), parts):
        first = tuple(syntax.Const(index, loc=loc) for index in place)
        if part.rank:
            builder.loops(part.shape, _stores(result, first, part, "listed" not in options, loc), loc)
        else:
            builder.out.append(syntax.Assign(result.lvalue(first), part.at(()), loc=loc))
    if values and like is None and options.get("dtype") in (None, BOOL):
        if options.get("dtype") or all(_is_bool(builder, part.sample) for part in parts):
            builder.truths.add(result.memory)
    return result


def _require_elements(builder: LoopBuilder, part: Elements, options: dict, loc: Loc | None) -> None:
    """Adds the conditions under which an array of a list has elements of the types of the list's, as one of an empty list has not."""
    if options.get("returned"):
        return
    for extent in part.shape:
        some: Expr = syntax.Compare(">", extent.expr, syntax.Const(0))
        if options.get("grows"):
            some = syntax.Logical("or", (syntax.Call("gives_float64", (part.sample,)), some))
        builder.require(some, "an array of an empty list", loc)


def asarray(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the value of np.asarray of an array or a number. With a type it is the array itself or a copy, which decides whether its
    elements have that type.
    """
    if not isinstance(args[0], Elements):
        return array(builder, args, options, loc)
    to = options.get("dtype")
    if to is None:
        return args[0]
    given: Elements = args[0]
    return builder.view_or_copy(given, Elements(given.shape, lambda point: syntax.Cast(given.at(point), to, loc=loc)))


def _part(value: Value) -> Elements:
    return as_array(value, None)


def _stores(result: Elements, first: Point, part: Elements, whole: bool, loc: Loc | None) -> Callable[[Point], list[syntax.Stmt]]:
    """Returns the function that gives the statements for a point of a row.

    first: where the row stands in the result
    whole: whether its elements are converted as astype does, which those of lists are not
    """
    return lambda point: [syntax.Assign(result.lvalue((*first, *point)), part.at(point), whole=whole, loc=loc)]


def _element(
    builder: LoopBuilder, values: Sequence[Value], like: Value | None, dtype: DType | None, loc: Loc | None
) -> syntax.TypeOf | DType:
    """Returns the type of the elements: that which is asked for, or that to which NumPy promotes the types of all values, where
    Python's numbers count as int64, float64 and so on.
    """
    if like is not None:
        return syntax.TypeOf(as_array(like, loc).sample, loc=loc)
    if dtype is not None or not values:
        return dtype or F64
    samples = [value.sample if isinstance(value, Elements) else strong(builder, value, loc) for value in values]
    return syntax.TypeOf(builder.promoted(samples, loc) if len(values) > 1 else samples[0], loc=loc)


def strong(builder: LoopBuilder, number: Expr, loc: Loc | None) -> Expr:
    """Returns an expression of the type that a number has as an element of an array; its value has no meaning."""
    return builder.promoted([number, number], loc)


def _is_bool(builder: LoopBuilder, sample: Expr) -> bool:
    return isinstance(sample, syntax.Const) and isinstance(sample.value, bool) or is_truth(sample, builder.truths)


FUNCTIONS = {"array": array, "asarray": asarray}
