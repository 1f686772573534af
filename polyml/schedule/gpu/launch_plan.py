"""The launches of a kernel without a model of a machine: which loop goes along x, and blocks of the usual sizes.

for i: for j: B[i, j] = A[i, j]   ->   one launch: j along x in blocks of 32 threads, i along y in blocks of 8
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType

import islpy as isl

from polyml.dtypes import HALVES, DType
from polyml.model.core.dependence import Dependences
from polyml.model.core.products import factors
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.polyhedra import BudgetExceeded, budget
from polyml.schedule.affine.fusion import fuse
from polyml.schedule.affine.scheduler import parallel_schedule
from polyml.schedule.analysis.strides import accesses, goes_to_neighbours, iterators_of, moves
from polyml.schedule.gpu import launch_fusion
from polyml.schedule.gpu.loop_roles import GridAxis
from polyml.schedule.gpu.mapping import LaunchNest, Mapped, SurroundingLoop, ThreadStatement, every_nest, mapped
from polyml.schedule.gpu.marks import as_asked, asked_order, is_asked, may_have_teams
from polyml.schedule.gpu.merged_axes import merged_axes
from polyml.schedule.gpu.row_teams import with_rows
from polyml.schedule.gpu.teams import team_of
from polyml.schedule.gpu.warp_lines import ROWS, is_flat, is_turned, lines, shares_rows
from polyml.schedule.legality.check import check_legal
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.loop_tree import Node

BLOCKS = {1: (128,), 2: (32, 8), 3: (32, 4, 2)}  # threads along x, y and z, by the number of loops
# the same for two loops where threads have several rows: a row of a block is two of memory's lines of 128 bytes
BLOCK_OF_ROWS = (64, 4)
TILE = (16, 16), (8, 8)  # threads, and iterations of each, along x and y where loads serve several of them
# the same for sums of products of numbers of 16 bits, where warps may have 64 x 64 with matrix instructions
TILE_OF_HALVES = (16, 8), (8, 16)
# where few blocks of the former would be left for a device
SMALL_TILE, SMALL_TILE_OF_HALVES = ((16, 16), (4, 4)), ((16, 8), (4, 8))
RUNS = {1: (1024,), 2: (256, 16), 3: (256, 4, 4)}  # iterations of a thread of a processor along x, y and z, by the number of loops
_WORD = 4  # bytes of a register: of larger elements a thread sums up half as many
_SMALLEST = 8  # positions of a thread of which half may be left
_FEWEST = 16  # threads of a block that copies elements of merged loops: one for each position of a chunk of the sum
_OPERATIONS = 5_000_000  # of isl, for one tree


@dataclass(frozen=True)
class Traits:
    """The Traits of a device are what the launches for it depend on besides the kernel.

    in_turn: whether it runs the threads of a block one after another, as a processor does.
    operands: the types of elements whose products are for matrix instructions, in blocks of their own.
    """

    in_turn: bool = False
    operands: Collection[DType] = HALVES


GPU = Traits()


def planned(
    scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({}), device: Traits = GPU
) -> tuple[Mapped, ...]:
    """Returns the launches that run the kernel, in order, with blocks of the usual sizes: those of `planned_tree`."""
    return planned_tree(scop, dependences, reductions, device)[1]


def planned_tree(
    scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({}), device: Traits = GPU
) -> tuple[Node, tuple[Mapped, ...]]:
    """Returns the loops of the kernel, and the launches that run them, in order, with blocks of the usual sizes.

    device: what the launches depend on besides the kernel.

    The loops are isl's with parallel ones outermost (`parallel_schedule`), and nests fused where that costs no statement a loop for
    threads; where isl takes too long, they are the source's. A nest without a loop for threads runs on one thread. Raises
    BudgetExceeded where it takes too long to find which of the source's loops are parallel.
    """

    def found(tree: isl.Schedule) -> tuple[Node, tuple[LaunchNest, ...]]:
        with budget(_OPERATIONS):
            check_legal(tree, scop, dependences, reductions)
            loops = loop_tree.read(tree, scop.statements)
            return loops, every_nest(loops, scop, dependences, reductions)

    try:
        parallel = parallel_schedule(scop, dependences)
        unfused = found(parallel)
    except (BudgetExceeded, isl.Error):
        return written_tree(scop, dependences, reductions, device)
    try:
        with budget(_OPERATIONS):
            fused_tree = fuse(parallel, scop, dependences)
        fused = found(fused_tree)
    except (BudgetExceeded, isl.Error):
        fused = unfused
    tree, nests = _launches_fused(
        *(fused if _threads(fused[1]) == _threads(unfused[1]) else unfused), scop, dependences, reductions
    )
    launches = [_with_team(_usual(nest, scop, reductions, device), scop, dependences, reductions, device) for nest in nests]
    return tree, tuple(launches) if device.in_turn else with_rows(launches, scop, dependences, reductions)


def _launches_fused(
    tree: Node, nests: tuple[LaunchNest, ...], scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction]
) -> tuple[Node, tuple[LaunchNest, ...]]:
    """Returns the tree with nests fused into fewer launches, and its launches; the tree and its launches `nests` themselves where that
    takes isl too long, or would cost a statement a loop for threads.
    """
    try:
        with budget(_OPERATIONS):
            fewer = launch_fusion.fused(tree, scop, dependences)
            check_legal(loop_tree.write(scop.domain, fewer), scop, dependences, reductions)
            found = every_nest(fewer, scop, dependences, reductions)
    except (BudgetExceeded, isl.Error):
        return tree, nests
    return (fewer, found) if _threads(found) == _threads(nests) else (tree, nests)


def planned_as_written(
    scop: Scop,
    dependences: Dependences,
    reductions: Mapping[str, Reduction] = MappingProxyType({}),
    device: Traits = GPU,
) -> tuple[Mapped, ...]:
    """Returns the launches that run the source's loops, in order, with blocks of the usual sizes.

    device: what the launches depend on besides the kernel.

    Raises BudgetExceeded where it takes too long to find which of the loops are parallel.
    """
    return written_tree(scop, dependences, reductions, device)[1]


def written_tree(
    scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction] = MappingProxyType({}), device: Traits = GPU
) -> tuple[Node, tuple[Mapped, ...]]:
    """Returns the source's loops, and the launches that run them, as `planned_tree` does for transformed loops."""
    tree = loop_tree.read(scop.schedule, scop.statements)
    return tree, planned_as_given(tree, scop, dependences, reductions, device)


def planned_as_given(
    tree: Node,
    scop: Scop,
    dependences: Dependences,
    reductions: Mapping[str, Reduction] = MappingProxyType({}),
    device: Traits = GPU,
) -> tuple[Mapped, ...]:
    """Returns the launches that run a tree, in order: on the blocks and threads that its marks ask for, and where they ask for none,
    on blocks of the usual sizes.

    device: what the launches depend on besides the kernel.

    Raises IllegalSchedule where a loop that is asked to go to threads carries a dependence, ScheduleError for marks that do not fit
    one another, and BudgetExceeded where it takes too long to find which of the loops are parallel.
    """
    with budget(_OPERATIONS):
        nests = every_nest(tree, scop, dependences, reductions)
        found = [
            _with_smaller_blocks(as_asked(nest), device) if is_asked(nest) else _usual(nest, scop, reductions, device)
            for nest in nests
        ]
    pairs = zip(nests, found)
    return tuple(_with_team(each, scop, dependences, reductions, device) if may_have_teams(nest) else each for nest, each in pairs)


def usual(nest: LaunchNest, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction], device: Traits) -> Mapped:
    """Returns the launch of a nest on blocks of the usual sizes, and with teams where threads may share its loops."""
    return _with_team(_usual(nest, scop, reductions, device), scop, dependences, reductions, device)


def on_one_thread(scop: Scop) -> tuple[Mapped, ...]:
    """Returns one launch of one thread, which runs all of the source's loops."""
    reason = "which loops are parallel was not found in time"
    return (mapped(LaunchNest((), (), loop_tree.read(scop.schedule, scop.statements), scop.domain, reason), (), ()),)


def _threads(nests: Sequence[LaunchNest]) -> dict[str, int]:
    """Returns, by statement, how many loops around it go to threads."""
    return {name: len(nest.grid) for nest in nests for name in nest.statements}


def _usual(nest: LaunchNest, scop: Scop, reductions: Mapping[str, Reduction], device: Traits) -> Mapped:
    """Returns the launch with its loops divided among blocks of the usual sizes.

    Where marks say which loop goes to which axis, these do. Else axis x is the loop along which most accesses go to neighbouring
    elements (see `warp_lines` for threads without loops of their own), of equally good ones the innermost; the other axes are the
    other loops, from the inside outwards.
    A thread has several iterations along x and along y where, along both, it can load an element once and use it in all of them, and
    some along y where a stencil's rows share loads.
    Where threads run in turn and have no loops of their own, a block is one thread with many iterations, in loops: their bounds
    take the place of tests in each iteration, and a compiler for a processor finds in them what it does in loops of C.
    """
    grid = range(len(nest.grid))
    if not grid:
        return mapped(nest, (), ())
    x = max(grid, key=lambda loop: (*_fitness_for_x(nest, nest.grid[loop], scop), loop))
    asked, written = asked_order(nest), [x, *(loop for loop in reversed(grid) if loop != x)]
    order = asked or _with_other_loads_along_y(written, nest, scop)
    multiplies = _multiplies_matrices(nest, order, scop, reductions, device)
    merged = None if asked or multiplies else merged_axes(nest, x, scop)
    if (
        merged is not None and prod(TILE[0]) >= _FEWEST and all(number & -number == number for some in TILE for number in some)
    ):  # so that copies are shared evenly
        return _merged(nest, merged, scop, device)
    if len(order) > 1 and all(_serves_several(nest, nest.grid[loop], scop) for loop in order[:2]):
        tile = TILE_OF_HALVES if multiplies or _has_halves(nest, scop) else TILE
        return _with_smaller_blocks(mapped(nest, order, *tile, adjacent=True), device)
    if device.in_turn and is_flat(nest):
        runs = RUNS[min(len(order), 3)]
        return mapped(nest, order, (1,) * len(runs), runs, adjacent=True, rolled=True)
    sizes = BLOCKS[min(len(order), 3)]
    if len(order) > 1 and is_flat(nest):
        along, down = (nest.grid[loop] for loop in order[:2])
        if is_turned(nest, along, scop):  # the block copies rows to shared memory, which are then longer
            return mapped(nest, order, sizes, (1, ROWS), adjacent=True)
        if shares_rows(nest, down, scop):
            return mapped(nest, order, BLOCK_OF_ROWS, (1, ROWS), adjacent=True)
    return mapped(nest, order, sizes)


def _merged(nest: LaunchNest, along: tuple[Sequence[int], Sequence[int]], scop: Scop, device: Traits) -> Mapped:
    """Returns the launch with several loops as one axis, and a form with half the positions in a block.

    along: the positions in `nest.grid` of those that become axes x and y.
    """
    (tx, ty), (across, down) = TILE
    wide = max(scop.arrays[scop.statements[name].write.array].element.size_bytes for name in nest.statements) > _WORD
    axes = [
        GridAxis(nest.grid[some[-1]], size, items, items > 1, merged=tuple(nest.grid[k] for k in some))
        for some, size, items in zip(along, (tx, ty // 2 if tx * ty >= 2 * _FEWEST else ty), (across, down // 2 if wide else down))
    ]
    rest = [GridAxis(nest.grid[k], 1) for k in reversed(range(len(nest.grid))) if k not in along[0] and k not in along[1]]
    halved = (replace(axes[0], items=across // 2), *axes[1:])
    return Mapped(nest, (*axes, *rest), smaller=(*halved, *rest) if across >= _SMALLEST and not device.in_turn else ())


def _with_smaller_blocks(found: Mapped, device: Traits) -> Mapped:
    """Returns the launch with a form that has smaller blocks, if its blocks are of the usual sizes for loads that serve several iterations."""
    two, rest = found.axes[:2], found.axes[2:]
    tile = tuple(axis.size for axis in two), tuple(axis.items for axis in two)
    ways = ((TILE, SMALL_TILE), (TILE_OF_HALVES, SMALL_TILE_OF_HALVES))
    small = next((small for usual, small in ways if usual == tile and all(axis.adjacent for axis in two)), None)
    if small is None or device.in_turn or any(axis.extent > 1 for axis in rest) or any(axis.merged for axis in two):
        return found
    smaller = tuple(replace(axis, size=size, items=items) for axis, size, items in zip(two, *small))
    is_smaller = all(one.extent < axis.extent for one, axis in zip(smaller, two))
    return replace(found, smaller=(*smaller, *rest)) if is_smaller else found


def _fitness_for_x(nest: LaunchNest, loop: SurroundingLoop, scop: Scop) -> tuple[int, int]:
    """Returns a value that is larger the better the loop is as axis x: the fewer lines of memory the accesses of a warp go to, if
    threads have no loops of their own, and the more accesses go to neighbouring elements.
    """
    return -lines(nest, loop, scop) if is_flat(nest) else 0, _followers(nest, loop, scop)


def _with_other_loads_along_y(order: list[int], nest: LaunchNest, scop: Scop) -> list[int]:
    """Returns the order of loops with one in the second place along which every statement loads other elements than along x: some that
    are the same along x, and the other way round, so that a tile of both has an outer product of loads. The order as it is if there
    is none.
    """
    x, *rest = order
    y = next((loop for loop in rest if all(_is_outer(run, nest.grid[x], nest.grid[loop], scop) for run in nest.runs())), None)
    return order if y is None else [x, y, *(loop for loop in rest if loop != y)]


def _is_outer(run: ThreadStatement, x: SurroundingLoop, y: SurroundingLoop, scop: Scop) -> bool:
    """Returns whether the statement has a read that moves along x and not along y, and one that moves along y and not along x."""
    along = [iterators_of(loop.values, run.statement) for loop in (x, y)]
    ways = [tuple(moves(access, each) for each in along) for access in scop.statements[run.statement].reads]
    return bool(run.inside) and (True, False) in ways and (False, True) in ways


def _with_team(given: Mapped, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction], device: Traits) -> Mapped:
    """Returns the launch with teams as another way to run it, where threads can share loops that have partial results.

    There are none where a thread has several iterations, which keep the sums of loops in registers, and where isl takes too long. Nor are
    there teams of neighbouring threads where threads run in turn: each of them would go through memory in large steps.
    """
    if any(axis.items > 1 for axis in given.axes) or not reductions.keys() & {*given.nest.statements}:
        return given
    try:
        with budget(_OPERATIONS):
            team = team_of(given.nest, scop, dependences, reductions)
    except (BudgetExceeded, isl.Error):
        return given
    return given if team is not None and team.beside and device.in_turn else replace(given, team=team)


def _serves_several(nest: LaunchNest, loop: SurroundingLoop, scop: Scop) -> bool:
    """Returns whether every statement in a loop of a thread reads, in the innermost one, an element that is the same for all values of
    `loop`; and whether there is such a statement.

    A thread with several iterations of `loop` then loads such an element once for all of them.
    """
    inner = [run for run in nest.runs() if run.inside]
    return bool(inner) and all(
        any(
            not moves(access, iterators_of(loop.values, run.statement)) and moves(access, _innermost(run))
            for access in scop.statements[run.statement].reads
        )
        for run in inner
    )


def _multiplies_matrices(
    nest: LaunchNest, order: Sequence[int], scop: Scop, reductions: Mapping[str, Reduction], device: Traits
) -> bool:
    """Returns whether all statements in loops of a thread add products of two matrices that are for the device's matrix instructions."""
    inner = [run for run in nest.runs() if run.inside]
    along = [nest.grid[loop] for loop in order[:2]]
    return len(along) == 2 and bool(inner) and all(_is_product(run, along, scop, reductions, device) for run in inner)


def _is_product(
    run: ThreadStatement, along: Sequence[SurroundingLoop], scop: Scop, reductions: Mapping[str, Reduction], device: Traits
) -> bool:
    """Returns whether a statement adds up, in one loop, products of two elements, each of which moves along one of two loops alone; and
    whether their rows in memory are along that loop or the one of the sum.
    """
    read = factors(scop.statements[run.statement], reductions, scop)
    if read is None or len(run.inside) != 1 or scop.arrays[read[0].array].element not in device.operands:
        return False
    x, y = (iterators_of(loop.values, run.statement) for loop in along)
    one, other = read if moves(read[0], x) else read[::-1]
    return all(
        moves(each, own) and not moves(each, across) and goes_to_neighbours(each, [*own, *_innermost(run)])
        for each, own, across in ((one, x, y), (other, y, x))
    )


def _has_halves(nest: LaunchNest, scop: Scop) -> bool:
    """Returns whether all statements in loops of a thread read, besides what they write, numbers of 16 bits alone."""
    inner = [scop.statements[run.statement] for run in nest.runs() if run.inside]
    read = [scop.arrays[each.array].element for one in inner for each in one.reads if each.array != one.write.array]
    return bool(read) and all(element in HALVES for element in read)


def _innermost(run: ThreadStatement) -> list[int]:
    """Returns the positions of the iterators on which the statement's innermost loop depends."""
    return iterators_of(run.inside[-1].values, run.statement)


def _followers(nest: LaunchNest, loop: SurroundingLoop, scop: Scop) -> int:
    """Returns how many accesses of the nest's statements go from element to neighbouring element as the loop runs."""
    return sum(
        goes_to_neighbours(access, iterators_of(loop.values, name))
        for name in nest.statements
        for access in accesses(scop.statements[name])
    )
