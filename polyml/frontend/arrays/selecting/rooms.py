"""Sizes that data decide, and the memory for them: numbers that the kernel counts, each with a size known at entry that it never exceeds.

k = np.flatnonzero(x > 0)     ->     k has memory for x.shape[0] numbers, of which the first _count1 are its elements
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.shapes import Extent, Linear
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.syntax import Expr

Counts = Mapping[
    str, Linear | None
]  # a number that the kernel counts -> a size that it never exceeds; None where that is not known


def is_counted(length: Linear, counts: Counts) -> bool:
    """Returns whether a size is computed from numbers that the kernel counts."""
    return any(_mentions(atom, counts) for atom, _ in length.terms)


def room(extent: Extent, counts: Counts) -> Extent | None:
    """Returns the size of the memory that a dimension of this extent needs at most: without numbers that the kernel counts.

    None is returned where no such size is known.
    """
    if not is_counted(extent.length, counts):
        return extent
    most = _most(extent.length, counts)
    return None if most is None else Extent(most, extent.positive)


def _mentions(expr: Expr, counts: Counts) -> bool:
    return any(isinstance(node, syntax.Name) and node.name in counts for node in traversal.nodes(expr))


def _most(length: Linear, counts: Counts) -> Linear | None:
    total = Linear((), length.constant)
    for atom, coefficient in length.terms:
        if not _mentions(atom, counts):
            total += Linear(((atom, coefficient),))
            continue
        most = _most_of_atom(atom, counts) if coefficient > 0 else Linear((), 0) if isinstance(atom, syntax.Name) else None
        if most is None:
            return None
        total += most * coefficient
    return total


def _most_of_atom(atom: Expr, counts: Counts) -> Linear | None:
    match atom:
        case syntax.Name(name=name) if name in counts:
            return counts[name]
        case syntax.Name() | syntax.Shape():
            return Linear.of(atom)
        case syntax.Binary(op="//", left=left, right=syntax.Const(value=int(divisor)) as right) if divisor > 0:
            most = _most(Linear.of(left), counts)
            return None if most is None else Linear.of(syntax.Binary("//", most.expr, right))
        case syntax.Binary(op="min" | "max" as op, left=left, right=right):
            one, other = (_most(Linear.of(side), counts) for side in (left, right))
            return None if one is None or other is None else Linear.of(syntax.Binary(op, one.expr, other.expr))
    return None


def product(sizes: Iterable[Expr]) -> Expr:
    """Returns how many elements an array has. sizes: of its dimensions"""
    total: Expr = syntax.Const(1)
    for size in sizes:
        total = size if total == syntax.Const(1) else syntax.Binary("*", total, size)
    return total


def in_rows(name: str, shape: tuple[Extent, ...]) -> Elements:
    """Returns the Elements of a whole array that is stored row by row in a vector, by the name of that."""

    def at(point: Point) -> Expr:
        place: Expr = point[0]
        for index, size in zip(point[1:], shape[1:]):
            place = syntax.Binary("+", syntax.Binary("*", place, size.expr), index)
        return syntax.Subscript(name, (place,), inside=True)

    return Elements(shape, at, name, True)


def inside(array: Elements) -> Elements:
    """Returns an array whose elements in memory are known to be inside of that."""

    def at(point: Point) -> Expr:
        found = array.at(point)
        return dataclasses.replace(found, inside=True) if isinstance(found, syntax.Subscript) else found

    return dataclasses.replace(array, at=at)
