"""The search for tiles: misses of the most promising ones are simulated in a window, and times of some are predicted.

Misses are those of the source's order in tiles. The code that is generated for tiles runs in another order, with vectors, register
tiles and copies: its times are predicted from that program's instructions and misses.
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
from polyml.performance.throughput import cycles_of
from polyml.performance.trip_counts import Site, executions
from polyml.pipeline.generate import Generated
from polyml.schedule.script.schedule import NOTHING
from polyml.tune.tiles.estimates import MARGIN, Candidate, Estimates, TunedNest
from polyml.tune.tiles.reciprocals import expected
from polyml.tune.tiles.windows import Tiled, tiled, within

WINDOW = 1_000_000  # instances that are simulated of a candidate
FIRST = 12  # candidates that are simulated before their neighbours are
EQUAL = 1.02  # factor within which misses count as equal: longer innermost loops decide
GAIN = 0.98  # of the least predicted time: only tiles expected to be below it are predicted
MIDDLE, SHORTER = 4.0, 1.0  # tile sizes, in square roots of a loop's iterations


@dataclass(frozen=True)
class Rates:
    """A Rates holds the rates of a machine by which times are predicted.

    misses: seconds that a miss of each cache takes.
    clock: cycles per second.
    vector_bytes: bytes of a vector register.
    """

    misses: tuple[float, ...]
    clock: float
    vector_bytes: int


class TileSearch:
    """A TileSearch searches for good tiles of nests: it simulates the misses of some candidates, and predicts the times of some.

    nest: the nests, sizes and caches.
    rates: the costs by which times are predicted; None: misses of all caches cost the same, and no times are predicted.
    end: when the search stops, as CPU time of this process (`time.process_time`).
    window: the most instances that were simulated of a candidate.
    """

    def __init__(self, nest: TunedNest, rates: Rates | None, end: float):
        self._source, self._nests, self._extents, self._sizes, self._levels = (
            nest.source,
            nest.nests,
            nest.extents,
            nest.sizes,
            nest.levels,
        )
        self._addresses = nest.addresses
        self._rates, self._end = rates, end
        self._weights = rates.misses if rates else (1.0,) * len(nest.levels)
        self._scop = nest.source.problem.scop
        self._instructions: dict[tuple[int, ...], float] = {}  # seconds of those that are predicted
        self.window = 0
        self.estimates = Estimates(nest, self._weights)

    def run(self, until: float) -> tuple[Candidate, ...]:
        """Returns the candidates whose misses were simulated, the cheapest first.

        First those with the least estimates are simulated, after the estimates have been corrected for sets with too many lines
        (see `Estimates.with_sets`); then neighbours of the best one, as long as they are better.

        until: when simulation ends, as CPU time of this process (`time.process_time`).
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
        visited: set[tuple[int, ...]] = set()
        while time.process_time() < until:  # from the best one to a better neighbour, as long as there is one
            best = min(found.values(), key=self._order)
            if best.sizes in visited:
                break
            visited.add(best.sizes)
            for near in self.estimates.neighbours(best.sizes):
                self._simulate(near, found)
        return self._sorted(found)

    def times(self, simulated: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Returns the candidates whose times were predicted, the fastest first; () without rates.

        The first to be predicted are a tile with a medium size along each loop, the same with a smaller size along one of the
        loops, the tile that is the whole nest, and the candidate of fewest misses. As long as there is time, further ones follow
        that are expected to be faster than the best one so far.

        simulated: the candidates whose misses are known, the best first.
        """
        if self._rates is None:
            return ()
        rates = self._rates
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
            self._predict(known.get(sizes, self.estimates.candidates[sizes]), rates, found)
        timed = [(c.seconds, number, c) for number, c in enumerate(found.values()) if c.seconds is not None]
        return tuple(c for _, _, c in sorted(timed, key=lambda each: each[:2]))

    def _expected(self, found: Mapping[tuple[int, ...], Candidate]) -> tuple[int, ...] | None:
        """Returns the sizes of the tiles that are expected to be fastest, among those whose times are not predicted yet; None where
        none are expected to be clearly faster than the best one so far.

        The expected time has two parts: the time of the instructions, from a function of the tile sizes that is fitted to the
        candidates predicted so far, and the time of the estimated misses. With fewer than two predictions the result is None.

        found: the candidates so far, by tile sizes, with their predicted times.
        """
        predicted = {s: c.seconds for s, c in found.items() if c.seconds is not None}
        if len(predicted) < 2:
            return None
        moved = sum(seconds - self._instructions[s] for s, seconds in predicted.items())
        scale = moved / max(sum(self.estimates.cost(s) for s in predicted), 1e-30)
        sizes = np.array([*self.estimates.candidates])
        least = 0.9 * min(self._instructions.values())
        seconds = np.maximum(expected(self._instructions, sizes), least)
        seconds += scale * np.array([self.estimates.cost(each) for each in self.estimates.candidates])
        seconds[[number for number, each in enumerate(self.estimates.candidates) if each in found]] = np.inf
        best = int(np.argmin(seconds))
        return tuple(map(int, sizes[best])) if seconds[best] < GAIN * min(predicted.values()) else None

    def _sorted(self, found: dict[tuple[int, ...], Candidate]) -> tuple[Candidate, ...]:
        """Returns the candidates, the cheapest first; of about equally cheap ones the one with the longest innermost loop."""
        every = sorted(found.values(), key=self._order)
        equal = [c for c in every if self._cost(c) <= EQUAL * self._cost(every[0])]
        first = max(equal, key=lambda c: (c.sizes[-1], prod(c.sizes)))
        return (first, *(c for c in every if c is not first))

    def _order(self, c: Candidate) -> tuple[float, int]:
        """Returns the key by which candidates are sorted: those of less cost come first, and of the same cost those with larger
        tiles.
        """
        return self._cost(c), -prod(c.sizes)

    def _predict(self, candidate: Candidate, rates: Rates, found: dict[tuple[int, ...], Candidate]) -> None:
        """Predicts the time of the code for a candidate, and adds the candidate to `found` with this time.

        The time is that of the instructions plus that of the misses. It stays None where no code can be generated. It also stays
        None, and no misses are simulated, where the instructions alone take longer than all of the fastest candidate's code.
        """
        sizes, made = candidate.sizes, self._tiled(candidate.sizes)
        found[sizes] = candidate
        try:
            generated = self._source.problem.generate(made.tree, NOTHING)
        except (IllegalSchedule, ScheduleError):
            return
        assert isinstance(generated, Generated), "the code of a problem for a processor"
        program = generated.program
        places = placed(program, self._sizes, addresses=self._addresses)
        sites = executions(program, self._sizes, places)
        instructions = cycles_of(sites, program, places, rates.vector_bytes).on(1) / rates.clock
        self._instructions[sizes] = instructions
        if instructions < min((c.seconds for c in found.values() if c.seconds is not None), default=inf):
            misses, _ = self._missed(made, program, places, _runs(sites))
            found[sizes] = replace(candidate, seconds=instructions + self._weighed(misses) * self.estimates.instances)

    def _tiled(self, sizes: tuple[int, ...]) -> Tiled:
        return tiled(self._source, self._nests, sizes)

    def _missed(
        self, made: Tiled, program: Program, places: Mapping[str, Placed], runs: Mapping[str, int] = MappingProxyType({})
    ) -> tuple[tuple[float, ...], int]:
        """Returns (the misses of each cache for one instance of the source's statements, how many of these instances were
        simulated).

        A part in the middle of the program is simulated. Where all lines of this part fit into a cache, first accesses to lines in
        it do not tell how many the whole program has, and the candidate's estimate is taken for these.

        made: the source's nests in tiles.
        program: the program for the tiles.
        places: the arrays' addresses and strides.
        runs: for statements that make copies (packing), how often each runs in the whole program.
        """
        part = within(program, made.window(self._sizes, self.estimates.instances, WINDOW))
        counts = simulate(part, self._sizes, self._levels, classify=False, places=places).counts
        own = {r.statement: c.accesses for r, c in counts.items()}  # each instance makes each access once
        ran = sum(count for name, count in own.items() if self._is_source(name))
        scale = self.estimates.instances / ran
        often = {name: scale if self._is_source(name) else runs[name] / max(1, count) for name, count in own.items()}
        found: list[float] = []
        for number, level in enumerate(self._levels):
            again = sum(often[r.statement] * (c.misses[number] - c.first[number]) for r, c in counts.items())
            first: float = sum(c.first[number] for c in counts.values())
            if ran < self.estimates.instances and first <= level.lines:
                first = self.estimates.candidates[made.sizes].estimates[number]
            else:
                first = sum(often[r.statement] * c.first[number] for r, c in counts.items())
            found.append((again + first) / self.estimates.instances)
        return tuple(found), ran

    def _is_source(self, statement: str) -> bool:
        """Returns whether the statement is one of the source's, perhaps in a version that reads from copies."""
        return statement.partition("_from_")[0] in self._scop.statements

    def _weighed(self, misses: Sequence[float]) -> float:
        """Returns the sum of the misses of each cache, weighted by what a miss of the cache costs."""
        return sum(w * m for w, m in zip(self._weights, misses))

    def _cost(self, c: Candidate) -> float:
        return self._weighed(c.misses or ())

    def _simulate(self, candidate: Candidate, found: dict[tuple[int, ...], Candidate]) -> None:
        """Simulates the misses of a candidate and adds it to `found`, unless it is there already or there is no time left."""
        if candidate.sizes in found or found and time.process_time() > self._end:
            return
        made = self._tiled(candidate.sizes)
        program = build(self._scop, made.tree, dict(self._source.problem.reductions))
        misses, ran = self._missed(made, program, self.estimates.places)
        self.window = max(self.window, ran)
        found[candidate.sizes] = replace(candidate, misses=misses)


def _near(roots: float, extent: int, choices: Sequence[int]) -> int:
    """Returns one of the tile sizes in `choices`: the one whose ratio to the wanted size is nearest to 1. The wanted size is
    `roots` times the square root of the loop's iterations (`extent`), but at most all of them.
    """
    wanted = min(roots * extent**0.5, extent)
    return min(choices, key=lambda size: max(size, wanted) / min(size, wanted))


def _runs(sites: Sequence[Site]) -> dict[str, int]:
    """Returns how often each statement runs, by its name."""
    found: dict[str, int] = {}
    for site in sites:
        for instance, around in site.instances:
            together = prod(node.count * (node.lanes if isinstance(node, Jam) else 1) for node in around)
            found[instance.statement] = found.get(instance.statement, 0) + site.iterations * together
    return found
