"""Values of Python expressions: numbers and arrays, and tuples of them, whose parts are known one by one when the kernel is parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Union

from polyml.frontend import syntax
from polyml.source import Loc

Value = Union[syntax.Expr, "ShapeOf", "AnyList", tuple["Value", ...]]


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


@dataclass(frozen=True)
class RecordsOf:
    """A RecordsOf is a list that grows of tuples of numbers.

    columns: the lists that hold the first, the second and each other number of all tuples
    """

    columns: tuple[ListOf, ...]


@dataclass(frozen=True)
class ListsOf:
    """A ListsOf is a list of lists that grow, each in a block of memory of its own.

    heads: for each list, where its block begins, how many elements it has, and for how many the block has room: three columns, or where
        it grows itself one behind the other
    blocks: the lists that grow in which the blocks are, one for each number of an element
    is_of_tuples: whether the elements are tuples
    """

    heads: ListOf
    blocks: tuple[ListOf, ...]
    is_of_tuples: bool


@dataclass(frozen=True)
class InnerList:
    """An InnerList is one of the lists in a list of lists that grow. number: which one, counted from 0"""

    lists: ListsOf
    number: syntax.Expr


AnyList = Union[ListOf, RecordsOf, ListsOf, InnerList]
LISTS = (ListOf, RecordsOf, ListsOf, InnerList)
SEQUENCES = (tuple, ShapeOf, *LISTS)
BEGIN, LENGTH, ROOM = range(3)  # of a block, in the heads of lists of lists


def head(inner: InnerList, which: int) -> syntax.Subscript:
    """Returns the place at which it is kept where a block begins, how many elements it has, or how many it has room for."""
    heads, number, column = inner.lists.heads, inner.number, syntax.Const(which)
    if not heads.count:
        return syntax.Subscript(heads.array, (number, column), inside=True)
    place = syntax.Binary("+", syntax.Binary("*", number, syntax.Const(3)), column)
    return syntax.Subscript(heads.array, (place,), inside=True)


def length_of(listed: AnyList, loc: Loc | None) -> syntax.Expr:
    """Returns how many elements a list has."""
    if isinstance(listed, RecordsOf):
        return syntax.Shape(listed.columns[0].array, 0, loc=loc)
    if isinstance(listed, InnerList):
        return head(listed, LENGTH)
    if isinstance(listed, ListOf):
        return syntax.Shape(listed.array, len(listed.indices), loc=loc)
    count = syntax.Shape(listed.heads.array, 0, loc=loc)
    return syntax.Binary("//", count, syntax.Const(3), loc=loc) if listed.heads.count else count


def element_of(listed: AnyList, index: syntax.Expr, loc: Loc | None, inside: bool = False) -> Value:
    """Returns an element of a list. inside: whether the index is known to be one that an element has, counted from 0"""
    if isinstance(listed, ListOf):
        indices = (*listed.indices, index)
        return (
            replace(listed, indices=indices)
            if len(indices) < listed.ndim
            else syntax.Subscript(listed.array, indices, inside=inside, loc=loc)
        )
    if isinstance(listed, RecordsOf):
        return tuple(syntax.Subscript(each.array, (index,), inside=inside, loc=loc) for each in listed.columns)
    if not inside:
        index = syntax.Call("position", (index, length_of(listed, loc), syntax.Const(0)), "list", loc=loc)
    if isinstance(listed, ListsOf):
        return InnerList(listed, index)
    place = syntax.Binary("+", head(listed, BEGIN), index)
    numbers = tuple(syntax.Subscript(each.array, (place,), inside=True, loc=loc) for each in listed.lists.blocks)
    return numbers if listed.lists.is_of_tuples else numbers[0]


def grows(listed: object) -> bool:
    """Returns whether a value is a list that may get more elements."""
    return (
        isinstance(listed, ListOf)
        and bool(listed.count)
        or isinstance(listed, (RecordsOf, InnerList))
        or isinstance(listed, ListsOf)
        and bool(listed.heads.count)
    )


def leaves(value: Value) -> Iterator[syntax.Expr]:
    """Yields the numbers and arrays in a value, from left to right, and the numbers that say which part of a list is meant."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, ListOf):
        yield from value.indices
    elif isinstance(value, InnerList):
        yield value.number
    elif not isinstance(value, (ShapeOf, *LISTS)):
        yield value


def lists_in(values: Iterable[Value]) -> Iterator[ListOf]:
    """Yields the lists of numbers among values, in tuples among them, and of which other lists are made."""
    for value in values:
        match value:
            case tuple():
                yield from lists_in(value)
            case ListOf():
                yield value
            case RecordsOf(columns=columns):
                yield from columns
            case ListsOf() | InnerList(lists=ListsOf()):
                lists = value.lists if isinstance(value, InnerList) else value
                yield from (lists.heads, *lists.blocks)


def has_shape(value: Value) -> bool:
    """Returns whether a value is a list or the shape of an array as a whole, or has one in it."""
    return any(map(has_shape, value)) if isinstance(value, tuple) else isinstance(value, (ShapeOf, *LISTS))


def rebuilt(form: Value, parts: Iterator[syntax.Expr]) -> Value:
    """Returns a value of the same form as another one, of other numbers and arrays."""
    if isinstance(form, ListOf):
        return replace(form, indices=tuple(next(parts) for _ in form.indices))
    if isinstance(form, InnerList):
        return replace(form, number=next(parts))
    if isinstance(form, (ShapeOf, RecordsOf, ListsOf)):
        return form
    return tuple(rebuilt(part, parts) for part in form) if isinstance(form, tuple) else next(parts)


def same_form(one: Value, other: Value) -> bool:
    """Returns whether two values have the same tuples in them, with as many parts each."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same_form, one, other))
    if isinstance(one, ListOf) and isinstance(other, ListOf):
        return (one.array, len(one.indices)) == (other.array, len(other.indices))
    if isinstance(one, InnerList) and isinstance(other, InnerList):
        return one.lists == other.lists
    if isinstance(one, (RecordsOf, ListsOf)):
        return one == other
    return not any(isinstance(value, SEQUENCES) for value in (one, other))
