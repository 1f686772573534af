"""When folds run whose operands come from a memory, tile by tile, through a queue: what the array waits for.

    fetched(n) = max(fetched(n-1), shifted(n - queue)) + tile      the memory reads on while a place of the queue is free
    shifts(n)  = max(fetched(n), begins(n-1))                      into the second register of each unit, which is free by then
    begins(n)  = max(shifts(n) + rows, free(n-1))                  once it is there, and the units are free

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
class Step:
    """A fold in its place among others. shift_cycles: to bring in what stays. active_cycles: that a unit runs instances. free_cycles:
    from its beginning until the next fold's units are free; of the last one until all is done.
    """

    shift_cycles: int
    active_cycles: Fraction
    free_cycles: int


@dataclass(frozen=True)
class Repeat:
    """The same steps so many times."""

    number: int
    steps: Sequence[Step | Repeat]


def nested(numbers: Sequence[Sequence[int]], steps: Sequence[Step]) -> tuple[Step | Repeat, ...]:
    """Steps of folds with numbers such as (o, f, g), in order, as repetitions of what the folds of one o, and of one (o, f), do.

    >>> a, b = Step(4, Fraction(10), 10), Step(4, Fraction(8), 10)
    >>> nested([(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)], [a, b, a, b, b]) == (Repeat(2, (a, b)), b)
    True
    """
    return _nested(list(numbers), list(steps), 0)


def _nested(numbers: list[Sequence[int]], steps: list[Step], depth: int) -> tuple[Step | Repeat, ...]:
    if numbers and depth == len(numbers[0]) - 1:
        return tuple(found for step, alike in groupby(steps) for found in _times(len([*alike]), (step,)))
    firsts = [number[depth] for number in numbers]
    starts = [k for k, first in enumerate(firsts) if k == 0 or first != firsts[k - 1]]
    parts = [slice(start, end) for start, end in zip(starts, [*starts[1:], len(steps)])]
    found: list[Step | Repeat] = []
    for mine, alike in groupby(parts, key=lambda part: steps[part]):
        part, *others = alike
        found += _times(1 + len(others), _nested(numbers[part], mine, depth + 1))
    return tuple(found)


def _times(number: int, steps: tuple[Step | Repeat, ...]) -> tuple[Step | Repeat, ...]:
    return (Repeat(number, steps),) if number > 1 else steps


@dataclass(frozen=True)
class Stalled:
    """tile_cycles: in which the memory delivers what stays in the array for a fold. cycles: of everything. Of these, until the
    last fold has begun and run: active, waiting for a tile, waiting while one is shifted in; the rest waits for units.
    """

    tile_cycles: float
    cycles: float
    active_cycles: float
    stall_cycles: float
    shift_cycles: float

    @property
    def matrix_cycles(self) -> float:
        return self.active_cycles + self.stall_cycles + self.shift_cycles

    @property
    def active_share(self) -> float:
        return self.active_cycles / self.matrix_cycles

    @property
    def stall_share(self) -> float:
        return self.stall_cycles / self.matrix_cycles

    @property
    def shift_share(self) -> float:
        return self.shift_cycles / self.matrix_cycles


def stalled(steps: Iterable[Step | Repeat], tile_cycles: Cycles, queue: int, pace: Cycles = 1) -> Stalled:
    """queue: tiles that wait next to the array. pace: cycles that a unit takes for an instance.

    >>> stalled([Repeat(8, (Step(4, Fraction(10), 10),)), Step(4, Fraction(10), 16)], 0, 4)  # 4 rows, 8 folds of 10, one of 16
    Stalled(tile_cycles=0.0, cycles=100.0, active_cycles=90.0, stall_cycles=0.0, shift_cycles=4.0)
    """
    steps = list(steps)
    pace, tile = Fraction(pace), Fraction(tile_cycles)
    part = lcm(tile.denominator, pace.denominator, *{(active * pace).denominator for active in _actives(steps)})
    clock = _Clock(int(tile * part), queue, pace, part)
    for step in steps:
        clock.run(step)
    return Stalled(float(tile), *(float(Fraction(time, part)) for time in (clock.free, *clock.totals)))


def _actives(steps: Iterable[Step | Repeat]) -> Iterator[Fraction]:
    for step in steps:
        if isinstance(step, Repeat):
            yield from _actives(step.steps)
        else:
            yield step.active_cycles


class _Clock:
    """Times are whole parts of cycles, so many of which are one."""

    def __init__(self, tile: int, queue: int, pace: Fraction, part: int):
        self._tile, self._pace, self._part = tile, pace, part
        self._fetched = self._begins = self._idle = self.free = 0  # _idle: from when on the fold before has nothing to do
        self._shifts = deque([0] * queue)
        self._active = self._stall = self._shift = 0
        self._known: dict[Step, tuple[int, int, int]] = {}

    @property
    def totals(self) -> tuple[int, int, int]:
        return self._active, self._stall, self._shift

    def run(self, step: Step | Repeat) -> None:
        if isinstance(step, Repeat):
            self._repeat(step)
        else:
            self._fold(step)

    def _fold(self, step: Step) -> None:
        if step not in self._known:
            cycles = step.shift_cycles, step.active_cycles * self._pace, step.free_cycles * self._pace
            self._known[step] = tuple(int(each * self._part) for each in cycles)
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

    def _repeat(self, repeat: Repeat) -> None:
        for done in range(repeat.number):
            before, begins, totals = self._state(), self._begins, self.totals
            for step in repeat.steps:
                self.run(step)
            if self._state() == before:
                left = repeat.number - done - 1
                self._active, self._stall, self._shift = (new + left * (new - old) for new, old in zip(self.totals, totals))
                self._move(left * (self._begins - begins))
                return

    def _state(self) -> tuple:
        """All times from the last fold's beginning on."""
        return tuple(time - self._begins for time in (self._fetched, self._idle, self.free, *self._shifts))

    def _move(self, parts: int) -> None:
        self._fetched, self._begins, self._idle, self.free = (
            time + parts for time in (self._fetched, self._begins, self._idle, self.free)
        )
        self._shifts = deque(time + parts for time in self._shifts)
