"""The axes of a launch: the blocks and threads along each, and the instances that one thread runs.

grid loop i, blocks of 8 threads   ->   { S[i, k] : i = i' }, with i' = 8*block + thread
merged loops i and j               ->   { S[i, j, k] : i = i' and j = j' }, with i' and j' of one of the positions from 8*block + thread on
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from itertools import chain, count
from math import prod

import islpy as isl

from polyml.codegen.gpu.host_loops import as_map
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, floor_div, variable
from polyml.quasi_affine.from_isl import integer_expression
from polyml.schedule.gpu.loop_roles import GridAxis, SurroundingLoop
from polyml.schedule.gpu.mapping import LaunchNest
from polyml.schedule.gpu.team_choice import cheapest
from polyml.schedule.tree import loop_tree

_BOUND = (
    "e",
    "m",
)  # names in texts for isl here and in `cut_blocks`: `e = e` would hold for all iterations of a loop with this name


@dataclass(frozen=True)
class MergedLoop:
    """A MergedLoop is one of several loops whose iterations are numbered together: all combinations, those of the last one fastest.

    name: of the iteration, in what a thread runs.
    first: the first iteration.
    count: how many there are.
    """

    name: str
    first: Affine
    count: Affine


@dataclass(frozen=True)
class LaunchAxis:
    """A LaunchAxis holds the blocks and threads along one axis of a launch.

    loop: the name in the schedule of the loop whose iterations they run.
    start: the name of the parameter, in what a thread runs, that is the thread's first iteration of that loop.
    first: the number of the first block that has work, an expression of the sizes and the variables of the host's loops.
    blocks: the number of blocks from `first` on, an expression of the same names.
    threads: how many threads a block has along the axis.
    items: how many iterations a thread runs.
    thread_step: how many iterations lie between the first ones of neighbouring threads: 1, or `items` where a thread's iterations
        follow one another.
    is_lane: whether `start` is a thread's number in its team, of which there is one along this axis, in place of an iteration.
    merged: the loops whose iterations are numbered together along the axis, outermost first; `start` is then a position, the number of a
        combination of these from 0 on.
    count: the name of the parameter that is how many positions there are; "" where none are merged.
    """

    loop: str
    start: str
    first: Affine
    blocks: Affine
    threads: int
    items: int
    thread_step: int = 1
    is_lane: bool = False
    merged: tuple[MergedLoop, ...] = ()
    count: str = ""


@dataclass(frozen=True)
class LaunchGrid:
    """A LaunchGrid is a nest on blocks and threads, before it is decided what a thread does with its instances.

    host: names of the variables of the host's loops around the launch, outermost first.
    axes: x first.
    whole: { S[i] }, the instances of one launch.
    inside: { S[i] }, those of the thread whose first iterations are the parameters `start` of the axes.
    context: { : ... }, what is known of all parameters.
    taken: names in use, which new names differ from.
    """

    host: tuple[str, ...]
    axes: tuple[LaunchAxis, ...]
    whole: isl.UnionSet
    inside: isl.UnionSet
    context: isl.Set
    taken: frozenset[str]


def launch_grid(nest: LaunchNest, axes: Sequence[GridAxis], scop: Scop) -> LaunchGrid:
    """Returns a nest on blocks and threads. axes: how its parallel loops are divided among them, x first."""
    taken = {*scop.arrays, *scop.params, *(p.name for p in scop.parameters), *_BOUND}
    names = fresh([around.name for around in (*nest.host, *(loop for axis in axes for loop in axis.loops))], taken)
    host, starts = names[: len(nest.host)], iter(names[len(nest.host) :])
    whole = reduce(at, zip(host, nest.host), nest.instances)
    inside, context = whole, scop.checked.intersect(whole.params())
    taken |= {*names}
    found = []
    for axis in axes:
        own = [next(starts) for _ in axis.loops]
        if axis.merged:
            inside = reduce(at, zip(own, axis.merged), inside)
            start, count = fresh([f"{'_'.join(own)}_position", f"{'_'.join(own)}_count"], taken)
            found.append(_merged_axis(axis, (start, count), own, whole, scop))
            taken |= {start, count}
        else:
            context = context.intersect(starts_of(axis, own[0], whole))
            inside = inside.intersect(of_thread(inside, axis, own[0]))
            found.append(grid_axis(axis, own[0], whole, scop))
    if any(axis.merged for axis in axes):  # whose threads run iterations of all loops, behind the last ones those of the last one
        context = context.intersect(inside.params())
    return LaunchGrid(host, tuple(found), whole, inside, context, frozenset(taken))


def _merged_axis(axis: GridAxis, names: tuple[str, str], own: Sequence[str], instances: isl.UnionSet, scop: Scop) -> LaunchAxis:
    """Returns the axis of a launch for several loops. names: of the position, and of how many there are. own: of the loops' iterations."""
    merged = []
    for name, loop in zip(own, axis.merged):
        values = isl.Set.from_union_set(as_map(loop, instances).range())
        low, high = (integer_expression(end.gist(scop.checked).coalesce()) for end in (values.dim_min(0), values.dim_max(0)))
        merged.append(MergedLoop(name, low, high - low + 1))
    start, count = names
    blocks = floor_div(variable(count) + (axis.extent - 1), axis.extent)
    told = " and ".join(loop.name for loop in axis.merged)
    return LaunchAxis(told, start, Affine(), blocks, axis.size, axis.items, axis.thread_step, False, tuple(merged), count)


def grid_axis(axis: GridAxis, start: str, instances: isl.UnionSet, scop: Scop) -> LaunchAxis:
    """Returns the axis of a launch, with the blocks that have work. start: the parameter that is a thread's first iteration."""
    numbers = blocks(axis, instances)
    low, high = (integer_expression(end.gist(scop.checked).coalesce()) for end in (numbers.dim_min(0), numbers.dim_max(0)))
    return LaunchAxis(axis.loop.name, start, low, high - low + 1, axis.size, axis.items, axis.thread_step)


def fresh(names: Sequence[str], taken: Set[str]) -> tuple[str, ...]:
    """Returns the names in order, with a number appended to each that is equal to an earlier one or to one of `taken`."""
    found: list[str] = []
    for name in names:
        free = (each for each in chain((name,), (f"{name}_{k}" for k in count(2))) if each not in taken and each not in found)
        found.append(next(free))
    return tuple(found)


def at(instances: isl.UnionSet, fixed: tuple[str, SurroundingLoop]) -> isl.UnionSet:
    """Returns the instances in which a loop's variable equals a parameter. fixed: the parameter's name and the loop."""
    name, around = fixed
    return instances.intersect(where(instances, around, f"e = {name}", (name,)))


def where(instances: isl.UnionSet, around: SurroundingLoop, condition: str, parameters: Sequence[str]) -> isl.UnionSet:
    """Returns those of the instances in which the value of a loop satisfies a condition.

    around: the loop; the condition calls its value e.
    condition: isl's text.
    parameters: the names of parameters in the condition.
    """
    values = isl.Map(f"[{', '.join(parameters)}] -> {{ [e] -> [] : {condition} }}").domain()
    return as_map(around, instances).intersect_range(isl.UnionSet.from_set(values)).domain()


def of_thread(instances: isl.UnionSet, axis: GridAxis, start: str) -> isl.UnionSet:
    """Returns those instances that a thread runs whose first iteration along the axis is the parameter named `start`."""
    steps = f"e = {start}" if axis.items == 1 else f"exists m: e = {start} + {axis.item_step} m and 0 <= m < {axis.items}"
    return where(instances, axis.loop, steps, (start,))


def starts_of(axis: GridAxis, start: str, instances: isl.UnionSet) -> isl.Set:
    """Returns [start] -> { : start >= c and start mod n = 0 }, where all threads' first iterations along the axis are multiples of n
    and at least the constant c, if such a constant is known.
    """
    multiples = isl.Set(f"[{start}] -> {{ : {start} mod {axis.thread_step} = 0 }}")
    first = blocks(axis, instances).dim_min(0)
    if not first.is_cst():
        return multiples
    least = first.max_val().to_python() * axis.extent
    return multiples.intersect(isl.Set(f"[{start}] -> {{ : {start} >= {least} }}"))


def blocks(axis: GridAxis, instances: isl.UnionSet) -> isl.Set:
    """Returns { [b] }, the numbers of the axis's blocks that have work."""
    numbers = isl.Map(f"{{ [e] -> [floor(e/{axis.extent})] }}")
    return isl.Set.from_union_set(as_map(axis.loop, instances).range()).apply(numbers)


@dataclass(frozen=True)
class TileChoice:
    """A TileChoice is two forms of a launch, of which the host runs one.

    plain, small: the names of the launches, the latter with smaller blocks.
    costs: how long a block of each takes, by `schedule.gpu.team_choice.cost`.
    """

    plain: str
    small: str
    costs: tuple[int, int]

    def chosen(self, axes: Mapping[str, Sequence[LaunchAxis]], values: Mapping[str, int]) -> str:
        """Returns the name of the launch to run.

        axes: of the launches by name.
        values: of the sizes and the host's loops.
        """
        names = (self.plain, self.small)
        blocks = [prod(max(axis.blocks.evaluate(values), 0) for axis in axes[name]) for name in names]
        threads = [prod(axis.threads for axis in axes[name]) for name in names]
        return names[cheapest(blocks, self.costs, threads)]


@dataclass(frozen=True)
class ItemLoop:
    """An ItemLoop is the loop over a thread's items, which are the iterations along one axis that the thread runs.

    name: the loop's name.
    count: how many items a thread has.
    member: { S[i] -> [(e)] }, a value that differs between items and grows from one to the next, such as the item's number.
    """

    name: str
    count: int
    member: isl.UnionPwAff

    @staticmethod
    def of(axis: GridAxis, start: str, inside: isl.UnionSet, name: str) -> ItemLoop:
        """Returns the loop, with this name, over the items of the thread whose first iteration along the axis is the parameter
        `start`.
        """
        number = isl.Map(f"[{start}] -> {{ [e] -> [floor((e - {start})/{axis.item_step})] }}")
        numbers = as_map(axis.loop, inside).apply_range(isl.UnionMap.from_map(number))
        return ItemLoop(name, axis.items, isl.MultiUnionPwAff.from_union_map(numbers).get_at(0))


def missing_items(inside: isl.UnionSet, items: Sequence[ItemLoop]) -> isl.Set:
    """Returns { [m0, m1, ...] }, the combinations of items for which a thread has no instance. mk: the number of the item along the
    k-th axis with several items.
    """
    numbers = [isl.UnionMap.from_union_pw_aff(each.member).intersect_domain(inside) for each in items]
    there = isl.Set.from_union_set(reduce(isl.UnionMap.flat_range_product, numbers).range())
    box = " and ".join(f"0 <= m{k} < {each.count}" for k, each in enumerate(items))
    return isl.Set(f"{{ [{', '.join(f'm{k}' for k in range(len(items)))}] : {box} }}").subtract(there)


def with_items(body: loop_tree.Node, loop: ItemLoop) -> loop_tree.Node:
    """Returns the tree with the loop over a thread's items as the innermost loop, so that a thread runs its items together."""
    if isinstance(body, loop_tree.Leaf):
        return loop_tree.Loop(loop.name, loop_tree.on(loop.member, body.statements), body)
    if isinstance(body, loop_tree.Loop):
        return loop_tree.Loop(body.name, body.member, with_items(body.body, loop), body.directives, body.cut)
    return loop_tree.Block(tuple(loop_tree.BlockPart(part.instances, with_items(part.body, loop)) for part in body.parts))
