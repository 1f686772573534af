"""NumPy's products of vectors and matrices as contractions: loops over the labels of their dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Union

from polyml.errors import NotAffineError, PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.arrays import views
from polyml.frontend.arrays.functions import array_reductions, creation, elementwise
from polyml.frontend.arrays.functions.array_operands import ZERO, as_array, map_elements, rounded, samples
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import Extent, checked_axis
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.syntax import Expr
from polyml.source import Loc

Label = Union[str, int]  # names a dimension in a contraction


def _matmul(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (as_array(arg, loc) for arg in args)
    return _product_of_matrices(builder, a, b, syntax.Call("matmul", samples(a, b), loc=loc), loc)


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
    return _product_of_matrices(builder, a, b, builder.promoted(samples(a, b), loc), loc)


def _inner(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (as_array(arg, loc) for arg in args)
    left, right = tuple(f"i{n}" for n in range(a.rank - 1)), tuple(f"j{n}" for n in range(b.rank - 1))
    kind = builder.promoted(samples(a, b), loc)
    return contraction(builder, [a, b], [(*left, "k"), (*right, "k")], (*left, *right), kind, loc)


def _vdot(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (as_array(arg, loc) for arg in args)
    if a.rank != b.rank:
        raise NotAffineError("np.vdot of different dimensions", loc=loc, notes=["polyml compiles: arrays of one shape"])
    a = as_array(elementwise.conj(builder, [a], {}, loc), loc)
    along = tuple(range(a.rank))
    kind = builder.promoted(samples(a, b), loc)
    return contraction(builder, [a, b], [[f"i{k}" for k in along]] * 2, (), kind, loc)


def _tensordot(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (as_array(arg, loc) for arg in args)
    axes = options.get("axes", 2)
    if type(axes) is int:
        axes = (tuple(range(a.rank - axes, a.rank)), tuple(range(axes)))
    sides = [side if isinstance(side, tuple) else (side,) for side in axes]
    if len(sides) != 2 or len(sides[0]) != len(sides[1]):
        raise PolymlTypeError("the axes of np.tensordot do not fit", loc=loc, notes=["accepted: 2, ((0, 1), (1, 0))"])
    left, right = ([f"{name}{dim}" for dim in range(array.rank)] for name, array in (("i", a), ("j", b)))
    if any(len({checked_axis(axis, array.rank, loc) for axis in side}) != len(side) for side, array in zip(sides, (a, b))):
        raise PolymlTypeError("an axis of np.tensordot is given twice", loc=loc, notes=["accepted: each axis once"])
    for one, other in zip(*sides):
        right[checked_axis(other, b.rank, loc)] = left[checked_axis(one, a.rank, loc)]
    summed = set(left) & set(right)
    result = [label for label in (*left, *right) if label not in summed]
    kind = builder.promoted(samples(a, b), loc)
    return as_array(
        contraction(builder, [a, b], [left, right], result, kind, loc), loc
    )  # NumPy's result is an array also without dimensions


def _outer(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    a, b = (as_array(arg, loc) for arg in args)
    if (a.rank, b.rank) != (1, 1):
        raise NotAffineError("np.outer flattens its operands", loc=loc, notes=["polyml compiles: two vectors"])
    return Elements((*a.shape, *b.shape), lambda p: syntax.Binary("*", a.at(p[:1]), b.at(p[1:]), loc=loc))


def _product(builder: LoopBuilder, args: list, loc: Loc | None) -> Value:
    if not any(isinstance(arg, Elements) for arg in args):
        return syntax.Binary("*", *args, loc=loc)
    return views.elementwise(args, lambda a, b: syntax.Binary("*", a, b, loc=loc), builder.require, loc)


def contraction(
    builder: LoopBuilder,
    arrays: Sequence[Elements],
    labels: Sequence[Sequence[Label]],
    result: Sequence[Label],
    kind: Expr | None,
    loc: Loc | None,
) -> Value:
    """Returns the contraction of arrays: the sum, over the labels that `result` does not have, of the product of their elements.

    labels: one label per dimension of each array; those that are numbers are batch dimensions, which broadcast
    result: the labels of the result's dimensions
    kind: a number of the type to which the result is rounded where operands are float16 or bfloat16, whose products are added up in
        float32; with None the result stays float32
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
                views.require_equal(known, extent, "a product of arrays whose sizes differ", builder.require, loc)
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
        return rounded(builder, made, syntax.TypeOf(kind, loc=loc), loc) if halves and kind else made
    total = builder.allocated("_product", shape, syntax.TypeOf(sample), ZERO, loc)  # sums of halves are float32

    def body(point: Point) -> list[syntax.Stmt]:
        lvalue = total.lvalue(point[: len(result)])
        return [syntax.Assign(lvalue, syntax.Binary("+", lvalue, product(dict(zip(order, point)))), loc=loc)]

    builder.loops(tuple(sizes[label] for label in order), body, loc)
    if halves and kind:
        total = rounded(builder, total, syntax.TypeOf(kind, loc=loc), loc)
    return total if result else total.at(())


def _einsum(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    arrays = [as_array(arg, loc) for arg in args]
    labels, result = _einsum_labels(options["subscripts"], [array.rank for array in arrays], loc)
    if len(arrays) == 1 and sorted(map(str, labels[0])) == sorted(map(str, result)):
        return views.permuted(arrays[0], [labels[0].index(label) for label in result])
    kind = syntax.Call("einsum", samples(*arrays), loc=loc)
    while len(arrays) > 2:  # two at a time: each label is summed as soon as nothing behind needs it
        needed = {label for own in (*labels[2:], result) for label in own}
        kept = [label for label in dict.fromkeys((*labels[0], *labels[1])) if label in needed]
        arrays[:2] = [as_array(contraction(builder, arrays[:2], labels[:2], kept, None, loc), loc)]
        labels[:2] = [kept]
    return contraction(builder, arrays, labels, result, kind, loc)


def _einsum_labels(text: str, ranks: Sequence[int], loc: Loc | None) -> tuple[list[list[Label]], list[Label]]:
    """Returns the labels of each operand's dimensions, and those of the result, for the subscripts of np.einsum.

    Labels are letters; the dimensions of an ellipsis have numbers as labels, 0 for the last of them, 1 for the one before it, and
    so on.

    ranks: the number of dimensions of each operand
    Raises PolymlTypeError where the subscripts do not fit the operands.
    """
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


def _bad_subscripts(text: str, loc: Loc | None) -> PolymlTypeError:
    return PolymlTypeError(
        f"the subscripts {text!r} do not fit the operands", loc=loc, notes=['accepted: "ij,jk->ik", "ii", "...i,i"']
    )


def _vector_norm(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the value of np.linalg.norm: the root of the sum of squares, which for a whole matrix is Frobenius' norm."""
    axis = options.get("axis")
    if options.get("ord") is not None or isinstance(axis, tuple):
        raise NotAffineError("np.linalg.norm of another order", loc=loc, notes=["polyml compiles: np.linalg.norm(x, axis=)"])
    array = as_array(args[0], loc)
    squares = Elements(array.shape, lambda point: syntax.Call("norm", (syntax.Call("inexact", (array.at(point),)),), loc=loc))
    kept = {name: options[name] for name in ("axis", "keepdims") if name in options}
    total = array_reductions.sum_elements(builder, [squares], kept, loc)
    return map_elements(builder, [total], lambda part: syntax.Call("sqrt", (part,), loc=loc), loc)


def _trace(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return array_reductions.sum_elements(builder, [_diagonal(builder, args, options, loc)], {}, loc)


def _diagonal(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    if options.get("offset", 0) != 0 or as_array(args[0], loc).rank != 2:
        raise NotAffineError("a diagonal that is not the main one of a matrix", loc=loc, notes=["polyml compiles: np.diagonal(A)"])
    return creation.diag(builder, args, {}, loc)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "matmul": _matmul,
    "dot": _dot,
    "inner": _inner,
    "vdot": _vdot,
    "outer": _outer,
    "tensordot": _tensordot,
    "einsum": _einsum,
    "vector_norm": _vector_norm,
    "trace": _trace,
    "diagonal": _diagonal,
}
