"""Crowded sets of a cache: lines of a box of iterations that are in sets with more lines than ways do not all remain there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyml import polyhedra
from polyml.caches.analytic.set_conflicts import set_count
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed
from polyml.machines.cpu import CacheLevel
from polyml.model.core.scop import Scop

MOST_ADDRESSES = 200_000  # of one reference, which are computed one by one


@dataclass(frozen=True)
class Walked:
    """A Walked is a reference to an array in a nest of loops, which moves by a constant number of bytes per iteration.

    start: its address in the nest's middle iteration, in which all iterators are in the middle of their ranges.
    steps: for each loop, the bytes from one of its iterations to the next.
    """

    array: str
    start: int
    steps: tuple[int, ...]


def walked(
    scop: Scop,
    statement: str,
    iterators: Sequence[int | None],
    middles: Sequence[int],
    sizes: Mapping[str, int],
    places: Mapping[str, Placed],
) -> list[Walked]:
    """Returns a statement's references to arrays in memory, without those that have a subscript defined by cases.

    iterators: for each loop of the nest, which of the statement's iterators it counts; None where it counts none.
    middles: for each of the statement's iterators, the middle of its range.
    sizes: values of parameters.
    places: the arrays' addresses and strides.
    """
    found = []
    for access in reads_and_write(scop.statements[statement]):
        rows = [row for subscript in access.subscripts if (row := polyhedra.linear_row(subscript)) is not None]
        if access.array not in places or len(rows) < len(access.subscripts):
            continue
        place = places[access.array]
        start, moved = place.address, [0] * len(middles)
        for (terms, constant), stride in zip(rows, place.strides):
            start += constant * stride
            for name, c in terms.items():
                if isinstance(name, int):
                    moved[name] += c * stride
                    start += c * middles[name] * stride
                else:
                    start += c * sizes.get(name, 0) * stride if isinstance(name, str) else 0
        found.append(Walked(access.array, start, tuple(0 if k is None else moved[k] for k in iterators)))
    return found


def crowded(references: Sequence[Walked], box: Sequence[int], level: CacheLevel) -> dict[str, float]:
    """Returns for each array which share of its lines, of those that a box of iterations accesses, is in crowded sets.

    A set is crowded where the box accesses more of its lines than it has ways. The result is {} for a cache of a single set, and
    where there are too many addresses.

    box: iterations of each loop.
    """
    if level.sets == 1:
        return {}
    by_array: dict[str, list[np.ndarray]] = {}
    for reference in dict.fromkeys(references):
        found = _lines(reference, box, level.line_bytes)
        if found is None:
            return {}
        by_array.setdefault(reference.array, []).append(found)
    lines = {array: each[0] if len(each) == 1 else np.unique(np.concatenate(each)) for array, each in by_array.items()}
    sets = {array: own % set_count(level) for array, own in lines.items()}
    counts = np.bincount(np.concatenate([*sets.values()]), minlength=1)
    return {array: float(np.mean(counts[own] > level.ways)) for array, own in sets.items()}


def _lines(reference: Walked, box: Sequence[int], line_bytes: int) -> np.ndarray | None:
    """Returns the numbers of the cache lines that a reference accesses in a box of iterations; None where there are too many
    addresses. The first iteration of the box is the nest's middle one, in which all iterators are in the middle of their ranges.

    box: how many iterations of each loop the box has.
    """
    addresses = np.array([reference.start])
    for step, count in zip(reference.steps, box):
        if not step or count == 1:
            continue
        if abs(step) < line_bytes:  # once for each line, and the last one
            every = line_bytes // abs(step)
            moved = np.append(np.arange(0, count, every), count - 1) * step
        else:
            moved = np.arange(count) * step
        if len(addresses) * len(moved) > MOST_ADDRESSES:
            return None
        addresses = (addresses[:, None] + moved[None, :]).ravel()
    return np.unique(addresses // line_bytes)
