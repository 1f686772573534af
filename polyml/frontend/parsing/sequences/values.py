"""Values of Python expressions: numbers and arrays, and tuples of them, whose parts are known one by one when the kernel is parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Union

from polyml.frontend import syntax

Value = Union[syntax.Expr, "ShapeOf", "ListOf", tuple["Value", ...]]


@dataclass(frozen=True)
class ShapeOf:
    """A ShapeOf is the tuple of all sizes of an array, of which the parser does not know how many there are.

    array: the name of the array
    """

    array: str


@dataclass(frozen=True)
class ListOf:
    """A ListOf is a list of numbers, or one of the lists in a list of lists, which all have one length.

    array: the name of the local array that holds the numbers
    ndim: how many dimensions that has: 1 where the outermost list has numbers in it
    indices: the numbers of the list in the one around it, from the outermost on; none for the outermost list itself
    count: the name of the number of its elements, of a list that grows; "" for one of a fixed length
    """

    array: str
    ndim: int = 1
    indices: tuple[syntax.Expr, ...] = ()
    count: str = ""


SEQUENCES = (tuple, ShapeOf, ListOf)


def leaves(value: Value) -> Iterator[syntax.Expr]:
    """Yields the numbers and arrays in a value, from left to right, and the numbers that say which part of a list is meant."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, ListOf):
        yield from value.indices
    elif not isinstance(value, ShapeOf):
        yield value


def lists_in(values: Iterable[Value]) -> Iterator[ListOf]:
    """Yields the lists among values, and in tuples among them."""
    for value in values:
        if isinstance(value, tuple):
            yield from lists_in(value)
        elif isinstance(value, ListOf):
            yield value


def has_shape(value: Value) -> bool:
    """Returns whether a value is a list or the shape of an array as a whole, or has one in it."""
    return any(map(has_shape, value)) if isinstance(value, tuple) else isinstance(value, (ShapeOf, ListOf))


def rebuilt(form: Value, parts: Iterator[syntax.Expr]) -> Value:
    """Returns a value of the same form as another one, of other numbers and arrays."""
    if isinstance(form, ListOf):
        return replace(form, indices=tuple(next(parts) for _ in form.indices))
    if isinstance(form, ShapeOf):
        return form
    return tuple(rebuilt(part, parts) for part in form) if isinstance(form, tuple) else next(parts)


def same_form(one: Value, other: Value) -> bool:
    """Returns whether two values have the same tuples in them, with as many parts each."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same_form, one, other))
    if isinstance(one, ListOf) and isinstance(other, ListOf):
        return (one.array, len(one.indices)) == (other.array, len(other.indices))
    return not any(isinstance(value, SEQUENCES) for value in (one, other))
