"""The geometry of drawn wires: their directions, the sides of the array, and the heads of their arrows."""

from __future__ import annotations

from typing import NamedTuple

from polyml.systolic.recurrences.spacetime import Vector
from polyml.systolic.simulate.frames import BoundaryElement, PEIndex


class WireKey(NamedTuple):
    """A WireKey identifies a drawn wire.

    kind: "along" for a wire along one coordinate, "across" for a diagonal one, "in" for one from outside into the array, "out" for
        one out of it.
    lane: the number of the stream whose colour it has.
    unit: the PE that it starts from, or that it enters or leaves.
    way: its direction, or for "across" the coordinates of the PE at its end minus those of `unit`; () for "in" and "out".
    """

    kind: str
    lane: int
    unit: PEIndex
    way: Vector = ()


def delta_between(source: PEIndex, target: PEIndex) -> Vector:
    """Returns the coordinates of the PE `target` minus those of the PE `source`."""
    return tuple(b - a for a, b in zip(source, target))


def signs_of(delta: Vector) -> Vector:
    """Returns the sign of each coordinate of a difference: -1, 0 or 1."""
    return tuple((v > 0) - (v < 0) for v in delta)


def further(unit: PEIndex, delta: Vector, links: int) -> PEIndex:
    """Returns the PE that lies `links` links from another one, in the direction of `delta`."""
    return tuple(x + links * step for x, step in zip(unit, signs_of(delta)))


def is_across(delta: Vector) -> bool:
    """Returns whether a difference of coordinates is not along exactly one of them."""
    return sum(map(bool, delta)) != 1


def stub(number: int, unit: PEIndex, out: bool) -> WireKey:
    """Returns the key of the wire of the stream with this number from outside into a PE, or out of it."""
    return WireKey("out" if out else "in", number, unit)


def is_vertical(way: Vector) -> bool:
    """Returns whether a direction is drawn up or down: from row to row alone, or into or out of an array of one dimension."""
    return bool(way[0]) and not way[1] if len(way) == 2 else not way[0]


def side_of(each: BoundaryElement) -> str:
    """Returns the side of the array on which an element outside it is drawn: "left", "right", "top" or "bottom"."""
    before = each.cycles < 0
    if is_vertical(each.signs):
        return "top" if ((each.signs[0] or 1) > 0) == before else "bottom"
    return "left" if (each.signs[-1] > 0) == before else "right"


def arrow_head(right: float, down: float) -> str:
    """Returns the SVG commands that draw an arrow head at the end of a path; (right, down) is the direction of that end."""
    length = (right * right + down * down) ** 0.5
    u, v = 5 * right / length, 5 * down / length
    first, second = (-u - v * 0.6, -v + u * 0.6), (-u + v * 0.6, -v - u * 0.6)
    return f" m{first[0]:.1f},{first[1]:.1f} l{-first[0]:.1f},{-first[1]:.1f} l{second[0]:.1f},{second[1]:.1f}"
