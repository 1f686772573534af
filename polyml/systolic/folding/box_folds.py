"""What `folds` counts, by formulas that ask isl nothing: of boxes, whose axes are as long whatever the others are, on arrays of
which each coordinate is one axis, forwards or backwards.

    blocks of r units along n          n // r whole ones, and one of n % r where that is not 0
    cycles of a fold                   1 + the sum over the axes of |time| * (length - 1)
    elements that enter a fold         its points without those that another one, `vector` before them, hands its value to

Folds are alike where their blocks have the same lengths: of two dimensions in at most four classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import prod

from polyml.systolic.folding.fold_counts import FoldClass, Traffic, preloaded, stays, traffic
from polyml.systolic.folding.stalls import Repeat, Step
from polyml.systolic.recurrences.recurrence import Recurrence, Stream
from polyml.systolic.recurrences.spacetime import SpaceTime, Vector

Runs = tuple[tuple[int, int], ...]  # (length, how many blocks have it), in order


def applies(recurrence: Recurrence, mapping: SpaceTime) -> bool:
    """Whether the formulas hold. Values that the nest makes are not asked for here: their folds have an order."""
    axes = [[axis for axis, c in enumerate(row) if c] for row in mapping.space]
    plain = all(len(found) <= 1 for found in axes) and all(c in (-1, 0, 1) for row in mapping.space for c in row)
    apart = len({found[0] for found in axes if found}) == sum(map(bool, axes))
    if not plain or not apart or recurrence.box is None or any(s.use.kind == "value" for s in recurrence.streams):
        return False
    if any(not d.free for d in recurrence.directions) and any(len(axis.loops) > 1 for axis in recurrence.axes):
        return False  # neighbours along an axis of several loops need not be neighbours in the source
    return recurrence.is_sum or not recurrence.result.directions and recurrence.points.is_subset(recurrence.kept)


def runs(length: int, size: int) -> Runs:
    """
    >>> runs(600, 256), runs(512, 256), runs(8, 256)
    (((256, 2), (88, 1)), ((256, 2),), ((8, 1),))
    """
    whole, rest = divmod(length, size)
    return tuple((n, number) for n, number in ((size, whole), (rest, 1)) if n and number)


class Boxes:
    """The same questions as those to isl; a fold by the lengths of its blocks along the array's coordinates."""

    def __init__(self, recurrence: Recurrence, mapping: SpaceTime, shape: tuple[int, ...]):
        self._recurrence, self._mapping, self._shape = recurrence, mapping, shape
        self._repeats, self._lengths = recurrence.box
        self._axes = [next((axis for axis, c in enumerate(row) if c), None) for row in mapping.space]  # of each coordinate
        self._blocks = [((1, 1),) if a is None else runs(self._lengths[a], n) for a, n in zip(self._axes, shape)]
        self._resting = len(preloaded(recurrence, mapping))

    def classes(self, padded: bool) -> Iterator[FoldClass]:
        found: Counter[tuple[int, ...]] = Counter()
        for fold, number in self._folds():
            rows = self._rows(fold, padded)
            found[prod(self._extents(fold)), prod(fold), self._cycles(fold, padded), self._resting * rows] += number
        return (FoldClass(number, *values) for values, number in sorted(found.items(), reverse=True))

    def steps(self, padded: bool) -> tuple[Step | Repeat, ...]:
        return self._steps((), self._repeats, None, padded)

    def traffic(self) -> Iterator[Traffic]:
        """Of results that are no sums as many leave as enter: both are a face of the box."""
        return traffic(self._recurrence, self._entering, lambda: self._entering(self._recurrence.result))

    def _folds(self) -> Iterator[tuple[Vector, int]]:
        for blocks in product(*self._blocks):
            yield tuple(length for length, _ in blocks), self._repeats * prod(number for _, number in blocks)

    def _steps(self, known: Vector, repeats: int, later: Vector | None, padded: bool) -> tuple[Step | Repeat, ...]:
        """Those of folds whose first blocks are known, so many times. later: the fold after them; the last coordinate's blocks go by
        first.
        """
        first = (*known, *(blocks[0][0] for blocks in self._blocks[len(known) :]))
        once = [self._once(known, after, padded) for after in ((first, later) if repeats > 1 else (later,))]
        return (*((Repeat(repeats - 1, once[0]),) if repeats > 1 else ()), *once[-1])

    def _once(self, known: Vector, later: Vector | None, padded: bool) -> tuple[Step | Repeat, ...]:
        if len(known) == len(self._blocks):
            return (self._step(known, later, padded),)
        mine, *others = self._blocks[len(known) :]
        found: list[Step | Repeat] = []
        for number, (length, repeats) in enumerate(mine):
            ahead = [(*known, n, *(blocks[0][0] for blocks in others)) for n, _ in mine[number + 1 : number + 2]] or [later]
            found += self._steps((*known, length), repeats, ahead[0], padded)
        return tuple(found)

    def _step(self, fold: Vector, later: Vector | None, padded: bool) -> Step:
        active = Fraction(prod(self._extents(fold)), prod(fold))
        free = self._cycles(fold, padded) if later is None else self._wait(fold, later, padded)
        if later is not None and stays(self._mapping, self._recurrence.result):
            free = max(free, self._rows(fold, padded))
        return Step(self._resting * self._rows(fold, padded), active, free)

    def _extents(self, fold: Vector) -> list[int]:
        """Lengths of the axes in a fold."""
        found = list(self._lengths)
        for axis, length in zip(self._axes, fold):
            if axis is not None:
                found[axis] = length
        return found

    def _padded(self, fold: Vector, padded: bool) -> Vector:
        return tuple(n if padded and axis is not None else own for axis, n, own in zip(self._axes, self._shape, fold))

    def _cycles(self, fold: Vector, padded: bool) -> int:
        extents = self._extents(self._padded(fold, padded))
        return 1 + sum(abs(c) * (length - 1) for c, length in zip(self._mapping.time, extents))

    def _rows(self, fold: Vector, padded: bool) -> int:
        return self._shape[0] if padded else fold[0]

    def _wait(self, before: Vector, fold: Vector, padded: bool) -> int:
        """Cycles until no unit that both use has an instance of the first left: the same for all of these."""
        apart = 1 + sum(abs(c) * (n - 1) for k, (c, n) in enumerate(zip(self._mapping.time, self._lengths)) if k not in self._axes)
        for axis, row, a, b in zip(self._axes, self._mapping.space, self._padded(before, padded), self._padded(fold, padded)):
            if axis is not None and self._mapping.time[axis] * row[axis] < 0:  # the last unit of a block begins
                apart += abs(self._mapping.time[axis]) * (a - b)
        return max(0, apart)

    def _entering(self, stream: Stream) -> int:
        """Instances that get the value from none before them in the fold."""
        vectors = [tuple(self._mapping.sense(direction) * v for v in direction.vector) for direction in stream.directions]
        return sum(number * (prod(e) - _reached(e, vectors)) for fold, number in self._folds() for e in [self._extents(fold)])


def _reached(lengths: Sequence[int], vectors: Sequence[Vector]) -> int:
    """Points of a box that are some vector behind another of its points, by inclusion and exclusion of boxes."""
    total = 0
    for count in range(1, len(vectors) + 1):
        for some in combinations(vectors, count):
            parts = (n - max(0, *steps) + min(0, *steps) for n, steps in zip(lengths, zip(*some)))
            total += (-1) ** (count + 1) * prod(max(0, part) for part in parts)
    return total
