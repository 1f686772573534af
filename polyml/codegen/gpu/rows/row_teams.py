"""What a team runs that has a row of several launches: its phases, in loops with as many turns as there are registers.

    for j: m[i] = max(m[i], x[i, j])       x_held[turn] = x[i, 256*turn + rank] for all turns
    for j: y[i, j] = x[i, j] - m[i]   ->   m_partial = max(m_partial, x_held[turn]) for all turns; combined, m_held in every thread
                                           y[i, 256*turn + rank] = x_held[turn] - m_held for all turns

Iteration j of the shared loop is that of thread (j - base) mod 256 in turn (j - base) div 256, in all phases; base is the row's first
iteration. In a launch for rows of any length, threads keep nothing of a row, and loops go on in steps of as many threads as there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import repeat

import islpy as isl

from polyml import polyhedra
from polyml.codegen.astgen.build import nodes_of
from polyml.codegen.gpu.axes import LaunchAxis, LaunchGrid, fresh, launch_grid
from polyml.codegen.gpu.host_loops import as_map, ordered
from polyml.codegen.gpu.rows.row_division import Division
from polyml.codegen.gpu.teams import Barrier, PhaseMaker, TeamCode, TeamPhase, conditions_inside, grid_of, named
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Node
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import (
    TRUE,
    Affine,
)
from polyml.quasi_affine.from_isl import integer_expression
from polyml.schedule.gpu.held_arrays import drain, fill
from polyml.schedule.gpu.loop_roles import GridAxis, HeldArray, Phase, RowTeam, SurroundingLoop, Team
from polyml.schedule.gpu.mapping import as_mapped
from polyml.schedule.gpu.team_choice import row_variant
from polyml.schedule.tree import loop_tree

# threads of a team, and how many registers of 32 bits each has for a row; teams of a warp have 8 rows in a block. With 16 for all, two thirds
# of the threads of teams of 512 had work in rows of 4,099, and softmax took 1.3 times as long on an H200; teams of a warp with 32 took 1.15
# times as long as those of two warps in rows of 1,024.
VARIANTS = ((32, 8), (64, 16), (128, 16), (256, 16), (256, 20), (512, 16), (1024, 12))
LONG = ((32, 1024), (256, 8192), (1024, 0))  # threads of a team, and the longest rows, which are not in registers; 0: any
WARP, BESIDE = 32, 8


@dataclass(frozen=True)
class Move:
    """A Move loads elements of an array into registers, or stores them.

    subscripts: those of an element, expressions of the sizes, the host's loops, the first iterations along the grid's axes, and `iterator`.
    iterator: a name for the iteration of the shared loop.
    body: the loops, whose instances have the phase's name, and the iteration as their point.
    """

    array: str
    subscripts: tuple[Affine, ...]
    iterator: str
    body: tuple[Node, ...]
    is_fill: bool

    def at(self, point: Sequence[Affine]) -> tuple[Affine, ...]:
        """Returns the subscripts of the element of an instance."""
        return tuple(each.substitute(dict(zip([self.iterator], point))) for each in self.subscripts)


@dataclass(frozen=True)
class RowPhase(TeamPhase):
    """A RowPhase is a phase of a team that runs a row.

    is_divided: whether the iterations of its loop are divided among threads; if not, one thread runs it, or all do, each on copies of
        its own.
    move: what it moves between memory and registers, in place of a body.
    """

    is_divided: bool = False
    move: Move | None = None


@dataclass(frozen=True)
class RowCode(TeamCode):
    """A RowCode is what a team runs that has a row.

    held: { array in registers -> how many elements of it a thread has; 0: the one that the whole row uses }.
    turn: the variable of loops over a thread's iterations of a row.
    turns: how many there are; 0: any number, and then no array has several elements in registers.
    limits: { name -> value } of integers in conditions on turns, expressions of the thread's numbers: what is below 0 or above the
        iterations of a team counts as these.
    registers: how many a thread needs for elements of rows at most.
    """

    held: Mapping[str, int] = field(default_factory=dict)
    turn: str = ""
    turns: int = 0
    limits: Mapping[str, Affine] = field(default_factory=dict)
    registers: int = 0

    @property
    def stored(self) -> tuple[str, ...]:
        """The arrays in registers whose elements are stored."""
        moves = (phase.move for phase in self.phases.values() if isinstance(phase, RowPhase) and phase.move)
        return tuple(move.array for move in moves if not move.is_fill)


@dataclass(frozen=True)
class RowVariant:
    """A RowVariant is one of the launches that may run rows. most: how many iterations a row may have; 0: any number."""

    name: str
    threads: int
    most: int


@dataclass(frozen=True)
class RowChoice:
    """A RowChoice holds the launches of which the host runs one in place of several that follow one another.

    members: the names of these launches.
    leader: that one of them in whose place it runs.
    trips: how many iterations the longest row has, an expression of the sizes and the host's loops.
    rows: numbers of the same kind, whose product is how many rows there are.
    """

    members: tuple[str, ...]
    leader: str
    variants: tuple[RowVariant, ...]
    trips: Affine
    rows: tuple[Affine, ...]

    def chosen(self, values: Mapping[str, int]) -> str | None:
        """Returns the name of the launch that runs; None where the launches run one by one. values: of the sizes and the host's loops."""
        rows = reduce(lambda product, each: product * max(each.evaluate(values), 0), self.rows, 1)
        number = row_variant(self.trips.evaluate(values), rows, [(each.threads, each.most) for each in self.variants])
        return None if number is None else self.variants[number].name


@dataclass(frozen=True)
class RowLaunch:
    """A RowLaunch is a launch of teams that run rows, but for its place in the program."""

    name: str
    host: tuple[str, ...]
    axes: tuple[LaunchAxis, ...]
    code: RowCode


def row_launches(name: str, members: Sequence[str], team: RowTeam, scop: Scop) -> tuple[list[RowLaunch], RowChoice]:
    """Returns the launches that may run rows in place of `members`, and how the host chooses. name: what their names begin with."""
    registers = [(threads, words // team.words) for threads, words in VARIANTS] if team.words else []
    wanted = [(threads, turns, threads * turns) for threads, turns in registers if turns]
    wanted += [(threads, 0, most) for threads, most in (LONG[-1:] if wanted else LONG)]
    made = [
        _launch(f"{name}_rows_{threads}{f'x{turns}' if turns else ''}", team, threads, turns, scop) for threads, turns, _ in wanted
    ]
    variants = [RowVariant(each.name, threads, most) for each, (threads, _, most) in zip(made, wanted)]
    grid = launch_grid(as_mapped(team).nest, _axes(team, WARP), scop)
    trips, rows = _longest(team, grid, scop), tuple(_count(as_map(loop, grid.whole), scop) for loop in team.grid)
    return made, RowChoice(tuple(members), members[team.leader], tuple(variants), trips, rows)


def _axes(team: RowTeam, threads: int) -> tuple[GridAxis, ...]:
    """Returns the axes of the grid. threads: of a team."""
    first, *rest = reversed(team.grid)
    return (GridAxis(first, BESIDE if threads == WARP else 1), *(GridAxis(loop, 1) for loop in rest))


def _launch(name: str, team: RowTeam, threads: int, turns: int, scop: Scop) -> RowLaunch:
    """Returns the launch with teams of so many threads, which have registers for so many turns; 0: any number of turns, and none."""
    axes = _axes(team, threads)
    grid = launch_grid(as_mapped(team).nest, axes, scop)
    grid = replace(grid, context=reduce(isl.Set.intersect, map(_within, axes, grid.axes, repeat(grid.whole)), grid.context))
    maker = _RowMaker(team, Team(axes, (threads,), True, team.phases, team.waits if turns else team.long_waits), grid, turns, scop)
    code = maker.code()
    return RowLaunch(name, grid.host, grid_of(code, grid.axes), code)


def _within(axis: GridAxis, launched: LaunchAxis, instances: isl.UnionSet) -> isl.Set:
    """Returns [start] -> { : ... }, the condition that a thread's iteration along an axis is between the first and the last one: it is, where
    blocks have one iteration.
    """
    if axis.extent > 1:
        return isl.Set("{ : }")
    values = isl.Set.from_union_set(as_map(axis.loop, instances).range())
    up, down = (values.apply(isl.Map(f"{{ [e] -> [s] : s {op} e }}")) for op in (">=", "<="))
    return up.intersect(down).intersect(isl.Set(f"[{launched.start}] -> {{ [{launched.start}] }}")).params()


def _count(values: isl.UnionMap, scop: Scop) -> Affine:
    """Returns how many values a loop has, from the least to the greatest one. values: { S[i] -> [e] }."""
    found = isl.Set.from_union_set(values.range())
    low, high = (integer_expression(end.gist(scop.checked).coalesce()) for end in (found.dim_min(0), found.dim_max(0)))
    return high - low + 1


def _points(team: RowTeam, instances: isl.UnionSet) -> isl.Set:
    """Returns { [g, j] }, the iterations of shared loops with those of the grid's loops around them."""
    found = []
    for phase in team.phases:
        if phase.shared:
            loops = (*team.grid, phase.shared[0])
            values = reduce(isl.UnionMap.flat_range_product, (isl.UnionMap.from_union_pw_aff(loop.values) for loop in loops))
            found.append(isl.Set.from_union_set(values.intersect_domain(phase.instances.intersect(instances)).range()))
    return reduce(isl.Set.union, found)


def _longest(team: RowTeam, grid: LaunchGrid, scop: Scop) -> Affine:
    """Returns how many iterations the longest row has, from its first to its last one."""
    points, depth = _points(team, grid.whole), len(team.grid)
    around = "".join(f"g{k}, " for k in range(depth))
    pairs = isl.Map(f"{{ [{around}j] -> [{around}k] : k >= j }}").intersect_domain(points).intersect_range(points)
    lengths = polyhedra.onto(pairs.deltas(), [depth], "length")
    return integer_expression(lengths.dim_max(0).gist(scop.checked).coalesce()) + 1


@dataclass(frozen=True)
class _RowMaker:
    """What makes the code of one launch of teams that run rows.

    as_team: the team with the shape of its blocks, as launches of single nests have it.
    turns: as in `RowCode`.
    """

    team: RowTeam
    as_team: Team
    grid: LaunchGrid
    turns: int
    scop: Scop

    def code(self) -> RowCode:
        names = named([axis.start for axis in self.grid.axes], self.as_team, self.grid.taken)
        turn, iterator, limit = fresh(["turn", "iteration", "left"], names.taken)
        maker = PhaseMaker(self.as_team, self.grid.inside, self.grid.context, names, self.scop, "team")
        base, (rank,), (threads,) = self._base(), names.lanes, self.as_team.lanes
        division = Division(base, rank, threads, turn, self.turns, limit, {}, AccessTable(self.scop.context))
        held = [each for each in self.team.held if self.turns or not each.is_row]
        fills, drains = ([self._move(each, is_fill, iterator, division) for each in held] for is_fill in (True, False))
        made = {phase.name: self._phase(phase, maker, division) for phase in self.team.phases}
        runs = [(phase.name, phase.instances.intersect(self.grid.inside)) for phase in self.team.phases]
        phases = {name: phase for name, phase, _ in (*fills, *drains) if phase is not None} | made
        moved = ([(name, points) for name, phase, points in some if phase is not None] for some in (fills, drains))
        before, behind = moved
        found = ordered([(name, points, ()) for name, points in (*before, *runs, *behind)], self.grid.context)
        order = tuple(self._with_barriers(tuple(conditions_inside(found, TRUE)), phases))
        sizes = {axis.start: axis.threads * axis.items for axis in self.grid.axes}
        numbering = tuple((axis.start, axis.first * sizes[axis.start], axis.blocks * sizes[axis.start]) for axis in self.grid.axes)
        registers = {each.array: self.turns if each.is_row else 0 for each in held}
        lanes = tuple(zip(names.lanes, self.as_team.lanes))
        return RowCode(
            "team",
            lanes,
            True,
            phases,
            order,
            numbering,
            held=registers,
            turn=turn,
            turns=self.turns,
            limits=division.names,
            registers=self.turns * self.team.words,
        )

    def _base(self) -> Affine:
        """Returns the first iteration of a row."""
        points = _points(self.team, self.grid.inside)
        first = points.dim_min(len(self.team.grid))
        return integer_expression(first.gist(self.grid.context.intersect(points.params())).coalesce())

    def _phase(self, phase: Phase, maker: PhaseMaker, division: Division) -> RowPhase:
        instances = phase.instances.intersect(self.grid.inside)
        partial = tuple(maker.partial(phase, each, instances) for each in phase.partial)
        names = loop_tree.statements(phase.body)
        body = tuple(nodes_of(loop_tree.write(instances, phase.body), self.grid.context.intersect(instances.params())))
        if phase.shared:
            body = tuple(division.divided(body, phase, self.scop))
        is_alone = not phase.shared and not phase.is_copied
        return RowPhase((), body, is_alone, partial, names, is_divided=bool(phase.shared))

    def _move(self, held: HeldArray, is_fill: bool, iterator: str, division: Division) -> tuple[str, RowPhase | None, isl.UnionSet]:
        """Returns the phase that loads elements into registers, or stores them, with its name and the points { name[j] } that it moves."""
        name = fill(held.array) if is_fill else drain(held.array)
        outer = [*self.grid.host, *(self._start(loop) for loop in self.team.grid)]
        last = [iterator] if held.is_row else []
        where = " and ".join(f"h{k} = {each}" for k, each in enumerate(outer))
        dims = ", ".join([*(f"h{k}" for k in range(len(outer))), *last])
        here = isl.Map(f"[{', '.join(outer)}] -> {{ [{dims}] -> {name}[{', '.join(last)}] : {where} }}")
        points = isl.UnionSet.from_set((held.filled if is_fill else held.drained).apply(here))
        if points.is_empty():
            return name, None, points
        tree: loop_tree.Node = loop_tree.Leaf((name,))
        if held.is_row:
            tree = loop_tree.Loop(iterator, isl.UnionPwAff(f"{{ {name}[{iterator}] -> [({iterator})] }}"), tree)
        body = tuple(nodes_of(loop_tree.write(points, tree), self.grid.context.intersect(points.params())))
        if held.is_row:
            body = tuple(division.of_row(body))
        values = ", ".join([*outer, *last])
        at = isl.Set(f"[{values}] -> {{ [{values}] }}")
        subscripts = tuple(self._subscripts(held.array, at.apply(held.elements)))
        return (
            name,
            RowPhase((), (), not held.is_row and not is_fill, move=Move(held.array, subscripts, iterator, body, is_fill)),
            points,
        )

    def _start(self, loop: SurroundingLoop) -> str:
        """Returns the name of a thread's first iteration of one of the grid's loops."""
        return next(axis.start for axis, mine in zip(self.grid.axes, self.as_team.axes) if mine.loop is loop)

    def _subscripts(self, array: str, element: isl.Set) -> Iterator[Affine]:
        """Yields the subscripts of the only element of a set."""
        known = element.params()
        for k in range(len(self.scop.arrays[array].shape)):
            yield integer_expression(element.dim_min(k).gist(known).coalesce())

    def _with_barriers(self, nodes: Sequence[Node], phases: Mapping[str, RowPhase]) -> Iterator[Node | Barrier]:
        """Yields the nodes with barriers before phases that have to wait for one since the last barrier; threads of several warps have one
        where they combine partial results.
        """
        pending: list[str] = []
        for node in nodes:
            run = node.body[0] if isinstance(node, Guard) else node
            assert isinstance(run, Instance), "there are no loops around the phases of a row"
            if any((earlier, run.statement) in self.as_team.waits for earlier in pending):
                yield Barrier(run.statement)
                pending = []
            yield node
            has_barrier = phases[run.statement].partial and self.as_team.lanes[0] > WARP
            pending = [*([] if has_barrier else pending), run.statement]
