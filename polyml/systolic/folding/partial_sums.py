"""Sums that wait between folds: where the terms of an element are in several folds, what one has added up waits for the next one.

With stationary weights in blocks of r rows, all M x N sums wait where the blocks of a column go by last, M x c of a block of c columns
where they go by first: then r rows after r rows are added to the same sums, in accumulators of that size.
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
from polyml.systolic.recurrences.recurrence import Recurrence


@dataclass(frozen=True)
class Partial:
    """waiting: most sums at once, where the folds run in the best order. order: the array's coordinates, that whose blocks go by
    first last. moved: how often a sum comes back.
    """

    waiting: int
    order: tuple[int, ...]
    moved: int


def partial(folds: Folds) -> Partial | None:
    """None of nests without sums, or whose folds cannot be exchanged."""
    streams = folds.recurrence.streams
    chain = next((s for s in streams if s.use.kind == "result"), None)
    if chain is None or any(s.use.kind == "value" for s in streams):
        return None
    (out,) = (t.writes for t in folds.traffic if t.stream == chain)
    orders = permutations(range(len(folds.shape)))
    waiting, order = min((waits(folds, order), order) for order in orders)
    return Partial(waiting, order, out - folds.recurrence.elements)


def waits(folds: Folds, order: Sequence[int]) -> int:
    """Most sums at once, with the blocks of the last coordinate of `order` first."""
    if box_folds.applies(folds.recurrence, folds.mapping):
        return _of_box(folds, order)
    return _counted(folds, order)


def _of_box(folds: Folds, order: Sequence[int]) -> int:
    """A number for each fold, with a digit for each outer loop and coordinate: its sums wait for a digit that only adds terms, over
    all values of the digits after it.
    """
    recurrence, (_, lengths) = folds.recurrence, folds.recurrence.box
    digits = [(recurrence.lengths[loop], 1, recurrence.nest.written.depends_on(loop)) for loop in recurrence.outer]
    axes = [next((axis for axis, c in enumerate(folds.mapping.space[k]) if c), None) for k in order]
    digits += [(lengths[a], folds.shape[k], _tells(recurrence, a)) for k, a in zip(order, axes) if a is not None]
    adds = [number for number, (length, size, tells) in enumerate(digits) if not tells and length > size]
    if not adds:
        return 0
    first = adds[0]
    outside = prod(min(length, size) for length, size, tells in digits[:first] if tells)
    inside = prod(length for length, _, tells in digits[first:] if tells)
    others = prod(lengths[a] for a in range(len(lengths)) if a not in axes and _tells(recurrence, a))
    return outside * inside * others


def _tells(recurrence: Recurrence, axis: int) -> bool:
    """Whether elements of the result differ along it."""
    return any(recurrence.nest.written.depends_on(loop) for loop in recurrence.axes[axis].loops)


def _counted(folds: Folds, order: Sequence[int]) -> int:
    """Fold by fold: the sums that later folds go on with, without those that earlier ones began."""
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
