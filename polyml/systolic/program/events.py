"""Which elements PEs load from memories or store there, cycle by cycle: as lists, or by steps where they are equally apart."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyml.model.counting.lattice_points import affine
from polyml.values import cached_property

Memory = tuple[str, str]  # ("array" | "initial" (as the call found it), array), ("produced", statement) or ("number", "")
MemoryContents = Mapping[Memory, np.ndarray]
Row = tuple[tuple[int, ...], int]  # an affine function: coefficients of the iterators, and a constant


@dataclass(frozen=True, eq=False)
class UnitsByCycle:
    """A UnitsByCycle lists the PEs at which something happens in each cycle, by number: those of cycle t are
    units[starts[t]:starts[t + 1]].
    """

    starts: np.ndarray
    units: np.ndarray

    @cached_property
    def slices(self) -> list[slice | np.ndarray | None]:
        """Returns the PEs of each cycle as a slice, or where their numbers have no equal steps as an array of numbers; None for a
        cycle without any.
        """
        steps = np.diff(self.units)
        changes = np.concatenate([[0, 0], np.cumsum(np.diff(steps) != 0)])  # how often the step changed before a unit
        bounds = self.starts.tolist()
        return [self._index(first, end, steps, changes) for first, end in itertools.pairwise(bounds)]

    def _index(self, first: int, end: int, steps: np.ndarray, changes: np.ndarray) -> slice | np.ndarray | None:
        """Returns units[first:end] as a slice where the numbers have equal steps, else as they are; None where there are none.

        steps: the differences of neighbouring units.
        changes: how often the difference has changed before each unit.
        """
        if first == end:
            return None
        unit = int(self.units[first])
        if end - first == 1:
            return slice(unit, unit + 1)
        if steps[first] > 0 and changes[end - 1] == changes[first + 1]:
            return slice(unit, int(self.units[end - 1]) + 1, int(steps[first]))
        return self.units[first:end]


@dataclass(frozen=True, eq=False)
class Events:
    """Events are a list of loads, from a memory to PEs, or of stores, from PEs to a memory, cycle by cycle.

    memory: the memory.
    units_by_cycle: the PEs of each cycle.
    elements: for each of these PEs, in their order, the position in the memory of the element that it loads or stores; for loads of
        numbers, whose memory is of kind "number", the numbers themselves.
    """

    memory: Memory
    units_by_cycle: UnitsByCycle
    elements: np.ndarray

    @property
    def number(self) -> int:
        """Returns how many loads or stores there are."""
        return len(self.elements)

    def shifted(self, step: int) -> Events:
        """Returns the events with `step` added to the position of each element."""
        return replace(self, elements=self.elements + step)

    def listed(self) -> Events:
        """Returns these events; `StridedEvents.listed` makes such a list."""
        return self


@dataclass(frozen=True, eq=False)
class StridedEvents:
    """StridedEvents are loads or stores of which, within each cycle, both the PEs and the elements are equally far apart.

    memory: the memory.
    units, elements: the PE and the element of the first event of each cycle.
    counts: the number of events of each cycle.
    unit_step, element_step: the steps from one event of a cycle to the next.
    distinct: whether the strides show that no element comes twice.
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
        """Returns how many loads or stores there are, over all cycles."""
        return int(self.counts.sum())

    def shifted(self, step: int) -> StridedEvents:
        """Returns the events with `step` added to the position of each element."""
        return replace(self, elements=self.elements + step)

    def listed(self) -> Events:
        """Returns the events as a list with the PE and the element of each one."""
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        steps = np.arange(starts[-1]) - np.repeat(starts[:-1], self.counts)
        units = np.repeat(self.units, self.counts) + self.unit_step * steps
        return Events(self.memory, UnitsByCycle(starts, units), np.repeat(self.elements, self.counts) + self.element_step * steps)


def strided_events(
    memory: Memory, box: Sequence[tuple[int, int]], time: Row, unit: Row, element: Row, cycles: int
) -> StridedEvents | None:
    """Returns the loads or stores of all points of a box; None where those of one cycle are not equally far apart.

    box: the least and the greatest value of each iterator.
    time, unit, element: the cycle, the PE and the element, as affine functions of the iterators.
    cycles: the cycles of the fold.
    """
    free = [k for k, (low, high) in enumerate(box) if low < high]
    if len(free) > 2 or len(free) == 2 and not any(abs(time[0][k]) == 1 for k in free):
        return None
    lows, distinct = np.array([low for low, _ in box], np.int64), _is_distinct(box, element[0])
    first = [int(affine(*row, lows)) for row in (time, unit, element)]
    if len(free) == 2 and abs(time[0][free[0]]) != 1:
        free.reverse()
    # x advances with time, and y is free within a cycle: t = first + c*x + d*y
    x, y = (*free, None, None)[:2]
    c, d = (0 if k is None else time[0][k] for k in (x, y))
    m, n = (1 if k is None else box[k][1] - box[k][0] + 1 for k in (x, y))
    if y is None and c == 0:
        x, y, c, d, m, n = y, x, d, c, n, m
    sums = [(0 if x is None else row[x], 0 if y is None else row[y]) for row, _ in (unit, element)]
    at = np.arange(cycles) - first[0]
    if c == 0:  # all events are in one cycle
        counts = np.where(at == 0, n, 0)
        return StridedEvents(memory, np.full(cycles, first[1]), np.full(cycles, first[2]), counts, sums[0][1], sums[1][1], distinct)
    if y is None:
        here = (at % c == 0) & (at // c >= 0) & (at // c < m)
        place = at // c
        return StridedEvents(
            memory, first[1] + sums[0][0] * place, first[2] + sums[1][0] * place, here.astype(np.int64), 0, 0, distinct
        )
    # x = c * (t - d*y), as c is 1 or -1: 0 <= x < m bounds y
    low, high = _range_of_y(-c * d, c * at, m, n)
    counts = np.maximum(high - low + 1, 0)
    columns = c * (at - d * low)
    return StridedEvents(
        memory,
        first[1] + sums[0][0] * columns + sums[0][1] * low,
        first[2] + sums[1][0] * columns + sums[1][1] * low,
        counts,
        sums[0][1] - sums[0][0] * c * d,
        sums[1][1] - sums[1][0] * c * d,
        distinct,
    )


def _is_distinct(box: Sequence[tuple[int, int]], row: Sequence[int]) -> bool:
    """Returns whether it is certain that a linear function has different values at all points of a box.

    It is where each coefficient is greater than all that the terms with smaller ones can add up to.

    box: the least and the greatest value of each variable.
    row: the coefficients.
    """
    reach = 0
    for stride, length in sorted((abs(c), high - low) for c, (low, high) in zip(row, box) if low < high):
        if stride <= reach:
            return False
        reach += stride * length
    return True


def _range_of_y(slope: int, start: np.ndarray, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns (least, greatest): for each start, the least and the greatest y of 0 ... n - 1 with 0 <= start + slope * y < m. Where
    there is no such y, the least is above the greatest.
    """
    if slope == 0:
        inside = (start >= 0) & (start < m)
        return np.zeros_like(start), np.where(inside, n - 1, -1)
    ends = (0, m - 1) if slope > 0 else (m - 1, 0)
    low, high = -((start - ends[0]) // slope), (ends[1] - start) // slope
    return np.maximum(low, 0), np.minimum(high, n - 1)


def by_cycle(cycles: np.ndarray, units: np.ndarray, end: int) -> tuple[UnitsByCycle, np.ndarray]:
    """Returns PEs sorted by the cycles in which something happens at them, and the order that sorts them.

    cycles, units: the cycle and the PE of each event.
    end: the cycle behind the last one.
    """
    order = np.argsort(cycles.astype(np.uint16) if end < 1 << 16 else cycles, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cycles, minlength=end))])
    return UnitsByCycle(starts, units[order]), order
