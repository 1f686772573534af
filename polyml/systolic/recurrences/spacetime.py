"""Space-time mappings { [a0, a1, a2] -> [t, x, y] } are linear functions that say in which cycle, and on which PE, each instance
runs.

    t = i + j + k, x = i, y = j       the sums stay, A[i,k] moves along y, B[k,j] along x

A PE hands a value on to its neighbours in each cycle. `systolic.mapping.legality` says when a mapping is legal, and
`systolic.mapping.search` finds the fastest ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd
from typing import Protocol

import islpy as isl

from polyml import polyhedra

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Direction:
    """A Direction is a step along the axes by which values travel: from the instance at p to the one at p + vector.

    vector: the step along the axes.
    free: whether the value may as well go to p - vector.
    line: the direction of wires, by which the value goes to all of p + vector + n * line at once; () without wires.
    """

    vector: Vector
    free: bool
    line: Vector = ()


class DirectedStep(Protocol):
    """A DirectedStep is anything that has a step by which values travel and says whether they may also travel backward: a
    `Direction` or a `ValueSource`.
    """

    @property
    def vector(self) -> Vector:
        """Returns the step, from an instance to the one that gets its value."""

    @property
    def free(self) -> bool:
        """Returns whether the value may as well travel in the opposite direction."""


@dataclass(frozen=True)
class SpaceTime:
    """A SpaceTime is a linear space-time mapping { [a0, a1, ...] -> [t, x, y] } of the axes to a cycle t and a PE (x, y).

    time: the coefficients of the axes in the cycle.
    space: for each coordinate of the array, the coefficients of the axes (the allocation, or projection).
    """

    time: Vector
    space: tuple[Vector, ...]

    @property
    def rows(self) -> tuple[Vector, ...]:
        """Returns the coefficients of the axes in the cycle, and then in each coordinate of the array."""
        return (self.time, *self.space)

    def relation(self, outer: int = 0) -> isl.Map:
        """Returns the mapping as { [o0, ..., a0, a1, ...] -> [o0, ..., t, x, y] }.

        outer: how many coordinates o stand before the axes, and are left as they are.
        """
        kept = [f"o{k}" for k in range(outer)]
        axes = [f"a{k}" for k in range(len(self.time))]
        return isl.Map(f"{{ [{', '.join(kept + axes)}] -> [{', '.join(kept + [linear(row, axes) for row in self.rows])}] }}")

    def steps(self, vector: Sequence[int]) -> Vector:
        """Returns (cycles, steps along x, steps along y) from the instance at p to the one at p + vector."""
        return tuple(dot(row, vector) for row in self.rows)

    def displacement(self, direction: Direction) -> Vector:
        """Returns (cycles, steps along x, steps along y) that a value takes for one step along the direction. Where the
        instance at p + direction.vector runs before the one at p, the value travels from there to p, so that cycles are never
        negative.
        """
        found = self.steps(direction.vector)
        return found if found[0] >= 0 else tuple(-v for v in found)

    def sense(self, direction: DirectedStep) -> int:
        """Returns 1 where a value travels along the direction's vector, and -1 where it travels against it."""
        return -1 if direction.free and dot(self.time, direction.vector) < 0 else 1

    def wire(self, direction: Direction) -> int | None:
        """Returns the coordinate of the array, 0 or 1, along which the wire of a direction runs, so that all PEs that use a value
        get it in one cycle.

        The result is None where the direction has no wire, where these PEs do not lie along one coordinate alone or use the value
        in different cycles, or where the value also moves along the other coordinate.
        """
        cycles, *coordinates = self.steps(direction.line)
        along = [k for k, step in enumerate(coordinates) if step]
        off = (step for k, step in enumerate(self.steps(direction.vector)[1:]) if k not in along)
        return along[0] if cycles == 0 and len(along) == 1 and not any(off) else None

    @property
    def density(self) -> int:
        """Returns n, such that a PE runs one instance every n cycles: the greatest common divisor of the determinants of all
        largest square submatrices of the mapping. Returns 0 for a mapping that puts several instances onto one PE and cycle.
        """
        count = len(self.time)
        return gcd(*(determinant(rows) for rows in combinations(self.rows, count))) if count <= len(self.rows) else 0

    def oriented(self, directions: Sequence[Direction]) -> SpaceTime:
        """Returns the mapping with some coordinates of the array reversed: those along which values move only from greater to lower
        numbers, so that they move from lower to greater ones instead.
        """
        found = []
        for row in self.space:
            steps = [dot(row, d.vector) for d in directions if not d.free]
            found.append(tuple(-v for v in row) if min(steps, default=0) < 0 >= max(steps, default=0) else row)
        return SpaceTime(self.time, tuple(found))

    def transposed(self, coordinates: Sequence[int]) -> SpaceTime:
        """Returns the mapping with the coordinates of the array in the given order."""
        return SpaceTime(self.time, tuple(self.space[k] for k in coordinates))


def linear(row: Sequence[int], names: Sequence[str], constant: int = 0) -> str:
    """Returns a linear function as text, such as `i - j + 2*l`.

    row: the coefficients; names: the variables.

    >>> linear((1, -1, 0, 2), ("i", "j", "k", "l"))
    'i - j + 2*l'
    """
    text = ""
    for coefficient, name in zip(row, names):
        if coefficient:
            sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
            text += sign + (name if abs(coefficient) == 1 else f"{abs(coefficient)}*{name}")
    if constant and text:
        return f"{text} {'-' if constant < 0 else '+'} {abs(constant)}"
    return text or str(constant)


def determinant(rows: Sequence[Vector]) -> int:
    """Returns the determinant of a square matrix of integers.

    >>> determinant([(1, 1, 1), (1, 0, 0), (0, 1, 0)])
    1
    """
    if not rows:
        return 1
    first, *others = rows
    minors = ([row[:k] + row[k + 1 :] for row in others] for k in range(len(first)))
    return sum((-1) ** k * c * determinant(minor) for k, (c, minor) in enumerate(zip(first, minors)) if c)


def smallest_pair(pairs: isl.Map | isl.UnionMap) -> polyhedra.Witness:
    """Returns the smallest pair of a relation, by the parameters and then lexicographically, as an example for messages. The
    relation must have one.
    """
    found = polyhedra.witness(pairs)
    assert found is not None
    return found


def dot(row: Iterable[int], vector: Iterable[int]) -> int:
    """Returns the inner product of two vectors."""
    return sum(a * b for a, b in zip(row, vector))
