"""What the threads of a team run together: phases, between which they wait for one another, and partial results that they combine.

    y[i] = 0                              if (rank == 0) y[i] = 0
    for k: y[i] += A[i, k]*x[k]     ->    partial = 0; for (k = rank; k < n; k += 32) partial += A[i, k]*x[k]
                                          combine the 32 partial results; if (rank == 0) y[i] += the result

Where there are few teams, a launch divides the iterations among blocks too, and stores a partial result of each; a second launch combines
these with the element, in the order of the blocks, whatever order they ran in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from math import prod

import islpy as isl

from polyml.codegen.astgen.build import nodes_of
from polyml.codegen.gpu.axes import LaunchAxis, at, fresh
from polyml.codegen.gpu.host_loops import as_map, ordered
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, with_body
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import TRUE, Affine, Condition, conjunction, variable, zero
from polyml.quasi_affine.from_isl import integer_expression
from polyml.schedule.gpu.loop_roles import PartialResult, Phase, SurroundingLoop, Team
from polyml.schedule.gpu.team_choice import PLAIN, WHOLE, parts
from polyml.schedule.tree import loop_tree

STAGES = ("team", "partial", "join")  # one launch that does all; the first one of two; the second one


@dataclass(frozen=True)
class SharedLoop(Loop):
    """A SharedLoop is a loop of which a thread runs every `stride`-th iteration; its `step` is 1.

    stride: an expression of the number of blocks among which the iterations are divided, where they are.
    """

    stride: Affine = Affine(1)


@dataclass(frozen=True)
class Partial:
    """A Partial is a partial result that each thread of a team has of an element while it runs a phase.

    name: a name for the register, of which no other phase of the launch has one.
    subscripts: the element's, expressions of the sizes, the host's loops, the first iterations along the grid's axes, and the names in
        the phase's `around`.
    statements: the names of the statements that update the partial result in place of the element.
    """

    name: str
    array: str
    operator: str
    subscripts: tuple[Affine, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True)
class TeamPhase:
    """A TeamPhase is a part of what a team runs, in which its threads do not wait for one another.

    around: names of the values of the loops that the team runs around the phase.
    body: what a thread runs, in terms of its numbers in the team too.
    alone: whether only the first thread of the team runs it.
    partial: the partial results of a thread.
    statements: the names of those that it runs, or that ran where its partial results come from.
    stored: whether the partial results of the threads are combined from those that the blocks of another launch have stored, so that
        the body is not run again.
    """

    around: tuple[str, ...]
    body: tuple[Node, ...]
    alone: bool
    partial: tuple[Partial, ...] = ()
    statements: tuple[str, ...] = ()
    stored: bool = False


@dataclass(frozen=True)
class Barrier:
    """A Barrier is a place at which the threads of a block wait for one another.

    before: the name of the phase that comes next; "" at the end of a loop.
    body: nothing, as of a node without nodes inside.
    """

    before: str = ""
    body: tuple[Node, ...] = ()


@dataclass(frozen=True)
class TeamCode:
    """A TeamCode is what the threads of a block run together.

    stage: one of STAGES.
    lanes: the names of a thread's numbers in its team, and how many threads there are along each.
    beside: whether neighbouring threads are of one team.
    phases: by name.
    order: the loops that the team runs, whose instances are phases, and barriers; a condition on a phase is around it alone.
    numbering: for each axis of the grid, the name of a thread's first iteration, the least one of the launch, and how many there are.
    part, parts: the names of a block's number among those that the iterations of a team are divided among, and of their count; "" where
        they are not divided.
    """

    stage: str
    lanes: tuple[tuple[str, int], ...]
    beside: bool
    phases: Mapping[str, TeamPhase]
    order: tuple[Node | Barrier, ...]
    numbering: tuple[tuple[str, Affine, Affine], ...]
    part: str = ""
    parts: str = ""

    @property
    def size(self) -> int:
        """How many threads a team has."""
        return prod(count for _, count in self.lanes)

    @property
    def lane(self) -> Affine:
        """A thread's number in its team."""
        found, inner = Affine(), 1
        for name, count in self.lanes:
            found, inner = found + variable(name) * inner, inner * count
        return found

    def teams(self, values: Mapping[str, int]) -> int:
        """Returns how many teams a launch has room for. values: of the sizes and the host's loops."""
        return prod(count.evaluate(values) for _, _, count in self.numbering)

    @property
    def partial(self) -> tuple[Partial, ...]:
        """The partial results of all phases."""
        return tuple(partial for phase in self.phases.values() for partial in phase.partial)


@dataclass(frozen=True)
class Choice:
    """A Choice holds the launches of which the host runs some in place of one that has no teams.

    plain, team: names of the launch without teams and of the one with them.
    split: the names of two launches that run in place of `team` where it has few threads; () if there are none.
    parts: the name of the number of blocks among which the first of these divides the iterations of a team.
    trips: of the loops that a team shares, how many iterations they have at most, expressions of the sizes and the host's loops.
    divided: the same for the loop that blocks divide, and how many threads of a team there are along it.
    size: how many threads a team has.
    beside: whether neighbouring threads are of one team.
    """

    plain: str
    team: str
    split: tuple[str, ...]
    parts: str
    trips: tuple[Affine, ...]
    divided: tuple[Affine, int]
    size: int
    beside: bool

    @property
    def team_size(self) -> tuple[int, int]:
        """The threads of a team, and how many of them there are along the loop that blocks divide."""
        return self.size, self.divided[1]

    def chosen(self, axes: Mapping[str, Sequence[LaunchAxis]], values: Mapping[str, int]) -> tuple[tuple[str, ...], int]:
        """Returns the names of the launches to run, and among how many blocks the first one divides the iterations of a team.

        axes: of the launches by name.
        values: of the sizes and the host's loops.
        """
        trips, along = [each.evaluate(values) for each in self.trips], self.divided[0].evaluate(values)
        plain, teams = (_threads(axes[name], values) for name in (self.plain, self.team))
        found = parts(trips, along, plain, teams, self.team_size, self.beside)
        if found == PLAIN:
            return (self.plain,), 1
        return (self.split, found) if self.split and found > WHOLE else ((self.team,), 1)


def _threads(axes: Sequence[LaunchAxis], values: Mapping[str, int]) -> int:
    """Returns how many threads a launch with these axes has. values: of the sizes and the host's loops."""
    return prod(max(axis.blocks.evaluate(values), 0) * axis.threads for axis in axes)


@dataclass(frozen=True)
class TeamNames:
    """The names of one launch of teams.

    starts: of a thread's first iteration along the axes of the grid.
    lanes: of its numbers in the team.
    part, parts: of the block's number among those that iterations are divided among, and of their count.
    """

    starts: tuple[str, ...]
    lanes: tuple[str, ...]
    part: str
    parts: str
    taken: frozenset[str]


def named(starts: Sequence[str], team: Team, taken: Set[str]) -> TeamNames:
    """Returns the names of a launch of teams. taken: names in use, which new names differ from."""
    lanes = fresh([f"rank_{axis}" if len(team.lanes) > 1 else "rank" for axis in "xy"[: len(team.lanes)]], {*taken, *starts})
    part, parts = fresh(["part", "parts"], {*taken, *starts, *lanes})
    return TeamNames(tuple(starts), lanes, part, parts, frozenset({*taken, *starts, *lanes, part, parts}))


def team_code(
    team: Team, inside: isl.UnionSet, context: isl.Set, axes: Sequence[LaunchAxis], names: TeamNames, scop: Scop, stage: str
) -> TeamCode:
    """Returns what the threads of a team run.

    inside: the instances of the team, whose iterations along the axes of the grid are parameters.
    context: what is known of the parameters.
    axes: those of the grid.
    stage: one of STAGES.
    """
    maker = PhaseMaker(team, inside, context, names, scop, stage)
    some = [phase for phase in team.phases if stage != "partial" or phase.name == team.split]
    runs = [(phase.name, phase.instances.intersect(inside), phase.around) for phase in some]
    phases = {phase.name: maker.made(phase) for phase in some}
    reused = {(phase.name, phase.name) for phase in some if phase.partial}  # what threads combine lies in one place
    order, _ = _with_barriers(tuple(conditions_inside(ordered(runs, context), TRUE)), (), team.waits | reused, phases)
    sizes = {axis.start: axis.threads * axis.items for axis in axes}
    numbering = tuple((axis.start, axis.first * sizes[axis.start], axis.blocks * sizes[axis.start]) for axis in axes)
    lanes = tuple(zip(names.lanes, team.lanes))
    divided = (names.part if stage == "partial" else "", names.parts if stage != "team" else "")
    return TeamCode(stage, lanes, team.beside, phases, order, numbering, *divided)


def choice_of(name: str, team: Team, instances: isl.UnionSet, scop: Scop, parts_name: str) -> Choice:
    """Returns the launches among which the host chooses. name: that of the launch without teams."""
    widest = max((phase for phase in team.phases if phase.partial), key=lambda phase: len(phase.shared))
    own = widest.instances.intersect(instances)
    trips = tuple(_trips(loop, own, scop) for loop in widest.shared)
    along = widest.blocks or widest.shared[-1]
    lanes = dict(zip((id(loop.values) for loop in widest.shared), _lanes_along(widest, team)))
    split = (f"{name}_partial", f"{name}_join") if team.split else ()
    if id(along.values) not in lanes:
        trips = (*trips, _trips(along, own, scop))
    divided = (_trips(along, own, scop), lanes.get(id(along.values), 1))
    return Choice(name, f"{name}_team", split, parts_name, trips, divided, prod(team.lanes), team.beside)


def _trips(loop: SurroundingLoop, instances: isl.UnionSet, scop: Scop) -> Affine:
    """Returns how many values the loop has, from the least to the greatest one."""
    values = isl.Set.from_union_set(as_map(loop, instances).range())
    low, high = (integer_expression(end.gist(scop.checked).coalesce()) for end in (values.dim_min(0), values.dim_max(0)))
    return high - low + 1


def _lanes_along(phase: Phase, team: Team) -> tuple[int, ...]:
    """Returns how many threads of the team there are along each of the loops that it shares in the phase."""
    if len(phase.shared) < len(team.lanes):
        return (prod(team.lanes),)
    return team.lanes


def conditions_inside(nodes: Sequence[Node], condition: Condition) -> Iterator[Node]:
    """Yields the nodes with conditions around single phases, or loops, in place of several of them."""
    for node in nodes:
        if isinstance(node, Guard):
            yield from conditions_inside(node.body, conjunction(condition, node.condition))
            continue
        if isinstance(node, Loop):
            node = with_body(node, tuple(conditions_inside(node.body, TRUE)))
        yield node if condition == TRUE else Guard(condition, (node,))


def _with_barriers(
    nodes: Sequence[Node], pending: tuple[str, ...], waits: Set[tuple[str, str]], phases: Mapping[str, TeamPhase]
) -> tuple[tuple[Node | Barrier, ...], tuple[str, ...]]:
    """Returns the nodes with barriers between phases of which one has to wait for the other, and the phases since the last barrier.

    pending: the phases that run before the nodes, since the last barrier.
    waits: pairs (earlier, later) of names of phases.
    """
    found: list[Node | Barrier] = []
    for node in nodes:
        inner = node.body[0] if isinstance(node, Guard) else node
        if isinstance(inner, Loop):
            body, after = _with_barriers(inner.body, pending, waits, phases)
            if _with_barriers(inner.body, after, waits, phases)[0] != body:
                body = (*body, Barrier())
            looped = with_body(inner, body)  # type: ignore[arg-type]  # barriers are among the nodes of a team
            found.append(with_body(node, (looped,)) if isinstance(node, Guard) else looped)
            pending = tuple(dict.fromkeys((*pending, *after)))
            continue
        assert isinstance(inner, Instance)
        name = inner.statement
        if any((earlier, name) in waits for earlier in pending):
            found.append(Barrier(name))
            pending = ()
        found.append(node)
        pending = (name,) if phases[name].partial else (*pending, name)  # combining partial results has barriers of its own
    return tuple(found), pending


@dataclass(frozen=True)
class PhaseMaker:
    """What makes the loops of the phases of one launch."""

    team: Team
    inside: isl.UnionSet
    context: isl.Set
    names: TeamNames
    scop: Scop
    stage: str

    def made(self, phase: Phase) -> TeamPhase:
        """Returns the phase with the loops that a thread runs."""
        around = fresh([loop.name for loop in phase.around], self.names.taken)
        instances = reduce(at, zip(around, phase.around), phase.instances.intersect(self.inside))
        there = self.context.intersect(instances.params())
        partial = tuple(self.partial(phase, each, instances) for each in phase.partial)
        names = loop_tree.statements(phase.body)
        if self.stage == "join" and phase.name == self.team.split:
            return TeamPhase(around, (), False, partial, names, stored=True)
        body = tuple(nodes_of(loop_tree.write(instances, phase.body), there))
        if not phase.shared:
            return TeamPhase(around, body, True, (), names)
        return TeamPhase(around, tuple(_shared(body, self._shares(phase))), False, partial, names)

    def partial(self, phase: Phase, result: PartialResult, instances: isl.UnionSet) -> Partial:
        write = self.scop.statements[result.statements[0]].write
        own = isl.UnionSet.from_set(self.scop.statements[result.statements[0]].domain).intersect(instances)
        elements = own.apply(isl.UnionMap.from_map(write.relation))
        element = isl.Set.from_union_set(elements)
        known = element.params()
        subscripts = tuple(integer_expression(element.dim_min(k).gist(known).coalesce()) for k in range(len(write.subscripts)))
        return Partial(self._name(phase, result), result.array, result.operator, subscripts, result.statements)

    def _name(self, phase: Phase, result: PartialResult) -> str:
        """Returns the array's name, with a number where the launch has several partial results of it."""
        same = [each for other in self.team.phases for each in other.partial if each.array == result.array]
        return result.array if len(same) == 1 else f"{result.array}_{[id(each) for each in same].index(id(result))}"

    def _shares(self, phase: Phase) -> dict[str, tuple[Affine, Affine]]:
        """Returns { name of a loop that the team shares -> the thread's first iteration from the loop's first on, the stride }."""
        lanes, counts = [variable(name) for name in self.names.lanes], _lanes_along(phase, self.team)
        if len(counts) < len(lanes):
            lanes = [lanes[0] + lanes[1] * self.team.lanes[0]]
        found = {loop.name: (lane, Affine(count)) for loop, lane, count in zip(phase.shared, lanes, counts)}
        if self.stage == "partial" and phase.blocks is not None:
            lane, stride = found.get(phase.blocks.name, (Affine(), Affine(1)))
            part = variable(self.names.part) * stride.constant
            found[phase.blocks.name] = lane + part, variable(self.names.parts) * stride.constant
        return found


def _shared(nodes: Sequence[Node], shares: Mapping[str, tuple[Affine, Affine]]) -> Iterator[Node]:
    """Yields the nodes with each loop's iterations divided among threads.

    shares: { name of a loop -> the thread's first iteration from the loop's first on, the stride }. Where no such loop is left, since
        it has a single iteration, the threads whose first iteration is the loop's run it.
    """
    for node in nodes:
        if not shares:
            yield node
        elif isinstance(node, Instance):
            yield Guard(conjunction(*(zero(first) for first, _ in shares.values())), (node,))
        elif isinstance(node, Loop) and node.name in shares:
            first, stride = shares[node.name]
            rest = {name: share for name, share in shares.items() if name != node.name}
            lower = tuple(each + first * node.step for each in node.lower)
            made = {name: getattr(node, name) for name in Loop.__dataclass_fields__}
            made |= {"lower": lower, "step": 1, "body": tuple(_shared(node.body, rest))}
            yield SharedLoop(**made, stride=stride * node.step)
        else:
            yield with_body(node, tuple(_shared(node.body, shares)))


def for_thread(nodes: Sequence[Node], values: Mapping[str, int]) -> tuple[Node, ...]:
    """Returns the nodes with plain loops in place of those whose iterations threads share. values: of the names in strides."""
    found: list[Node] = []
    for node in nodes:
        if not isinstance(node, Instance):
            node = with_body(node, for_thread(node.body, values))
        if isinstance(node, SharedLoop):
            made = {name: getattr(node, name) for name in Loop.__dataclass_fields__}
            node = Loop(**(made | {"step": node.stride.evaluate(values)}))
        found.append(node)
    return tuple(found)


def grid_of(code: TeamCode, axes: Sequence[LaunchAxis]) -> tuple[LaunchAxis, ...]:
    """Returns the axes of a launch of teams: those of a team's threads, those of the grid, and that of the parts."""
    one = Affine(1)
    lanes = tuple(LaunchAxis("", name, Affine(), one, count, 1, is_lane=True) for name, count in code.lanes)
    parts = (LaunchAxis("", code.part, Affine(), variable(code.parts), 1, 1),) if code.part else ()
    return (*lanes, *axes, *parts) if code.beside else (*axes[:1], *lanes, *axes[1:], *parts)
