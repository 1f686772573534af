"""Threads that share the iterations of one team: loops inside the grid's loops that are divided among them, with partial results.

    parallel for i:                       block i, whose threads are a team
        y[i] = 0                              thread 0 alone
        for k: y[i] += A[i, k]*x[k]     ->    thread t: k = t, t + 32, ..., with a sum of its own; then the sums are added up
        y[i] = y[i]/n                         thread 0 alone

A phase is a part of what a team runs: its threads divide the iterations of loops, or one of them runs it alone. Loops may be divided that
carry no dependence, or only those of updates whose order is free, if the updates are of one element: each thread then has a partial result.
Kokkos calls these teams and nested parallel_reduce (Edwards, Trott, Sunderland, JPDC 2014); OpenMP has teams and the reduction clause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import prod

import islpy as isl

from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction, relaxed_validity
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.strides import accesses, goes_to_neighbours, iterators_of
from polyml.schedule.gpu.loop_roles import GridAxis, PartialResult, Phase, SurroundingLoop, Team
from polyml.schedule.gpu.mapping import LaunchNest, as_surrounding, carried_by, chain_of, dependences_in_launch, those_of
from polyml.schedule.legality.check import only_updated
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.loop_tree import Block, Leaf, Loop, Node

THREADS = 256  # of a block
WARP = 32  # threads that run side by side
_DIVIDED = ("x of a team", "y of a team", "blocks")  # what the iterations of loops are divided among


def team_of(nest: LaunchNest, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction]) -> Team | None:
    """Returns the launch as one of teams, None where no loop inside the grid's loops has partial results."""
    phases, strict = phases_of(nest, scop, dependences, reductions)
    if not any(phase.partial for phase in phases):
        return None
    waits = frozenset(_waits(phases, strict, scop))
    return _shaped(nest, phases, waits, scop)


def phases_of(
    nest: LaunchNest, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction]
) -> tuple[tuple[Phase, ...], isl.UnionMap]:
    """Returns the phases of a team that runs an iteration of the grid's loops, in order, and the dependences { S[i] -> T[j] } within one."""
    around = (*nest.host, *nest.grid)
    strict = dependences_in_launch(dependences.validity, around, nest.instances)
    free = dependences_in_launch(relaxed_validity(dependences, scop, reductions), around, nest.instances)
    return tuple(_PhaseFinder(nest, scop, strict, free, reductions).numbered()), strict


def team_note(team: Team) -> str:
    """Returns what threads share where the host chooses teams, such as `or sums of y over k by 32 threads, then combined`."""
    told = []
    for phase in team.phases:
        loops = " and ".join(loop.name for loop in phase.shared)
        arrays = ", ".join(dict.fromkeys(partial.array for partial in phase.partial))
        if phase.partial:
            told.append(f"{arrays} over {loops}")
    threads = f"{prod(team.lanes)} threads of a block"
    blocks = ", and in turn by several blocks where there are few" if team.split else ""
    return f"or {', then '.join(told)} by {threads} with partial results, combined in a tree{blocks}"


def _shaped(nest: LaunchNest, phases: tuple[Phase, ...], waits: frozenset[tuple[str, str]], scop: Scop) -> Team:
    """Returns the team with the shape of its blocks.

    Neighbouring threads run neighbouring iterations of the loop along which most accesses go to neighbouring elements: one that a
    team shares, or one of the grid, and then a block has several teams side by side.
    """
    widest = max((phase for phase in phases if phase.partial), key=lambda phase: len(phase.shared))
    several_loops = any(phase.around for phase in phases)
    grid = list(reversed(nest.grid))
    first = max(grid, key=lambda loop: followers(widest, loop, scop), default=None)
    beside = several_loops or first is None or followers(widest, first, scop) <= followers(widest, widest.shared[0], scop)
    split = _split(phases, waits)
    if not beside and first is not None:
        axes = (GridAxis(first, WARP), *(GridAxis(loop, 1) for loop in grid if loop is not first))
        return Team(axes, (THREADS // WARP,), beside, phases, waits, split)
    if len(widest.shared) > 1:
        return Team(tuple(GridAxis(loop, 1) for loop in grid), (WARP, THREADS // WARP), beside, phases, waits, split)
    if several_loops or not grid:
        return Team(tuple(GridAxis(loop, 1) for loop in grid), (THREADS,), beside, phases, waits, split)
    axes = (GridAxis(grid[0], THREADS // WARP), *(GridAxis(loop, 1) for loop in grid[1:]))
    return Team(axes, (WARP,), beside, phases, waits, split)


def _split(phases: Sequence[Phase], waits: frozenset[tuple[str, str]]) -> str:
    """Returns the name of the phase whose iterations may be divided among blocks: the only one that threads share, if nothing else
    has to wait for it or it for anything else. Returns "" if there is none.
    """
    shared = [phase for phase in phases if phase.shared]
    if len(shared) != 1 or shared[0].around:
        return ""
    others = {phase.name for phase in phases} - {shared[0].name}
    return "" if any(others & {*pair} and shared[0].name in pair for pair in waits) else shared[0].name


def followers(phase: Phase, loop: SurroundingLoop, scop: Scop, without: Set[str] = frozenset()) -> int:
    """Returns how many accesses of the phase, but for those of elements with partial results, go to neighbours as the loop runs.

    without: arrays whose accesses do not count.
    """
    held = {(name, partial.array) for partial in phase.partial for name in partial.statements}
    return sum(
        goes_to_neighbours(access, iterators_of(loop.values, name))
        for name in loop_tree.statements(phase.body)
        for access in accesses(scop.statements[name])
        if (name, access.array) not in held and access.array not in without
    )


@dataclass(frozen=True)
class _PhaseFinder:
    """The search for the phases of a launch.

    strict, free: { S[i] -> T[j] }, the dependences within one iteration of the loops of the host and the grid; `free` without those among
        updates whose order is free.
    """

    nest: LaunchNest
    scop: Scop
    strict: isl.UnionMap
    free: isl.UnionMap
    reductions: Mapping[str, Reduction]

    def numbered(self) -> Iterator[Phase]:
        """Yields the phases with names of their own, in order."""
        for number, phase in enumerate(self._phases(self.nest.body, (), self.nest.instances)):
            yield Phase(f"phase_{number}", *(getattr(phase, name) for name in list(Phase.__dataclass_fields__)[1:]))

    def _phases(self, node: Node, around: tuple[SurroundingLoop, ...], instances: isl.UnionSet) -> Iterator[Phase]:
        """Yields the phases of a subtree. around: the loops around it that the threads of a team run together."""
        if isinstance(node, Block):
            for part in node.parts:
                yield from self._phases(part.body, around, instances.intersect(part.instances))
            return
        own = those_of(instances, node)
        if isinstance(node, Leaf):
            yield Phase("", own, around, node)
            return
        shared = self._shared(node, around, own)
        if shared is not None:
            yield shared
            return
        inside = list(self._phases(node.body, (*around, as_surrounding(node)), own))
        yield from inside if any(phase.shared for phase in inside) else [Phase("", own, around, node)]

    def _shared(self, node: Loop, around: tuple[SurroundingLoop, ...], own: isl.UnionSet) -> Phase | None:
        """Returns the loops from `node` on as a phase that threads share, None where none of them may be divided among threads."""
        strict, free = (dependences_in_launch(each, around, own) for each in (self.strict, self.free))
        loops = [loop for loop in chain_of(node) if carried_by(free, loop).is_empty()]
        if not loops:
            return None
        plain = Phase("", own, around, node)
        ranked = sorted(enumerate(loops), key=lambda each: (followers(plain, as_surrounding(each[1]), self.scop), each[0]))
        order = [loop for _, loop in reversed(ranked)]
        for count in range(min(len(order), len(_DIVIDED)), 0, -1):
            for chosen in combinations(order, count):
                partial = self._partial(chosen, strict, around, own, loop_tree.statements(node))
                if partial is not None:
                    found = tuple(map(as_surrounding, chosen))
                    return Phase("", own, around, node, found[:2], found[-1], partial)
        return None

    def _partial(
        self,
        chosen: Sequence[Loop],
        strict: isl.UnionMap,
        around: tuple[SurroundingLoop, ...],
        own: isl.UnionSet,
        names: Sequence[str],
    ) -> tuple[PartialResult, ...] | None:
        """Returns the elements of which threads need partial results where they share the chosen loops; None where they may not.

        Each update must be of one element while the loops around the phase stay at one iteration, and nothing else in the phase may
        touch the array.
        """
        crossing = reduce(isl.UnionMap.union, (carried_by(strict, loop) for loop in chosen))
        if crossing.is_empty():
            return ()
        ends = crossing.domain().union(crossing.range()).get_set_list()
        updates = {ends.get_at(k).get_tuple_name() for k in range(ends.n_set())}
        if not updates <= self.reductions.keys():
            return None
        arrays = dict.fromkeys(self.reductions[name].array for name in names if name in updates)
        if not only_updated(self.scop, names, arrays, self.reductions):
            return None
        found: dict[tuple[str, str], list[str]] = {}
        for name in names:
            if name not in self.reductions or self.reductions[name].array not in arrays:
                continue
            element = self._element(name, around, own)
            if not element.is_single_valued():
                return None
            found.setdefault((self.reductions[name].array, str(element)), []).append(name)
        return tuple(PartialResult(array, self.reductions[some[0]].operator, tuple(some)) for (array, _), some in found.items())

    def _element(self, name: str, around: tuple[SurroundingLoop, ...], own: isl.UnionSet) -> isl.UnionMap:
        """Returns { [h, g, a] -> A[e] }, the elements that a statement writes at values of the loops of the host, the grid and around."""
        instances = isl.UnionSet.from_set(self.scop.statements[name].domain).intersect(own)
        write = isl.UnionMap.from_map(self.scop.statements[name].write.relation).intersect_domain(instances)
        outer = (*self.nest.host, *self.nest.grid, *around)
        if not outer:
            return isl.UnionMap.from_range(write.range())
        values = reduce(isl.UnionMap.flat_range_product, (isl.UnionMap.from_union_pw_aff(loop.values) for loop in outer))
        return values.intersect_domain(instances).reverse().apply_range(write)


def _waits(phases: Sequence[Phase], strict: isl.UnionMap, scop: Scop) -> Iterator[tuple[str, str]]:
    """Yields the pairs (earlier, later) of phases between which a dependence crosses threads.

    A phase is earlier than itself where an iteration of a loop that the team runs around it depends on another one.

    strict: { S[i] -> T[j] }, the dependences within one iteration of the loops of the host and the grid.
    """
    for one in phases:
        for other in phases:
            pairs = strict.intersect_domain(one.instances).intersect_range(other.instances)
            if one is other:
                pairs = pairs.subtract(dependences_in_launch(pairs, one.around, one.instances))
            if not pairs.is_empty() and _cross(one, other, pairs, scop):
                yield one.name, other.name


def waits_of(
    phases: Sequence[Phase], strict: isl.UnionMap, scop: Scop, held: Set[str], copied: Set[str]
) -> Iterator[tuple[str, str]]:
    """Yields the pairs (earlier, later) of phases between which a dependence crosses threads, where equal values of shared loops are one
    thread's.

    strict: { S[i] -> T[j] }, the dependences within one iteration of the loops of the host and the grid.
    held: arrays that threads have in registers.
    copied: the phases without shared loops that all threads run.
    """
    for one, other in combinations(phases, 2):
        pairs = strict.intersect_domain(one.instances).intersect_range(other.instances)
        if one.shared and other.shared:
            values = [isl.UnionMap.from_union_pw_aff(phase.shared[0].values) for phase in (one, other)]
            pairs = pairs.subtract(values[0].apply_range(values[1].reverse()))
        if not pairs.is_empty() and _cross(one, other, pairs, scop, held, copied):
            yield one.name, other.name


def _cross(
    one: Phase, other: Phase, pairs: isl.UnionMap, scop: Scop, held: Set[str] = frozenset(), copied: Set[str] = frozenset()
) -> bool:
    """Returns whether some of the pairs of instances { S[i] -> T[j] } of two phases touch one element, at least one of them by writing,
    of an array that not the first thread of a team alone touches in both phases.

    held, copied: as in `waits_of`.
    """
    mine, theirs = _touched(one, scop, copied), _touched(other, scop, copied)
    for array in (mine.keys() & theirs.keys()) - held:
        is_written, is_alone = mine[array].written or theirs[array].written, mine[array].alone and theirs[array].alone
        same = mine[array].elements.apply_range(theirs[array].elements.reverse())
        if is_written and not is_alone and not same.intersect(pairs).is_empty():
            return True
    return False


@dataclass(frozen=True)
class _Touch:
    """What a phase does with an array: which elements its instances access, { S[i] -> A[e] }, whether it writes it, and whether the first
    thread of a team alone does all that.
    """

    elements: isl.UnionMap
    written: bool
    alone: bool


def _touched(phase: Phase, scop: Scop, copied: Set[str]) -> dict[str, _Touch]:
    """Returns { array that the phase touches -> how }. copied: the phases without shared loops that all threads run."""
    is_alone = not phase.shared and phase.name not in copied
    partial = {each.array for each in phase.partial}
    found: dict[str, _Touch] = {}
    for name in loop_tree.statements(phase.body):
        statement = scop.statements[name]
        for access in accesses(statement):
            elements, written = isl.UnionMap.from_map(access.relation), access is statement.write
            if access.array in found:
                elements = elements.union(found[access.array].elements)
                written = written or found[access.array].written
            found[access.array] = _Touch(elements, written, is_alone or access.array in partial)
    return found
