"""Blocks at the ends of a launch, which have fewer iterations than others: they run what whole blocks run, with zeros in place of what is
not there.

    if (block is whole):                                if (block is whole):
        A_tile = ...; C_held += A_tile*B_tile; ...          as before
    else:                                       ->      else:
        for k: for the items that there are: ...            A_tile = row <= last i ? A[...] : 0
                                                            C_held += A_tile*B_tile             for all items
                                                            if (i <= last i): C[...] = C_held

Legal where the launch's instances are a product, of an interval along each axis and of what a thread runs for each pair (triple ...) of
iterations: then the thread's loops are the same for iterations that there are not. What these compute goes nowhere; it must not fail,
and must read tiles in shared memory and sums in registers alone, of which each end cuts whole rows or columns.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polyml.codegen.gpu.axes import LaunchGrid, fresh, of_thread
from polyml.codegen.gpu.shared_tiles import BlockAxis
from polyml.model.core.scop import Scop
from polyml.polyhedra import along as values_along
from polyml.polyhedra import forget, inner, is_box, outer
from polyml.quasi_affine.affine import Affine, Compare, Condition, conjunction, variable
from polyml.quasi_affine.from_isl import integer_expression
from polyml.schedule.gpu.loop_roles import GridAxis, SurroundingLoop
from polyml.schedule.gpu.mapping import Mapped
from polyml.schedule.tree import loop_tree


@dataclass(frozen=True)
class End:
    """An End is where the iterations of a launch end along an axis of its blocks.

    last: the last one.
    count: the name of how many iterations a block has along the axis, at most as many as a whole one.
    """

    axis: BlockAxis
    last: Affine
    count: str

    @property
    def counted(self) -> Affine:
        """Returns how many iterations there are from the block's first one on."""
        return self.last + 1 - variable(self.axis.block)

    @property
    def more(self) -> Affine:
        """Returns how many iterations the block has more than a whole one: 0 or less."""
        return variable(self.count) - self.axis.extent


def is_there(ends: Sequence[End]) -> Condition:
    """Returns the condition that a thread's item is an iteration of the launch, along all axes."""
    return conjunction(*(Compare(">=", variable(end.count) - 1 - end.axis.position) for end in ends))


def has_iteration(ends: Sequence[End]) -> Condition:
    """Returns the same condition in terms of a thread's first iterations and the numbers of the item."""
    return conjunction(*(Compare(">=", end.last - end.axis.iteration) for end in ends))


def has_first(ends: Sequence[End]) -> Condition:
    """Returns the condition that the first iteration of a thread is one of the launch, along all axes."""
    return conjunction(*(Compare(">=", end.last - variable(end.axis.start)) for end in ends))


@dataclass(frozen=True)
class EveryBlock:
    """An EveryBlock says what a thread runs if its block is taken as whole.

    instances: { S[i] }, with the thread's first iterations as parameters.
    ends: of the axes along which the last block may have fewer iterations.
    body: the loops.
    """

    instances: isl.UnionSet
    ends: tuple[End, ...]
    body: loop_tree.Node


def every_block(mapped: Mapped, grid: LaunchGrid, blocks: Sequence[BlockAxis], taken: Set[str], scop: Scop) -> EveryBlock | None:
    """Returns what a thread runs if each block is taken as whole; None where the instances of the launch are no product of intervals that
    begin with a block and of what a thread runs.

    blocks: the axes along which a block has more than one iteration.
    taken: names in use, which new names differ from.
    """
    known = {block.start: block for block in blocks}
    axes = [(axis, launched.start) for axis, launched in zip(mapped.axes, grid.axes)]
    along = [(axis, known[start]) for axis, start in axes if start in known]
    fixed = [(axis, start) for axis, start in axes if start not in known]
    instances = reduce(lambda found, each: of_thread(found, *each), fixed, grid.whole)
    others = (*mapped.nest.host, *(axis.loop for axis, _ in fixed))
    products = []
    for run in mapped.nest.runs():
        where = _positions(run.statement, [axis.loop for axis, _ in along], (*others, *run.inside))
        own = [each for each in _sets(instances) if each.get_tuple_name() == run.statement]
        if where is None or len(own) > 1:
            return None
        products += [_Product(where, own[0].apply(where), len(along)) for _ in own]
    if not products or not all(each.is_product for each in products):
        return None
    box = reduce(isl.Set.union, (each.along for each in products)).coalesce()
    if not all(box.intersect_params(each.image.params()).is_equal(each.along) for each in products) or not is_box(box):
        return None
    counts = fresh([f"{block.start}_count" for _, block in along], taken)
    ends = [_end(axis, block, count, values_along(box, k), scop) for k, ((axis, block), count) in enumerate(zip(along, counts))]
    if None in ends:
        return None
    whole = reduce(isl.Set.flat_product, (_items(axis, block.start) for axis, block in along))
    found = reduce(isl.UnionSet.union, (isl.UnionSet.from_set(each.extended(whole)) for each in products))
    return EveryBlock(found, tuple(end for some in ends if some for end in some), mapped.nest.body)


@dataclass(frozen=True)
class _Product:
    """The instances of a statement by their positions.

    where: { S[i] -> [e, q] }, the iterations e along the axes of a block, and those of all other loops.
    image: { [e, q] }, of all instances.
    axes: how many dimensions e has.
    """

    where: isl.Map
    image: isl.Set
    axes: int

    @property
    def along(self) -> isl.Set:
        """Returns { [e] }."""
        return outer(self.image, self.axes)

    @property
    def inside(self) -> isl.Set:
        """Returns { [q] }."""
        return inner(self.image, self.axes)

    @property
    def is_product(self) -> bool:
        return self.along.flat_product(self.inside).is_equal(self.image)

    def extended(self, along: isl.Set) -> isl.Set:
        """Returns { S[i] }, the instances of the statement with other iterations { [e] } along the axes."""
        return along.flat_product(self.inside).apply(self.where.reverse())


def _positions(statement: str, axes: Sequence[SurroundingLoop], others: Sequence[SurroundingLoop]) -> isl.Map | None:
    """Returns { S[i] -> [e, q] }, the values of loops in all instances that the statement may have; None where that is no single expression,
    or where two instances would be equal.
    """
    parts = []
    for loop in (*axes, *others):
        own = [each for each in loop_tree.pieces(loop.values) if each.domain().get_tuple_name() == statement]
        if len(own) != 1 or own[0].n_piece() != 1:
            return None
        ((where, value),) = own[0].get_pieces()
        if not where.plain_is_universe():
            return None
        parts.append(isl.Map.from_aff(value))
    found = reduce(isl.Map.flat_range_product, parts)
    return found if found.is_injective() else None


def _sets(instances: isl.UnionSet) -> list[isl.Set]:
    found = instances.get_set_list()
    return [found.get_at(k) for k in range(found.n_set())]


def _items(axis: GridAxis, start: str) -> isl.Set:
    """Returns { [e] }, all iterations of a thread along the axis."""
    return isl.Set(f"[{start}] -> {{ [e] : exists m: e = {start} + {axis.item_step} m and 0 <= m < {axis.items} }}")


def _end(axis: GridAxis, block: BlockAxis, count: str, values: isl.Set, scop: Scop) -> tuple[End, ...] | None:
    """Returns where the iterations { [e] } along an axis end, () if surely with a whole block; None where they do not begin with a whole block,
    or where some are missing in between.
    """
    between = values.apply(isl.Map("{ [e] -> [f] : f >= e }")).intersect(values.apply(isl.Map("{ [e] -> [f] : f <= e }")))
    first, behind, size = values.dim_min(0), values.dim_max(0).add(isl.PwAff("{ [(1)] }")), isl.Val(axis.extent)
    if not between.is_subset(values) or not _is_zero(first.mod_val(size)):
        return None
    last = integer_expression(values.dim_max(0).gist(scop.checked).coalesce())
    return () if _is_zero(behind.mod_val(size)) else (End(block, last, count),)


def _is_zero(value: isl.PwAff) -> bool:
    return bool(value.domain().is_subset(value.zero_set()))


def of_blocks(threads: isl.Set, blocks: Sequence[BlockAxis]) -> isl.Set:
    """Returns a condition on the first iterations of a block that holds where `threads`, a condition on the first iterations of a
    thread, holds for some thread of the block.
    """
    for axis in blocks:
        step, last = axis.thread_step, axis.threads - 1
        near = f"[{axis.block}, {axis.start}] -> {{ : exists t: {axis.start} = {axis.block} + {step} t and 0 <= t <= {last} }}"
        threads = forget(threads.intersect(isl.Set(near)), [axis.start])
    return threads


def multiples(axis: BlockAxis) -> isl.Set:
    """Returns [b] -> { : b mod n = 0 }, since blocks begin at multiples of the iterations of a block along the axis."""
    return isl.Set(f"[{axis.block}] -> {{ : {axis.block} mod {axis.threads * axis.items} = 0 }}")
