"""Shapes: sizes of arrays as linear expressions, so that equal ones are seen to be equal, and what a slice makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polyml.errors import PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.syntax import Expr
from polyml.source import Loc


def dimensions(rank: int) -> str:
    """Returns the number of dimensions as a message says it: "1 dimension", "2 dimensions"."""
    return f"{rank} dimension{'' if rank == 1 else 's'}"


def checked_dim(expr: syntax.Shape, rank: int, name: str) -> int:
    """Returns the dimension, counted from 0, that a shape's subscript means.

    Raises PolymlTypeError where an array of that rank does not have it, or where the shape is unpacked into another number of
    names.
    """
    if expr.ndim is not None and expr.ndim != rank:
        raise PolymlTypeError(
            f"`{name}` has {dimensions(rank)}, and its shape is unpacked into {expr.ndim}",
            loc=expr.loc,
            notes=[f"accepted: {rank} targets"],
        )
    if not -rank <= expr.dim < rank:
        accepted = f"{-rank} to {rank - 1}" if rank else "an array with dimensions"
        raise PolymlTypeError(
            f"`{name}` has {dimensions(rank)}, so no dimension {expr.dim}",
            loc=expr.loc,
            notes=[f"accepted: {accepted}"],
        )
    return expr.dim % rank


def checked_axis(axis: object, rank: int, loc: Loc | None) -> int:
    """Returns an axis, which may be negative, counted from 0.

    Raises PolymlTypeError where it is not an int or an array of that rank does not have it.
    """
    if type(axis) is not int or not -rank <= axis < rank:
        raise PolymlTypeError(
            f"axis {axis} of an array of {dimensions(rank)}",
            loc=loc,
            notes=[f"accepted: {-rank} to {rank - 1}" if rank else "accepted: no axis"],
        )
    return axis % rank


@dataclass(frozen=True)
class Linear:
    """A Linear is an integer in the form constant + sum of coefficient * atom.

    terms: (atom, coefficient); atoms are sizes, names, and subexpressions that are not linear
    """

    terms: tuple[tuple[Expr, int], ...]
    constant: int = 0

    @staticmethod
    def of(expr: Expr) -> Linear:
        """Returns an integer expression as a Linear."""
        match expr:
            case syntax.Const(value=value) if type(value) is int:
                return Linear((), value)
            case syntax.Unary(op="-", operand=operand):
                return Linear.of(operand) * -1
            case syntax.Binary(op="+", left=left, right=right):
                return Linear.of(left) + Linear.of(right)
            case syntax.Binary(op="-", left=left, right=right):
                return Linear.of(left) - Linear.of(right)
            case syntax.Binary(op="*", left=left, right=right):
                a, b = Linear.of(left), Linear.of(right)
                if not a.terms or not b.terms:
                    return b * a.constant if not a.terms else a * b.constant
        return Linear(((expr, 1),))

    @property
    def is_constant(self) -> bool:
        """Returns whether the integer is a known number, without terms."""
        return not self.terms

    def __add__(self, other: Linear | int) -> Linear:
        other = other if isinstance(other, Linear) else Linear((), other)
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = total.get(atom, 0) + coefficient
        return _linear(total, self.constant + other.constant)

    def __sub__(self, other: Linear | int) -> Linear:
        return self + other * -1

    def __mul__(self, factor: int) -> Linear:
        return _linear({atom: c * factor for atom, c in self.terms}, self.constant * factor)

    @property
    def expr(self) -> Expr:
        """Returns the integer as an expression of the grammar."""
        total: Expr | None = None
        for atom, coefficient in self.terms:
            part = atom if abs(coefficient) == 1 else syntax.Binary("*", syntax.Const(abs(coefficient)), atom)
            if total is None:
                total = part if coefficient > 0 else syntax.Unary("-", part)
            else:
                total = syntax.Binary("+" if coefficient > 0 else "-", total, part)
        if total is None:
            return syntax.Const(self.constant)
        if self.constant:
            total = syntax.Binary("+" if self.constant > 0 else "-", total, syntax.Const(abs(self.constant)))
        return total


def divided(value: Linear, divisor: int, lengths: Mapping[Expr, int]) -> tuple[Linear, Linear]:
    """Returns (value // divisor, value % divisor), simplified: 8 * i + j divided by 8 is (i, j) where j stays below 8.

    value: is not negative
    lengths: loop variable -> the number that it stays below
    """
    if divisor == 1:
        return value, Linear((), 0)
    whole = tuple((atom, c // divisor) for atom, c in value.terms if c % divisor == 0)
    rest = tuple((atom, c) for atom, c in value.terms if c % divisor)
    low = value.constant % divisor
    if all(c > 0 and atom in lengths for atom, c in rest):
        most = low + sum(c * (lengths[atom] - 1) for atom, c in rest)
        if most < divisor:
            return Linear(whole, value.constant // divisor), Linear(rest, low)
    number = syntax.Const(divisor)
    return Linear.of(syntax.Binary("//", value.expr, number)), Linear.of(syntax.Binary("%", value.expr, number))


def _linear(terms: Mapping[Expr, int], constant: int) -> Linear:
    kept = sorted(((a, c) for a, c in terms.items() if c), key=lambda term: (-term[1], str(term[0])))
    return Linear(tuple(kept), constant)


@dataclass(frozen=True)
class Extent:
    """An Extent is the size of a dimension, max(0, length).

    positive: whether `length` is known not to be negative
    parts: where reshape made one dimension of several, the sizes of these; a loop along it becomes one loop for each of them
    sliced_from: where the dimension is a slice of another one, the extent of that other one, which is at least as large
    joins: whether operands with other sizes in this dimension have this one or 1, which was tested as the program runs
    """

    length: Linear
    positive: bool = False
    parts: tuple[int, ...] = ()
    sliced_from: Extent | None = field(default=None, compare=False)
    joins: bool = field(default=False, compare=False)

    @staticmethod
    def constant(length: int, parts: tuple[int, ...] = ()) -> Extent:
        """Returns the extent of a dimension whose size is a known number."""
        return Extent(Linear((), length), True, parts)

    @property
    def known(self) -> int | None:
        """Returns the size as an int, or None where it is not a known number."""
        return self.length.constant if self.length.is_constant else None

    @property
    def number(self) -> int:
        """Returns the size as an int.

        Raises TypeError where it is not a known number.
        """
        if not self.length.is_constant:
            raise TypeError(f"the size is not known: {self.length.expr}")
        return self.length.constant

    @property
    def is_one(self) -> bool:
        """Returns whether the size is known to be 1."""
        return self.length == Linear((), 1)

    @property
    def expr(self) -> Expr:
        """Returns the size as an expression that is never negative."""
        if self.positive or self.length.is_constant and self.length.constant >= 0:
            return self.length.expr
        return syntax.Binary("max", self.length.expr, syntax.Const(0))


def strided(length: Linear, distance: int) -> Linear:
    """Returns how many of `length` indices a slice with step `distance` takes: the first one, and each that is `distance`
    further.
    """
    if distance == 1:
        return length
    if length.is_constant:
        return Linear((), (length.constant + distance - 1) // distance)
    return Linear.of(syntax.Binary("//", (length + (distance - 1)).expr, syntax.Const(distance)))


@dataclass(frozen=True)
class SlicedExtent:
    """A SlicedExtent is what a slice takes of a dimension: the indices first, first + step, ...

    extent: how many indices are taken
    conditions: (condition, message) pairs; the other fields are right in calls in which all conditions hold, and a message
        describes the calls in which its condition does not hold
    """

    first: Linear
    step: int | Expr
    extent: Extent
    conditions: tuple[tuple[Expr, str], ...] = ()


def sliced(extent: Extent, part: syntax.Slice) -> SlicedExtent:
    """Returns the indices that a slice takes of a dimension, its ends clipped to the dimension as Python clips them.

    Ends that are constants or counted from the end are exact for every size. An end that would have to be compared with a size or a
    loop variable first is taken to be inside the dimension, which the result's `conditions` say.
    """
    size, conditions = extent.length, []
    if not extent.positive:
        conditions.append((_at_least(size, 0), "a slice of an empty array"))
    start, stop = (None if bound is None else Linear.of(bound) for bound in (part.start, part.stop))
    if part.step > 0:
        first = Linear((), 0) if start is None else _low(start, size, conditions)
        past = size if stop is None else _high(stop, size, conditions)
        length = past - first
    else:
        first = size - 1 if start is None else _last(start, size, conditions)
        before = Linear((), -1) if stop is None else _high(stop, size, conditions)
        if stop is not None and stop.is_constant and stop.constant < 0:
            conditions.append((_at_least(size, -stop.constant - 1), "a slice that stops before the array"))
        length = first - before
    whole = part.start is None and part.stop is None and extent.positive
    length = strided(length, abs(part.step))
    return SlicedExtent(first, part.step, Extent(length, whole, sliced_from=extent), tuple(conditions))


def _low(start: Linear, size: Linear, conditions: list) -> Linear:
    """Returns the first index that a slice with a positive step takes; the result means nothing where the slice is empty.

    start: the slice's start; a negative constant counts from the end
    size: that of the dimension
    conditions: a list that gets the (condition, message) pairs under which the index is right
    """
    if not start.is_constant:
        conditions.append((_at_least(start, 0), "a slice whose start is negative"))
        return start
    if start.constant >= 0:
        return start
    conditions.append((_at_least(size, -start.constant), "a slice that starts before the array"))
    return size + start.constant


def _high(stop: Linear, size: Linear, conditions: list) -> Linear:
    """Returns the index at which a slice stops, which it does not take; the result means nothing where the slice is empty.

    stop: the slice's stop; a negative constant counts from the end
    size: that of the dimension
    conditions: a list that gets the (condition, message) pairs under which the index is right
    """
    if stop.is_constant and stop.constant < 0:
        return size + stop.constant
    if stop != size:
        if not stop.is_constant:
            conditions.append((_at_least(stop, 0), "a slice whose stop is negative"))
        conditions.append((_at_least(size, stop), "a slice that stops behind the array"))
    return stop


def _last(start: Linear, size: Linear, conditions: list) -> Linear:
    """Returns the first index that a slice with a negative step takes; the result means nothing where the slice is empty.

    start: the slice's start; a negative constant counts from the end
    size: that of the dimension
    conditions: a list that gets the (condition, message) pairs under which the index is right
    """
    if start.is_constant and start.constant < 0:
        return size + start.constant
    if not start.is_constant:
        conditions.append((_at_least(start, 0), "a slice whose start is negative"))
    conditions.append((_at_least(size, start + 1), "a slice that starts behind the array"))
    return start


def _at_least(a: Linear, b: Linear | int) -> Expr:
    other = b.expr if isinstance(b, Linear) else syntax.Const(b)
    return syntax.Compare(">=", a.expr, other)
