"""The parts of arrays that loops touch: boxes that subscripts stay in, and where they begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

from polyml.codegen.analysis.access_conflicts import Around
from polyml.codegen.ir.linexpr import Lin, const, var
from polyml.codegen.ir.program import Loop


@dataclass(frozen=True)
class Box:
    """Part of an array: from low, so many elements per dimension; None: all of them."""

    array: str
    low: tuple[Lin, ...]
    lengths: tuple[int | None, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(e.names for e in self.low))


def box(array: str, subscripts: tuple[Lin, ...], inner: Sequence[Loop], may_be_whole: bool) -> Box | None:
    """The box that the subscripts stay in while the inner loops run over their tiles; None where it has no known size.

    may_be_whole: a dimension without known size is all of the array's.
    """
    ranges: list[tuple[Lin, int | None]] = []
    for e in subscripts:
        found = _range(e, inner)
        if found is None and not may_be_whole:
            return None
        ranges.append((const(0), None) if found is None else found)
    return Box(array, tuple(low for low, _ in ranges), tuple(length for _, length in ranges))


Tiles = Sequence[tuple[Loop, tuple[Lin, Lin] | None]]  # loops, each with its tile


def _range(e: Lin, inner: Sequence[Loop]) -> tuple[Lin, int] | None:
    """The least value of a subscript while the inner loops run over their tiles, and how many follow it."""
    return _span(e, e, [(loop, tile_of(loop)) for loop in inner], len(inner), {})


def _span(low: Lin, high: Lin, loops: Tiles, count: int, known: dict) -> tuple[Lin, int] | None:
    """The values from low to high of all iterations of the first so many loops, innermost first: the first one, and how many
    there are. known: what was found for the same question.
    """
    if count == 0:
        return (low, high.const - low.const + 1) if low.terms == high.terms else None
    if (low, high, count) not in known:
        known[low, high, count] = _spanned(low, high, loops, count, known)
    return known[low, high, count]


def _spanned(low: Lin, high: Lin, loops: Tiles, count: int, known: dict) -> tuple[Lin, int] | None:
    loop, ends = loops[count - 1]
    down, up = low.coefficient(loop.var), high.coefficient(loop.var)
    if down is None or up is None:
        return None
    for first, last in product(loop.lower, loop.upper) if ends is None and (down or up) else [ends or (const(0), const(0))]:
        lowest = low.substitute({loop.var: first if down > 0 else last}) if down else low
        highest = high.substitute({loop.var: last if up > 0 else first}) if up else high
        found = _span(lowest, highest, loops, count - 1, known)
        if found is not None:
            return found
    return None


def tile_of(loop: Loop) -> tuple[Lin, Lin] | None:
    """Values of its variable that no other lies outside, a constant apart: a bound, and where the steps from it end."""
    for low in loop.lower:
        for high in loop.upper:
            if high.terms == low.terms:
                return low, low + (high.const - low.const) // loop.step * loop.step
    return None


def moving_names(subscripts: tuple[Lin, ...], loops: Sequence[Loop]) -> frozenset[str]:
    """The loop variables that the subscripts change with, be it since those of loops inside start from them."""
    moving = frozenset().union(*(e.names for e in subscripts))
    for loop in reversed(loops):
        if loop.var in moving:
            ends = tile_of(loop) or (*loop.lower, *loop.upper)
            moving |= frozenset().union(*(e.names for e in ends))
    return moving


def begins_on_step(tile: Loop, low: Lin, around: Sequence[Around]) -> bool:
    """Whether the tiles begin at low and multiples of their step after it."""
    if tile.last or len(tile.lower) != 1:
        return False
    loops = {n.var: n for n in around if isinstance(n, Loop)}
    return _divisor(tile.lower[0] - low, loops) % tile.step == 0


def _divisor(e: Lin, loops: Mapping[str, Loop]) -> int:
    """A number that divides all values of an expression; 0 where they are 0."""
    found = abs(e.const)
    for atom, coefficient in e.terms:
        loop = loops.get(atom) if isinstance(atom, str) else None
        is_known = loop is not None and not loop.last and len(loop.lower) == 1
        own = gcd(loop.step, _divisor(loop.lower[0], loops)) if loop is not None and is_known else 1
        found = gcd(found, coefficient * own)
    return found


def lower_outside(bound: Lin, around: Sequence[Around], inside: set[str]) -> Iterator[Lin]:
    """What a lower bound is at least, in names that are known outside of the loops inside."""
    if not bound.names & inside:
        yield bound
        return
    for loop in around:
        if isinstance(loop, Loop) and bound == var(loop.var):
            for e in loop.lower:
                yield from lower_outside(e, around, inside)
