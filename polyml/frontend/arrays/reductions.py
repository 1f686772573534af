"""What NumPy's functions of whole arrays mean: elements where they only rearrange, loops where they add up."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Union, overload

from polyml.dtypes import I64
from polyml.errors import LanguageError, NotAffineError, PolymlTypeError, PolymlValueError, SizesNeeded
from polyml.frontend import syntax
from polyml.frontend.arrays import creation, views
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import Extent, Linear, checked_axis, strided
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.syntax import Expr
from polyml.source import Loc

ZERO = syntax.Const(0)
PLACE_BLOCK = 1024  # elements that are in the nearest cache when they are read again
Label = Union[str, int]  # of a dimension in a contraction


def called(builder: LoopBuilder, call: syntax.Function) -> Value:
    """The value of the call; loops that it needs are added before the statement it stands in."""
    args = [builder.value(arg) for arg in call.args]
    return _FUNCTIONS[call.function](builder, args, dict(call.options), call.loc)


# Reductions


def _reduction(start: object, combine: Callable[[Expr, Expr], Expr], typed: str, wide: bool = False):
    """A function that combines all elements along some axes, from `start`. wide: of halves it stays float32."""

    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array, axes = _as_asked(args[0], options, loc), _axes(args[0], options, loc)
        halves = builder.halves and typed != "truth"
        kind = _element(array.sample, options, f"wide {typed}" if halves else typed, loc)
        keep = bool(options.get("keepdims"))
        total = builder.allocated("_total", _reduced_shape(array, axes, keep), kind, syntax.Const(start), loc)

        def body(point: Point) -> list[syntax.Stmt]:
            place = total.place(_reduced(point, axes, keep))
            return [syntax.Assign(place, combine(place, array.at(point)), loc=loc)]

        builder.loops(array.shape, body, loc)
        if halves and not wide:
            total = _rounded(builder, total, _element(array.sample, options, typed, loc), loc)
        return total if total.rank else total.at(())

    return reduce


def _rounded(builder: LoopBuilder, value: Value, kind: syntax.TypeOf, loc: Loc | None) -> Elements:
    """Sums of halves, which are taken in float32, in a type of their own."""
    shape = value.shape if isinstance(value, Elements) else ()
    result = builder.allocated("_rounded", shape, kind, None, loc)

    def body(point: Point) -> list[syntax.Stmt]:
        return [syntax.Assign(result.place(point), views.element(value, point), whole=True, loc=loc)]

    builder.loops(shape, body, loc)
    return result


def _extremum(function: str):
    """np.max and np.min, which start with the first elements; of halves they are found in float32."""

    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        given, axes = _array(args[0], loc), _axes(args[0], options, loc)
        keep = bool(options.get("keepdims"))
        array = _each(given, lambda part: syntax.Call("wide", (part,))) if builder.halves else given
        best = _first_elements(builder, array, axes, keep, f"the {function[:3]} of no elements", loc)

        def body(point: Point) -> list[syntax.Stmt]:
            place = best.place(_reduced(point, axes, keep))
            return [syntax.Assign(place, syntax.Call(function, (place, array.at(point))), loc=loc)]

        builder.loops(array.shape, body, loc)
        if builder.halves:
            best = _rounded(builder, best, syntax.TypeOf(given.sample), loc)
        return best if best.rank else best.at(())

    return reduce


def _first_elements(
    builder: LoopBuilder, array: Elements, axes: Sequence[int], keep: bool, otherwise: str, loc: Loc | None
) -> Elements:
    """The elements at index 0 of the axes, in memory; there must be some."""
    _need_some(builder, array, axes, otherwise, loc)

    def at(point: Point) -> Expr:
        return array.at(_reduced(point, axes, True) if keep else _with(point, axes, ZERO))

    return builder.memory(Elements(_reduced_shape(array, axes, keep), at), "_best", loc)


def _need_some(builder: LoopBuilder, array: Elements, axes: Sequence[int], otherwise: str, loc: Loc | None) -> None:
    for axis in axes:
        builder.need(syntax.Compare(">=", array.shape[axis].expr, syntax.Const(1)), otherwise, loc)


def _place_of(op: str):
    """np.argmax and np.argmin: the index of the first extremum; the first NaN is one."""

    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array, axes = _array(args[0], loc), _axes(args[0], options, loc)
        keep = bool(options.get("keepdims"))
        if array.rank and len(axes) == array.rank and not builder.halves:
            return _place_among_all(builder, array, op, keep, loc)
        best = _first_elements(builder, array, axes, keep, "the extremum of no elements", loc)
        place = builder.allocated("_place", best.shape, I64, ZERO, loc)

        def body(point: Point) -> list[syntax.Stmt]:
            target = _reduced(point, axes, keep)
            part, old, index = array.at(point), best.place(target), place.place(target)
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
        return place if place.rank else place.at(())

    return reduce


def _is_better(op: str, part: Expr, best: Expr) -> Expr:
    first_nan = syntax.Logical("and", (syntax.Compare("!=", part, part), syntax.Compare("==", best, best)))
    return syntax.Logical("or", (syntax.Compare(op, part, best), first_nan))


def _place_among_all(builder: LoopBuilder, array: Elements, op: str, keep: bool, loc: Loc | None) -> Value:
    """The flat index of the first extremum of all elements.

    Of each block of a row first the extremum, then its first place: two reductions that lanes and threads share, the second
    of what the first left in the cache. Then one block after the other.
    """
    axes = tuple(range(array.rank))
    _need_some(builder, array, axes, "the extremum of no elements", loc)
    array = builder.in_memory(array, loc)  # so that what is found is equal to what is looked for
    *outer, row = array.shape
    size, past = syntax.Const(PLACE_BLOCK), syntax.Cast(row.expr, I64)
    blocks = (*outer, Extent(strided(row.length, PLACE_BLOCK), row.positive))
    extreme = builder.allocated("_extreme", blocks, syntax.TypeOf(array.sample), None, loc)
    first = builder.allocated("_first", blocks, I64, None, loc)

    def of_block(point: Point) -> list[syntax.Stmt]:
        start = syntax.Binary("*", point[-1], size)
        count = syntax.Binary("min", size, syntax.Binary("-", row.expr, start))
        index = syntax.Name(builder.fresh("_j"))
        here = syntax.Binary("+", start, index)
        part, most, place = array.at((*point[:-1], here)), extreme.place(point), first.place(point)
        nans = syntax.Logical("and", (syntax.Compare("!=", part, part), syntax.Compare("!=", most, most)))
        found = syntax.IfExp(syntax.Logical("or", (syntax.Compare("==", part, most), nans)), syntax.Cast(here, I64), past)
        more = syntax.Assign(most, syntax.Call("maximum" if op == ">" else "minimum", (most, part)), loc=loc)
        nearer = syntax.Assign(place, syntax.Call("minimum", (place, found)), loc=loc)
        return [
            syntax.Assign(most, array.at((*point[:-1], start)), loc=loc),
            syntax.For(index.name, ZERO, count, 1, (more,), loc=loc),
            syntax.Assign(place, past, loc=loc),
            syntax.For(index.name, ZERO, count, 1, (nearer,), loc=loc),
        ]

    builder.loops(blocks, of_block, loc)
    origin = (ZERO,) * array.rank
    best = builder.memory(Elements((), lambda _: extreme.at(origin)), "_best", loc)
    place = builder.memory(Elements(_reduced_shape(array, axes, keep), lambda _: first.at(origin)), "_place", loc)

    def in_turn(point: Point) -> list[syntax.Stmt]:
        old, index = best.place(()), place.place(_reduced(point, axes, keep))
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
    return place if place.rank else place.at(())


def _mean(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, axes = _array(args[0], loc), _axes(args[0], options, loc)
    if options.get("dtype") is not None and options["dtype"].kind not in "cf":
        raise NotAffineError("np.mean in integers", loc=loc, notes=["polyml compiles: dtype= of floats"])
    total = _sum_as_mean(builder, args, options, loc)
    mean = _each(total, lambda part: syntax.Binary("/", part, _count(array, axes, 0), loc=loc))
    return _mean_of_halves(builder, mean, array, options, loc) if builder.halves else mean


def _mean_of_halves(builder: LoopBuilder, mean: Value, array: Elements, options: dict, loc: Loc | None) -> Value:
    result = _rounded(builder, mean, _element(array.sample, options, "mean", loc), loc)
    return result if result.rank else result.at(())


_sum_as_mean = _reduction(0, lambda total, part: syntax.Binary("+", total, part), "mean", wide=True)


def _variance(root: bool):
    def reduce(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array, axes = _as_asked(args[0], options, loc), _axes(args[0], options, loc)
        array = builder.in_memory(array, loc)
        mean = _mean(builder, [array], {"axis": options.get("axis"), "keepdims": True}, loc)
        mean = builder.memory(mean, "_mean", loc) if isinstance(mean, Elements) else mean
        distance = _array(_mapped(builder, [array, mean], lambda a, b: syntax.Binary("-", a, b), loc), loc)
        square = Elements(distance.shape, lambda point: syntax.Call("norm", (distance.at(point),)))
        kept = {"axis": options.get("axis"), "keepdims": options.get("keepdims")}
        total = _sum_as_mean(builder, [square], kept, loc)
        ddof = options.get("ddof", 0)

        def finished(part: Expr) -> Expr:
            value = syntax.Binary("/", part, _count(array, axes, ddof), loc=loc)
            return syntax.Call("sqrt", (value,)) if root else value

        result = _each(total, finished)
        return _mean_of_halves(builder, result, square, kept, loc) if builder.halves else result

    return reduce


def _running(combine: Callable[[Expr, Expr], Expr], typed: str, first_axis: bool = False):
    """np.cumsum, np.maximum.accumulate and their kin: each element joined to the result before it. first_axis: along that one
    where none is given.
    """

    def running(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array, axis = _as_asked(args[0], options, loc), options.get("axis", 0 if first_axis else None)
        if axis is None:
            if array.rank != 1:
                raise NotAffineError(
                    "np.cumsum or np.cumprod of a flattened array is not affine", loc=loc, notes=["polyml compiles: axis="]
                )
            axis = 0
        axis = checked_axis(axis, array.rank, loc)
        result = builder.allocated("_running", array.shape, _element(array.sample, options, typed, loc), None, loc)

        def body(point: Point) -> list[syntax.Stmt]:
            here, index = result.place(point), point[axis]
            before = result.at((*point[:axis], syntax.Binary("-", index, syntax.Const(1)), *point[axis + 1 :]))
            more = syntax.Assign(here, combine(before, array.at(point)), loc=loc)
            first = syntax.Assign(here, array.at(point), loc=loc)
            return [syntax.If(syntax.Compare(">", index, ZERO), (more,), (first,), loc=loc)]

        builder.loops(array.shape, body, loc)
        return result

    return running


def _as_asked(value: Value, options: dict, loc: Loc | None) -> Elements:
    """The elements in the type that dtype= asks for."""
    array, to = _array(value, loc), options.get("dtype")
    if to is None:
        return array
    return Elements(array.shape, lambda point: syntax.Cast(array.at(point), to, loc=loc))


def _diff(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _array(args[0], loc)
    if options.get("n", 1) != 1:
        raise NotAffineError("np.diff of higher order", loc=loc, notes=["polyml compiles: np.diff of np.diff"])
    axis = checked_axis(options.get("axis", -1), array.rank, loc)
    ends = []
    for part in (syntax.Slice(syntax.Const(1), None), syntax.Slice(None, syntax.Const(-1))):
        along = [part if dim == axis else syntax.Slice(None, None) for dim in range(array.rank)]
        ends.append(views.subscripted(array, along, builder.need, loc))
    if views.is_truth(array.sample, builder.truths):
        return _mapped(builder, ends, lambda after, before: syntax.Compare("!=", after, before, loc=loc), loc)
    return _mapped(builder, ends, lambda after, before: syntax.Binary("-", after, before, loc=loc), loc)


def _ptp(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    ends = [_FUNCTIONS[name](builder, args, options, loc) for name in ("max", "min")]
    return _mapped(builder, ends, lambda most, least: syntax.Binary("-", most, least, loc=loc), loc)


def _vector_norm(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """The root of the sum of squares; of a whole matrix Frobenius' norm."""
    axis = options.get("axis")
    if options.get("ord") is not None or isinstance(axis, tuple):
        raise NotAffineError("np.linalg.norm of another order", loc=loc, notes=["polyml compiles: np.linalg.norm(x, axis=)"])
    array = _array(args[0], loc)
    squares = Elements(array.shape, lambda point: syntax.Call("norm", (syntax.Call("inexact", (array.at(point),)),), loc=loc))
    kept = {name: options[name] for name in ("axis", "keepdims") if name in options}
    total = _FUNCTIONS["sum"](builder, [squares], kept, loc)
    return _mapped(builder, [total], lambda part: syntax.Call("sqrt", (part,), loc=loc), loc)


def _round(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    if options.get("decimals", 0) != 0:
        raise NotAffineError("np.round to decimals", loc=loc, notes=["polyml compiles: np.round to whole numbers"])
    return _mapped(builder, args, lambda part: syntax.Call("round", (part,), loc=loc), loc)


def _trace(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return _FUNCTIONS["sum"](builder, [_diagonal(builder, args, options, loc)], {}, loc)


def _diagonal(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    if options.get("offset", 0) != 0 or _array(args[0], loc).rank != 2:
        raise NotAffineError("a diagonal that is not the main one of a matrix", loc=loc, notes=["polyml compiles: np.diagonal(A)"])
    return creation.diag(builder, args, {}, loc)


# Products


def _matmul(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (_array(arg, loc) for arg in args)
    return _product_of_matrices(builder, a, b, syntax.Call("matmul", _samples(a, b), loc=loc), loc)


def _product_of_matrices(builder: LoopBuilder, a: Elements, b: Elements, kind: Expr, loc: Loc | None) -> Value:
    if not a.rank or not b.rank:
        raise PolymlTypeError("@ takes arrays, not numbers", loc=loc, notes=["accepted: *"])
    rows = "i" if a.rank > 1 else ""
    columns = "j" if b.rank > 1 else ""
    batch = max(a.rank, b.rank) - 2
    names = list(range(max(batch, 0)))
    left = (*(names[len(names) - (a.rank - 2) :] if a.rank > 2 else ()), *rows, "k")
    right = (*(names[len(names) - (b.rank - 2) :] if b.rank > 2 else ()), "k", *columns)
    return contraction(builder, [a, b], [left, right], (*names, *rows, *columns), kind, loc)


def _dot(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    ranks = [arg.rank if isinstance(arg, Elements) else 0 for arg in args]
    if 0 in ranks:
        return _product(builder, args, loc)
    if max(ranks) > 2:
        raise NotAffineError("np.dot of more than two dimensions", loc=loc, notes=["polyml compiles: @, np.einsum"])
    a, b = args
    return _product_of_matrices(builder, a, b, builder.together(_samples(a, b), loc), loc)


def _inner(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (_array(arg, loc) for arg in args)
    left, right = tuple(f"i{n}" for n in range(a.rank - 1)), tuple(f"j{n}" for n in range(b.rank - 1))
    kind = builder.together(_samples(a, b), loc)
    return contraction(builder, [a, b], [(*left, "k"), (*right, "k")], (*left, *right), kind, loc)


def _vdot(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (_array(arg, loc) for arg in args)
    if a.rank != b.rank:
        raise NotAffineError("np.vdot of different dimensions", loc=loc, notes=["polyml compiles: arrays of one shape"])
    a = _array(_conj(builder, [a], {}, loc), loc)
    along = tuple(range(a.rank))
    kind = builder.together(_samples(a, b), loc)
    return contraction(builder, [a, b], [[f"i{k}" for k in along]] * 2, (), kind, loc)


def _tensordot(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (_array(arg, loc) for arg in args)
    axes = options.get("axes", 2)
    if type(axes) is int:
        axes = (tuple(range(a.rank - axes, a.rank)), tuple(range(axes)))
    sides = [side if isinstance(side, tuple) else (side,) for side in axes]
    if len(sides) != 2 or len(sides[0]) != len(sides[1]):
        raise PolymlValueError("the axes of np.tensordot do not fit", loc=loc, notes=["accepted: 2, ((0, 1), (1, 0))"])
    left, right = ([f"{name}{dim}" for dim in range(array.rank)] for name, array in (("i", a), ("j", b)))
    if any(len({checked_axis(axis, array.rank, loc) for axis in side}) != len(side) for side, array in zip(sides, (a, b))):
        raise PolymlValueError("an axis of np.tensordot is given twice", loc=loc, notes=["accepted: each axis once"])
    for one, other in zip(*sides):
        right[checked_axis(other, b.rank, loc)] = left[checked_axis(one, a.rank, loc)]
    summed = set(left) & set(right)
    result = [label for label in (*left, *right) if label not in summed]
    kind = builder.together(_samples(a, b), loc)
    return _array(contraction(builder, [a, b], [left, right], result, kind, loc), loc)  # never a number


def _outer(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (_array(arg, loc) for arg in args)
    if (a.rank, b.rank) != (1, 1):
        raise NotAffineError("np.outer flattens its operands", loc=loc, notes=["polyml compiles: two vectors"])
    return Elements((*a.shape, *b.shape), lambda p: syntax.Binary("*", a.at(p[:1]), b.at(p[1:]), loc=loc))


def _product(builder: LoopBuilder, args: list, loc: Loc | None) -> Value:
    if not any(isinstance(arg, Elements) for arg in args):
        return syntax.Binary("*", *args, loc=loc)
    return views.elementwise(args, lambda a, b: syntax.Binary("*", a, b, loc=loc), builder.need, loc)


def contraction(
    builder: LoopBuilder,
    arrays: Sequence[Elements],
    labels: Sequence[Sequence[Label]],
    result: Sequence[Label],
    kind: Expr | None,
    loc: Loc | None,
) -> Value:
    """The sum over the labels that the result does not have of the product of the arrays' elements.

    Labels that are numbers are batch dimensions, which broadcast. kind: a number of the type to which products of halves,
    which are taken in float32, are rounded; None: they are not.
    """
    every = {label for own in labels for label in own}
    arrays = [a if set(own) == every else builder.in_memory(a, loc) for a, own in zip(arrays, labels)]
    sizes: dict[Label, Extent] = {}
    for array, own in zip(arrays, labels):
        for label, extent in zip(own, array.shape):
            known, broadcasts = sizes.get(label), isinstance(label, int)
            same = known is not None and known.length == extent.length
            if known is None or broadcasts and known.is_one or same and extent.parts:
                sizes[label] = extent
            elif not (broadcasts and extent.is_one):
                views.need_equal(known, extent, "a product of arrays whose sizes differ", builder.need, loc)
    order = (*result, *(label for label in sizes if label not in result))
    halves = builder.halves and (len(arrays) > 1 or len(order) > len(result))

    def part(array: Elements, own: Sequence[Label], index: dict[Label, Expr]) -> Expr:
        factor = array.at(views.projected(tuple(index[label] for label in own), array.shape))
        return syntax.Call("wide", (factor,), loc=loc) if halves else factor

    def product(index: dict[Label, Expr]) -> Expr:
        total, *rest = (part(array, own, index) for array, own in zip(arrays, labels))
        for other in rest:
            total = syntax.Binary("*", total, other, loc=loc)
        return total

    sample = product(dict.fromkeys(order, ZERO))
    shape = tuple(sizes[label] for label in result)
    if len(order) == len(result):
        made = Elements(shape, lambda point: product(dict(zip(result, point))))
        return _rounded(builder, made, syntax.TypeOf(kind, loc=loc), loc) if halves and kind else made
    total = builder.allocated("_product", shape, syntax.TypeOf(sample), ZERO, loc)  # of halves: float32

    def body(point: Point) -> list[syntax.Stmt]:
        place = total.place(point[: len(result)])
        return [syntax.Assign(place, syntax.Binary("+", place, product(dict(zip(order, point)))), loc=loc)]

    builder.loops(tuple(sizes[label] for label in order), body, loc)
    if halves and kind:
        total = _rounded(builder, total, syntax.TypeOf(kind, loc=loc), loc)
    return total if result else total.at(())


def _samples(*arrays: Elements) -> tuple[Expr, ...]:
    return tuple(array.at((ZERO,) * array.rank) for array in arrays)


def _einsum(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    arrays = [_array(arg, loc) for arg in args]
    labels, result = _einsum_labels(options["subscripts"], [array.rank for array in arrays], loc)
    if len(arrays) == 1 and sorted(map(str, labels[0])) == sorted(map(str, result)):
        return views.permuted(arrays[0], [labels[0].index(label) for label in result])
    kind = syntax.Call("einsum", _samples(*arrays), loc=loc)
    while len(arrays) > 2:  # two at a time: each label is summed as soon as nothing behind needs it
        needed = {label for own in (*labels[2:], result) for label in own}
        kept = [label for label in dict.fromkeys((*labels[0], *labels[1])) if label in needed]
        arrays[:2] = [_array(contraction(builder, arrays[:2], labels[:2], kept, None, loc), loc)]
        labels[:2] = [kept]
    return contraction(builder, arrays, labels, result, kind, loc)


def _einsum_labels(text: str, ranks: Sequence[int], loc: Loc | None) -> tuple[list[list[Label]], list[Label]]:
    """The labels of each operand and of the result; the dimensions of an ellipsis are numbered from the last one."""
    sides = text.replace(" ", "").split("->")
    operands = sides[0].split(",")
    letters = text.replace(" ", "").replace("->", "").replace(",", "").replace("...", "")
    if len(sides) > 2 or len(operands) != len(ranks) or letters and not letters.isalpha():
        raise _bad_subscripts(text, loc)
    labels = []
    for operand, rank in zip(operands, ranks):
        before, dots, after = operand.partition("...")
        missing = rank - len(before) - len(after)
        if missing < 0 or missing and not dots:
            raise _bad_subscripts(text, loc)
        labels.append([*before, *range(missing - 1, -1, -1), *after])
    batch = sorted({label for own in labels for label in own if isinstance(label, int)}, reverse=True)
    if len(sides) == 2:
        before, dots, after = sides[1].partition("...")
        result = [*before, *(batch if dots else ()), *after]
        if batch and not dots or len(set(result)) != len(result) or not set(before + after) <= set(sides[0]):
            raise _bad_subscripts(text, loc)
        return labels, result
    once = [letter for letter in sorted(set(letters)) if letters.count(letter) == 1]
    return labels, [*batch, *once]


def _bad_subscripts(text: str, loc: Loc | None) -> PolymlValueError:
    return PolymlValueError(
        f"the subscripts {text!r} do not fit the operands", loc=loc, notes=['accepted: "ij,jk->ik", "ii", "...i,i"']
    )


# Elementwise


def _where(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    made = _mapped(builder, args, lambda *parts: syntax.Call("where", parts, loc=loc), loc)
    return _array(made, loc)  # of numbers it is an array without dimensions


def _clip(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return _mapped(builder, args, lambda *parts: syntax.Call("clip", parts, loc=loc), loc)


def _mapped(builder: LoopBuilder, args: list, make: Callable[..., Expr], loc: Loc | None) -> Value:
    if not any(isinstance(arg, Elements) for arg in args):
        return make(*args)
    return views.elementwise(args, make, builder.need, loc)


def _astype(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, to = _array(args[0], loc), options.get("dtype")
    if to is None:
        raise LanguageError("astype needs a type", loc=loc, notes=["accepted: A.astype(np.float32)"])
    if isinstance(to, syntax.TypeOf):
        return _rounded(builder, array, _of_array(builder, to, loc), loc)
    cast = Elements(array.shape, lambda point: syntax.Cast(array.at(point), to, loc=loc))
    return builder.memory(cast, "_copy", loc)


def _copy(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return builder.memory(_array(args[0], loc), "_copy", loc)


def _flatten(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return builder.memory(_as_shape(builder, _array(args[0], loc), [syntax.Const(-1)], loc), "_copy", loc)


def _conj(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """A.conj(), which is A itself if that is real."""
    storage = args[0].storage if isinstance(args[0], Elements) else None
    is_complex = builder.complex.get(storage) if storage else None  # None: not known
    if is_complex is False:
        return args[0]
    if is_complex is None and isinstance(args[0], Elements) and not args[0].rank:
        known = "polyml compiles: np.conj, which makes a number of it"
        raise NotAffineError("conj of an array without dimensions, which is that array if it is real", loc=loc, notes=[known])
    made = _mapped(builder, args, lambda part: syntax.Call("conj", (part,), "method", loc=loc), loc)
    return dataclasses.replace(made, perhaps=None if is_complex else storage) if isinstance(made, Elements) else made


def _angle(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    if options.get("deg"):
        raise NotAffineError("np.angle in degrees", loc=loc, notes=["polyml compiles: np.angle(z) * 180 / np.pi"])
    return _mapped(builder, args, lambda part: syntax.Call("angle", (part,), loc=loc), loc)


# Views


def _part(name: str):
    """The real or the imaginary parts: of an array in memory they can be assigned."""

    def part(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        value = args[0]
        sample = value.sample if isinstance(value, Elements) and value.storage is not None else None
        if not isinstance(sample, syntax.Subscript) or sample.part:
            made = _mapped(builder, args, lambda number: syntax.Call(name, (number,), loc=loc), loc)
            return _array(made, loc) if isinstance(value, Elements) else made  # of an array it is one, without dimensions too
        return Elements(value.shape, lambda point: dataclasses.replace(value.place(point), part=name), value.storage)

    return part


def _reshape(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _array(args[0], loc)
    return builder.view_or_copy(array, _as_shape(builder, array, args[1:], loc))


def _ravel(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return _reshape(builder, [args[0], syntax.Const(-1)], options, loc)


def _as_shape(builder: LoopBuilder, array: Elements, sizes: Sequence[Expr], loc: Loc | None) -> Elements:
    """The elements in a shape that may have one -1 in it."""
    shape = [Extent(Linear.of(size), True) for size in sizes]
    open_at = [k for k, extent in enumerate(shape) if extent.known is not None and extent.known < 0]
    if len(open_at) > 1 or any(shape[k].known != -1 for k in open_at):
        raise PolymlValueError("a shape with negative sizes", loc=loc, notes=["accepted: one -1"])
    if open_at:
        rest, have = [e for k, e in enumerate(shape) if k not in open_at], list(array.shape)
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
    array = _array(args[0], loc)
    axes = options.get("axes")
    order = range(array.rank)[::-1] if axes is None else [checked_axis(axis, array.rank, loc) for axis in axes]
    if sorted(order) != list(range(array.rank)):
        raise PolymlTypeError("the axes of a transpose are not those of the array", loc=loc, notes=["accepted: each axis once"])
    return views.permuted(array, list(order))


def _swapaxes(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _array(args[0], loc)
    one, other = (checked_axis(options.get(name), array.rank, loc) for name in ("axis1", "axis2"))
    order = list(range(array.rank))
    order[one], order[other] = other, one
    return views.permuted(array, order)


def _flip(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array, axes = _array(args[0], loc), _axes(args[0], options, loc)
    if not array.rank and options.get("axis") is None:
        return array.at(())  # NumPy's m[()], a number
    if not array.rank:
        raise NotAffineError("an array without dimensions is flipped along one", loc=loc, notes=["polyml compiles: an axis it has"])
    back = [syntax.Slice(None, None, -1 if axis in axes else 1) for axis in range(array.rank)]
    return views.subscripted(array, back, builder.need, loc)


def _flipped(axis: int):
    def flip(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        return _flip(builder, args, {"axis": axis}, loc)

    return flip


def _moveaxis(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _array(args[0], loc)
    if any(type(options.get(name)) is not int for name in ("source", "destination")):
        raise NotAffineError("np.moveaxis of several axes", loc=loc, notes=["polyml compiles: np.moveaxis of one axis, transpose"])
    source, destination = (checked_axis(options.get(name), array.rank, loc) for name in ("source", "destination"))
    order = [axis for axis in range(array.rank) if axis != source]
    order.insert(destination, source)
    return views.permuted(array, order)


def _number(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """What must be one number, or an array without dimensions."""
    if isinstance(args[0], Elements) and args[0].rank:
        raise NotAffineError("an array stands where a number is needed", loc=loc, notes=["polyml compiles: a number"])
    return args[0].at(()) if isinstance(args[0], Elements) else args[0]


def _asarray(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return _array(args[0], loc)


def _ascontiguousarray(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """A view where the rows lie one after the other, else a copy."""
    array = _array(args[0], loc)
    if not array.rank:
        return views.with_axis(array, 0)  # NumPy's result has at least one dimension
    return builder.view_or_copy(array, Elements(array.shape, array.at))


def _expand_dims(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _array(args[0], loc)
    return views.with_axis(array, checked_axis(options.get("axis"), array.rank + 1, loc))


def _squeeze(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _array(args[0], loc)
    if options.get("axis") is None:
        axes = tuple(dim for dim, extent in enumerate(array.shape) if extent.is_one)
        if any(not extent.is_one and not extent.length.is_constant for extent in array.shape):
            raise NotAffineError("squeeze without axis= depends on the sizes", loc=loc, notes=["polyml compiles: axis="])
    else:
        axes = _axes(args[0], options, loc)
        for axis in axes:
            one = syntax.Compare("==", array.shape[axis].expr, syntax.Const(1))
            builder.need(one, "a dimension that is squeezed is not of size 1", loc)
    fixed = [ZERO if axis in axes else syntax.Slice(None, None) for axis in range(array.rank)]
    return views.subscripted(array, fixed, builder.need, loc)


def _size(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = _array(args[0], loc)
    return _count(array, tuple(range(array.rank)), 0)


def _ndim(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return syntax.Const(_array(args[0], loc).rank, loc=loc)


# Helpers


def _array(value: Value, loc: Loc | None) -> Elements:
    """A number is an array without dimensions."""
    return value if isinstance(value, Elements) else Elements((), lambda point: value)


def _axes(value: Value, options: dict, loc: Loc | None) -> tuple[int, ...]:
    """The axes that are reduced, in order."""
    rank, given = _array(value, loc).rank, options.get("axis")
    if given is None or rank == 0 and given in (0, -1):  # which NumPy takes for a number
        return tuple(range(rank))
    axes = [checked_axis(axis, rank, loc) for axis in (given if isinstance(given, tuple) else (given,))]
    if len(set(axes)) != len(axes):
        raise PolymlTypeError("an axis is given twice", loc=loc, notes=["accepted: each axis once"])
    return tuple(sorted(axes))


def _reduced_shape(array: Elements, axes: Sequence[int], keep: bool) -> tuple[Extent, ...]:
    """The shape of a reduction; keep: the axes stay, with size 1."""
    one = Extent.constant(1)
    return tuple(one if dim in axes else size for dim, size in enumerate(array.shape) if keep or dim not in axes)


def _reduced(point: Point, axes: Sequence[int], keep: bool) -> Point:
    return tuple(ZERO if dim in axes else index for dim, index in enumerate(point) if keep or dim not in axes)


def _with(point: Point, axes: Sequence[int], index: Expr) -> Point:
    result = list(point)
    for axis in axes:
        result.insert(axis, index)
    return tuple(result)


@overload
def _each(value: Elements, make: Callable[[Expr], Expr]) -> Elements: ...


@overload
def _each(value: Expr, make: Callable[[Expr], Expr]) -> Expr: ...


def _each(value: Value, make: Callable[[Expr], Expr]) -> Value:
    if not isinstance(value, Elements):
        return make(value)
    return Elements(value.shape, lambda point: make(value.at(point)))


def _count(array: Elements, axes: Sequence[int], less: int) -> Expr:
    """How many elements there are along the axes."""
    total: Expr | None = None
    for axis in axes:
        size = array.shape[axis].expr
        total = size if total is None else syntax.Binary("*", total, size)
    total = syntax.Const(1) if total is None else total
    return syntax.Binary("max", syntax.Binary("-", total, syntax.Const(less)), ZERO) if less else total


def _of_array(builder: LoopBuilder, wanted: syntax.TypeOf, loc: Loc | None) -> syntax.TypeOf:
    """The type of the elements of the array of which A.dtype was written."""
    return syntax.TypeOf(_array(builder.value(wanted.of), loc).sample, loc=loc)


def _element(sample: Expr, options: dict, typed: str, loc: Loc | None) -> syntax.TypeOf:
    to = options.get("dtype")
    return syntax.TypeOf(sample, typed, loc=loc) if to is None else syntax.TypeOf(syntax.Cast(sample, to), loc=loc)


def _truth(part: Expr) -> Expr:
    return syntax.Compare("!=", part, ZERO)


def _plus(total: Expr, part: Expr) -> Expr:
    return syntax.Binary("+", total, part)


def _times(total: Expr, part: Expr) -> Expr:
    return syntax.Binary("*", total, part)


def _call(function: str) -> Callable[[Expr, Expr], Expr]:
    return lambda left, right: syntax.Call(function, (left, right))


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "sum": _reduction(0, _plus, "sum"),
    "prod": _reduction(1, _times, "sum"),
    "any": _reduction(False, lambda total, part: syntax.Binary("|", total, _truth(part)), "truth"),
    "all": _reduction(True, lambda total, part: syntax.Binary("&", total, _truth(part)), "truth"),
    "max": _extremum("maximum"),
    "min": _extremum("minimum"),
    "argmax": _place_of(">"),
    "argmin": _place_of("<"),
    "mean": _mean,
    "var": _variance(False),
    "std": _variance(True),
    "cumsum": _running(_plus, "sum"),
    "cumprod": _running(_times, "sum"),
    "add_accumulate": _running(_plus, "sum", first_axis=True),
    "multiply_accumulate": _running(_times, "sum", first_axis=True),
    **{f"{name}_accumulate": _running(_call(name), "", first_axis=True) for name in ("maximum", "minimum", "fmax", "fmin")},
    "diff": _diff,
    "ptp": _ptp,
    "average": _mean,
    "vector_norm": _vector_norm,
    "round": _round,
    "trace": _trace,
    "diagonal": _diagonal,
    "tensordot": _tensordot,
    "number": _number,
    "asarray": _asarray,
    "ascontiguousarray": _ascontiguousarray,
    "fliplr": _flipped(1),
    "flipud": _flipped(0),
    "moveaxis": _moveaxis,
    "einsum": _einsum,
    "matmul": _matmul,
    "dot": _dot,
    "inner": _inner,
    "vdot": _vdot,
    "outer": _outer,
    "where": _where,
    "clip": _clip,
    "astype": _astype,
    "copy": _copy,
    "flatten": _flatten,
    "reshape": _reshape,
    "ravel": _ravel,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "flip": _flip,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "real": _part("real"),
    "imag": _part("imag"),
    "conj": _conj,
    "angle": _angle,
    "size": _size,
    "ndim": _ndim,
    **creation.FUNCTIONS,
}
