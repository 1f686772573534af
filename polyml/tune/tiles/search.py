"""The search for tiles: the most promising ones simulated in a window, the times of some predicted.

Which tiles miss least is asked of the source's order in tiles; the order in which the code made of them runs is another one, with
vectors, register tiles and copies: its times are predicted from that program's instructions and misses.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from math import inf, prod
from types import MappingProxyType

import numpy as np

from polyml.caches.simulator.simulate import simulate
from polyml.codegen.astgen.build import build
from polyml.codegen.ir.array_layout import Placed, placed
from polyml.codegen.ir.program import Jam, Program
from polyml.errors import IllegalSchedule, ScheduleError
from polyml.machines.cpu import CacheLevel
from polyml.performance.throughput import cycles_of
from polyml.performance.trip_counts import Site, executions
from polyml.schedule.script.schedule import NOTHING, Schedule
from polyml.tune.tiles.estimates import MARGIN, Candidate, Estimates
from polyml.tune.tiles.reciprocals import expected
from polyml.tune.tiles.windows import Tiled, tiled, within

WINDOW = 1_000_000  # instances that are simulated of a candidate
FIRST = 12  # candidates that are simulated before their neighbours are
ALIKE = 1.02  # times the least misses, that count as few: longer innermost loops decide
GAIN = 0.98  # of the least prediction, that a tile should be below to be looked at
MIDDLE, SHORTER = 4.0, 1.0  # times the root of a loop's iterations


@dataclass(frozen=True)
class Rates:
    """misses: seconds that a miss of each level takes. clock: cycles per second. vector_bytes: of the machine's registers."""

    misses: tuple[float, ...]
    clock: float
    vector_bytes: int


class Search:
    """end: the time of the processor at which it stops. window: the most instances that were simulated of a candidate."""

    def __init__(
        self, source: Schedule, nests: Sequence[Sequence[str]], extents: Sequence[int], sizes: Mapping[str, int],
        levels: tuple[CacheLevel, ...], rates: Rates | None, end: float, addresses: Mapping[str, int],
    ):  # fmt: skip
        self._source, self._nests, self._extents, self._sizes, self._levels = source, nests, extents, sizes, levels
        self._addresses = addresses
        self._rates, self._end = rates, end
        self._weights = rates.misses if rates else (1.0,) * len(levels)
        self._scop = source.problem.scop
        self._instructions: dict[tuple[int, ...], float] = {}  # seconds of those that are predicted
        self.window = 0
        self.estimates = Estimates(source, nests, extents, sizes, levels, self._weights, addresses)

    def run(self, until: float) -> tuple[Candidate, ...]:
        """The candidates that were simulated, the one that costs least first: those of the least estimates, which know of sets
        when they are about to be simulated, and the neighbours of the best. until: when predictions begin.
        """
        queue = [(self.estimates.cost(sizes), -prod(sizes), sizes, False) for sizes in self.estimates.candidates]
        heapify(queue)
        found: dict[tuple[int, ...], Candidate] = {}
        while queue and len(found) < FIRST and time.process_time() < until:
            estimate, larger, sizes, knows_sets = heappop(queue)
            if found and estimate > MARGIN * self.estimates.instances * min(map(self._cost, found.values())):
                break
            if knows_sets:
                self._simulate(self.estimates.candidates[sizes], found)
            else:
                heappush(queue, (self.estimates.cost(self.estimates.with_sets(sizes).sizes), larger, sizes, True))
        if not found:
            self._simulate(self.estimates.candidates[queue[0][2]], found)
        looked_at: set[tuple[int, ...]] = set()
        while time.process_time() < until:  # from the best one to a better neighbour, as long as there is one
            best = min(found.values(), key=self._order)
            if best.sizes in looked_at:
                break
            looked_at.add(best.sizes)
            for near in self.estimates.neighbours(best.sizes):
                self._simulate(near, found)
        return self._sorted(found)

    def times(self, simulated: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """The candidates whose times are predicted, the fastest first: loops of middle length, each of them short alone, whole
        loops, the one of fewest misses, then whatever these let expect to be the fastest, as long as that is below the least
        prediction and there is time.
        """
        found: dict[tuple[int, ...], Candidate] = {}
        known = {c.sizes: c for c in simulated}
        every = [*zip(self._extents, self.estimates.choices)]
        middle, short, whole = (tuple(_near(part, *each) for each in every) for part in (MIDDLE, SHORTER, inf))
        shorter = [(*middle[:k], short[k], *middle[k + 1 :]) for k in range(len(middle))]
        wanted = iter(dict.fromkeys([middle, *shorter, whole, simulated[0].sizes]))
        while time.process_time() < self._end or not found:
            sizes = next(wanted, None) or self._expected(found)
            if sizes is None:
                break
            self._predict(known.get(sizes, self.estimates.candidates[sizes]), found)
        timed = [(c.seconds, place, c) for place, c in enumerate(found.values()) if c.seconds is not None]
        return tuple(c for _, _, c in sorted(timed, key=lambda each: each[:2]))

    def _expected(self, found: Mapping[tuple[int, ...], Candidate]) -> tuple[int, ...] | None:
        """What should be fastest, by the instructions of those that are known and by estimates of misses; None where that is none
        that is not predicted.
        """
        predicted = {s: c.seconds for s, c in found.items() if c.seconds is not None}
        if len(predicted) < 2:
            return None
        moved = sum(seconds - self._instructions[s] for s, seconds in predicted.items())
        often = moved / max(sum(self.estimates.cost(s) for s in predicted), 1e-30)
        sizes = np.array([*self.estimates.candidates])
        least = 0.9 * min(self._instructions.values())
        seconds = np.maximum(expected(self._instructions, sizes), least)
        seconds += often * np.array([self.estimates.cost(each) for each in self.estimates.candidates])
        seconds[[place for place, each in enumerate(self.estimates.candidates) if each in found]] = np.inf
        best = int(np.argmin(seconds))
        return tuple(map(int, sizes[best])) if seconds[best] < GAIN * min(predicted.values()) else None

    def _sorted(self, found: dict[tuple[int, ...], Candidate]) -> tuple[Candidate, ...]:
        """The cheapest first; of those that are alike, the one with the longest innermost loop."""
        every = sorted(found.values(), key=self._order)
        alike = [c for c in every if self._cost(c) <= ALIKE * self._cost(every[0])]
        first = max(alike, key=lambda c: (c.sizes[-1], prod(c.sizes)))
        return (first, *(c for c in every if c is not first))

    def _order(self, c: Candidate) -> tuple[float, int]:
        return self._cost(c), -prod(c.sizes)

    def _predict(self, candidate: Candidate, found: dict) -> None:
        """The time of the code that the tiles become: its instructions, and its misses where it may be the fastest."""
        sizes, made = candidate.sizes, self._tiled(candidate.sizes)
        found[sizes] = candidate
        try:
            program = self._source.problem.generate(made.tree, NOTHING)
        except (IllegalSchedule, ScheduleError):
            return
        places = placed(program, self._sizes, addresses=self._addresses)
        sites = executions(program, self._sizes, places)
        instructions = cycles_of(sites, program, places, self._rates.vector_bytes).on(1) / self._rates.clock
        self._instructions[sizes] = instructions
        if instructions < min((c.seconds for c in found.values() if c.seconds is not None), default=inf):
            misses, _ = self._missed(made, program, places, _runs(sites))
            found[sizes] = replace(candidate, seconds=instructions + self._weighed(misses) * self.estimates.instances)

    def _tiled(self, sizes: tuple[int, ...]) -> Tiled:
        return tiled(self._source, self._nests, sizes)

    def _missed(
        self, made: Tiled, program: Program, places: Mapping[str, Placed], runs: Mapping[str, int] = MappingProxyType({})
    ) -> tuple[tuple[float, ...], int]:
        """Misses of each level per instance of the source's statements; how many of these were simulated, in a window. runs: how
        often other statements run, copies. Where all of a window's lines fit a level, its first uses are not the whole's: these
        are estimated.
        """
        part = within(program, made.window(self._sizes, self.estimates.instances, WINDOW))
        counts = simulate(part, self._sizes, self._levels, classify=False, places=places).counts
        own = {r.statement: c.accesses for r, c in counts.items()}  # each reference is used once by each instance
        ran = sum(count for name, count in own.items() if self._is_source(name))
        scale = self.estimates.instances / ran
        often = {name: scale if self._is_source(name) else runs[name] / max(1, count) for name, count in own.items()}
        found = []
        for number, level in enumerate(self._levels):
            again = sum(often[r.statement] * (c.misses[number] - c.first[number]) for r, c in counts.items())
            first = sum(c.first[number] for c in counts.values())
            if ran < self.estimates.instances and first <= level.lines:
                first = self.estimates.candidates[made.sizes].estimates[number]
            else:
                first = sum(often[r.statement] * c.first[number] for r, c in counts.items())
            found.append((again + first) / self.estimates.instances)
        return tuple(found), ran

    def _is_source(self, statement: str) -> bool:
        """Whether it is one of the source's, which may read from copies."""
        return statement.partition("_from_")[0] in self._scop.statements

    def _weighed(self, misses: Sequence[float]) -> float:
        return sum(w * m for w, m in zip(self._weights, misses))

    def _cost(self, c: Candidate) -> float:
        return self._weighed(c.misses or ())

    def _simulate(self, candidate: Candidate, found: dict) -> None:
        if candidate.sizes in found or found and time.process_time() > self._end:
            return
        made = self._tiled(candidate.sizes)
        program = build(self._scop, made.tree, self._source.problem.reductions)
        misses, ran = self._missed(made, program, self.estimates.places)
        self.window = max(self.window, ran)
        found[candidate.sizes] = replace(candidate, misses=misses)


def _near(often: float, extent: int, choices: Sequence[int]) -> int:
    """The size nearest to so many times the root of all iterations."""
    wanted = min(often * extent**0.5, extent)
    return min(choices, key=lambda size: max(size, wanted) / min(size, wanted))


def _runs(sites: Sequence[Site]) -> dict[str, int]:
    """How often each statement runs."""
    found: dict[str, int] = {}
    for site in sites:
        for instance, around in site.instances:
            together = prod(node.count * (node.lanes if isinstance(node, Jam) else 1) for node in around)
            found[instance.statement] = found.get(instance.statement, 0) + site.iterations * together
    return found
