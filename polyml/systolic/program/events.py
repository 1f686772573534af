"""Elements of memories at units, cycle by cycle: as a list, or as runs of equal steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from polyml.model.counting.lattice_points import affine

Memory = tuple[str, str]  # ("array", name), ("initial", name): as the call found it, ("made", statement), ("number", "")
Row = tuple[tuple[int, ...], int]  # a sum of loops and a constant


@dataclass(frozen=True, eq=False)
class Places:
    """Units by cycle: those of cycle t are units[starts[t]:starts[t + 1]]."""

    starts: np.ndarray
    units: np.ndarray

    @cached_property
    def slices(self) -> list[slice | np.ndarray | None]:
        """By cycle, units as an index; None where there are none."""
        steps = np.diff(self.units)
        turns = np.concatenate([[0, 0], np.cumsum(np.diff(steps) != 0)])  # how often the step changed before a unit
        bounds = self.starts.tolist()
        return [self._index(first, end, steps, turns) for first, end in itertools.pairwise(bounds)]

    def _index(self, first: int, end: int, steps: np.ndarray, turns: np.ndarray) -> slice | np.ndarray | None:
        if first == end:
            return None
        unit = int(self.units[first])
        if end - first == 1:
            return slice(unit, unit + 1)
        if steps[first] > 0 and turns[end - 1] == turns[first + 1]:
            return slice(unit, int(self.units[end - 1]) + 1, int(steps[first]))
        return self.units[first:end]


@dataclass(frozen=True, eq=False)
class Events:
    """Elements of a memory at units. elements: in the order of `places`; of the memory "number" the numbers themselves."""

    memory: Memory
    places: Places
    elements: np.ndarray

    @property
    def number(self) -> int:
        return len(self.elements)

    def moved(self, step: int) -> Events:
        """Of elements so much further."""
        return replace(self, elements=self.elements + step)

    def listed(self) -> Events:
        return self


@dataclass(frozen=True, eq=False)
class Runs:
    """Events of which those of one cycle are equally far apart. units, elements, counts: by cycle, of the first one, and how many.
    distinct: no element is there twice, as far as its strides show.
    """

    memory: Memory
    units: np.ndarray
    elements: np.ndarray
    counts: np.ndarray
    unit_step: int
    element_step: int
    distinct: bool

    @cached_property
    def number(self) -> int:
        return int(self.counts.sum())

    def moved(self, step: int) -> Runs:
        return replace(self, elements=self.elements + step)

    def listed(self) -> Events:
        """One by one."""
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        steps = np.arange(starts[-1]) - np.repeat(starts[:-1], self.counts)
        units = np.repeat(self.units, self.counts) + self.unit_step * steps
        return Events(self.memory, Places(starts, units), np.repeat(self.elements, self.counts) + self.element_step * steps)


def runs(memory: Memory, box: Sequence[tuple[int, int]], time: Row, unit: Row, element: Row, cycles: int) -> Runs | None:
    """Of all points of a box, whose cycle, unit and element are these sums. None where those of one cycle are not equally far apart."""
    free = [k for k, (low, high) in enumerate(box) if low < high]
    if len(free) > 2 or len(free) == 2 and not any(abs(time[0][k]) == 1 for k in free):
        return None
    lows, distinct = np.array([low for low, _ in box], np.int64), _is_distinct(box, element[0])
    first = [int(affine(*row, lows)) for row in (time, unit, element)]
    if len(free) == 2 and abs(time[0][free[0]]) != 1:
        free.reverse()
    # x goes with time, and y is free within a cycle: t = first + c*x + d*y
    x, y = (*free, None, None)[:2]
    c, d = (0 if k is None else time[0][k] for k in (x, y))
    m, n = (1 if k is None else box[k][1] - box[k][0] + 1 for k in (x, y))
    if y is None and c == 0:
        x, y, c, d, m, n = y, x, d, c, n, m
    sums = [(0 if x is None else row[x], 0 if y is None else row[y]) for row, _ in (unit, element)]
    at = np.arange(cycles) - first[0]
    if c == 0:  # all in one cycle
        counts = np.where(at == 0, n, 0)
        return Runs(memory, np.full(cycles, first[1]), np.full(cycles, first[2]), counts, sums[0][1], sums[1][1], distinct)
    if y is None:
        here = (at % c == 0) & (at // c >= 0) & (at // c < m)
        place = at // c
        return Runs(memory, first[1] + sums[0][0] * place, first[2] + sums[1][0] * place, here.astype(np.int64), 0, 0, distinct)
    # x = c * (t - d*y), as c is 1 or -1: 0 <= x < m bounds y
    low, high = _between(-c * d, c * at, m, n)
    counts = np.maximum(high - low + 1, 0)
    columns = c * (at - d * low)
    return Runs(
        memory,
        first[1] + sums[0][0] * columns + sums[0][1] * low,
        first[2] + sums[1][0] * columns + sums[1][1] * low,
        counts,
        sums[0][1] - sums[0][0] * c * d,
        sums[1][1] - sums[1][0] * c * d,
        distinct,
    )


def _is_distinct(box: Sequence[tuple[int, int]], row: Sequence[int]) -> bool:
    """Whether a sum of loops has another value at each point: each stride is longer than all shorter ones together reach."""
    reach = 0
    for stride, length in sorted((abs(c), high - low) for c, (low, high) in zip(row, box) if low < high):
        if stride <= reach:
            return False
        reach += stride * length
    return True


def _between(slope: int, start: np.ndarray, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(least, greatest) y of 0 ... n - 1 with 0 <= start + slope * y < m."""
    if slope == 0:
        inside = (start >= 0) & (start < m)
        return np.zeros_like(start), np.where(inside, n - 1, -1)
    ends = (0, m - 1) if slope > 0 else (m - 1, 0)
    low, high = -((start - ends[0]) // slope), (ends[1] - start) // slope
    return np.maximum(low, 0), np.minimum(high, n - 1)


def in_cycles(cycles: np.ndarray, units: np.ndarray, end: int) -> tuple[Places, np.ndarray]:
    """Units in their cycles before `end`, and their order."""
    order = np.argsort(cycles.astype(np.uint16) if end < 1 << 16 else cycles, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cycles, minlength=end))])
    return Places(starts, units[order]), order
