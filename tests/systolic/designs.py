"""Kernels for systolic arrays, and what a mapping does with their instances, one by one in plain Python."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.systolic.recurrences.nests import nests
from tests.model.modelling import events, model_for, sizes_of


def matmul(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def batched(A, B, C):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                C[b, i, j] = 0.0
                for k in range(A.shape[2]):
                    C[b, i, j] += A[b, i, k] * B[b, k, j]


def matvec(A, x, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] += A[i, j] * x[j]


def triangular(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(i + 1):
                C[i, j] += A[i, k] * B[k, j]


def syrk(A, C):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]


def fir(x, h, y):
    for i in range(y.shape[0]):
        y[i] = 0.0
        for k in range(h.shape[0]):
            y[i] += x[i + k] * h[k]


def fir_with_a_scalar(x, h, y):
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(h.shape[0]):
            s += x[i + k] * h[k]
        y[i] = s


def strided(x, w, y):
    for i in range(y.shape[0]):
        for k in range(w.shape[0]):
            y[i] += x[2 * i + k] * w[k]


def channels(x, w, y):
    for o in range(y.shape[0]):
        for i in range(y.shape[1]):
            for c in range(x.shape[0]):
                for k in range(w.shape[2]):
                    y[o, i] += x[c, i + k] * w[o, c, k]


def picture(x, w, y):
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            for r in range(w.shape[0]):
                for s in range(w.shape[1]):
                    y[i, j] += x[i + r, j + s] * w[r, s]


def layer(x, w, y):
    for f in range(y.shape[0]):
        for i in range(y.shape[1]):
            for j in range(y.shape[2]):
                for c in range(x.shape[0]):
                    for r in range(w.shape[2]):
                        for s in range(w.shape[3]):
                            y[f, i, j] += x[c, i + r, j + s] * w[f, c, r, s]


def dot(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    return s


def outer_product(x, y, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = x[i] * y[j]


def subsequence(D, a, b):
    for i in range(1, D.shape[0]):
        for j in range(1, D.shape[1]):
            D[i, j] = max(max(D[i - 1, j], D[i, j - 1]), D[i - 1, j - 1] + a[i] * b[j])


def history(A):
    for t in range(1, A.shape[0]):
        for i in range(1, A.shape[1] - 1):
            A[t, i] = A[t - 1, i - 1] + A[t - 1, i] + A[t - 1, i + 1]


def seidel(T, A):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i - 1, j] + A[i + 1, j] + A[i, j + 1])


def blur(A, B):
    for i in range(1, A.shape[0] - 1):
        B[i] = A[i - 1] + A[i] + A[i + 1]


def cross(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = A[i, j] + A[i, j - 1] + A[i - 1, j] + A[i + 1, j] + A[i, j + 1]


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


CALLS = {
    matmul: (zeros(7, 9), zeros(9, 5), zeros(7, 5)),
    batched: (zeros(2, 5, 4), zeros(2, 4, 3), zeros(2, 5, 3)),
    matvec: (zeros(7, 10), zeros(10), zeros(7)),
    triangular: (zeros(7, 7), zeros(7, 5), zeros(7, 5)),
    syrk: (zeros(7, 6), zeros(7, 7)),
    fir: (zeros(14), zeros(4), zeros(11)),
    strided: (zeros(25), zeros(5), zeros(10)),
    channels: (zeros(3, 11), zeros(4, 3, 3), zeros(4, 9)),
    picture: (zeros(7, 8), zeros(3, 2), zeros(5, 7)),
    layer: (zeros(2, 5, 6), zeros(5, 2, 3, 2), zeros(5, 3, 5)),
    dot: (zeros(11), zeros(11)),
    outer_product: (zeros(7), zeros(6), zeros(7, 6)),
    subsequence: (zeros(7, 9), zeros(7), zeros(9)),
    history: (zeros(6, 9),),
    seidel: (4, zeros(6, 7)),
    blur: (zeros(13), zeros(13)),
    cross: (zeros(7, 8), zeros(7, 8)),
}


def nests_of(function, args=None, links="manhattan"):
    """(nests, sizes) of a function for the arguments, those of CALLS if left out."""
    args = CALLS[function] if args is None else args
    scop = model_for(function, args)
    sizes = sizes_of(scop, args)
    scop = expand(scop)
    return nests(scop, dependences(scop), reductions(scop, "reassociate"), links), sizes


class NestRun:
    """The instances of a plan in their folds, cycles and units, from a trace of the source."""

    def __init__(self, function, args, plan):
        recurrence, shape = plan.recurrence, plan.folds.shape
        time, *space = (recurrence.loops_row(row) for row in plan.mapping.rows)
        line = recurrence.nest.statement.loc.line
        self.trace = [event for event in events(function, args) if event[0][0] == line]
        places = [tuple(_dot(row, point) for row in space) for (_, point), _, _ in self.trace]
        starts = [min(coordinates) for coordinates in zip(*places)]
        self.at = []  # fold, t, place of each instance, in the order of the source
        for ((_, point), _, _), place in zip(self.trace, places):
            blocks = tuple((x - start) // length for x, start, length in zip(place, starts, shape))
            self.at.append(((*(point[loop] for loop in recurrence.outer), *blocks), _dot(time, point), place))
        self.plan, self.shape, self.starts = plan, shape, starts
        self.folds = defaultdict(list)
        for number, (fold, t, place) in enumerate(self.at):
            self.folds[fold].append((t, place, number))

    def check(self) -> None:
        """A unit runs an instance per cycle; what is used again comes over links in time; what is made is used later."""
        for instances in self.folds.values():
            assert len({(t, place) for t, place, _ in instances}) == len(instances)
        kinds = [use.kind for use in self.plan.recurrence.nest.uses]
        for read, kind in enumerate(kinds):
            if kind == "operand" and self.plan.recurrence.nest.uses[read].rows:
                self._check_walks(lambda number: self.trace[number][1][read], read)
            if kind == "value":
                self._check_values(read)
            if kind == "operand" and self.plan.recurrence.nest.uses[read].distance:
                self._check_neighbours(read)
        if "result" in kinds:
            self._check_walks(lambda number: self.trace[number][2], kinds.index("result"))

    def _check_walks(self, cell, read) -> None:
        streams = {s.use: s for s in self.plan.recurrence.streams}
        directions = streams[self.plan.recurrence.nest.uses[read]].directions
        if len(directions) != 1 or any(len(axis.loops) > 1 for axis in self.plan.recurrence.axes):
            return  # one element goes several ways
        for instances in self.folds.values():
            walks = defaultdict(list)
            for t, place, number in sorted(instances):
                walks[cell(number)].append((t, place))
            for walk in walks.values():
                for (t, here), (later, there) in zip(walk, walk[1:]):
                    assert later > t and sum(abs(a - b) for a, b in zip(here, there)) <= later - t

    def _check_neighbours(self, read) -> None:
        """Some access of the instance before reads the element, and hands it on in time."""
        distance = self.plan.recurrence.nest.uses[read].distance
        numbers = {point: number for number, ((_, point), _, _) in enumerate(self.trace)}
        for point, number in numbers.items():
            before = numbers.get(tuple(a - b for a, b in zip(point, distance)))
            if before is not None:
                assert self.trace[number][1][read] in self.trace[before][1]
                (fold, t, here), (later_fold, later, there) = self.at[before], self.at[number]
                if fold == later_fold:
                    assert later > t and sum(abs(a - b) for a, b in zip(here, there)) <= later - t

    def _check_values(self, read) -> None:
        written = {}
        for number, (_, reads, write) in enumerate(self.trace):
            if reads[read] in written:
                (fold, t, here), (later_fold, later, there) = self.at[written[reads[read]]], self.at[number]
                assert fold <= later_fold
                if fold == later_fold:
                    assert later > t and sum(abs(a - b) for a, b in zip(here, there)) <= later - t
            written[write] = number

    def classes(self) -> list[tuple[int, int, int]]:
        """(instances, units, cycles) of each fold."""
        found = []
        for instances in self.folds.values():
            times = [t for t, _, _ in instances]
            found.append((len(instances), len({place for _, place, _ in instances}), max(times) - min(times) + 1))
        return sorted(found)

    def rows(self) -> list[int]:
        """From the first to the last one in use, of each fold."""
        found = []
        for instances in self.folds.values():
            rows = [place[0] for _, place, _ in instances]
            found.append(max(rows) - min(rows) + 1)
        return sorted(found)

    def active(self) -> tuple[int, ...]:
        first = self.folds[min(self.folds)]
        times = [t for t, _, _ in first]
        return tuple(times.count(t) for t in range(min(times), max(times) + 1))

    def overlapped(self, stationary: int, leaving: bool) -> int:
        """Cycles where each fold begins as soon as its units are free. resting: operands that stay; leaving: whether results do."""
        busy, begin, before = set(), 0, None
        for fold in sorted(self.folds):
            instances = self._local(fold)
            rows = [unit[0] for _, unit in instances]
            into = stationary * (max(rows) - min(rows) + 1)
            first, last = {}, {}
            for t, unit in instances:
                first[unit], last[unit] = min(first.get(unit, t), t), max(last.get(unit, t), t)
            if before is None:
                begin = into
            else:
                shared = [before[0][unit] - first[unit] + 1 for unit in first if unit in before[0]]
                begin += max(max(shared, default=before[1]), into, before[2] if leaving else 0)
            assert busy.isdisjoint((begin + t, unit) for t, unit in instances)
            busy |= {(begin + t, unit) for t, unit in instances}
            before = last, max(t for t, _ in instances) + 1, max(rows) - min(rows) + 1
        return begin + before[1]

    def _local(self, fold) -> list:
        """(cycle from the fold's first one, unit of the array) of its instances."""
        start, blocks = min(t for t, _, _ in self.folds[fold]), fold[len(fold) - len(self.shape) :]
        corner = [low + block * length for low, block, length in zip(self.starts, blocks, self.shape)]
        return [(t - start, tuple(x - c for x, c in zip(place, corner))) for t, place, _ in self.folds[fold]]

    def without(self, distance) -> int:
        """Instances that have none of the same fold this distance before."""
        folds = {point: fold for ((_, point), _, _), (fold, _, _) in zip(self.trace, self.at)}
        return sum(folds.get(tuple(a - b for a, b in zip(point, distance))) != fold for point, fold in folds.items())

    def elements(self, cell) -> int:
        """Different ones that the folds use, added up."""
        return sum(len({cell(number) for _, _, number in instances}) for instances in self.folds.values())


def _dot(row, point) -> int:
    return sum(c * v for c, v in zip(row, point))
