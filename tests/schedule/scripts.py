"""Kernels for scripts of schedules, and what each computes: by plain Python, by the loops one by one, and compiled."""

from __future__ import annotations

from copy import deepcopy

import numpy as np

import polyml
from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.run import run

ORDERS = ("source", "reversed", "shuffled")  # of the iterations of parallel loops


def integers(seed, *shape):
    return np.random.default_rng(seed).integers(-9, 10, shape)


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def two(A, B, C):
    for i in range(A.shape[0]):
        B[i] = A[i] * 2
    for j in range(A.shape[0]):
        C[j] = B[j] + 1


def stencil(A, B):
    for i in range(1, A.shape[0] - 1):
        B[i] = A[i - 1] + A[i + 1]
    for i in range(1, A.shape[0] - 1):
        A[i] = B[i] - B[i - 1]


def in_place(steps, A):
    for t in range(steps):
        for i in range(1, A.shape[0] - 1):
            A[i] = A[i - 1] + A[i + 1]


def upwards(A):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1] - 1):
            A[i, j] = A[i - 1, j + 1] + 1


def triangle(A, B):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            B[i, j] = A[i, j] + A[j, i]


def prefix(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i] + A[i - 1]


def total(A, R):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            R[i] += A[i, j]


def ring(steps, A, B):
    for t in range(steps):
        for i in range(A.shape[0]):
            B[i] = A[i - 1] + A[i + 1 if i + 1 < A.shape[0] else 0]
        for i in range(A.shape[0]):
            A[i] = B[i]


ARGUMENTS = {
    ring: lambda: (6, integers(9, 40), integers(10, 40)),
    product: lambda: (integers(1, 13, 11), integers(2, 13, 9), integers(3, 9, 11)),
    two: lambda: (integers(1, 19), integers(2, 19), integers(3, 19)),
    stencil: lambda: (integers(1, 17), integers(2, 17)),
    in_place: lambda: (5, integers(1, 14) % 3),
    upwards: lambda: (integers(1, 9, 12),),
    triangle: lambda: (integers(1, 14, 14), integers(2, 14, 14)),
    prefix: lambda: (integers(1, 21),),
    total: lambda: (integers(1, 12, 27), integers(2, 12)),
}


def kernel(function, **settings):
    return polyml.kernel(cache=False, threads=2, **settings)(function)


def schedule(function, start="source", **settings):
    return kernel(function, **settings).schedule(start, *ARGUMENTS[function]())


def loops(schedule):
    """The printed loops without the heading."""
    return str(schedule).splitlines()[1:]


def agrees(function, schedule):
    """The schedule's loops, one instance at a time and compiled, compute what Python does."""
    expected = ARGUMENTS[function]()
    function(*expected)
    problem = schedule.problem
    program = build(problem.scop, schedule.tree, dict(problem.reductions))
    for order in ORDERS:
        got = ARGUMENTS[function]()
        run(program, dict(zip(problem.scop.params, got)), order=order)
        _same(got, expected)
    scheduled = kernel(function).with_schedule(schedule)
    got = deepcopy(ARGUMENTS[function]())
    scheduled(*got)
    assert scheduled.compiled
    _same(got, expected)
    return scheduled


def _same(got, expected):
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)
