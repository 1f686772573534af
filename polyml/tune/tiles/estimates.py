"""Estimates of the misses of tiles of all sizes that are considered, by their footprints.

Where the lines of one iteration of a loop fit a cache, the next iteration finds those that it accesses again, and the whole loop
fetches each of its lines once; else every iteration fetches its own (`box_lines`). In the nearest cache, lines of crowded sets do
not remain either (`set_crowding`), which takes longer to compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import ceil, prod

import numpy as np

from polyml import polyhedra
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import in_memory, placed
from polyml.codegen.ir.program import Program
from polyml.machines.cpu import CacheLevel
from polyml.model.core.scop import Scop, Statement
from polyml.model.counting.operation_counts import instances
from polyml.performance.vectorizability import counted_by
from polyml.schedule.script import transforms
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.tree import loop_tree
from polyml.tune.tiles.box_lines import Moving, Numbers, boxes, moving
from polyml.tune.tiles.set_crowding import Walked, crowded, walked

SHORT = 8  # iterations of loops whose tiles are always whole
MARGIN = 1.5  # factor by which estimates may be too high
NEAR = 8  # neighbours of a candidate that are considered
MOST_CANDIDATES = 6000


@dataclass(frozen=True)
class Candidate:
    """A Candidate is tiles of one size, with what is known of their misses and time.

    sizes: the tile's size along each loop, outermost first.
    lines: how many cache lines of all arrays together one tile accesses.
    estimates: for each cache, the misses of the whole kernel, as estimated from the lines that tiles access.
    misses: the simulated misses of each cache per instance; None: not simulated.
    seconds: the predicted time of the code for these tiles; None: not predicted, or no code can be generated.
    """

    sizes: tuple[int, ...]
    lines: int
    estimates: tuple[float, ...]
    misses: tuple[float, ...] | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class TunedNest:
    """A TunedNest says which nests are tiled, and which caches tiles are chosen for.

    source: the schedule.
    nests: the names of the loops of each nest, such as "S0.i"; all nests get the same tiles.
    extents: iterations of the loops, at most.
    sizes: values of parameters.
    levels: the caches.
    addresses: where arrays begin, as far as it is known.
    """

    source: Schedule
    nests: tuple[tuple[str, ...], ...]
    extents: tuple[int, ...]
    sizes: Mapping[str, int]
    levels: tuple[CacheLevel, ...]
    addresses: Mapping[str, int]


class Estimates:
    """An Estimates holds the estimated misses of all tile sizes that are considered for a kernel's nests.

    choices: for each loop, the tile sizes that are considered.
    candidates: tile sizes -> candidate.
    instances: how many instances of statements that access memory the kernel has.
    places: the arrays' addresses and strides.
    """

    def __init__(self, nest: TunedNest, weights: Sequence[float]):
        """Estimates the misses of all tile sizes that are considered.

        nest: the nests, sizes and caches.
        weights: what one miss of each cache costs.
        """
        self._source, self._extents, self._sizes, self._levels, self._weights = (
            nest.source,
            nest.extents,
            nest.sizes,
            nest.levels,
            weights,
        )
        self._scop = nest.source.problem.scop
        self.instances = sum(instances(s, nest.sizes) for s in self._scop.statements.values() if _uses_memory(self._scop, s))
        self.places = placed(Program(self._scop, ()), nest.sizes, addresses=nest.addresses)
        self._references = [self._referring(names) for names in nest.nests]
        statements = {name for names in nest.nests for name in self._statements(names)}
        self._often = self.instances / max(1, len(statements) * prod(nest.extents))  # how often all the loops run, in the mean
        self._crowds: dict[tuple[int, CacheLevel, tuple[int, ...]], dict[str, float]] = {}
        self._known_sets: set[tuple[int, ...]] = set()
        self.choices = self._choices()
        axes = np.meshgrid(*self.choices, indexing="ij", sparse=True)
        self._boxes = [boxes(moved, axes, nest.extents, nest.levels[0].line_bytes) for moved, _ in self._references]
        self.candidates = self._estimated_all()

    def cost(self, sizes: tuple[int, ...]) -> float:
        """Returns the cost of a candidate's estimated misses, those of each cache weighted by what a miss costs."""
        return sum(w * e for w, e in zip(self._weights, self.candidates[sizes].estimates))

    def with_sets(self, sizes: tuple[int, ...]) -> Candidate:
        """Returns the candidate with more exact estimates for the nearest cache: where more lines fall into one of its sets than
        the set has ways, those that do not remain count as misses again. The estimates are kept in `candidates`.
        """
        if sizes not in self._known_sets:
            found = [0.0] * len(self._levels)
            for number, each in enumerate(self._boxes):
                own = each.at(self._indices_of(sizes))
                for k, level in enumerate(self._levels):
                    crowding = None if k else partial(self._crowding, number, level, sizes)
                    found[k] += self._often * float(own.fetched(level.lines, crowding))
            found[1:] = [self._once(level, [each])[0] for level, each in zip(self._levels[1:], found[1:])]
            self.candidates[sizes] = replace(self.candidates[sizes], estimates=tuple(found))
            self._known_sets.add(sizes)
        return self.candidates[sizes]

    def neighbours(self, sizes: tuple[int, ...]) -> list[Candidate]:
        """Returns candidates that are close to the given one, the cheapest first: along one loop or two they have the next longer
        or the next shorter of the tile sizes that are considered.

        Those that cost much more than the given one are left out, and at most eight are returned.
        """
        indices = self._indices_of(sizes)
        near: list[tuple[int, ...]] = []
        for steps in product((-1, 0, 1), repeat=len(indices)):
            if 1 <= sum(map(abs, steps)) <= 2 and all(0 <= p + s < len(c) for p, s, c in zip(indices, steps, self.choices)):
                near.append(tuple(c[p + s] for p, s, c in zip(indices, steps, self.choices)))
        most = MARGIN * self.cost(self.with_sets(sizes).sizes)
        known = sorted((self.with_sets(each) for each in near), key=lambda c: self.cost(c.sizes))
        return [c for c in known if self.cost(c.sizes) <= most][:NEAR]

    def _indices_of(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Returns for each loop the position of the tile size among its choices."""
        return tuple(each.index(size) for each, size in zip(self.choices, sizes))

    def _choices(self) -> list[list[int]]:
        """Returns for each loop the tile sizes that are considered. Each loop gets fewer of them where all loops together
        would have more than 6000 combinations.
        """
        line = self._levels[0].line_bytes // max(a.element.size_bytes for a in self._scop.arrays.values())
        for few in (32, 16, 8, 4):
            choices = [self._sizes_of(extent, line, few) for extent in self._extents]
            if prod(map(len, choices)) <= MOST_CANDIDATES:
                break
        return choices

    def _sizes_of(self, extent: int, line: int, parts: int) -> list[int]:
        """Returns the tile sizes that are considered for one loop: some multiples of a cache line, sizes that divide the loop into
        equal tiles, and the whole loop, which is the only one for a short loop.

        extent: iterations of the loop.
        line: elements of a cache line.
        parts: the multiples go up to this many cache lines, the equal tiles up to a quarter as many tiles; so a greater number
            gives more sizes.
        """
        if extent <= SHORT:
            return [extent]
        multiples = {line * m for m in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32) if m <= parts}
        even = {ceil(extent / count) for count in range(1, parts // 4 + 1)}
        return sorted({4, *multiples, *even} & {*range(1, extent)} | {extent})

    def _statements(self, names: Sequence[str]) -> tuple[str, ...]:
        return loop_tree.statements(transforms.find(self._source.loops, names[0])[1])

    def _referring(self, names: Sequence[str]) -> tuple[list[Moving], list[Walked]]:
        """Returns the references of a nest to arrays twice: in groups, to count cache lines, and one by one, to find cache sets.

        An iteration of a loop adds the same numbers to the indices of all references of a group.

        names: of the nest's loops, such as "S0.i", outermost first.
        """
        nest = [transforms.find(self._source.loops, name)[1] for name in names]
        iterators: dict[str, list[int | None]] = {}
        middles: dict[str, list[int]] = {}
        each: list[Walked] = []
        for statement in self._statements(names):
            members = [next(m for m in loop_tree.pieces(loop.member) if m.domain().get_tuple_name() == statement) for loop in nest]
            iterators[statement] = [counted[0] if (counted := counted_by(member)) else None for member in members]
            domain = polyhedra.fix(self._scop.statements[statement].domain, self._sizes)
            middles[statement] = [(low + high) // 2 for low, high in polyhedra.ranges(domain)]
            each += walked(self._scop, statement, iterators[statement], middles[statement], self._sizes, self.places)
        return moving(self._scop, iterators, middles, self._sizes, self.places), each

    def _estimated_all(self) -> dict[tuple[int, ...], Candidate]:
        """Returns {tile sizes: candidate} for all that are considered. Their misses are estimated from the lines that the
        iterations of each loop access, without regard to cache sets.
        """
        made, shape = self._boxes, tuple(map(len, self.choices))

        def listed(values: Iterable[Numbers]) -> list[float]:
            found: list[float] = (self._often * np.broadcast_to(sum(values, 0.0), shape)).ravel().tolist()
            return found

        most = np.broadcast_to(np.max([np.broadcast_to(each.total(each.depth), shape) for each in made], axis=0), shape)
        of_tiles = np.ceil(most).astype(int).ravel().tolist()
        estimates = [self._once(level, listed(each.fetched(level.lines) for each in made)) for level in self._levels]
        return {s: Candidate(s, n, found) for s, n, found in zip(product(*self.choices), of_tiles, zip(*estimates))}

    def _once(self, level: CacheLevel, estimates: list[float]) -> list[float]:
        """Returns the estimates of a cache's misses, limited to the number of lines of all arrays if these fit into the cache
        together: each line then misses once at most.
        """
        of_arrays = sum(place.size_bytes for place in self.places.values()) / level.line_bytes
        return [min(of_arrays, each) for each in estimates] if of_arrays <= level.lines else estimates

    def _crowding(self, nest: int, level: CacheLevel, sizes: tuple[int, ...], array: str, box: int) -> float:
        """Returns the share of an array's lines in a box that do not remain in the cache, because they are in crowded sets: sets
        into which more lines of the box fall than they have ways.

        nest: the nest's position.
        sizes: of the tiles.
        box: the number of the box of iterations (see `Boxes`).
        """
        depth = len(sizes)
        shape = (*sizes[:box], *self._extents[box:]) if box < depth else (*[1] * (box - depth), *sizes[box - depth :])
        key = nest, level, shape
        if key not in self._crowds:
            self._crowds[key] = crowded(self._references[nest][1], shape, level)
        return self._crowds[key].get(array, 0.0)


def _uses_memory(scop: Scop, statement: Statement) -> bool:
    return any(in_memory(scop.arrays[access.array]) for access in reads_and_write(statement))
