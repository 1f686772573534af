"""The choice of tiles of the source's loops: those that miss least, and those that are fastest.

Footprints tell how large tiles should be (`estimates`), but not which of them have many lines in the same sets of a cache: the
simulation of the most promising ones does (`search`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

from polyml import polyhedra
from polyml.errors import IllegalSchedule, PolymlValueError, ScheduleError
from polyml.machines.cpu import CacheLevel
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.tree import loop_tree as loops
from polyml.schedule.tree.loop_tree import Block, Loop, Node
from polyml.tune.tiles.estimates import SHORT, Candidate, TunedNest
from polyml.tune.tiles.search import Rates, TileSearch
from polyml.tune.tiles.windows import ends, tiled
from polyml.values import cached_property

MOST_LOOPS = 4  # of a nest, that have tiles of several sizes
SEARCH = 0.4  # of the time is for misses, where times are predicted too


@dataclass(frozen=True)
class Tiles:
    """A Tiles holds the tiles that were considered for a kernel's nests, and the ones that were chosen.

    loops: the names of the loops that are tiled, outermost first.
    nests: for each nest, the names of its tiled loops with a statement, such as "S0.i"; all nests get the same tiles.
    extents: for each loop, the most iterations that it has.
    simulated: the candidates whose misses were simulated, the best first.
    predicted: the candidates whose times were predicted, the fastest first.
    candidates: all that were considered, with misses as estimated from the lines that tiles access.
    instances: how many instances of statements the kernel has.
    window: the most instances that were simulated of a candidate.
    seconds: how long the choice took.
    problem: why there are no tiles; "" where there are.
    source: the schedule that is tiled.
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
        """Returns the candidate of the fewest misses: by simulation if any candidate was simulated, else by the estimates. Returns
        None where there are no candidates.
        """
        if self.simulated:
            return self.simulated[0]
        return min(self.candidates, key=lambda each: (sum(each.estimates), -prod(each.sizes)), default=None)

    @property
    def fastest(self) -> Candidate | None:
        """Returns the candidate of the least predicted time; None where no times were predicted."""
        return self.predicted[0] if self.predicted else None

    @property
    def chosen(self) -> Candidate | None:
        """Returns the candidate of the least predicted time, or that of the fewest misses where no times were predicted."""
        return self.fastest or self.best

    @cached_property
    def schedule(self) -> Schedule | None:
        """Returns the source's loops in the chosen tiles, proved legal, for `k.with_schedule`; None where there are no tiles."""
        found, chosen = self.source, self.chosen
        if chosen is None or found is None:
            return None
        for names in self.nests:
            found = found.tile(dict(zip(names, chosen.sizes)))
        return found


def tiles(
    source: Schedule, sizes: Mapping[str, int], levels: Sequence[CacheLevel], rates: Rates | None = None, seconds: float = 1.0,
    addresses: Mapping[str, int] = MappingProxyType({}),
) -> Tiles:  # fmt: skip
    """Returns the choice of tiles for those nests of the source that have the most loops. Where no tiles are possible, its
    `problem` says why.

    It simulates misses and predicts times for some candidates, until the time is over.

    source: the source's order.
    sizes: values of parameters.
    levels: the caches.
    rates: the costs by which times are predicted; None: misses of all levels cost the same, and no times are predicted.
    seconds: CPU time after which the search stops; 0: nothing is simulated.
    addresses: where arrays begin, as far as it is known.
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
    nest = TunedNest(source, nests, counts, sizes, tuple(levels), addresses)
    search = TileSearch(nest, rates, began + seconds)
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
    """Returns (for each nest the names of its loops that get tiles of several sizes, how many iterations each of these loops has at
    most).

    In a deep nest the outermost loops are left out, so that at most four loops with more than eight iterations each remain.
    """
    found = extents(source, nests, sizes)
    long = [k for k, extent in enumerate(found) if extent > SHORT]
    first = long[-MOST_LOOPS] if len(long) >= MOST_LOOPS else 0
    return tuple(names[first:] for names in nests), found[first:]


def nests_of(node: Node) -> Iterator[tuple[str, ...]]:
    """Yields the names, such as "S0.i", of the loops of each innermost nest. A nest is loops of which each has the next one as its
    whole body; it is innermost where no further loops are inside.
    """
    if isinstance(node, Block):
        for part in node.parts:
            yield from nests_of(part.body)
    elif isinstance(node, Loop):
        names = [node.name]
        while isinstance(node.body, Loop):
            node = node.body
            names.append(node.name)
        if any(isinstance(inside, (Block, Loop)) for inside in loops.children(node.body)):
            yield from nests_of(node.body)
        else:
            yield tuple(f"{loops.statements(node.body)[0]}.{name}" for name in names)


def extents(source: Schedule, nests: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Returns how many iterations each loop has at most, over all nests.

    nests: the names of the loops of each nest, such as "S0.i", outermost first.
    sizes: values of parameters.
    """
    found = [1] * len(nests[0])
    for names in nests:
        for k, name in enumerate(names):
            low, high = ends(source, name, sizes)
            found[k] = max(found[k], high - low + 1)
    return tuple(found)
