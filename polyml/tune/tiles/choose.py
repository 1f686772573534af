"""Which tiles of the source's loops miss least, and which are fastest.

Footprints say how large tiles should be (`estimates`), not which of them have lines that meet in the same sets: the simulation of
the most promising ones does (`search`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import MappingProxyType

from polyml import polyhedra
from polyml.errors import IllegalSchedule, PolymlValueError, ScheduleError
from polyml.machines.cpu import CacheLevel
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.tree import loop_tree as loops
from polyml.schedule.tree.loop_tree import Block, Loop, Node
from polyml.tune.tiles.estimates import SHORT, Candidate
from polyml.tune.tiles.search import Rates, Search
from polyml.tune.tiles.windows import ends, tiled

MOST_LOOPS = 4  # of a nest, that have tiles of several sizes
SEARCH = 0.4  # of the time is for misses, where times are predicted too


@dataclass(frozen=True)
class Tiles:
    """loops: of the nest that is tiled, outermost first. nests: how they are called in each nest that is tiled alike; extents:
    how many iterations they have at most. simulated: of the source's order in tiles, the best first. predicted: the fastest
    first. problem: why there are no tiles, "" where there are. candidates: all that were considered, by their footprints.
    instances: of the kernel; window: of them, that were simulated of each candidate. source: the order that is tiled.
    """

    loops: tuple[str, ...] = ()
    nests: tuple[tuple[str, ...], ...] = ()
    extents: tuple[int, ...] = ()
    simulated: tuple[Candidate, ...] = ()
    predicted: tuple[Candidate, ...] = ()
    candidates: tuple[Candidate, ...] = field(default=(), repr=False)
    instances: int = 0
    window: int = 0
    seconds: float = field(default=0.0, compare=False)
    problem: str = ""
    source: Schedule | None = field(default=None, repr=False, compare=False)

    @property
    def best(self) -> Candidate | None:
        """Of the fewest misses; where nothing was simulated, by the estimates of all levels together."""
        if self.simulated:
            return self.simulated[0]
        return min(self.candidates, key=lambda each: (sum(each.estimates), -prod(each.sizes)), default=None)

    @property
    def fastest(self) -> Candidate | None:
        """Of the least predicted time; None where none is predicted."""
        return self.predicted[0] if self.predicted else None

    @property
    def chosen(self) -> Candidate | None:
        """The fastest, or where no times are predicted the best."""
        return self.fastest or self.best

    @cached_property
    def schedule(self) -> Schedule | None:
        """The source's loops in the chosen tiles, proved, for `k.with_schedule`; None where there are no tiles."""
        found = self.source
        if self.chosen is None or found is None:
            return None
        for names in self.nests:
            found = found.tile(dict(zip(names, self.chosen.sizes)))
        return found


def tiles(
    source: Schedule, sizes: Mapping[str, int], levels: Sequence[CacheLevel], rates: Rates | None = None, seconds: float = 1.0,
    addresses: Mapping[str, int] = MappingProxyType({}),
) -> Tiles:  # fmt: skip
    """source: the source's order. rates: what a miss of each level costs, and to predict times by; None: misses of all levels
    cost the same, and no times are predicted. seconds: of the processor, after how many to stop; 0: nothing is simulated.
    addresses: where arrays begin, of those that are told.
    """
    start, began = time.perf_counter(), time.process_time()
    problem = source.problem
    several = [names for names in nests_of(source.loops) if len(names) > 1]
    if not several:
        return Tiles(problem="no loops are directly around each other")
    idle = [s.name for s in problem.scop.statements.values() if polyhedra.fix(s.domain, sizes).is_empty()]
    if idle:
        return Tiles(problem=f"{', '.join(idle)} has no instances with these sizes")
    depth = max(map(len, several))
    nests, counts = _varied([names for names in several if len(names) == depth], source, sizes)
    names = tuple(address.rpartition(".")[2] for address in nests[0])
    try:
        problem.prove(tiled(source, nests, (2,) * len(names)).tree)
    except (IllegalSchedule, ScheduleError) as reason:
        return Tiles(names, problem=reason.message)
    search = Search(source, nests, counts, sizes, tuple(levels), rates, began + seconds, addresses)
    try:
        found = search.run(began + seconds * (1.0 if rates is None else SEARCH)) if seconds else ()
        predicted = search.times(found) if found and rates is not None else ()
    except PolymlValueError as reason:  # it is not simulated
        return Tiles(names, problem=reason.message)
    times, known = {each.sizes: each for each in predicted}, search.estimates
    found = tuple(times.get(each.sizes, each) for each in found)
    took, every = time.perf_counter() - start, tuple(known.candidates.values())
    return Tiles(names, nests, counts, found, predicted, every, known.instances, search.window, took, source=source)


def _varied(
    nests: Sequence[tuple[str, ...]], source: Schedule, sizes: Mapping[str, int]
) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    """The loops of each nest from the first one on that is tiled, and how many iterations they have."""
    found = extents(source, nests, sizes)
    long = [k for k, extent in enumerate(found) if extent > SHORT]
    first = long[-MOST_LOOPS] if len(long) >= MOST_LOOPS else 0
    return tuple(names[first:] for names in nests), found[first:]


def nests_of(node: Node) -> Iterator[tuple[str, ...]]:
    """How loops around each other and nothing else are called, of each nest as far in as it goes."""
    if isinstance(node, Block):
        for part in node.parts:
            yield from nests_of(part.body)
    elif isinstance(node, Loop):
        names = [node.name]
        while isinstance(node.body, Loop):
            node = node.body
            names.append(node.name)
        if any(isinstance(part.body, (Block, Loop)) for part in getattr(node.body, "parts", ())):
            yield from nests_of(node.body)
        else:
            yield tuple(f"{loops.statements(node.body)[0]}.{name}" for name in names)


def extents(source: Schedule, nests: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """How many iterations each loop has at most, over all nests."""
    found = [1] * len(nests[0])
    for names in nests:
        for k, name in enumerate(names):
            low, high = ends(source, name, sizes)
            found[k] = max(found[k], high - low + 1)
    return tuple(found)
