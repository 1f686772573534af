"""Boxes around the elements of an array that a nest of loops accesses, and where these boxes begin.

The pass `packing` copies such boxes. All bounds are found from the bounds of the loops, as symbolic expressions, without isl.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

from polyml.codegen.analysis.access_conflicts import Enclosing
from polyml.codegen.ir.program import Loop
from polyml.quasi_affine.affine import Affine, variable


@dataclass(frozen=True)
class AccessBox:
    """A box of an array's elements that contains those which an access in a nest of loops refers to.

    array: the array's name.
    low: the first index in each dimension, as an expression of loop variables and parameters.
    lengths: the number of elements in each dimension; None for a dimension that the box covers as far as the array goes.
    """

    array: str
    low: tuple[Affine, ...]
    lengths: tuple[int | None, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names of the loop variables and parameters on which the box's first indices depend."""
        return frozenset().union(*(e.names for e in self.low))


def box(array: str, subscripts: tuple[Affine, ...], inner: Sequence[Loop], may_be_whole: bool) -> AccessBox | None:
    """Returns a box that contains the elements with the given subscripts in all iterations of the inner loops. If the number of
    indices in a dimension is not a constant, the box has the whole dimension where `may_be_whole` is set; otherwise there is no
    box, and the result is None.

    subscripts: one per dimension, in terms of loop variables.
    inner: the loops whose iterations the box covers, outermost first.
    """
    ranges: list[tuple[Affine, int | None]] = []
    for e in subscripts:
        found = _range(e, inner)
        if found is None and not may_be_whole:
            return None
        ranges.append((Affine(0), None) if found is None else found)
    return AccessBox(array, tuple(low for low, _ in ranges), tuple(length for _, length in ranges))


Tiles = Sequence[tuple[Loop, tuple[Affine, Affine] | None]]  # loops, each with its tile


def _range(e: Affine, inner: Sequence[Loop]) -> tuple[Affine, int] | None:
    """Returns the least value of a subscript over all iterations of the inner loops, and how many consecutive integers from there
    contain all its values; None if that number is not a constant.
    """
    return _span(e, e, [(loop, tile_of(loop)) for loop in inner], len(inner), {})


def _span(low: Affine, high: Affine, loops: Tiles, count: int, known: dict) -> tuple[Affine, int] | None:
    """Returns (least, count): the least value of `low` over all iterations of the first `count` loops, and the number of integers
    from there to the greatest value of `high`. None if that number is not a constant.

    The loops are eliminated one after the other, from the innermost one outwards: low is minimised and high is maximised over each.

    loops: outermost first, each with its first and last value as `tile_of` returns them.
    known: results for (low, high, count) that were found before; new results are added.
    """
    if count == 0:
        return (low, high.constant - low.constant + 1) if low.terms == high.terms else None
    if (low, high, count) not in known:
        known[low, high, count] = _spanned(low, high, loops, count, known)
    return known[low, high, count]


def _spanned(low: Affine, high: Affine, loops: Tiles, count: int, known: dict) -> tuple[Affine, int] | None:
    """Does the step of `_span` for one loop, the innermost of the first `count` ones: puts the first or the last value of the loop
    for its variable, whichever makes `low` least and `high` greatest, and calls `_span` for the loops outside. If the loop has
    several bounds, each pair of them is tried; None if no pair leads to a constant number.
    """
    loop, ends = loops[count - 1]
    down, up = low.coefficient(loop.var), high.coefficient(loop.var)
    if down is None or up is None:
        return None
    for first, last in product(loop.lower, loop.upper) if ends is None and (down or up) else [ends or (Affine(0), Affine(0))]:
        lowest = low.substitute({loop.var: first if down > 0 else last}) if down else low
        highest = high.substitute({loop.var: last if up > 0 else first}) if up else high
        found = _span(lowest, highest, loops, count - 1, known)
        if found is not None:
            return found
    return None


def tile_of(loop: Loop) -> tuple[Affine, Affine] | None:
    """Returns the first and the last value of the loop's variable by a lower and an upper bound that differ by a constant. None if
    no two of its bounds do.

    The loop's other bounds are ignored, so that it may run over fewer values than from the first to the last.
    """
    for low in loop.lower:
        for high in loop.upper:
            if high.terms == low.terms:
                return low, low + (high.constant - low.constant) // loop.step * loop.step
    return None


def moving_names(subscripts: tuple[Affine, ...], loops: Sequence[Loop]) -> frozenset[str]:
    """Returns the loop variables and parameters on which the subscripts' values depend, directly or through the bounds of one of
    the loops.
    """
    moving = frozenset().union(*(e.names for e in subscripts))
    for loop in reversed(loops):
        if loop.var in moving:
            ends = tile_of(loop) or (*loop.lower, *loop.upper)
            moving |= frozenset().union(*(e.names for e in ends))
    return moving


def begins_on_step(tile: Loop, low: Affine, around: Sequence[Enclosing]) -> bool:
    """Returns whether it is proved that each value of a tile loop's variable is `low` plus a multiple of the loop's step, the size
    of a tile.

    around: the loops and guards around the tile loop.
    """
    if tile.last or len(tile.lower) != 1:
        return False
    loops = {n.var: n for n in around if isinstance(n, Loop)}
    return _divisor(tile.lower[0] - low, loops) % tile.step == 0


def all_multiples(e: Affine, number: int, around: Sequence[Enclosing]) -> bool:
    """Returns whether it is proved that every value of the expression is a multiple of the number.

    around: the loops and guards around it.
    """
    return _divisor(e, {n.var: n for n in around if isinstance(n, Loop)}) % number == 0


def _divisor(e: Affine, loops: Mapping[str, Loop]) -> int:
    """Returns an integer that divides every value of the expression, or 0 if all values are 0.

    loops: by name of a variable, its loop.
    """
    found = abs(e.constant)
    for atom, coefficient in e.terms:
        loop = loops.get(atom) if isinstance(atom, str) else None
        own = 1 if loop is None or loop.last else gcd(loop.step, *(_divisor(low, loops) for low in loop.lower))
        found = gcd(found, coefficient * own)
    return found


def lower_outside(bound: Affine, around: Sequence[Enclosing], inside: set[str]) -> Iterator[Affine]:
    """Yields expressions that are never greater than `bound` and contain no variable of the loops `inside`. If `bound` contains
    none, this is `bound` itself. If `bound` is a loop's variable alone, these are found in the same way for each lower bound of
    that loop. For any other expression, nothing is yielded.

    inside: names of loop variables.
    around: the loops and guards among which the loop of a variable is looked up.
    """
    if not bound.names & inside:
        yield bound
        return
    for loop in around:
        if isinstance(loop, Loop) and bound == variable(loop.var):
            for e in loop.lower:
                yield from lower_outside(e, around, inside)
