"""Which loops of a launch become one axis of its grid together, so that a block has as many of their iterations as of one long loop.

for n: for f: for i: for j: y[n, f, i, j] += x[n, c, i + p, j + q] * w[f, c, p, q]   ->   x: the positions of (n, i, j)   y: those of (f)

An operand of a sum moves along the loops of one axis and not along those of the other, so that a tile of both has an outer product of loads.
Loops are merged that carry no dependence, and that have the same bounds whatever iterations the others are in: any numbering of all
combinations of their iterations is then a numbering of what may run in any order, at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Gather, Index, Scop
from polyml.polyhedra import along, dimensions, outer
from polyml.schedule.analysis.strides import iterators_of, moves
from polyml.schedule.gpu.loop_roles import SurroundingLoop
from polyml.schedule.gpu.mapping import LaunchNest, ThreadStatement

BYTES = (
    4,
    8,
)  # of an element: sums of larger ones do not fit a thread's registers, and products of smaller ones are matrix instructions


def merged_axes(nest: LaunchNest, x: int, scop: Scop) -> tuple[list[int], list[int]] | None:
    """Returns the positions in `nest.grid` of the loops that become axis x, and of those that become axis y, each outermost first; None where
    neither has several, or where what threads run is not one sum for each element.

    x: the position of the loop along which neighbouring threads run neighbouring iterations.
    """
    sums = [run for run in nest.runs() if run.inside]
    if len(sums) != 1 or nest.host or not _is_one_sum(nest, sums[0], scop):
        return None
    (update,) = sums
    moved = [_moving(update, loop, scop) for loop in nest.grid]
    others = [each for each in moved if not any(map(min, zip(each, moved[x]))) and any(each)]
    if not others or not any(moved[x]):
        return None
    other = max(others, key=lambda each: (sum(each), moved.count(each)))
    if not all(map(max, zip(other, moved[x]))):
        return None
    grid = range(len(moved))
    first, second = ([k for k in grid if moved[k] == each] for each in (moved[x], other))
    if len(first) + len(second) < 3 or not is_box(nest):
        return None
    return first, second


def _is_one_sum(nest: LaunchNest, update: ThreadStatement, scop: Scop) -> bool:
    """Returns whether all statements of the launch write one array, whose elements are of a size that fits registers, and the one with loops
    inside threads reads others at subscripts that are the same for all data.
    """
    written = {scop.statements[name].write.array for name in nest.statements}
    statement = scop.statements[update.statement]
    values = [*subvalues(statement.value)]
    return (
        len(written) == 1
        and all(scop.arrays[each.array].element.size_bytes in BYTES for each in (*statement.reads, statement.write))
        and not any(isinstance(value, (Gather, Index)) for value in values)
        and not any(access.may for access in (*statement.reads, statement.write))
    )


def _moving(update: ThreadStatement, loop: SurroundingLoop, scop: Scop) -> tuple[bool, ...]:
    """Returns, for each read of the update but those of what it writes, whether it goes to other elements as the loop runs."""
    statement = scop.statements[update.statement]
    along = iterators_of(loop.values, update.statement)
    return tuple(moves(access, along) for access in statement.reads if access.array != statement.write.array)


def is_box(nest: LaunchNest) -> bool:
    """Returns whether the loops of the grid, and those inside threads, run from a first to a last iteration that are the same in all
    iterations of the others, in steps of 1; and the launch's statements run in all iterations of the grid's loops, where any does.
    """
    points = [loop_values(run.instances, (*nest.grid, *run.inside)).range() for run in nest.runs()]
    if not all(map(_is_product, points)):
        return False
    depth = len(nest.grid)
    grids = [outer(each, depth) for each in points]
    every = reduce(isl.Set.union, grids)
    return all(each.is_equal(every.intersect_params(each.params())) for each in grids)


def loop_values(instances: isl.Set, loops: Sequence[SurroundingLoop]) -> isl.Map:
    """Returns { S[i] -> [e0, e1, ...] }, the values of loops in the instances of a statement."""
    own = isl.UnionSet.from_set(instances)
    maps = (isl.UnionMap.from_union_pw_aff(loop.values).intersect_domain(own) for loop in loops)
    return isl.Map.from_union_map(reduce(isl.UnionMap.flat_range_product, maps))


def _is_product(points: isl.Set) -> bool:
    """Returns whether a set { [e0, e1, ...] } is the product of intervals."""
    sides = [_interval(along(points, dim)) for dim in range(dimensions(points))]
    return all(side is not None for side in sides) and points.is_equal(
        reduce(isl.Set.flat_product, (side for side in sides if side is not None)).intersect_params(points.params())
    )


def _interval(values: isl.Set) -> isl.Set | None:
    """Returns the set { [e] } if it has all numbers from its least to its largest one, None otherwise."""
    from_least = values.lexmin().apply(isl.Map("{ [l] -> [e] : e >= l }"))
    found = from_least.intersect(values.lexmax().apply(isl.Map("{ [l] -> [e] : e <= l }")))
    return values if found.is_equal(values) else None
