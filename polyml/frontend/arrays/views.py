"""Views: arrays as functions from a point to the element there, broadcasting, and what subscripts make of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from polyml.dtypes import BOOL
from polyml.errors import LanguageError, NotAffineError, PolymlTypeError, SizesNeeded
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.shapes import Extent, Linear, dimensions, divided, sliced
from polyml.frontend.arrays.tested_indices import Requirements, clipped, position
from polyml.frontend.elementwise_functions import COMPARISONS, TESTS
from polyml.frontend.syntax import Expr
from polyml.source import Loc

Point = tuple[Expr, ...]


@dataclass(frozen=True)
class Elements:
    """An Elements is an array that need not be in memory: a function from a point to the element there.

    shape: the extent of each dimension
    at: gives the element at a point; a Subscript where the array is in memory
    storage: the name of the array in memory that holds the elements, which may then be assigned; None if they are only computed
    whole: whether it is all of that array in memory, and no view of it such as `A[:]`
    may_be_view_of, rows_of: the name of an array in memory that NumPy may make this one a view of; that this one is a reshape of
    """

    shape: tuple[Extent, ...]
    at: Callable[[Point], Expr]
    storage: str | None = None
    whole: bool = False
    may_be_view_of: str | None = None
    rows_of: str | None = None

    @property
    def rank(self) -> int:
        """Returns the number of dimensions."""
        return len(self.shape)

    @property
    def memory(self) -> str:
        """Returns the name of the array in memory that holds the elements.

        Raises TypeError where they are only computed.
        """
        if self.storage is None:
            raise TypeError("an array that is only computed has no memory")
        return self.storage

    def seen(self, shape: tuple[Extent, ...], at: Callable[[Point], Expr]) -> Elements:
        """Returns a view of the array, in another shape and order."""
        return Elements(shape, at, self.storage, may_be_view_of=self.may_be_view_of)

    def lvalue(self, point: Point) -> syntax.Subscript:
        """Returns the element at a point as a Subscript, to be assigned. Raises TypeError where it is not in memory."""
        if self.storage is None and self.may_be_view_of:
            raise NotAffineError("a diagonal is assigned, which is read-only in NumPy", code="PML-F022")
        found = self.at(point)
        if not isinstance(found, syntax.Subscript):
            raise TypeError(f"an element that is only computed cannot be assigned: {found!r}")
        return found

    @property
    def sample(self) -> Expr:
        """Returns the element at index 0 of every dimension, from which the elements' type is inferred."""
        return self.at((syntax.Const(0),) * self.rank)


def any_point(rank: int) -> Point:
    """Returns a point whose indices are names, which stands for every element of an array."""
    return tuple(syntax.Name(f"_{dim}") for dim in range(rank))


def stored(name: str, shape: tuple[Extent, ...]) -> Elements:
    """Returns the Elements of a whole array in memory, by its name."""
    return Elements(shape, lambda point: syntax.Subscript(name, point, inside=True), name, True)


def broadcast_shape(shapes: Sequence[tuple[Extent, ...]], require: Requirements, loc: Loc | None) -> tuple[Extent, ...]:
    """Returns the shape of an elementwise operation on operands of these shapes.

    Sizes that are not the same expression are required to be equal: plain Python runs other calls, and broadcasts or raises.

    require: is called with the conditions
    """
    rank = max(map(len, shapes))
    result: list[Extent] = []
    for dim in range(rank):
        sizes = [s[dim - rank + len(s)] for s in shapes if dim - rank + len(s) >= 0]
        long = [size for size in sizes if not size.is_one]
        made = require.join(long, loc) if len({size.length for size in long}) > 1 else None
        if made is not None:
            result.append(made)
            continue
        chosen = min(long, key=lambda s: (not s.parts, not s.positive)) if long else sizes[0]
        for size in long:
            require_equal(size, chosen, "a broadcast of shapes that do not fit together", require, loc)
        result.append(chosen)
    return tuple(result)


def require_equal(one: Extent, other: Extent, otherwise: str, require: Requirements, loc: Loc | None) -> None:
    """Requires two dimensions to have the same size, where it is not known that they do.

    otherwise: a description of the calls in which they do not, for messages
    """
    if one.length != other.length:
        require(syntax.Compare("==", one.length.expr, other.length.expr), otherwise, loc)


def projected(point: Point, shape: tuple[Extent, ...]) -> Point:
    """Returns the point of an operand that is read at a point of the result, by the rules of broadcasting.

    shape: that of the operand
    """
    own = point[len(point) - len(shape) :]
    return tuple(syntax.Const(0) if extent.is_one else index for index, extent in zip(own, shape))


def stretched(operand: Elements, shape: tuple[Extent, ...]) -> Elements:
    """Returns an operand which has the one element that it has along dimensions of size 1 for all indices there, also where data decide
    that the size is 1.

    shape: that of the result, which may have more dimensions
    """
    pairs = enumerate(zip(operand.shape, shape[len(shape) - operand.rank :]))
    dims = {dim for dim, (own, whole) in pairs if whole.joins and own.length != whole.length and not own.is_one}
    if not dims:
        return operand

    def index(dim: int, given: Expr) -> Expr:
        is_one = syntax.Compare("==", operand.shape[dim].expr, syntax.Const(1))
        return syntax.Binary("*", given, syntax.IfExp(is_one, syntax.Const(0), syntax.Const(1))) if dim in dims else given

    return Elements(operand.shape, lambda point: operand.at(tuple(index(dim, given) for dim, given in enumerate(point))))


def element(value: Expr | Elements, point: Point) -> Expr:
    """Returns the element of an operand that is read at a point of the result; a number is its own element."""
    return value.at(projected(point, value.shape)) if isinstance(value, Elements) else value


def subscripted(base: Elements, indices: Sequence, require: Requirements, loc: Loc | None) -> Elements:
    """Returns base[indices] as an array.

    indices: numbers, slices, None, ... and arrays of integers; there may be fewer than dimensions
    require: is called with the conditions under which this is right
    """
    taken = _spread(base, indices, loc)
    if any(isinstance(index, Elements) for index in taken):
        return _gathered(base, taken, require, loc)
    shape: list[Extent] = []
    pick: list[Callable[[Point], Expr]] = []  # per dimension of base: its index at a point of the result
    dim = 0
    for index in taken:
        if isinstance(index, syntax.NewAxis):
            shape.append(Extent.constant(1))
            continue
        extent = base.shape[dim]
        dim += 1
        if isinstance(index, syntax.Slice):
            is_tested = require.tests(loc) or index.by is not None
            part = clipped(extent, index, require, loc) if is_tested else sliced(extent, index)
            for condition, what in part.conditions:
                require(condition, what, loc)
            pick.append(_along(len(shape), part.first, part.step))
            shape.append(part.extent)
            continue
        pick.append(_always(_fixed(index, extent, dim - 1, require, loc)))
    return base.seen(tuple(shape), lambda point: base.at(tuple(p(point) for p in pick)))


def _always(fixed: Expr) -> Callable[[Point], Expr]:
    return lambda point: fixed


def indexed_by_arrays(base: Elements, indices: Sequence, loc: Loc | None) -> list[int]:
    """Returns the dimensions of `base` whose subscript in base[indices] is an array."""
    given = [i for i in _spread(base, indices, loc) if not isinstance(i, syntax.NewAxis)]
    return [dim for dim, index in enumerate(given) if isinstance(index, Elements)]


def given_dimensions(base: Elements, indices: Sequence, loc: Loc | None) -> list[int | None]:
    """Returns for each of the indices of base[indices] the dimension that it is a subscript of; None for None and `...`."""
    taken = len(_spread(base, indices, loc)) - len([index for index in indices if isinstance(index, syntax.NewAxis)])
    missing = taken - len([index for index in indices if not isinstance(index, (syntax.NewAxis, syntax.Dots))])
    found: list[int | None] = []
    dim = 0
    for index in indices:
        is_subscript = not isinstance(index, (syntax.NewAxis, syntax.Dots))
        found.append(dim if is_subscript else None)
        dim += 1 if is_subscript else missing if isinstance(index, syntax.Dots) else 0
    return found


def _gathered(base: Elements, taken: Sequence, require: Requirements, loc: Loc | None) -> Elements:
    """Returns base[taken] with arrays among the indices, which broadcast together with the numbers among them.

    Where these arrays and numbers are next to each other, their broadcast dimensions stand in the result at their place; else
    first, as in NumPy.
    """
    chosen = [k for k, index in enumerate(taken) if not isinstance(index, (syntax.Slice, syntax.NewAxis))]
    gathered_shape = broadcast_shape([taken[k].shape for k in chosen if isinstance(taken[k], Elements)], require, loc)
    side_by_side = chosen[-1] - chosen[0] == len(chosen) - 1
    rest = [syntax.Slice(None, None) if k in chosen else index for k, index in enumerate(taken)]
    plain = subscripted(
        Elements(base.shape, lambda point: syntax.Subscript("", point)), rest, require, loc
    )  # the array subscripted by the other indices alone
    own = [
        len([i for i in taken[:k] if not isinstance(i, syntax.NewAxis)]) for k in chosen
    ]  # the dimensions of base that have these indices
    out = [k for k in range(len(taken)) if k not in chosen]  # the dimensions of plain that stay
    start = chosen[0] if side_by_side else 0
    shape = [plain.shape[k] for k in out]
    numbers = {
        dim: _fixed(taken[k], base.shape[dim], dim, require, loc)
        for k, dim in zip(chosen, own)
        if not isinstance(taken[k], Elements)
    }

    def at(point: Point) -> Expr:
        among, others = point[start : start + len(gathered_shape)], [*point[:start], *point[start + len(gathered_shape) :]]
        whole: list[Expr] = [syntax.Const(0)] * len(taken)
        for k, index in zip(out, others):
            whole[k] = index
        picked = list(plain.lvalue(tuple(whole)).indices)
        for k, dim in zip(chosen, own):
            picked[dim] = numbers[dim] if dim in numbers else element(taken[k], among)
        found = base.at(tuple(picked))  # what index arrays hold may be outside, or negative
        return dataclasses.replace(found, inside=False, loc=loc) if isinstance(found, syntax.Subscript) else found

    return Elements((*shape[:start], *gathered_shape, *shape[start:]), at)


def _spread(base: Elements, indices: Sequence, loc: Loc | None) -> list:
    """Returns the indices with slices in the place of `...`, and slices added for dimensions without an index.

    None, which adds a dimension of size 1, stays. Raises PolymlTypeError for too many subscripts, and LanguageError for a second `...`.
    """
    given = [i for i in indices if not isinstance(i, (syntax.NewAxis, syntax.Dots))]
    if len(given) > base.rank:
        raise PolymlTypeError(
            f"an array of {dimensions(base.rank)} has {len(given)} subscripts",
            loc=loc,
            notes=["accepted: at most one subscript per dimension"],
        )
    dots = [p for p, i in enumerate(indices) if isinstance(i, syntax.Dots)]
    if len(dots) > 1:
        raise LanguageError("more than one ... in a subscript", loc=loc, notes=["accepted: one"])
    missing = [syntax.Slice(None, None)] * (base.rank - len(given))
    if not dots:
        return [*indices, *missing]
    return [*indices[: dots[0]], *missing, *indices[dots[0] + 1 :]]


def _along(position: int, first: Linear, step: int | Expr) -> Callable[[Point], Expr]:
    def index(point: Point) -> Expr:
        if isinstance(step, int):
            return (Linear.of(point[position]) * step + first).expr
        return (Linear.of(syntax.Binary("*", point[position], step)) + first).expr

    return index


def _fixed(index: Expr, extent: Extent, dim: int, require: Requirements, loc: Loc | None) -> Expr:
    """Returns a subscript counted from the start of its dimension, where a negative constant counts from the end.

    extent: that of the dimension
    dim: its number
    require: is called with the condition that the subscript is inside; other calls run as plain Python, which raises
    """
    if require.tests(loc):
        return position(index, extent, dim, require, loc)
    value = Linear.of(index)
    outside = "a subscript outside its array"
    if value.is_constant and value.constant < 0:
        value = extent.length + value.constant
        require(syntax.Compare(">=", value.expr, syntax.Const(0)), outside, loc)
        return value.expr
    if not value.is_constant:
        require(syntax.Compare(">=", value.expr, syntax.Const(0)), "a subscript that is negative", loc)
    require(syntax.Compare("<", value.expr, extent.length.expr), outside, loc)
    return value.expr


def permuted(base: Elements, axes: Sequence[int]) -> Elements:
    """Returns the array transposed: dimension k of the result is dimension axes[k] of `base`."""
    positions = [axes.index(dim) for dim in range(base.rank)]
    shape = tuple(base.shape[axis] for axis in axes)
    return base.seen(shape, lambda point: base.at(tuple(point[position] for position in positions)))


def without_leading(array: Elements, count: int) -> Elements:
    """Returns the array without its first `count` dimensions, which have size 1."""
    zeros = (syntax.Const(0),) * count
    return Elements(array.shape[count:], lambda point: array.at((*zeros, *point)))


def with_axis(base: Elements, axis: int) -> Elements:
    """Returns the array with a dimension of size 1 added at `axis`."""
    shape = (*base.shape[:axis], Extent.constant(1), *base.shape[axis:])
    return base.seen(shape, lambda point: base.at((*point[:axis], *point[axis + 1 :])))


def reshaped(base: Elements, shape: Sequence[Extent], lengths: Mapping[Expr, int], loc: Loc | None) -> Elements:
    """Returns the same elements in another shape, in the order of rows.

    lengths: loop variable -> the number that it stays below
    Raises SizesNeeded where sizes that have to be divided are not known.
    """
    groups = list(_groups(base.shape, shape, loc))
    made: list[Extent] = []
    for old, new in groups:
        merged = [extent for extent in old if not extent.is_one]
        whole = len(new) == 1 and len(merged) > 1
        made += [Extent.constant(new[0].number, tuple(extent.number for extent in merged))] if whole else new

    def at(point: Point) -> Expr:
        picked: list[Expr] = []
        rest = list(point)
        for old, new in groups:
            own, rest = rest[: len(new)], rest[len(new) :]
            picked += _along_group(old, new, own, lengths)
        return base.at(tuple(picked))

    return Elements(tuple(made), at)


def _groups(old: Sequence[Extent], new: Sequence[Extent], loc: Loc | None) -> Iterator[tuple[list[Extent], list[Extent]]]:
    """Yields (some old dimensions, some new dimensions), neighbours whose sizes have the same product, until all are in a pair.

    Raises NotAffineError where the two shapes do not have equally many elements, and SizesNeeded where sizes are not known.
    """
    old, new = list(old), list(new)
    if all(any(extent.known == 0 for extent in each) for each in (old, new)):
        yield old, new  # neither has an element
        return
    while old or new:
        if old and new and old[0].length == new[0].length:
            yield [old.pop(0)], [new.pop(0)]
            continue
        mine: list[Extent] = []
        theirs: list[Extent] = []
        have = want = 1
        while have != want or not (mine or theirs):
            side = (mine, old) if (have <= want and old) or not new else (theirs, new)
            if not side[1]:
                raise NotAffineError("the sizes of a reshape do not match", loc=loc, notes=["polyml compiles: as many elements"])
            extent = side[1].pop(0)
            if extent.known is None:
                raise SizesNeeded("a reshape of unknown sizes", loc=loc, notes=["polyml compiles: a call, whose sizes are known"])
            side[0].append(extent)
            have, want = (have * extent.known, want) if side[0] is mine else (have, want * extent.known)
        yield mine, theirs


def _along_group(old: Sequence[Extent], new: Sequence[Extent], point: Sequence[Expr], lengths: Mapping[Expr, int]) -> list[Expr]:
    """Returns the indices along some old dimensions of a reshape, at a point of the new dimensions with the same elements.

    old, new: a group of dimensions, as `_groups` yields it
    lengths: loop variable -> the number that it stays below
    """
    if len(old) == 1 and len(new) == 1:
        return list(point)
    flat = Linear((), 0)
    for index, extent in zip(point, new):
        flat = flat * extent.number + Linear.of(index)
    picked: list[Expr] = []
    for extent in reversed(old[1:]):
        flat, rest = divided(flat, max(extent.number, 1), lengths)  # without elements there is no index
        picked.append(rest.expr)
    return [flat.expr, *reversed(picked)] if old else []


def elementwise(
    operands: Sequence[Expr | Elements], make: Callable[..., Expr], require: Requirements, loc: Loc | None
) -> Expr | Elements:
    """Returns the array of make(*elements) at every point of the broadcast shape; a number where no operand has dimensions.

    Elements of arrays among the operands are required to be inside their arrays, also where the shape is empty: Python raises then.
    """
    operands = [o if isinstance(o, Elements) else inside(o, require) for o in operands]
    shape = broadcast_shape([o.shape for o in operands if isinstance(o, Elements)], require, loc)
    if not shape:
        return make(*(element(operand, ()) for operand in operands))
    fitting = [stretched(o, shape) if isinstance(o, Elements) else o for o in operands]
    return Elements(shape, lambda point: make(*(element(operand, point) for operand in fitting)))


def inside(number: Expr, require: Requirements) -> Expr:
    """Returns a number, and requires the subscripts of every array element that it reads to be inside that array.

    Where data decide them, the number is computed at once, which tests them.
    """
    outside = "a subscript outside its array"
    if any(isinstance(n, syntax.Subscript) and not n.inside and require.tests(n.loc) for n in traversal.nodes(number)):
        return require.held(number, number.loc)
    for read in traversal.nodes(number):
        if not isinstance(read, syntax.Subscript) or read.inside:
            continue
        for dim, index in enumerate(read.indices):
            size = syntax.Shape(read.array, dim)
            require(syntax.Compare("<", index, size), outside, read.loc)
            if not (isinstance(index, syntax.Const) and index.value >= 0):
                require(syntax.Compare(">=", index, syntax.Unary("-", size)), outside, read.loc)
    return number


def is_truth(expr: Expr, truths: Set[str]) -> bool:
    """Returns whether an expression is certainly a truth value of NumPy, a bool_.

    truths: the names of the arrays of bool
    """
    match expr:
        case syntax.Compare():
            return True
        case syntax.Unary(op="~", operand=operand):
            return is_truth(operand, truths)
        case syntax.Binary(op="&" | "|" | "^", left=left, right=right):
            return is_truth(left, truths) and is_truth(right, truths)
        case syntax.Call(function=function):
            return function in (*TESTS, *COMPARISONS) or function.startswith("logical_")
    return isinstance(expr, syntax.Subscript) and expr.array in truths or isinstance(expr, syntax.Cast) and expr.to == BOOL
