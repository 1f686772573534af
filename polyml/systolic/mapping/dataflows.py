"""The mappings of a nest onto an array, the one of fewest cycles first, by the names that users know.

os, ws, is      results, weights or inputs stay in their units (output, weight, input stationary)
R1, R2, W1, W2  of arrays of one dimension: results or weights stay, and what moves does so in opposite directions (1) or in
                the same one at different speeds (2) (Kung, "Why systolic architectures?", Computer 15(1), 1982)
B1, B2, F       of those with wires (semi-systolic): inputs reach all units at once, and weights stay (B1) or results do (B2);
                results are added up at once, and weights stay (F)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import prod
from operator import add

import islpy as isl

from polyml import polyhedra
from polyml.errors import ConfigError, IllegalSchedule
from polyml.model.counting.cardinality import Count
from polyml.systolic.folding.fold_counts import preloaded, stays
from polyml.systolic.folding.folds import Folds, cycles, fold, obstacle
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.nests import Nest, Use
from polyml.systolic.recurrences.recurrence import Recurrence, Stream
from polyml.systolic.recurrences.routing import Source, shifted
from polyml.systolic.recurrences.spacetime import Direction, SpaceTime, check_units, check_ways, check_wires, mappings

MOST_SLOWER = 4  # times that are not the fastest, where these are needed


@dataclass(frozen=True)
class Plan:
    """One mapping in folds. dataflow: "os", "ws", "is", or "" where none of these stays."""

    dataflow: str
    folds: Folds

    @property
    def recurrence(self) -> Recurrence:
        return self.folds.recurrence

    @property
    def mapping(self) -> SpaceTime:
        return self.folds.mapping

    @cached_property
    def padded(self) -> Folds:
        """The same with every fold charged the whole array."""
        return fold(self.recurrence, self.mapping, self.folds.shape, units=self.folds.units, padded=True)

    @cached_property
    def formula(self) -> Count | None:
        """The padded cycles by the sizes. None of axes of several loops, whose lengths are numbers, and of what takes too long."""
        mine = self.recurrence
        found = (r for r in layouts(mine.nest, None, len(self.mapping.space)) if (r.outer, r.axes) == (mine.outer, mine.axes))
        recurrence = next(found, None)
        return recurrence and cycles(recurrence, self.mapping, self.folds.shape)


def plans(
    nest: Nest, sizes: Mapping[str, int], shape: Sequence[int], links: str = "manhattan", dataflow: str = "auto"
) -> list[Plan]:
    """Onto an array of rows and columns, or onto one of its rows; of equal cycles those of less traffic first. dataflow: "auto"
    and "all" for any. Each is proved by `spacetime.check`. Raises IllegalSchedule where there is none, ConfigError where there is
    none of the dataflow.
    """
    found: list[Plan] = []
    refused: list[IllegalSchedule] = []
    for dims in range(len(shape), 0, -1):
        for recurrence in layouts(nest, sizes, dims):
            found += _plans(recurrence, tuple(shape), dims, links, refused)
    if not found:
        raise refused[0]
    wanted = [plan for plan in found if dataflow in ("auto", "all", plan.dataflow)]
    if not wanted:
        known = ", ".join(dict.fromkeys(plan.dataflow or "others" for plan in found))
        raise ConfigError(f"{nest.name} has no mapping {dataflow}", notes=[f"its mappings: {known}"])
    fewest = min(plan.folds.cycles for plan in wanted)
    return sorted(wanted, key=lambda p: (p.folds.cycles, p.folds.elements if p.folds.cycles == fewest else 0))


def _plans(recurrence: Recurrence, shape: tuple[int, ...], dims: int, links: str, refused: list[IllegalSchedule]) -> list[Plan]:
    """With the fastest times, and slower ones where folds come after those whose values they use with these alone, or where an
    operand or result stays with these alone. refused: why others are none.
    """
    nest, directions = recurrence.nest, recurrence.directions
    problem = obstacle(recurrence, dims)
    if problem:
        refused.append(IllegalSchedule(problem, loc=nest.statement.loc))
        return []
    may_stay = {s for s in recurrence.streams if len(recurrence.axes) > dims and [d.free for d in s.directions] == [True]}
    found: list[Plan] = []
    for slower in range(MOST_SLOWER + 1):
        every = mappings(len(recurrence.axes), directions, dims, links, turned=recurrence.turned, slower=slower)
        for mapping in (each.forward(directions) for each in every):
            resting = {s for s in may_stay if stays(mapping, s)}
            if slower == 0 or not found or resting:
                found += _turned(recurrence, mapping, shape, links, refused)
        may_stay -= {s for s in may_stay if any(stays(plan.mapping, s) for plan in found)}
        if not may_stay and (found or all(d.free for d in directions)):
            return found
    if found:
        return found
    if not refused:
        ways = ", ".join(f"{s.use.text} by {d.vector}" for s in recurrence.streams for d in s.directions)
        message = f"no mapping of {nest.name} onto {dims} dimensions hands all values on in time"
        refused.append(IllegalSchedule(message, loc=nest.statement.loc, notes=[f"values go on: {ways}"]))
    return []


def _turned(
    recurrence: Recurrence, mapping: SpaceTime, shape: tuple[int, ...], links: str, refused: list[IllegalSchedule]
) -> Iterator[Plan]:
    """The mapping, and with rows and columns exchanged where that makes a difference."""
    used = shape if len(mapping.space) == len(shape) else (max(shape),)
    differ = len(used) == 2 and (used[0] != used[1] or preloaded(recurrence, mapping))
    for each in (mapping, mapping.turned((1, 0))) if differ else (mapping,):
        try:
            prove(recurrence, each, links)
            yield Plan(name(recurrence, each), fold(recurrence, each, used, units=prod(shape)))
        except IllegalSchedule as problem:
            refused.append(IllegalSchedule(problem.message, loc=recurrence.nest.statement.loc, notes=problem.notes))


def prove(recurrence: Recurrence, mapping: SpaceTime, links: str) -> None:
    """Raise IllegalSchedule, with a pair of instances, unless isl finds the sets of `spacetime` empty for the instances of all of the
    nest's statements together.
    """
    if not recurrence.is_injective:
        raise IllegalSchedule(f"instances of {recurrence.nest.name} share a point of its axes")
    together = [(stream, direction) for stream in recurrence.streams for direction in _at_once(mapping, stream)]
    if recurrence.box is not None and not any(d.line for d in recurrence.directions):
        directions = dict.fromkeys((*recurrence.directions, *(direction for _, direction in together)))
        if _holds_on_boxes(mapping, tuple(directions), links):
            return
    outer = len(recurrence.outer)
    order = recurrence.embedding.apply_range(isl.UnionMap.from_map(mapping.relation(outer)))
    check_units(order)
    back = recurrence.embedding.reverse()
    sources = [(s, source) for s in recurrence.streams for source in recurrence.sources_of(s)]
    wired = next((s for s, source in sources if source.line), None)
    if wired is not None and links != "broadcast":
        raise IllegalSchedule(f"{wired.use.text} goes along wires", notes=["expected broadcast links"])
    ways = [(s, source.pairs, source.vector, source.free) for s, source in sources if not source.line]
    ways += [(s, shifted(recurrence.points, d.vector, outer), d.vector, True) for s, d in together]
    for stream, pairs, vector, free in ways:
        between = isl.UnionMap.from_map(pairs).apply_domain(back).apply_range(back)
        forward = between if not free or mapping.steps(vector)[0] > 0 else between.reverse()
        check_ways(order, forward, _wired(links, free), what=stream.use.text, outer=outer)
    _prove_wires(recurrence, mapping, order, back, [(s, source) for s, source in sources if source.line])


def _prove_wires(
    recurrence: Recurrence, mapping: SpaceTime, order: isl.UnionMap, back: isl.UnionMap, sources: Sequence[tuple[Stream, Source]]
) -> None:
    """The parts of a statement share the wires of its reads."""
    wires: dict[tuple[str, int | None, int], list[tuple[Stream, isl.UnionMap]]] = {}
    for stream, source in sources:
        use = stream.use
        along = mapping.wire(Direction(source.vector, False, source.line))
        if along is None:
            message = f"no wire brings {use.text} to all units that use it in one cycle: they are along {source.line}"
            raise IllegalSchedule(message, notes=[f"mapping {recurrence.text(mapping)}"])
        pairs = isl.UnionMap.from_map(source.pairs).apply_domain(back).apply_range(back)
        wires.setdefault((recurrence.nest.origins[use.statement], use.read, along), []).append((stream, pairs))
    for (_, _, along), found in wires.items():
        drivers = polyhedra.union([pairs for _, pairs in found])
        parts = dict.fromkeys(stream.use.statement for stream, _ in found)
        users = polyhedra.union([isl.UnionSet.from_set(recurrence.embedding_of(part).domain()) for part in parts])
        check_wires(order, along, drivers, users, what=found[0][0].use.text, outer=len(recurrence.outer))


def _at_once(mapping: SpaceTime, stream: Stream) -> list[Direction]:
    """Of an element that goes two ways in one cycle, both together."""
    found = [d.vector for d in stream.directions if mapping.steps(d.vector)[0] == 0]
    return [Direction(tuple(map(add, a, b)), True) for a, b in combinations(found, 2)]


def _wired(links: str, free: bool) -> str:
    """Values of the nest take their time."""
    return links if free or links != "broadcast" else "manhattan"


@lru_cache(maxsize=4096)
def _holds_on_boxes(mapping: SpaceTime, directions: tuple[Direction, ...], links: str) -> bool:
    """Whether the sets are empty for boxes of all sizes, wherever they begin."""
    axes = range(len(mapping.time))
    sizes, within = ", ".join(f"n{k}" for k in axes), " and ".join(f"0 <= a{k} < n{k}" for k in axes)
    points = isl.Set(f"[{sizes}] -> {{ [{', '.join(f'a{k}' for k in axes)}] : {within} }}")
    order = isl.UnionMap.from_map(mapping.relation(0).intersect_domain(points))
    try:
        check_units(order)
        for direction in directions:
            pairs = shifted(points, direction.vector)
            forward = pairs if not direction.free or mapping.steps(direction.vector)[0] > 0 else pairs.reverse()
            check_ways(order, isl.UnionMap.from_map(forward), _wired(links, direction.free))
    except IllegalSchedule:
        return False
    return True


def name(recurrence: Recurrence, mapping: SpaceTime) -> str:
    """Of what stays of the deepest statement: "os", "ws", "is", or "" for other or several things."""
    mine = [s for s in recurrence.streams if s.use.statement == recurrence.nest.statement.name]
    resting = [s for s in mine if stays(mapping, s) or s in preloaded(recurrence, mapping)]
    if len(resting) != 1:
        return ""
    (stream,) = resting
    if stream.use.kind == "operand":
        return "ws" if stream.use == weights(recurrence) else "is"
    return "os" if stream.use.kind == "result" else ""


def weights(recurrence: Recurrence) -> Use | None:
    """Of two operands of the deepest statement the second, or the first if the second slides: its subscripts add loops up, as a
    picture's under filters.
    """
    name = recurrence.nest.statement.name
    uses = [s.use for s in recurrence.streams if s.use.kind == "operand" and s.use.statement == name]
    if len(uses) != 2:
        return None
    sliding = [use for use in uses if any(sum(map(bool, row)) > 1 for row in use.rows)]
    return next(use for use in uses if use is not sliding[0]) if len(sliding) == 1 else uses[1]


def classical(recurrence: Recurrence, mapping: SpaceTime) -> str:
    """Kung's name of a design of one dimension with two operands and sums, "" of any other."""
    kinds = sorted(s.use.kind for s in recurrence.streams)
    ways = {len(s.directions) for s in recurrence.streams}
    if len(mapping.space) != 1 or kinds != ["operand", "operand", "result"] or ways != {1}:
        return ""
    at_once = [s for s in recurrence.streams if mapping.moved(s.directions[0])[0] == 0]
    if at_once:
        what = "F" if at_once[0].use.kind == "result" else "" if at_once[0].use == weights(recurrence) else "B"
        designs = {("B", "ws"): "B1", ("B", "os"): "B2", ("F", "ws"): "F"}
        return designs.get((what, name(recurrence, mapping)), "") if len(at_once) == 1 else ""
    letter = {"os": "R", "ws": "W"}.get(name(recurrence, mapping))
    moves = [mapping.moved(s.directions[0]) for s in recurrence.streams if not stays(mapping, s)]
    if letter is None or len(moves) != 2:
        return ""
    (cycles, step), (others, other) = moves
    if step * other < 0:
        return f"{letter}1"
    return f"{letter}2" if step * others != other * cycles else ""


def entries(recurrence: Recurrence, mapping: SpaceTime) -> dict[str, str]:
    """By the label of operands that move: the cycle in which an element enters, `i + k` of A[i, k], counted from the first of all
    instances. Of operands that move along one axis, from where that begins.
    """
    found = {}
    for stream in recurrence.streams:
        if stream.use.kind != "operand" or len(stream.directions) != 1 or stays(mapping, stream):
            continue
        vector = stream.directions[0].vector
        axes = [k for k, step in enumerate(vector) if step]
        if len(axes) == 1:
            row = [0 if k == axes[0] else c for k, c in enumerate(mapping.time)]
            found[recurrence.label(stream.use)] = recurrence.sum_text(row, stream.use.statement)
    return found
