"""Which tiles of the source's loops miss least: candidates by their footprints, the most promising ones simulated in a window.

Where the lines of one iteration of a loop fit a cache, the next iteration finds those that it uses again, and the whole loop
fetches each of its lines once; else every iteration fetches its own. Loops over tiles, then those inside one, from the outermost
inwards. That says how large tiles should be, not which of them have lines that meet in the same sets: the simulation does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from heapq import heapify, heappop, heappush
from itertools import product
from math import ceil, prod

import islpy as isl

from polyml import polyhedra
from polyml.caches import footprints
from polyml.caches.placement import placed
from polyml.caches.simulate import simulate
from polyml.codegen.ast import Program
from polyml.codegen.build import build
from polyml.errors import IllegalSchedule, ScheduleError
from polyml.machine import CacheLevel
from polyml.model.counting import Count
from polyml.report.crowding import Walked, crowded, walked
from polyml.report.cycles import cycles
from polyml.report.vectors import counted_by
from polyml.report.work import instances
from polyml.schedule import loops, transform
from polyml.schedule.loops import Block, Loop, Node
from polyml.schedule.script import Schedule

FILL = 0.8  # of a level's lines that one iteration may have
WINDOW = 1_000_000  # instances that are simulated of a candidate
MARGIN = 1.5  # by which estimates may be too high
FIRST = 12  # candidates that are simulated before their neighbours are
MOST_LOOPS = 4  # of a nest, that have tiles of several sizes
ALIKE = 1.02  # times the least misses, that count as few: longer innermost loops decide
SHORT = 8  # iterations of loops whose tiles are always whole
SEARCH = 0.6  # of the time is for misses, where times are predicted too
PREDICTED = 4  # of the fewest misses, whose times are predicted before their neighbours' are
MOST_CANDIDATES = 4000  # whose footprints are looked at


@dataclass(frozen=True)
class Candidate:
    """sizes: of the loops' tiles, outermost first. lines: of all arrays in one tile. estimates: of each level's misses, by footprints.
    misses: of each level per instance, in the window; None: not simulated. seconds: of the whole, as predicted of the code that
    these tiles become; None: not looked at, or refused.
    """

    sizes: tuple[int, ...]
    lines: int
    estimates: tuple[float, ...]
    misses: tuple[float, ...] | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Tiles:
    """loops: of the nest that is tiled, outermost first. nests: how they are called in each nest that is tiled alike; extents: how
    many iterations they have at most. simulated: the best first; problem: why there are no tiles, "" where there are.
    candidates: all that were considered, by their footprints. instances: of the kernel; window: of them, that were simulated of
    each candidate.
    """

    loops: tuple[str, ...] = ()
    nests: tuple[tuple[str, ...], ...] = ()
    extents: tuple[int, ...] = ()
    simulated: tuple[Candidate, ...] = ()
    candidates: tuple[Candidate, ...] = field(default=(), repr=False)
    instances: int = 0
    window: int = 0
    seconds: float = field(default=0.0, compare=False)
    problem: str = ""

    @property
    def best(self) -> Candidate | None:
        """Of the fewest misses; where nothing was simulated, by the estimates of all levels together."""
        if self.simulated:
            return self.simulated[0]
        return min(self.candidates, key=lambda each: (sum(each.estimates), -prod(each.sizes)), default=None)

    @property
    def fastest(self) -> Candidate | None:
        """Of the least predicted time; None where none is predicted."""
        predicted = [each for each in self.simulated if each.seconds is not None]
        return min(predicted, key=lambda each: each.seconds, default=None)


@dataclass(frozen=True)
class Rates:
    """misses: seconds that a miss of each level takes. clock: cycles per second. vector_bytes: of the machine's registers."""

    misses: tuple[float, ...]
    clock: float
    vector_bytes: int


def tiles(
    source: Schedule, sizes: Mapping[str, int], levels: Sequence[CacheLevel], rates: Rates | None = None, seconds: float = 1.0
) -> Tiles:
    """source: the source's order. rates: what a miss of each level costs, and to predict times by; None: misses of all levels
    cost the same, and no times are predicted. seconds: of the processor, after how many to stop; 0: nothing is simulated.
    """
    start, began = time.perf_counter(), time.process_time()
    problem = source.problem
    nests = [names for names in nests_of(source.loops) if len(names) > 1]
    if not nests:
        return Tiles(problem="no loops are directly around each other")
    depth = max(map(len, nests))
    nests = [names for names in nests if len(names) == depth]
    search = _Search(source, nests, sizes, tuple(levels), rates, began + seconds)
    try:
        problem.prove(_tiled(source, search.nests, (2,) * len(search.nests[0])))
    except (IllegalSchedule, ScheduleError) as reason:
        return Tiles(search.loops, problem=reason.message)
    found = search.run(began + seconds * (1.0 if rates is None else SEARCH)) if seconds else ()
    nests, extents_ = tuple(map(tuple, search.nests)), tuple(search.extents)
    known = tuple(search.candidates.values())
    return Tiles(search.loops, nests, extents_, found, known, search.instances, search.window, time.perf_counter() - start)


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
            low, high = _ends(source, name, sizes)
            found[k] = max(found[k], high - low + 1)
    return tuple(found)


def _ends(source: Schedule, name: str, sizes: Mapping[str, int], domain: isl.UnionSet | None = None) -> tuple[int, int]:
    """The first and the last value of a loop of the source, over all iterations around it. domain: of the instances that count."""
    loop = transform.at(source.loops, transform.find(source.loops, name))
    times = isl.UnionMap.from_union_pw_aff(loop.member).intersect_domain(source.problem.scop.domain if domain is None else domain)
    values = [polyhedra.fix(each, sizes) for each in polyhedra.pieces(times.range())]
    values = [each for each in values if not each.is_empty()]
    if not values:
        return 0, -1
    return min(v.dim_min_val(0).to_python() for v in values), max(v.dim_max_val(0).to_python() for v in values)


class _Search:
    def __init__(self, source: Schedule, nests, sizes, levels, rates: Rates | None, end: float):
        self._source, self._sizes, self._levels = source, sizes, levels
        self._rates, self._end = rates, end
        self._weights = rates.misses if rates else (1.0,) * len(levels)
        self._scop = source.problem.scop
        self.window = 0
        found = extents(source, nests, sizes)
        long = [k for k, extent in enumerate(found) if extent > SHORT]
        first = long[-MOST_LOOPS] if len(long) >= MOST_LOOPS else 0
        self.nests, self.extents = [names[first:] for names in nests], found[first:]
        self._models = [self._model(self._counts(names)) for names in self.nests]
        self.instances = sum(instances(statement, sizes) for statement in self._scop.statements.values())
        self._places = placed(Program(self._scop, ()), sizes)
        self._walked = [self._references(names) for names in self.nests]
        self.candidates = {c.sizes: c for c in map(self._estimated, self._sizes_tried())}

    def run(self, until: float) -> tuple[Candidate, ...]:
        """The candidates that were simulated, the one that costs least first: those of the least estimates, which know of sets
        when they are about to be simulated, and the neighbours of the best. until: when predictions begin.
        """
        queue = [(self._estimate(c), -prod(c.sizes), c.sizes, False) for c in self.candidates.values()]
        heapify(queue)
        found: dict[tuple[int, ...], Candidate] = {}
        while queue and len(found) < FIRST and time.process_time() < until:
            estimate, larger, sizes, knows_sets = heappop(queue)
            if found and estimate > MARGIN * self.instances * min(map(self._cost, found.values())):
                break
            if knows_sets:
                self._simulate(self.candidates[sizes], found)
            else:
                self.candidates[sizes] = self._estimated(sizes, sets=True)
                heappush(queue, (self._estimate(self.candidates[sizes]), larger, sizes, True))
        if not found:
            self._simulate(self.candidates[queue[0][2]], found)
        self._descend(found, self._order, lambda candidate: None, until)
        if self._rates is not None:
            for candidate in self._sorted(found)[:PREDICTED]:
                self._predict(candidate, found)
            self._descend(found, lambda c: (c.seconds is None, c.seconds or 0.0), lambda near: self._predict(near, found), self._end)
        return self._sorted(found)

    def _descend(self, found: dict, order: Callable[[Candidate], tuple], also: Callable[[Candidate], None], until: float) -> None:
        """From the best one to a better neighbour, as long as there is one and time. also: what is done with neighbours."""
        looked_at: set[tuple[int, ...]] = set()
        while time.process_time() < until:
            best = min(found.values(), key=order)
            if best.sizes in looked_at:
                return
            looked_at.add(best.sizes)
            for near in self._neighbours(best):
                self._simulate(near, found)
                if near.sizes in found:
                    also(found[near.sizes])

    def _sorted(self, found: dict[tuple[int, ...], Candidate]) -> tuple[Candidate, ...]:
        """The cheapest first; of those that are alike, the one with the longest innermost loop."""
        every = sorted(found.values(), key=self._order)
        alike = [c for c in every if self._cost(c) <= ALIKE * self._cost(every[0])]
        first = max(alike, key=lambda c: (c.sizes[-1], prod(c.sizes)))
        return (first, *(c for c in every if c is not first))

    def _order(self, c: Candidate) -> tuple[float, int]:
        return self._cost(c), -prod(c.sizes)

    def _predict(self, candidate: Candidate, found: dict) -> None:
        """The time of the code that the tiles become: its instructions, and the misses of the window for all instances."""
        if candidate.seconds is not None or time.process_time() > self._end:
            return
        try:
            program = self._source.problem.generate(_tiled(self._source, self.nests, candidate.sizes))
        except (IllegalSchedule, ScheduleError):
            return
        places = placed(program, self._sizes)
        instructions = cycles(program, self._sizes, places, self._rates.vector_bytes).on(1) / self._rates.clock
        found[candidate.sizes] = replace(candidate, seconds=instructions + self._cost(candidate) * self.instances)

    def _cost(self, c: Candidate) -> float:
        return sum(w * m for w, m in zip(self._weights, c.misses))

    def _estimate(self, c: Candidate) -> float:
        return sum(w * e for w, e in zip(self._weights, c.estimates))

    def _simulate(self, candidate: Candidate, found: dict) -> None:
        if candidate.sizes in found or found and time.process_time() > self._end:
            return
        program = self._windowed(candidate.sizes)
        counts = simulate(program, self._sizes, self._levels, classify=False, places=self._places).counts
        ran = sum(c.accesses for r, c in counts.items() if r.is_write)
        misses = tuple(sum(c.misses[level] for c in counts.values()) / ran for level in range(len(self._levels)))
        self.window = max(self.window, ran)
        found[candidate.sizes] = replace(candidate, misses=misses)

    def _neighbours(self, best: Candidate) -> Iterator[Candidate]:
        """One size longer or shorter."""
        known = [sorted({sizes[k] for sizes in self.candidates}) for k in range(len(best.sizes))]
        for k, each in enumerate(known):
            place = each.index(best.sizes[k])
            for other in (place - 1, place + 1):
                if 0 <= other < len(each):
                    near = (*best.sizes[:k], each[other], *best.sizes[k + 1 :])
                    if near in self.candidates:
                        yield self.candidates[near]

    # what there is to choose from

    @property
    def loops(self) -> tuple[str, ...]:
        return tuple(map(_name, self.nests[0]))

    def _sizes_tried(self) -> Iterable[tuple[int, ...]]:
        """Lines' multiples, and what divides a loop evenly."""
        line = self._levels[0].line_bytes // max(a.element.size_bytes for a in self._scop.arrays.values())
        for few in (32, 16, 8, 4):
            choices = [self._sizes_of(extent, line, few) for extent in self.extents]
            if prod(map(len, choices)) <= MOST_CANDIDATES:
                break
        return product(*choices)

    def _sizes_of(self, extent: int, line: int, parts: int) -> list[int]:
        """Of a loop's tiles: lines' multiples and what divides it into so many tiles at most, all of it for a short one."""
        if extent <= SHORT:
            return [extent]
        multiples = {line * m for m in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32) if m <= parts}
        even = {ceil(extent / count) for count in range(1, parts // 4 + 1)}
        return sorted({4, *multiples, *even} & {*range(1, extent)} | {extent})

    def _references(self, names: Sequence[str]) -> list[Walked]:
        """The references of a nest's statements, as its loops move them."""
        nest = [transform.at(self._source.loops, transform.find(self._source.loops, name)) for name in names]
        found = []
        for statement in loops.statements(nest[0]):
            members = [next(m for m in loops.pieces(loop.member) if m.domain().get_tuple_name() == statement) for loop in nest]
            iterators = [counted[0] if (counted := counted_by(member)) else None for member in members]
            domain = polyhedra.fix(self._scop.statements[statement].domain, self._sizes)
            count_ = len(self._scop.statements[statement].iterators)
            ends = [(domain.dim_min_val(k).to_python(), domain.dim_max_val(k).to_python()) for k in range(count_)]
            middles = [(low + high) // 2 for low, high in ends]
            found += walked(self._scop, statement, iterators, middles, self._sizes, self._places)
        return found

    def _counts(self, names: Sequence[str]) -> list[Count]:
        """The lines of a tile, by array, for tile sizes T0, T1, ..."""
        symbols = {_name(address): f"T{k}" for k, address in enumerate(names)}
        inside = transform.at(self._source.loops, transform.find(self._source.loops, names[0]))
        found = footprints.tile(self._scop, symbols, self._source.tree, statements=loops.statements(inside), seconds=0.1)
        return [f.lines.count for f in found.interior if f.lines.count is not None]

    def _model(self, counts: Sequence[Count]) -> Callable[[tuple[int, ...]], int]:
        """The lines of a tile of these sizes, all arrays together."""
        middles = {**self._sizes, **self._middles(counts)}

        @cache
        def lines(sizes: tuple[int, ...]) -> int:
            values = {**middles, **{f"T{k}": size for k, size in enumerate(sizes)}}
            return sum(each.compiled(values) for each in counts)

        return lines

    def _middles(self, counts: Sequence[Count]) -> dict[str, int]:
        """Where a tile in the middle begins, in iterations and in lines, where its lines depend on that."""
        named = frozenset().union(*(each.names for each in counts))
        found = {}
        for name, extent in ((_name(a), e) for names in self.nests for a, e in zip(names, self.extents)):
            for each in named:
                if each == name or re.fullmatch(rf"{name}_\d+", each):
                    found[each] = extent // 2 // int(each.rpartition("_")[2] if each != name else 1)
        return found

    def _estimated(self, sizes: tuple[int, ...], sets: bool = False) -> Candidate:
        """What the tiles cost by their footprints. sets: lines in sets with more of them than ways are fetched each time."""
        boxes = [(*sizes[:k], *self.extents[k:]) for k in range(len(sizes))]  # one iteration of so many loops over tiles
        boxes += [(*[1] * k, *sizes[k:]) for k in range(len(sizes) + 1)]
        counts = [ceil(extent / size) for extent, size in zip(self.extents, sizes)] + [*sizes]
        found, most = [0.0] * len(self._levels), 0
        for lines, references in zip(self._models, self._walked):
            each = [lines(box) for box in boxes]
            most = max(most, each[len(sizes)])
            for number, level in enumerate(self._levels):
                capacity = FILL * level.size_bytes / level.line_bytes
                fetched = float(each[-1])
                for depth in reversed(range(len(counts))):
                    again = counts[depth] * fetched
                    if each[depth + 1] > capacity:
                        fetched = again
                        continue
                    lost = crowded(references, boxes[depth + 1], level) if sets and each[depth + 1] > level.ways else 0.0
                    fetched = each[depth] + lost * max(0.0, again - each[depth])
                found[number] += fetched
        return Candidate(sizes, most, tuple(found))

    # what is simulated

    def _windowed(self, sizes: tuple[int, ...]) -> Program:
        """The program of these tiles, of some in the middle alone where there are many instances."""
        tree = _tiled(self._source, self.nests, sizes)
        domain, total = self._scop.domain, self.instances
        for k, size in enumerate(sizes):
            if total <= WINDOW:
                break
            ends = [_ends(self._source, names[k], self._sizes, domain) for names in self.nests]
            extent = max(high - low + 1 for low, high in ends)
            kept = max(size, extent * WINDOW // total // size * size)
            domain = domain.intersect(self._in_the_middle(k, kept, size, ends))
            total = total * min(kept, extent) // extent
        return build(self._scop, tree.intersect_domain(domain), self._source.problem.reductions)

    def _in_the_middle(self, k: int, count_: int, size: int, ends: Sequence[tuple[int, int]]) -> isl.UnionSet:
        """The instances in so many iterations of the k-th tiled loop, from one on at which a tile of this size begins.

        ends: of the loop, in each nest.
        """
        found = None
        for names, (low, high) in zip(self.nests, ends):
            first = low + max(0, high - low + 1 - count_) // 2
            first -= first % size  # tiles begin at multiples of their sizes
            loop = transform.at(self._source.loops, transform.find(self._source.loops, names[k]))
            for member in loops.pieces(loop.member):
                inside = member.ge_set(_constant(member, first)).intersect(member.le_set(_constant(member, first + count_ - 1)))
                part = isl.UnionSet.from_set(member.domain().intersect(inside))
                found = part if found is None else found.union(part)
        others = self._scop.domain.subtract(isl.UnionSet.universe(found))
        return found.union(others)


def _name(address: str) -> str:
    return address.rpartition(".")[2]


def _constant(like: isl.PwAff, value: int) -> isl.PwAff:
    space = like.get_domain_space()
    return isl.PwAff.from_aff(isl.Aff.val_on_domain(isl.LocalSpace.from_space(space), isl.Val(value)))


def _tiled(source: Schedule, nests: Sequence[Sequence[str]], sizes: Sequence[int]) -> isl.Schedule:
    tree = source.loops
    for names in nests:
        tree = transform.tile(tree, dict(zip(names, sizes)))
    return loops.write(source.problem.scop.domain, tree)
