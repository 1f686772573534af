"""What tiles of a nest cost by their footprints, of all sizes that are considered.

Where the lines of one iteration of a loop fit a cache, the next iteration finds those that it uses again, and the whole loop
fetches each of its lines once; else every iteration fetches its own (`boxes`). Of the nearest level, lines that meet in the same
sets do not stay either (`crowding`), which takes longer to see.
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
from polyml.tune.tiles.box_lines import Moving, boxes, moving
from polyml.tune.tiles.set_crowding import Walked, crowded, walked

SHORT = 8  # iterations of loops whose tiles are always whole
MARGIN = 1.5  # by which estimates may be too high
NEAR = 8  # neighbours
MOST_CANDIDATES = 6000


@dataclass(frozen=True)
class Candidate:
    """sizes: of the loops' tiles, outermost first. lines: of all arrays in one tile. estimates: of each level's misses, by
    footprints. misses: of each level per instance, in the window; None: not simulated. seconds: of the whole, as predicted of the
    code that these tiles become; None: not looked at, or refused.
    """

    sizes: tuple[int, ...]
    lines: int
    estimates: tuple[float, ...]
    misses: tuple[float, ...] | None = None
    seconds: float | None = None


class Estimates:
    """choices: by loop, the sizes of its tiles that are considered. candidates: by sizes. instances: of the kernel's statements
    that use memory. places: of the arrays.
    """

    def __init__(
        self, source: Schedule, nests: Sequence[Sequence[str]], extents: Sequence[int], sizes: Mapping[str, int],
        levels: Sequence[CacheLevel], weights: Sequence[float], addresses: Mapping[str, int],
    ):  # fmt: skip
        """nests: the loops of each, by their addresses; extents: how many iterations they have. weights: of levels' misses."""
        self._source, self._extents, self._sizes, self._levels, self._weights = source, extents, sizes, levels, weights
        self._scop = source.problem.scop
        self.instances = sum(instances(s, sizes) for s in self._scop.statements.values() if _uses_memory(self._scop, s))
        self.places = placed(Program(self._scop, ()), sizes, addresses=addresses)
        self._references = [self._referring(names) for names in nests]
        statements = {name for names in nests for name in self._statements(names)}
        self._often = self.instances / max(1, len(statements) * prod(extents))  # that all extents' iterations run, in the mean
        self._crowds: dict[tuple, dict[str, float]] = {}
        self._known_sets: set[tuple[int, ...]] = set()
        self.choices = self._choices()
        axes = np.meshgrid(*self.choices, indexing="ij", sparse=True)
        self._boxes = [boxes(moved, axes, extents, levels[0].line_bytes) for moved, _ in self._references]
        self.candidates = self._estimated_all()

    def cost(self, sizes: tuple[int, ...]) -> float:
        """Of all levels' misses, as far as they are known."""
        return sum(w * e for w, e in zip(self._weights, self.candidates[sizes].estimates))

    def with_sets(self, sizes: tuple[int, ...]) -> Candidate:
        """What the tiles cost where lines in sets of the nearest level with more of them than ways are fetched each time."""
        if sizes not in self._known_sets:
            found = [0.0] * len(self._levels)
            for number, each in enumerate(self._boxes):
                own = each.at(self._places_of(sizes))
                for k, level in enumerate(self._levels):
                    crowding = None if k else partial(self._crowding, number, level, sizes)
                    found[k] += self._often * own.fetched(level.lines, crowding)
            found[1:] = [self._once(level, [each])[0] for level, each in zip(self._levels[1:], found[1:])]
            self.candidates[sizes] = replace(self.candidates[sizes], estimates=tuple(found))
            self._known_sets.add(sizes)
        return self.candidates[sizes]

    def neighbours(self, sizes: tuple[int, ...]) -> list[Candidate]:
        """One size longer or shorter, of one loop or of two; those of the least costs first."""
        places, near = self._places_of(sizes), []
        for steps in product((-1, 0, 1), repeat=len(places)):
            if 1 <= sum(map(abs, steps)) <= 2 and all(0 <= p + s < len(c) for p, s, c in zip(places, steps, self.choices)):
                near.append(tuple(c[p + s] for p, s, c in zip(places, steps, self.choices)))
        most = MARGIN * self.cost(self.with_sets(sizes).sizes)
        known = sorted((self.with_sets(each) for each in near), key=lambda c: self.cost(c.sizes))
        return [c for c in known if self.cost(c.sizes) <= most][:NEAR]

    def _places_of(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(each.index(size) for each, size in zip(self.choices, sizes))

    def _choices(self) -> list[list[int]]:
        """By loop, sizes of its tiles: lines' multiples, and what divides it evenly."""
        line = self._levels[0].line_bytes // max(a.element.size_bytes for a in self._scop.arrays.values())
        for few in (32, 16, 8, 4):
            choices = [self._sizes_of(extent, line, few) for extent in self._extents]
            if prod(map(len, choices)) <= MOST_CANDIDATES:
                break
        return choices

    def _sizes_of(self, extent: int, line: int, parts: int) -> list[int]:
        """Of a loop's tiles: lines' multiples and what divides it into so many tiles at most, all of it for a short one."""
        if extent <= SHORT:
            return [extent]
        multiples = {line * m for m in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32) if m <= parts}
        even = {ceil(extent / count) for count in range(1, parts // 4 + 1)}
        return sorted({4, *multiples, *even} & {*range(1, extent)} | {extent})

    def _statements(self, names: Sequence[str]) -> tuple[str, ...]:
        return loop_tree.statements(transforms.find(self._source.loops, names[0])[1])

    def _referring(self, names: Sequence[str]) -> tuple[list[Moving], list[Walked]]:
        """The references of a nest's statements, as its loops move them: for boxes, and one by one."""
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
        """By sizes, what tiles cost by their footprints."""
        made, shape = self._boxes, tuple(map(len, self.choices))

        def listed(values: Iterable[np.ndarray]) -> list[float]:
            return (self._often * np.broadcast_to(sum(values), shape)).ravel().tolist()

        most = np.broadcast_to(np.max([np.broadcast_to(each.total(each.depth), shape) for each in made], axis=0), shape)
        lines_ = np.ceil(most).astype(int).ravel().tolist()
        estimates = [self._once(level, listed(each.fetched(level.lines) for each in made)) for level in self._levels]
        return {s: Candidate(s, n, found) for s, n, found in zip(product(*self.choices), lines_, zip(*estimates))}

    def _once(self, level: CacheLevel, estimates: list[float]) -> list[float]:
        """Estimates of a level: where it has room for all arrays they are fetched once, however often loops around the nests run."""
        lines_ = sum(place.size_bytes for place in self.places.values()) / level.line_bytes
        return [min(lines_, each) for each in estimates] if lines_ <= level.lines else estimates

    def _crowding(self, nest: int, level: CacheLevel, sizes: tuple[int, ...], array: str, box: int) -> float:
        """Of an array's lines in a box of a nest, which part does not stay in a level."""
        count_ = len(sizes)
        shape = (*sizes[:box], *self._extents[box:]) if box < count_ else (*[1] * (box - count_), *sizes[box - count_ :])
        place = nest, level, shape
        if place not in self._crowds:
            self._crowds[place] = crowded(self._references[nest][1], shape, level)
        return self._crowds[place].get(array, 0.0)


def _uses_memory(scop: Scop, statement: Statement) -> bool:
    return any(in_memory(scop.arrays[access.array]) for access in reads_and_write(statement))
