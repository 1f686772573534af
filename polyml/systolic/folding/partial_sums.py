"""Partial sums wait between folds: where the terms of an element are in several folds, what one has added up waits for the next
one.

With stationary weights in blocks of r rows, all M x N sums wait where the blocks of a column advance last, M x c of a block of c
columns where they advance first: then r rows after r rows are added to the same sums, in accumulators of that size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.model.counting.count_points import sizes
from polyml.systolic.folding import box_folds
from polyml.systolic.folding.folds import Folds, elements_by_fold
from polyml.systolic.recurrences.recurrence import UniformRecurrence


@dataclass(frozen=True)
class PartialSums:
    """PartialSums says how many partial sums wait in memory between the folds that add to them.

    The folds run in the order in which the fewest sums wait: as nested loops over the blocks of each coordinate of the array.

    waiting: the greatest number of sums that wait at the same time.
    order: the coordinates that these loops go along, the outermost loop's first.
    returns: how many times a partial sum is brought back from memory to the array, added up over all sums.
    """

    waiting: int
    order: tuple[int, ...]
    returns: int


def partial_sums(folds: Folds) -> PartialSums | None:
    """Returns how many partial sums wait in memory between folds, with the folds in the order in which the fewest wait.

    None for nests without sums, and where folds must keep their order, since some use values that others make.
    """
    streams = folds.recurrence.streams
    chain = next((s for s in streams if s.use.kind == "result"), None)
    if chain is None or any(s.use.kind == "value" for s in streams):
        return None
    (out,) = (t.writes for t in folds.traffic if t.stream == chain)
    orders = permutations(range(len(folds.shape)))
    waiting, order = min((most_waiting(folds, order), order) for order in orders)
    return PartialSums(waiting, order, out - folds.recurrence.elements)


def most_waiting(folds: Folds, order: Sequence[int]) -> int:
    """Returns the greatest number of partial sums that wait in memory between folds at the same time.

    order: folds run as nested loops over the blocks of each coordinate of the array; these are the coordinates, outermost first.
    """
    if box_folds.applies(folds.recurrence, folds.mapping):
        return _most_in_box(folds, order)
    return _most_counted(folds, order)


def _most_in_box(folds: Folds, order: Sequence[int]) -> int:
    """Returns the greatest number of partial sums that wait in memory between folds at once, by a formula that holds for a box.

    Folds run in nested loops: the outer loops, and one over the blocks of each coordinate, in `order`. The outermost loop whose
    iterations all add to the same elements decides: the sums of all elements that one iteration of it adds to wait for the next.
    """
    recurrence = folds.recurrence
    if recurrence.box is None or recurrence.lengths is None:
        raise ValueError("the points of the recurrence are no box")
    loops, (_, lengths) = recurrence.lengths, recurrence.box
    digits = [(loops[loop], 1, recurrence.nest.written.depends_on(loop)) for loop in recurrence.outer]
    axes = [next((axis for axis, c in enumerate(folds.mapping.space[k]) if c), None) for k in order]
    digits += [(lengths[a], folds.shape[k], _indexes_result(recurrence, a)) for k, a in zip(order, axes) if a is not None]
    adds = [number for number, (length, size, indexes) in enumerate(digits) if not indexes and length > size]
    if not adds:
        return 0
    first = adds[0]
    outside = prod(min(length, size) for length, size, indexes in digits[:first] if indexes)
    inside = prod(length for length, _, indexes in digits[first:] if indexes)
    others = prod(lengths[a] for a in range(len(lengths)) if a not in axes and _indexes_result(recurrence, a))
    return outside * inside * others


def _indexes_result(recurrence: UniformRecurrence, axis: int) -> bool:
    """Returns whether the elements of the result differ along the axis at this position."""
    return any(recurrence.nest.written.depends_on(loop) for loop in recurrence.axes[axis].loops)


def _most_counted(folds: Folds, order: Sequence[int]) -> int:
    """Returns the most partial sums that wait between folds at once, counted fold by fold.

    A sum waits from the first fold that adds to an element until the last one that does.
    """
    names, elements = elements_by_fold(folds, order)
    space = elements.domain().get_space()
    later, earlier = (elements.intersect(other(space).apply_range(elements)) for other in (isl.Map.lex_lt, isl.Map.lex_gt))
    begun, ended = (sizes(polyhedra.range_by_domain(each, names)) for each in (later, earlier))
    waiting = most = 0
    for _, fold in sorted(polyhedra.points(elements.domain())):
        at = dict(zip(names, fold))
        waiting += begun(at) - ended(at)
        most = max(most, waiting)
    return most
