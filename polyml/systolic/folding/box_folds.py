"""Formulas, which ask isl nothing, for what `folds` counts. They hold for boxes, whose axes have lengths that do not depend on each
other, on arrays of which each coordinate is one axis, forward or backward.

    blocks of r PEs along n            n // r whole ones, and one of n % r where that is not 0
    cycles of a fold                   1 + the sum over the axes of |time| * (length - 1)
    elements that enter a fold         its points without those to which another one, `vector` before them, hands its value

Folds are of one class where their blocks have the same lengths: in two dimensions there are at most four classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import prod

from polyml.systolic.folding.fold_counts import FoldClass, StreamTraffic, is_stationary, preloaded, traffic
from polyml.systolic.folding.stalls import FoldStep, RepeatedSteps
from polyml.systolic.recurrences.recurrence import DataStream, UniformRecurrence
from polyml.systolic.recurrences.spacetime import SpaceTime, Vector

BlockRuns = tuple[tuple[int, int], ...]  # (length, how many blocks have it), in order


def applies(recurrence: UniformRecurrence, mapping: SpaceTime) -> bool:
    """Returns whether the formulas of this module hold for a mapping.

    Among other things, the instances must form a box, each coordinate of the array must be constant or follow one axis of the box,
    no two coordinates the same one, and an instance may use no value that another one makes, except the sum that it adds to.
    """
    axes = [[axis for axis, c in enumerate(row) if c] for row in mapping.space]
    is_plain = all(len(found) <= 1 for found in axes) and all(c in (-1, 0, 1) for row in mapping.space for c in row)
    gap = len({found[0] for found in axes if found}) == sum(map(bool, axes))
    if not is_plain or not gap or recurrence.box is None or any(s.use.kind == "value" for s in recurrence.streams):
        return False
    if any(not d.free for d in recurrence.directions) and any(len(axis.loops) > 1 for axis in recurrence.axes):
        return False  # neighbours along an axis of several loops need not be neighbours in the source
    return recurrence.is_sum or not recurrence.result.directions and recurrence.points.is_subset(recurrence.live_out)


def block_runs(length: int, size: int) -> BlockRuns:
    """Returns the blocks into which an axis is cut, as (length, how many blocks have it), the whole ones first.

    length: that of the axis; size: that of a whole block.

    >>> block_runs(600, 256), block_runs(512, 256), block_runs(8, 256)
    (((256, 2), (88, 1)), ((256, 2),), ((8, 1),))
    """
    whole, rest = divmod(length, size)
    return tuple((n, number) for n, number in ((size, whole), (rest, 1)) if n and number)


class BoxFolds:
    """A BoxFolds counts the folds of a box by formulas, where a `FoldedDomain` counts them with isl, by methods of the same names.

    All folds whose blocks have the same lengths have the same counts, so methods here take a fold as these lengths, one for each
    coordinate of the array.
    """

    def __init__(self, recurrence: UniformRecurrence, mapping: SpaceTime, shape: tuple[int, ...]):
        self._recurrence, self._mapping, self._shape = recurrence, mapping, shape
        if recurrence.box is None:
            raise ValueError("the points of the recurrence are no box")
        self._repeats, self._lengths = recurrence.box
        self._axes = [next((axis for axis, c in enumerate(row) if c), None) for row in mapping.space]  # the axis of each coordinate
        self._blocks = [((1, 1),) if a is None else block_runs(self._lengths[a], n) for a, n in zip(self._axes, shape)]
        self._stationary = len(preloaded(recurrence, mapping))

    def classes(self, padded: bool) -> Iterator[FoldClass]:
        """Yields the classes of folds with equal counts, those with the most instances first.

        padded: count the cycles as if every PE had instances.
        """
        found: Counter[tuple[int, ...]] = Counter()
        for fold, number in self._folds():
            rows = self._rows(fold, padded)
            found[prod(self._extents(fold)), prod(fold), self._cycles(fold, padded), self._stationary * rows] += number
        return (FoldClass(number, *values) for values, number in sorted(found.items(), reverse=True))

    def steps(self, padded: bool) -> tuple[FoldStep | RepeatedSteps, ...]:
        """Returns the folds as steps of a timeline, in their order, with equal ones as repetitions.

        padded: count the cycles as if every PE had instances.
        """
        return self._steps((), self._repeats, None, padded)

    def traffic(self) -> Iterator[StreamTraffic]:
        """Yields how many elements each stream moves between the array and memory, with the results last.

        Results that are not sums leave at one face of the box. They are counted as elements that enter at the opposite face, which
        are as many.
        """
        return traffic(self._recurrence, self._entering, lambda: self._entering(self._recurrence.result))

    def _folds(self) -> Iterator[tuple[Vector, int]]:
        """Yields (lengths of a fold's blocks, how many folds have blocks of these lengths)."""
        for blocks in product(*self._blocks):
            yield tuple(length for length, _ in blocks), self._repeats * prod(number for _, number in blocks)

    def _steps(self, known: Vector, repeats: int, later: Vector | None, padded: bool) -> tuple[FoldStep | RepeatedSteps, ...]:
        """Returns the steps of all folds whose blocks along the first coordinates have the lengths `known`, `repeats` times over.

        Folds run as in nested loops over the blocks of each coordinate, of which the last coordinate's is the innermost.

        later: the lengths of the blocks of the fold that runs after them; None after the last one.
        padded: count the cycles as if every PE had instances.
        """
        first = (*known, *(blocks[0][0] for blocks in self._blocks[len(known) :]))
        once = [self._steps_once(known, after, padded) for after in ((first, later) if repeats > 1 else (later,))]
        return (*((RepeatedSteps(repeats - 1, once[0]),) if repeats > 1 else ()), *once[-1])

    def _steps_once(self, known: Vector, later: Vector | None, padded: bool) -> tuple[FoldStep | RepeatedSteps, ...]:
        """Returns the steps of all folds whose blocks along the first coordinates have the lengths `known`, once.

        later: the lengths of the blocks of the fold that runs after them; None after the last one.
        """
        if len(known) == len(self._blocks):
            return (self._step(known, later, padded),)
        mine, *others = self._blocks[len(known) :]
        found: list[FoldStep | RepeatedSteps] = []
        for number, (length, repeats) in enumerate(mine):
            following = mine[number + 1 : number + 2]
            after = (*known, following[0][0], *(blocks[0][0] for blocks in others)) if following else later
            found += self._steps((*known, length), repeats, after, padded)
        return tuple(found)

    def _step(self, fold: Vector, later: Vector | None, padded: bool) -> FoldStep:
        """Returns the step of one fold.

        fold: the lengths of the fold's blocks.
        later: those of the fold that runs after it; None after the last one.
        padded: count the cycles as if every PE had instances.
        """
        active = Fraction(prod(self._extents(fold)), prod(fold))
        free = self._cycles(fold, padded) if later is None else self._wait(fold, later, padded)
        if later is not None and is_stationary(self._mapping, self._recurrence.result):
            free = max(free, self._rows(fold, padded))
        return FoldStep(self._stationary * self._rows(fold, padded), active, free)

    def _extents(self, fold: Vector) -> list[int]:
        """Returns how long each axis of the recurrence is in a fold whose blocks have these lengths."""
        found = list(self._lengths)
        for axis, length in zip(self._axes, fold):
            if axis is not None:
                found[axis] = length
        return found

    def _padded(self, fold: Vector, padded: bool) -> Vector:
        """Returns the lengths of a fold's blocks. If `padded` is true, each coordinate that follows an axis has the array's whole
        length instead.
        """
        return tuple(n if padded and axis is not None else own for axis, n, own in zip(self._axes, self._shape, fold))

    def _cycles(self, fold: Vector, padded: bool) -> int:
        """Returns the cycles of a fold of these block lengths, from its first instance to its last."""
        extents = self._extents(self._padded(fold, padded))
        return 1 + sum(abs(c) * (length - 1) for c, length in zip(self._mapping.time, extents))

    def _rows(self, fold: Vector, padded: bool) -> int:
        """Returns how many rows of the array a fold uses; with `padded`, all of them."""
        return self._shape[0] if padded else fold[0]

    def _wait(self, before: Vector, fold: Vector, padded: bool) -> int:
        """Returns the cycles from the beginning of the fold `before` until `fold`, the one after it, may begin: until no PE that it
        needs is in use.

        This is the same for all PEs that both folds use.
        """
        gap = 1 + sum(abs(c) * (n - 1) for k, (c, n) in enumerate(zip(self._mapping.time, self._lengths)) if k not in self._axes)
        for axis, row, a, b in zip(self._axes, self._mapping.space, self._padded(before, padded), self._padded(fold, padded)):
            if axis is not None and self._mapping.time[axis] * row[axis] < 0:  # the last PE of a block begins
                gap += abs(self._mapping.time[axis]) * (a - b)
        return max(0, gap)

    def _entering(self, stream: DataStream) -> int:
        """Returns how many instances, over all folds, get the stream's value from memory, since no instance before them in their
        fold has it.
        """
        vectors = [tuple(self._mapping.sense(direction) * v for v in direction.vector) for direction in stream.directions]
        return sum(number * (prod(e) - _handed_on(e, vectors)) for fold, number in self._folds() for e in [self._extents(fold)])


def _handed_on(lengths: Sequence[int], vectors: Sequence[Vector]) -> int:
    """Returns how many points of a box get a value from another point of the box, which lies one of the vectors before them.

    lengths: those of the box.
    """
    total = 0
    for count in range(1, len(vectors) + 1):
        for some in combinations(vectors, count):
            parts = (n - max(0, *steps) + min(0, *steps) for n, steps in zip(lengths, zip(*some)))
            total += (-1) ** (count + 1) * prod(max(0, part) for part in parts)
    return total
