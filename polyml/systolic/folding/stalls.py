"""The time of folds whose operands come from a memory, tile by tile, through a queue, and what the array waits for.

    fetched(n) = max(fetched(n-1), shifted(n - queue)) + tile      the memory reads on while a place of the queue is free
    shifts(n)  = max(fetched(n), begins(n-1))                      into the second register of each PE, which is free by then
    begins(n)  = max(shifts(n) + rows, free(n-1))                  once it is there, and the PEs are free

shifted(m) is when tile m begins to leave the queue. Once the state repeats, from one fold or one row of folds to the next, so do
its cycles: what is left of a repetition is added at once, so that the time to find them does not grow with the folds.
(The queue and the registers of TPU v1: Jouppi et al., ISCA 2017, section 2.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import lcm
from typing import Union

Cycles = Union[int, Fraction]


@dataclass(frozen=True)
class FoldStep:
    """A FoldStep says how long one fold keeps the array busy, and how soon the fold behind it may begin.

    shift_cycles: cycles to bring in stationary operands.
    active_cycles: cycles in which a PE runs instances, on average.
    free_cycles: from the fold's beginning until the next fold's PEs are free; for the last fold, until all is done.
    """

    shift_cycles: int
    active_cycles: Fraction
    free_cycles: int


@dataclass(frozen=True)
class RepeatedSteps:
    """RepeatedSteps stands for a sequence of steps that runs `number` times."""

    number: int
    steps: Sequence[FoldStep | RepeatedSteps]


def nested(numbers: Sequence[Sequence[int]], steps: Sequence[FoldStep]) -> tuple[FoldStep | RepeatedSteps, ...]:
    """Returns the steps of folds in order, with equal groups that follow each other as repetitions.

    numbers: the number of each fold, a tuple such as (a, b, c). The folds with equal a are a group, and in it those with equal b.

    >>> a, b = FoldStep(4, Fraction(10), 10), FoldStep(4, Fraction(8), 10)
    >>> nested([(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)], [a, b, a, b, b]) == (RepeatedSteps(2, (a, b)), b)
    True
    """
    return _nested(list(numbers), list(steps), 0)


def _nested(numbers: list[Sequence[int]], steps: list[FoldStep], depth: int) -> tuple[FoldStep | RepeatedSteps, ...]:
    """Returns the steps of folds whose numbers agree in the first `depth` entries, with repetitions as `nested` makes them."""
    if numbers and depth == len(numbers[0]) - 1:
        return tuple(found for step, same in groupby(steps) for found in _times(len([*same]), (step,)))
    firsts = [number[depth] for number in numbers]
    starts = [k for k, first in enumerate(firsts) if k == 0 or first != firsts[k - 1]]
    parts = [slice(start, end) for start, end in zip(starts, [*starts[1:], len(steps)])]
    found: list[FoldStep | RepeatedSteps] = []
    for mine, same in groupby(parts, key=lambda part: steps[part]):
        part, *others = same
        found += _times(1 + len(others), _nested(numbers[part], mine, depth + 1))
    return tuple(found)


def _times(number: int, steps: tuple[FoldStep | RepeatedSteps, ...]) -> tuple[FoldStep | RepeatedSteps, ...]:
    """Returns steps that run `number` times, as a repetition where that is more than once."""
    return (RepeatedSteps(number, steps),) if number > 1 else steps


@dataclass(frozen=True)
class Stalled:
    """Stalled holds the cycles of folds whose stationary operands, a tile for each fold, come from a memory that the array may have
    to wait for.

    tile_cycles: the cycles in which the memory delivers a tile.
    cycles: the cycles from the beginning until all is done.
    active_cycles: those in which PEs run instances.
    stall_cycles: those in which the array waits for a tile to come from memory.
    shift_cycles: those in which it waits while a tile is shifted in.

    In all other cycles the array waits for PEs to become free, or, behind the last fold, for what is still on its way.
    """

    tile_cycles: float
    cycles: float
    active_cycles: float
    stall_cycles: float
    shift_cycles: float

    @property
    def matrix_cycles(self) -> float:
        """Returns the cycles in which the array is active, waits for stationary operands from memory, or waits while they are
        shifted in.
        """
        return self.active_cycles + self.stall_cycles + self.shift_cycles

    @property
    def active_share(self) -> float:
        """Returns the share of `matrix_cycles` in which the array is active."""
        return self.active_cycles / self.matrix_cycles

    @property
    def stall_share(self) -> float:
        """Returns the share of `matrix_cycles` in which the array waits for stationary operands from memory."""
        return self.stall_cycles / self.matrix_cycles

    @property
    def shift_share(self) -> float:
        """Returns the share of `matrix_cycles` in which the array waits while stationary operands are shifted in."""
        return self.shift_cycles / self.matrix_cycles


def stalled(steps: Iterable[FoldStep | RepeatedSteps], tile_cycles: Cycles, queue: int, pace: Cycles = 1) -> Stalled:
    """Returns the cycles of folds that run in this order, each once its tile of stationary operands has come from memory.

    tile_cycles: the cycles in which the memory delivers a tile.
    queue: the tiles that can wait next to the array.
    pace: the cycles that a PE takes for an instance.

    >>> stalled([RepeatedSteps(8, (FoldStep(4, Fraction(10), 10),)), FoldStep(4, Fraction(10), 16)], 0, 4)
    Stalled(tile_cycles=0.0, cycles=100.0, active_cycles=90.0, stall_cycles=0.0, shift_cycles=4.0)
    """
    steps = list(steps)
    pace, tile = Fraction(pace), Fraction(tile_cycles)
    part = lcm(tile.denominator, pace.denominator, *{(active * pace).denominator for active in _actives(steps)})
    clock = _StallTimeline(int(tile * part), queue, pace, part)
    for step in steps:
        clock.run(step)
    return Stalled(float(tile), *(float(Fraction(time, part)) for time in (clock.free, *clock.totals)))


def _actives(steps: Iterable[FoldStep | RepeatedSteps]) -> Iterator[Fraction]:
    """Yields `active_cycles` of each step; those of steps inside a `RepeatedSteps` once, however often the steps run."""
    for step in steps:
        if isinstance(step, RepeatedSteps):
            yield from _actives(step.steps)
        else:
            yield step.active_cycles


class _StallTimeline:
    """A _StallTimeline runs folds one after another, and keeps when the memory, the queue and the array are free again.

    Times are integers, in parts of a cycle.
    tile: the time in which the memory delivers a tile, the stationary operands of a fold.
    queue: how many tiles can wait next to the array.
    pace: the cycles that a PE takes for an instance.
    part: how many parts a cycle has.
    """

    def __init__(self, tile: int, queue: int, pace: Fraction, part: int):
        self._tile, self._pace, self._part = tile, pace, part
        self._fetched = self._begins = self._idle = self.free = 0  # _idle: when the fold before has run its instances
        self._shifts = deque([0] * queue)
        self._active = self._stall = self._shift = 0
        self._known: dict[FoldStep, tuple[int, int, int]] = {}

    @property
    def totals(self) -> tuple[int, int, int]:
        """Returns how long the array was active, waited for memory, and waited for operands to be shifted in so far, in parts of a
        cycle.
        """
        return self._active, self._stall, self._shift

    def run(self, step: FoldStep | RepeatedSteps) -> None:
        """Runs one fold, or all folds of a repetition."""
        if isinstance(step, RepeatedSteps):
            self._repeat(step)
        else:
            self._fold(step)

    def _fold(self, step: FoldStep) -> None:
        """Runs one fold: fetches its tile of stationary operands, shifts it in, and brings all times and totals up to date."""
        if step not in self._known:
            cycles = step.active_cycles * self._pace, step.free_cycles * self._pace
            busy, until_free = (int(each * self._part) for each in cycles)
            self._known[step] = step.shift_cycles * self._part, busy, until_free
        shift, active, free = self._known[step]
        self._fetched = max(self._fetched, self._shifts.popleft()) + self._tile
        shifts = max(self._fetched, self._begins)
        self._shifts.append(shifts)
        ready, waits = shifts + shift, max(shifts, self._idle)
        self._active += active
        self._stall += waits - self._idle
        self._shift += max(0, ready - waits)
        self._begins = max(ready, self.free)
        self._idle, self.free = self._begins + active, self._begins + free

    def _repeat(self, repeat: RepeatedSteps) -> None:
        """Runs all folds of a repetition, round by round. Once a round leaves the state as it was, the times of all rounds that are
        left are added at once.
        """
        for done in range(repeat.number):
            before, begins, totals = self._state(), self._begins, self.totals
            for step in repeat.steps:
                self.run(step)
            if self._state() == before:
                left = repeat.number - done - 1
                self._active, self._stall, self._shift = (new + left * (new - old) for new, old in zip(self.totals, totals))
                self._advance(left * (self._begins - begins))
                return

    def _state(self) -> tuple:
        """Returns when the memory, the queue and the array are free, counted from the beginning of the last fold. From equal
        states, the same steps take equally long.
        """
        return tuple(time - self._begins for time in (self._fetched, self._idle, self.free, *self._shifts))

    def _advance(self, parts: int) -> None:
        """Moves all times forward by a number of parts of a cycle."""
        self._fetched, self._begins, self._idle, self.free = (
            time + parts for time in (self._fetched, self._begins, self._idle, self.free)
        )
        self._shifts = deque(time + parts for time in self._shifts)
