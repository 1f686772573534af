"""Kernels of statements that need each other's values, and what arrives where, from a run of the source."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from polyml import polyhedra
from tests.model.modelling import events
from tests.systolic.designs import zeros


def trsv(L, x):
    for i in range(x.shape[0]):
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]


def trsv_by_columns(L, x):
    for j in range(x.shape[0]):
        x[j] /= L[j, j]
        for i in range(j + 1, x.shape[0]):
            x[i] -= L[i, j] * x[j]


def unit_trsv(L, x):
    for i in range(x.shape[0]):
        for j in range(i):
            x[i] -= L[i, j] * x[j]


def trisolv(L, x, b):
    for i in range(x.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def backward(U, x):
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(i + 1, x.shape[0]):
            x[i] -= U[i, j] * x[j]
        x[i] /= U[i, i]


def backward_from_the_last(U, x):
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(x.shape[0] - 1, i, -1):
            x[i] -= U[i, j] * x[j]
        x[i] /= U[i, i]


def unit_backward(U, x):
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(i + 1, x.shape[0]):
            x[i] -= U[i, j] * x[j]


def unit_backward_from_the_last(U, x):
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(x.shape[0] - 1, i, -1):
            x[i] -= U[i, j] * x[j]


def trsm(L, B):
    for i in range(B.shape[0]):
        for k in range(i):
            for j in range(B.shape[1]):
                B[i, j] -= L[i, k] * B[k, j]
        for j in range(B.shape[1]):
            B[i, j] /= L[i, i]


def lu(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, k] /= A[k, k]
        for i in range(k + 1, A.shape[0]):
            for j in range(k + 1, A.shape[0]):
                A[i, j] -= A[i, k] * A[k, j]


def lu_by_rows(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def cholesky(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])


def cholesky_by_columns(A):
    for k in range(A.shape[0]):
        A[k, k] = np.sqrt(A[k, k])
        for i in range(k + 1, A.shape[0]):
            A[i, k] /= A[k, k]
        for i in range(k + 1, A.shape[0]):
            for j in range(k + 1, i + 1):
                A[i, j] -= A[i, k] * A[j, k]


def trmm(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i + 1, B.shape[0]):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = 1.5 * B[i, j]


def jacobi_1d(T, A, B):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i - 1] + B[i] + B[i + 1]


def recorded(A, B, C):
    for t in range(C.shape[0]):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i - 1] + B[i] + B[i + 1]
        for i in range(1, A.shape[0] - 1):
            C[t, i] = B[i]


def jacobi_3d(T, A, B):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    B[i, j, k] = A[i, j, k - 1] + A[i, j, k + 1] + A[i, j - 1, k] + A[i - 1, j, k] + A[i, j + 1, k] + A[i + 1, j, k]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    A[i, j, k] = B[i, j, k - 1] + B[i, j, k + 1] + B[i, j - 1, k] + B[i - 1, j, k] + B[i, j + 1, k] + B[i + 1, j, k]


def jacobi_in_place(T, A):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            A[i] = A[i - 1] + A[i] + A[i + 1]


def jacobi_2d(T, A, B):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j]


def fdtd(T, ex, ey, hz, f):
    for t in range(T):
        for j in range(ey.shape[1]):
            ey[0, j] = f[t]
        for i in range(1, ey.shape[0]):
            for j in range(ey.shape[1]):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(ex.shape[0]):
            for j in range(1, ex.shape[1]):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(hz.shape[0] - 1):
            for j in range(hz.shape[1] - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def edit_distance(D, a, b):
    for i in range(D.shape[0]):
        D[i, 0] = i
    for j in range(1, D.shape[1]):
        D[0, j] = j
    for i in range(1, D.shape[0]):
        for j in range(1, D.shape[1]):
            D[i, j] = min(min(D[i - 1, j] + 1, D[i, j - 1] + 1), D[i - 1, j - 1] + (0 if a[i] == b[j] else 1))


def matvec_chain(A, B, x, y, z):
    for i in range(y.shape[0]):
        for j in range(x.shape[0]):
            y[i] += A[i, j] * x[j]
    for i in range(z.shape[0]):
        for j in range(y.shape[0]):
            z[i] += B[i, j] * y[j]


def changing(A, g, x, y):
    for t in range(y.shape[0]):
        for i in range(y.shape[1]):
            for k in range(x.shape[0]):
                y[t, i] += A[i, k] * x[k]
        for k in range(x.shape[0]):
            x[k] = g[t, k]


def carried(T, A):
    for t in range(T):
        for i in range(1, A.shape[0]):
            A[i] += A[i - 1]


JOINT = {
    changing: (zeros(4, 5), zeros(3, 5), zeros(5), zeros(3, 4)),
    carried: (4, zeros(6)),
    trsv: (zeros(6, 6), zeros(6)),
    trsv_by_columns: (zeros(6, 6), zeros(6)),
    unit_trsv: (zeros(6, 6), zeros(6)),
    trisolv: (zeros(6, 6), zeros(6), zeros(6)),
    backward: (zeros(6, 6), zeros(6)),
    unit_backward: (zeros(6, 6), zeros(6)),
    recorded: (zeros(7), zeros(7), zeros(3, 7)),
    jacobi_3d: (2, zeros(5, 4, 5), zeros(5, 4, 5)),
    trsm: (zeros(5, 5), zeros(5, 4)),
    lu: (zeros(6, 6),),
    lu_by_rows: (zeros(6, 6),),
    cholesky: (zeros(6, 6),),
    cholesky_by_columns: (zeros(6, 6),),
    trmm: (zeros(5, 5), zeros(5, 4)),
    jacobi_1d: (3, zeros(8), zeros(8)),
    jacobi_in_place: (4, zeros(8)),
    jacobi_2d: (2, zeros(6, 5), zeros(6, 5)),
    fdtd: (2, zeros(5, 4), zeros(5, 4), zeros(5, 4), zeros(2)),
    edit_distance: (zeros(6, 5), zeros(6), zeros(5)),
    matvec_chain: (zeros(5, 4), zeros(3, 5), zeros(4), zeros(5), zeros(3)),
}

# the order that mappings give sums, where it is not the source's
REORDERED = {backward: backward_from_the_last, unit_backward: unit_backward_from_the_last}


class Arrivals:
    """The instances of a plan's nest in their folds, cycles and units, and what each of their reads gets, as the plan says it."""

    def __init__(self, function, args, plan):
        self.plan, recurrence = plan, plan.recurrence
        run = REORDERED.get(function, function)
        self.trace, self.writers, self.last = events(run, args), [], {}  # writers: by event and read, the event that made it
        for number, (_, reads, write) in enumerate(self.trace):
            self.writers.append([self.last.get(cell) for cell in reads])
            self.last[write] = number
        lower = run.__code__.co_firstlineno - function.__code__.co_firstlineno
        places = {}
        for place in recurrence.nest.embeddings:
            own = polyhedra.points(place.statement.domain, **dict(recurrence.sizes))
            places |= {(place.statement.loc.line + lower, loops): place for _, loops in own}
        self.points, self.names = {}, {}  # of events of the nest
        for number, ((line, loops), _, _) in enumerate(self.trace):
            if (line, loops) in places:
                place = places[line, loops]
                point = [sum(c * v for c, v in zip(row, loops)) + start for row, start in zip(place.rows, place.constants)]
                axes = [sum(c * v for c, v in zip(axis.coefficients, point)) for axis in recurrence.axes]
                self.points[number] = (*(point[k] for k in recurrence.outer), *axes)
                self.names[number] = place.statement.name
        self.at = {point: number for number, point in self.points.items()}
        outer = len(recurrence.outer)
        time, *space = plan.mapping.rows
        self.t = {n: _dot(time, p[outer:]) for n, p in self.points.items()}
        self.unit = {n: tuple(_dot(row, p[outer:]) for row in space) for n, p in self.points.items()}
        self.starts = [min(x) for x in zip(*self.unit.values())]
        lengths = plan.folds.shape
        blocks = {n: tuple((x - s) // r for x, s, r in zip(unit, self.starts, lengths)) for n, unit in self.unit.items()}
        self.fold = {n: (*p[:outer], *blocks[n]) for n, p in self.points.items()}
        self.sources = {key: [self._led(source) for source in found] for key, found in recurrence.sources.items()}

    def _led(self, source):
        """(source, by the point that gets it, the point that it gets it from)"""
        forward = self.plan.mapping.sense(source) > 0
        pairs = [(p, q) for (_, p), (_, q) in polyhedra.points(source.pairs)]
        return source, {q: p for p, q in pairs} if forward else {p: q for p, q in pairs}

    def check(self) -> None:
        """A unit runs an instance in a cycle; every read gets its value in time, within the fold or from memory."""
        assert len(self.at) == len(self.points)
        assert len({(self.fold[n], self.t[n], self.unit[n]) for n in self.points}) == len(self.points)
        self.read = defaultdict(int)  # by statement and read, how often from memory
        self.driven = defaultdict(set)  # by read, fold, cycle and line: whose values are on the wire
        sums = {(use.statement, use.read) for use in self.plan.recurrence.nest.uses if use.kind == "result"}
        for number in self.points:
            for read, made in enumerate(self.writers[number]):
                key = self.names[number], read
                if key in self.sources and key not in sums:
                    self._check(number, read, made)
        for (read, fold, t, along, line), makers in self.driven.items():
            assert len(makers) == 1
            here = [n for n in self.points if (self.fold[n], self.t[n], _line(self.unit[n], along)) == (fold, t, line)]
            users = [n for n in here if (self.trace[n][0][0], read[1]) == read]
            assert {(self.writers[n][read[1]], self.trace[n][1][read[1]]) for n in users} == makers

    def _check(self, number, read, made) -> None:
        key = self.names[number], read
        leading = [(source.vector, source.line) for source, led in self.sources[key] if self.points[number] in led]
        assert len(set(leading)) == len(leading)
        for source, led in self.sources[key]:
            before = self.at.get(led.get(self.points[number]))
            if before is None or self.fold[before] != self.fold[number]:
                continue
            assert self.names[before] == source.statement
            if source.kind == "produced":
                assert before == made
            else:
                assert self.writers[before][source.read] == made
                if made is None:
                    assert self.trace[before][1][source.read] == self.trace[number][1][read]
            cycles = self.t[number] - self.t[before]
            assert cycles > 0 or source.free and cycles == 0
            if source.line or cycles == 0:
                way = source.line or source.vector
                (along,) = (k for k, step in enumerate(self.plan.mapping.steps(way)[1:]) if step)
                assert _line(self.unit[before], along) == _line(self.unit[number], along)
                wire = (self.trace[number][0][0], read), self.fold[number], self.t[number], along, _line(self.unit[number], along)
                self.driven[wire].add((made, self.trace[number][1][read]))
            else:
                assert sum(abs(a - b) for a, b in zip(self.unit[before], self.unit[number])) <= cycles
            return
        self.read[key] += 1
        if made in self.points:  # through memory
            assert self.fold[made] < self.fold[number]

    def writes(self) -> int:
        """Instances whose values other folds or other statements use, or that are there at the end."""
        leaving = {n for n in self.last.values() if n in self.points}
        for number, made in ((n, m) for n, every in enumerate(self.writers) for m in every if m in self.points):
            if number not in self.points or self.fold[made] != self.fold[number]:
                leaving.add(made)
        return len(leaving)

    def classes(self) -> list[tuple[int, int, int]]:
        """(instances, units, cycles) of each fold."""
        folds = defaultdict(list)
        for number, fold in self.fold.items():
            folds[fold].append((self.t[number], self.unit[number]))
        found = []
        for instances in folds.values():
            times = [t for t, _ in instances]
            found.append((len(instances), len({unit for _, unit in instances}), max(times) - min(times) + 1))
        return sorted(found)


def _line(unit, along) -> tuple[int, ...]:
    return (*unit[:along], *unit[along + 1 :])


def _dot(row, point) -> int:
    return sum(c * v for c, v in zip(row, point))
