"""Values of Python expressions: numbers and arrays, and tuples of them, whose parts are known one by one when the kernel is parsed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from polyml.frontend import syntax

Value = Union[syntax.Expr, "ShapeOf", tuple["Value", ...]]


@dataclass(frozen=True)
class ShapeOf:
    """A ShapeOf is the tuple of all sizes of an array, of which the parser does not know how many there are.

    array: the name of the array
    """

    array: str


def leaves(value: Value) -> Iterator[syntax.Expr]:
    """Yields the numbers and arrays in a value, from left to right."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    elif not isinstance(value, ShapeOf):
        yield value


def has_shape(value: Value) -> bool:
    """Returns whether a value is the shape of an array as a whole, or has one in it."""
    return any(map(has_shape, value)) if isinstance(value, tuple) else isinstance(value, ShapeOf)


def rebuilt(form: Value, parts: Iterator[syntax.Expr]) -> Value:
    """Returns a value of the same form as another one, of other numbers and arrays."""
    return tuple(rebuilt(part, parts) for part in form) if isinstance(form, tuple) else next(parts)


def same_form(one: Value, other: Value) -> bool:
    """Returns whether two values have the same tuples in them, with as many parts each."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same_form, one, other))
    return not any(isinstance(value, (tuple, ShapeOf)) for value in (one, other))
