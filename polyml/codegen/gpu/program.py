"""A schedule as what a host does for a GPU: loops around launches of kernels, and the loops that a thread runs.

for t:                     host loop
    launch of k0[t]        blocks and threads: parameters of what a thread runs
        for k: S           a thread's own loops
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import reduce
from math import prod

import islpy as isl

from polyml.codegen.astgen.build import nodes_of
from polyml.codegen.gpu import teams
from polyml.codegen.gpu.axes import ItemLoop, LaunchAxis, TileChoice, fresh, launch_grid, missing_items, with_items
from polyml.codegen.gpu.block_loops.cut_work import with_tests, without_absent
from polyml.codegen.gpu.block_loops.matrix_fragments import Fragments
from polyml.codegen.gpu.block_loops.merged_sums import MergedSum
from polyml.codegen.gpu.block_loops.pipelined_tiles import Pipelined
from polyml.codegen.gpu.block_loops.shared_work import PLAIN, Instructions, SharedWork, WantedLoop, shared_work
from polyml.codegen.gpu.block_tiles import block_tiles
from polyml.codegen.gpu.cut_blocks import End, EveryBlock, every_block, multiples, of_blocks
from polyml.codegen.gpu.host_loops import host_loops
from polyml.codegen.gpu.position_blocks import of_positions
from polyml.codegen.gpu.registers import Registers, registers
from polyml.codegen.gpu.rows.row_teams import RowChoice, row_launches
from polyml.codegen.gpu.shared_tiles import BlockAxis, SharedTile, Staged
from polyml.codegen.gpu.teams import Choice, TeamCode
from polyml.codegen.ir.program import Node, instances
from polyml.model.core.scop import Scop
from polyml.polyhedra import parameter_names
from polyml.quasi_affine.affine import TRUE, Affine, Condition, negate
from polyml.quasi_affine.from_isl import condition_expression
from polyml.schedule.gpu.libraries.products import MatrixProduct
from polyml.schedule.gpu.loop_roles import GridAxis, Team
from polyml.schedule.gpu.mapping import BlockCopies, LaunchNest, Mapped
from polyml.schedule.gpu.team_choice import cost
from polyml.schedule.tree import loop_tree

Chooser = Callable[[Choice, Mapping[str, int]], tuple[tuple[str, ...], int]]  # launches by name, and a number of parts
RowChooser = Callable[[RowChoice, Mapping[str, int]], str | None]  # a launch by name; None: one for each nest


@dataclass(frozen=True)
class Version:
    """A Version is what a thread runs where a condition holds.

    condition: on the sizes, the variables of the host's loops, and the thread's first iterations along the axes.
    body: the thread's loops, in terms of the same names.
    registers: elements that are in registers while loops of the body run.
    staged: loops whose loads come from shared memory.
    pipelined: the same, where the block copies ahead.
    fragments: loops whose sums the threads of a block compute together, with matrix instructions.
    filled: what the block copies to shared memory before its threads run the body.
    merged: what the block runs in place of the body, which is that of one position along each axis.
    notes: lines for people, on why the block copies some of what its threads load, and not the rest.
    ends: of the axes along which the block may have fewer iterations than the body has; elements of the others are zeros, which are not
        stored.
    has_vectors: whether the device stores 16 bytes at once.

    If there are loops or copies that threads run together, the condition is on the first iterations of the block, not of the thread, so that all
    threads of a block run the version or none does.
    """

    condition: Condition
    body: tuple[Node, ...]
    registers: tuple[Registers, ...] = ()
    staged: tuple[Staged, ...] = ()
    pipelined: tuple[Pipelined, ...] = ()
    fragments: tuple[Fragments, ...] = ()
    filled: tuple[SharedTile, ...] = ()
    notes: tuple[str, ...] = ()
    merged: MergedSum | None = None
    ends: tuple[End, ...] = ()
    has_vectors: bool = False

    @property
    def tested(self) -> tuple[Node, ...]:
        """The body with a test at each instance of whether there is such an iteration."""
        return with_tests(self.body, (), self.ends) if self.ends else self.body


@dataclass(frozen=True)
class Launch:
    """A Launch is a kernel for a grid of blocks of threads.

    name: the name of the kernel.
    host: the names of the host's loops around it, outermost first.
    axes: x first; those behind the third one have one thread per block.
    versions: what a thread runs, in terms of the sizes, the host's loops and the axes' `start`: that one whose condition
        holds.
    blocks: the names along each axis on which a block has more than one iteration.
    serial: why there is one thread alone; "" where there are several.
    team: what the threads of a block run together; there are no versions then.
    """

    name: str
    host: tuple[str, ...]
    axes: tuple[LaunchAxis, ...]
    versions: tuple[Version, ...]
    blocks: tuple[BlockAxis, ...] = ()
    serial: str = ""
    team: TeamCode | None = None

    @property
    def bodies(self) -> tuple[tuple[Node, ...], ...]:
        """The loops of each version, or of each phase of a team."""
        phases = self.team.phases.values() if self.team else ()
        return tuple(each.body for each in (*self.versions, *phases))

    @property
    def counts(self) -> dict[str, tuple[Affine, ...]]:
        """The parameters that are how many combinations of iterations loops have, those that are merged along an axis, and those of the
        sums for them: products of how many each loop has.
        """
        found = {axis.count: tuple(loop.count for loop in axis.merged) for axis in self.axes if axis.merged}
        sums = [version.merged for version in self.versions if version.merged]
        return found | {each.count: tuple(loop.count for loop in each.inner) for each in sums}

    @property
    def body(self) -> tuple[Node, ...]:
        """The loops of all versions, or of all phases of a team."""
        return tuple(node for body in self.bodies for node in body)

    @property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements that it runs, in the order of the text, each perhaps several times."""
        if self.team is not None:
            return tuple(name for phase in self.team.phases.values() for name in phase.statements)
        return tuple(node.statement for node in instances(self.body))


@dataclass(frozen=True)
class LibraryProduct:
    """A LibraryProduct is a part of a launch that a library may compute. rest: the launch that runs the other part then; "": none does."""

    product: MatrixProduct
    rest: str


@dataclass(frozen=True)
class GpuProgram:
    """A GpuProgram is a SCoP as launches for a GPU.

    launches: by the names of their kernels.
    order: the host's loops around launches; an instance in them is a launch, with the values of the loops.
    choices: by the name of a launch in `order`, those that may run in its place.
    rows: by the name of a launch in `order`, those that may run in its place and others' together.
    products: by the name of a launch, what a library may compute in its place.
    mapped: the nests that it was made of, each on blocks and threads, in order.
    """

    scop: Scop
    launches: dict[str, Launch]
    order: tuple[Node, ...]
    choices: Mapping[str, Choice | TileChoice] = field(default_factory=dict)
    rows: Mapping[str, RowChoice] = field(default_factory=dict)
    products: Mapping[str, LibraryProduct] = field(default_factory=dict)
    mapped: tuple[Mapped, ...] = field(default=(), repr=False)

    @property
    def plain(self) -> tuple[Launch, ...]:
        """The launches of its order, without those that may run in their place."""
        others = {each.small for each in self.choices.values() if isinstance(each, TileChoice)}
        others |= {each.rest for each in self.products.values()}
        return tuple(launch for launch in self.launches.values() if launch.team is None and launch.name not in others)

    def runs(
        self, name: str, values: Mapping[str, int], choose: Chooser | None = None, choose_rows: RowChooser | None = None
    ) -> list[tuple[Launch, dict[str, int]]]:
        """Returns the launches that run where the order has the one of this name, each with the values of its parameters.

        values: of the sizes and the host's loops.
        choose: how the host chooses among launches with and without teams; None: as it does for a device.
        choose_rows: how it chooses a launch for rows; None: as it does for a device, or, where `choose` is given, none.
        """
        choice, rows = self.choices.get(name), self.rows.get(name)
        if rows is not None and (choose is None or choose_rows is not None):
            row = rows.chosen(values) if choose_rows is None else choose_rows(rows, values)
            if row is not None:
                return [(self.launches[row], dict(values))] if name == rows.leader else []
        axes = {each: launch.axes for each, launch in self.launches.items()}
        if choice is None or isinstance(choice, TileChoice):
            counts = self.launches[name].counts.items()
            known = {**values, **{each: prod(count.evaluate(values) for count in some) for each, some in counts}}
            return [(self.launches[name if choice is None else choice.chosen(axes, known)], known)]
        names, parts = choice.chosen(axes, values) if choose is None else choose(choice, values)
        return [(self.launches[each], {**values, choice.parts: parts}) for each in names]


def gpu_program(scop: Scop, mapped: Sequence[Mapped], instructions: Instructions = PLAIN) -> GpuProgram:
    """Returns the nests of one schedule tree as launches, and the host's loops around these. Raises BudgetExceeded where the loops
    are not found in time.

    mapped: the nests in order, each on blocks and threads.
    instructions: which the launches may use that not all devices have.
    """
    names = [f"{scop.name}_{number}" for number in range(len(mapped))]
    launches: dict[str, Launch] = {}
    choices: dict[str, Choice | TileChoice] = {}
    rows: dict[str, RowChoice] = {}
    products: dict[str, LibraryProduct] = {}

    def add(name: str, each: Mapped) -> None:
        launches[name] = _launch(name, each, scop, instructions)
        if each.smaller:
            choices[name] = TileChoice(name, f"{name}_small", (_cost(each.axes), _cost(each.smaller)))
            launches[f"{name}_small"] = _launch(f"{name}_small", each.with_smaller_blocks, scop, instructions)
        if each.team is not None:
            some, choices[name] = _team_launches(name, each.nest, each.team, scop)
            launches.update({launch.name: launch for launch in some})
        if each.product is not None:
            products[name] = LibraryProduct(each.product, f"{name}_rest" if each.rest else "")
        if each.rest is not None:
            add(f"{name}_rest", each.rest)

    for number, (name, each) in enumerate(zip(names, mapped)):
        add(name, each)
        if each.rows is not None:
            members = names[number : number + each.rows.count]
            found, choice = row_launches(name, members, each.rows, scop)
            launches |= {made.name: Launch(made.name, made.host, made.axes, (), team=made.code) for made in found}
            rows |= dict.fromkeys(members, choice)
    return GpuProgram(scop, launches, host_loops(scop, dict(zip(names, mapped))), choices, rows, products, tuple(mapped))


def _cost(axes: Sequence[GridAxis]) -> int:
    """Returns how long a block with these axes takes, by the host's rule."""
    several = [axis for axis in axes if axis.items > 1]
    return cost([axis.size for axis in several], [axis.items for axis in several])


def _launch(name: str, mapped: Mapped, scop: Scop, instructions: Instructions) -> Launch:
    """Returns the launch of a nest on blocks and threads, with the loops that a thread runs.

    name: that of the launch's kernel.
    instructions: which it may use that not all devices have.
    """
    nest, grid = mapped.nest, launch_grid(mapped.nest, mapped.axes, scop)
    if any(axis.merged for axis in mapped.axes):
        nodes, blocks, found = of_positions(nest, grid, scop, instructions.copies)
        return Launch(name, grid.host, grid.axes, (Version(TRUE, nodes, merged=found),), blocks)
    inside, context, axes, host = grid.inside, grid.context, grid.axes, grid.host
    several = [(axis, launched.start) for axis, launched in zip(mapped.axes, axes) if axis.items > 1]
    called = fresh([f"{axis.loop.name}_item" for axis, _ in several], grid.taken)
    items = [ItemLoop.of(axis, start, inside, item) for (axis, start), item in zip(several, called)]
    blocks = _block_axes(axes, items, {*grid.taken, *called})
    if any(axis.rolled for axis, _ in several):
        body = reduce(with_items, [ItemLoop(axis.loop.name, axis.items, axis.loop.values) for axis, _ in several[::-1]], nest.body)
        return Launch(name, host, axes, (_only_version(inside, body, context, scop),), blocks)
    body = reduce(with_items, items, nest.body)
    every = None
    # OpenCL has the two versions: pocl 3.1 damages its memory in the one, of which Oclgrind reports nothing
    if items and instructions.copies:
        own = {name for axis in blocks for name in (axis.block, axis.thread)}
        every = every_block(mapped, grid, blocks, {*grid.taken, *called, *own}, scop)
    if every is not None:
        again = [ItemLoop.of(axis, start, every.instances, item) for (axis, start), item in zip(several, called)]
        every = replace(every, body=reduce(with_items, again, nest.body))
    versions = _versions(inside, body, context, items, blocks, _Given(scop, instructions, mapped.copies, every))
    return Launch(name, host, axes, versions, blocks, nest.serial)


def _team_launches(name: str, nest: LaunchNest, team: Team, scop: Scop) -> tuple[list[Launch], Choice]:
    """Returns the launches of teams that run a nest, and how the host chooses among them and the launch of the given name."""
    grid = launch_grid(nest, team.axes, scop)
    names = teams.named([axis.start for axis in grid.axes], team, grid.taken)
    choice = teams.choice_of(name, team, grid.whole, scop, names.parts)
    launches = []
    for each, stage in zip((choice.team, *choice.split), teams.STAGES):
        code = teams.team_code(team, grid.inside, grid.context, grid.axes, names, scop, stage)
        launches.append(Launch(each, grid.host, teams.grid_of(code, grid.axes), (), team=code))
    return launches, choice


def _block_axes(axes: Sequence[LaunchAxis], items: Sequence[ItemLoop], taken: Set[str]) -> tuple[BlockAxis, ...]:
    """Returns the axes along which a block has more than one iteration. taken: names in use, which new names differ from."""
    found, rest = [], list(items)
    for axis in axes:
        if axis.threads * axis.items == 1:
            continue
        item = rest.pop(0).name if axis.items > 1 else ""
        block, thread = fresh([f"{axis.start}_block", f"{axis.start}_thread"], taken)
        found.append(BlockAxis(axis.start, block, thread, item, axis.threads, axis.items, axis.thread_step))
    return tuple(found)


@dataclass(frozen=True)
class _Given:
    """A _Given is a SCoP with what a launch of it may use.

    instructions: which it may use that not all devices have.
    copies: the copies to shared memory that marks of the schedule tree ask for; None: there are no marks.
    every: what a thread runs if each block is taken as whole; None where no block may be that is not.
    """

    scop: Scop
    instructions: Instructions
    copies: tuple[BlockCopies, ...] | None
    every: EveryBlock | None

    @property
    def copied_once(self) -> Set[str]:
        """Returns the arrays that marks make a block copy before its threads run."""
        return {name for each in self.copies or () if not each.loop for name in each.arrays}

    def copies_at(self, held: Registers) -> BlockCopies | None:
        """Returns the copies that marks ask for in a loop."""
        return next((each for each in self.copies or () if each.loop == held.innermost.name), None)


def _versions(
    inside: isl.UnionSet,
    body: loop_tree.Node,
    context: isl.Set,
    items: Sequence[ItemLoop],
    blocks: Sequence[BlockAxis],
    given: _Given,
) -> tuple[Version, ...]:
    """Returns the versions of what a thread runs: one, or, where threads have several items (iterations along an axis) and blocks at the
    ends of the launch run other loops than others, a first one for threads that have all of them, without tests and with elements in
    registers and shared memory, and one for other threads.

    inside: the instances of the thread.
    context: what is known of the parameters.
    items: the loops over the thread's items, along each axis that has several.
    blocks: the axes along which a block has more than one iteration.
    given: the SCoP.
    """
    if not items:
        return (_only_version(inside, body, context, given.scop),)
    every = _every_block(context, items, blocks, given)
    if every is not None:
        return (every,)
    missing = missing_items(inside, items).intersect_params(context).params()
    full = context.subtract(missing).coalesce()
    whole = tuple(nodes_of(loop_tree.write(inside.intersect_params(full), body), full))
    version = _whole_version(whole, context, items, blocks, given)
    rest = tuple(nodes_of(loop_tree.write(inside, body), context))
    if version.staged or version.pipelined or version.fragments or version.filled:
        known = reduce(isl.Set.intersect, map(multiples, blocks), of_blocks(context, blocks))
        full, context = known.subtract(of_blocks(missing, blocks)).coalesce(), known
    condition = condition_expression(full.gist(context), context)
    return replace(version, condition=condition), Version(negate(condition), rest)


def _whole_version(
    body: tuple[Node, ...], context: isl.Set, items: Sequence[ItemLoop], blocks: Sequence[BlockAxis], given: _Given
) -> Version:
    """Returns what a thread runs that has all of its items, with elements in registers and shared memory; its condition is open.

    body: the thread's loops.
    context: what is known of the parameters.
    items: the loops over the thread's items, along each axis that has several.
    blocks: the axes along which a block has more than one iteration.
    """
    scop = given.scop
    counts = {each.name: each.count for each in items}
    kept = tuple(registers(body, scop, counts))
    written = frozenset(scop.statements[each.statement].write.array for each in instances(body))
    alone = [held for held in kept if any(held.loop is node for node in body)]
    taken = {*scop.arrays, *scop.params, *parameter_names(context)}
    chunks = fresh([f"{held.innermost.name or held.innermost.var}_chunk" for held in alone], taken)
    asked = [WantedLoop(held, chunk, given.copies_at(held)) for held, chunk in zip(alone, chunks)]
    wanted = [each for each in asked if given.copies is None or each.asked is not None]
    work = shared_work(wanted, blocks, written, scop, given.instructions)
    once = block_tiles(body, counts, blocks, written, scop)
    filled = tuple(each.tile for each in once if each.is_copied and (given.copies is None or each.tile.array in given.copied_once))
    notes = tuple(map(str, once)) if given.copies is None else ()
    return Version(
        TRUE, body, kept, work.staged, work.pipelined, work.fragments, filled, notes, has_vectors=given.instructions.vectors
    )


def _every_block(context: isl.Set, items: Sequence[ItemLoop], blocks: Sequence[BlockAxis], given: _Given) -> Version | None:
    """Returns what the threads of any block run, whole or not, with loops that they run together; None where that is not possible.

    context: what is known of the parameters.
    items: the loops over the thread's items, along each axis that has several.
    blocks: the axes along which a block has more than one iteration.
    """
    if given.every is None or not given.every.ends:
        return None
    instances = given.every.instances.intersect_params(context)
    where = (
        instances.params().coalesce()
    )  # where there is any, which axes with one thread in a block decide too, as those of batches
    body = tuple(nodes_of(loop_tree.write(instances, given.every.body), where))
    found = _whole_version(body, where, items, blocks, given)
    work = SharedWork(found.fragments, found.pipelined, found.staged)
    cut = None if found.filled or not work else without_absent(work, found.registers, given.every.ends, given.scop)
    if cut is None:
        return None
    tested = with_tests(body, [node for held in found.registers for node in (*held.start, held.loop)], given.every.ends)
    condition = condition_expression(where.gist(context), context)
    return replace(
        found,
        condition=condition,
        body=tested,
        staged=cut.staged,
        pipelined=cut.pipelined,
        fragments=cut.fragments,
        ends=given.every.ends,
    )


def _only_version(inside: isl.UnionSet, body: loop_tree.Node, context: isl.Set, scop: Scop) -> Version:
    """Returns what all threads of a launch run, whatever part of their iterations there is, with elements in registers while loops run.

    inside: the instances of a thread.
    context: what is known of the parameters.
    """
    nodes = tuple(nodes_of(loop_tree.write(inside, body), context))
    return Version(TRUE, nodes, tuple(registers(nodes, scop, {})))
