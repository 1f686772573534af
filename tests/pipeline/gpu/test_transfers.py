"""An argument's elements are needed on the device unless nothing reads it and all of it is written: tried for small sizes."""

from itertools import product

import numpy as np
import pytest

from polyml.runtime.gpu.host.code import host_code
from tests.runtime.gpu.examples import made


def filled(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 3.0


def triangle(A, n):
    for i in range(n):
        for j in range(i):
            A[i, j] = 1.0


def two_halves(A, n):
    for i in range(n):
        A[i] = 1.0
    for i in range(n, A.shape[0]):
        A[i] = 2.0


def every_other(A):
    for i in range(A.shape[0] // 2):
        A[2 * i] = 1.0


def added(A):
    for i in range(A.shape[0]):
        A[i] += 1.0


def some(A, B):
    for i in range(A.shape[0]):
        if B[i] > 0.0:
            A[i] = 1.0


def counted(A, B):
    for i in range(B.shape[0]):
        B[i] = A[i] + 0.0


CASES = [
    (filled, "f64[:, :]"), (triangle, "f64[:, :]", "int"), (two_halves, "f64[:]", "int"), (every_other, "f64[:]"),
]  # fmt: skip


@pytest.mark.parametrize("function, types", [(each[0], each[1:]) for each in CASES], ids=lambda each: getattr(each, "__name__", ""))
def test_elements_are_needed_where_some_stay_as_they_were(function, types):
    artifact = made(function, *types)
    host, seen = host_code(artifact), set()
    number = next(k for k, each in enumerate(artifact.arrays) if each.argument == "A")
    for values in product(range(4), repeat=len(artifact.parameters)):
        at = dict(zip((each.name for each in artifact.parameters), values))
        if host.violated(*values):
            continue
        shape = tuple(at.get(f"A_{dim}", 1) for dim in range(types[0].count(":")))
        A = np.full(shape, np.nan)
        function(A, *(at["n"] for _ in types[1:]))
        seen.add(bool(np.isnan(A).any()))
        assert host.needed(*values)[number] == np.isnan(A).any(), at
    assert seen == ({False} if function in (filled, two_halves) else {False, True})


@pytest.mark.parametrize("function, types", [(added, ("f64[:]",)), (some, ("f64[:]", "f64[:]")), (counted, ("f64[:]", "f64[:]"))])
def test_what_is_read_or_written_under_a_condition_is_needed(function, types):
    artifact = made(function, *types)
    assert next(each for each in artifact.arrays if each.argument == "A").needed == "True"
