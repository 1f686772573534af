"""Local arrays of which an outer loop needs a few rows at a time have memory for no more rows."""

import random

import numpy as np
import pytest

import polyml
from polyml.config import Options
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.pipeline.compile import CompileRequest, compile
from tests.frontend.define import define


def two_rows(A):
    T = np.zeros((A.shape[0], A.shape[1]))
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * 0.5
        for j in range(A.shape[1]):
            A[i, j] = T[i, j] + T[i - 1, j]


def in_one_loop(A):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * 0.5
        if i >= 3:
            for j in range(A.shape[1]):
                A[i, j] = T[i - 1, j] + T[i - 3, j]


def downwards(A):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0] - 1, -1, -1):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * 0.5
        if i < A.shape[0] - 1:
            for j in range(A.shape[1]):
                A[i, j] = T[i + 1, j] + T[i, j]


def planes(A):
    T = np.empty((4, A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for k in range(4):
            for j in range(A.shape[1]):
                T[k, i, j] = A[i, j] * k
        for j in range(A.shape[1]):
            A[i, j] = T[1, i, j] - T[2, i, j] * T[3, i, j]


def from_both_ends(A):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * 0.5
        if 2 * i >= A.shape[0]:
            for j in range(A.shape[1]):
                A[i, j] = T[A.shape[0] - 1 - i, j]


def over_time(A):
    T = np.zeros((A.shape[0], A.shape[1]))
    for t in range(3):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] = T[i, j] + 1.0
            for j in range(A.shape[1]):
                T[i, j] = A[i, j] * 0.5


def returned(A):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * 0.5
        for j in range(A.shape[1]):
            A[i, j] = T[i, j] * T[i, j]
    return T


def rings(function, **options):
    """Returns { array -> (dimension, length) } of the circular buffers."""
    made = compile(parse(function), CompileRequest((arg_type(np.ones((3, 3))),), ("C",), Options(schedule="source", **options)))
    return {name: (w.folded, w.lengths[w.folded]) for name, w in made.program.windows.items() if w.folded is not None}


@pytest.mark.parametrize(("function", "kept"), [(in_one_loop, (0, 4)), (downwards, (0, 2)), (planes, (1, 1))])
def test_as_many_rows_as_are_live_have_memory(function, kept):
    assert rings(function) == {"T": kept}


@pytest.mark.parametrize("function", [two_rows, from_both_ends, over_time, returned])
def test_what_is_used_elsewhere_or_far_away_stays_whole(function):
    assert rings(function) == {}


def test_code_without_vectors_keeps_arrays_whole():
    assert rings(in_one_loop, vectorize=False) == {}


@pytest.mark.parametrize("function", [two_rows, in_one_loop, downwards, planes, from_both_ends, over_time, returned])
@pytest.mark.parametrize("rows", [0, 1, 2, 5, 67])
@pytest.mark.parametrize("schedule", ["source", "auto"])
def test_rings_hold_what_is_read(function, rows, schedule):
    own = np.random.default_rng(rows).random((rows, 37))
    other = own.copy()
    wanted, got = function(own), polyml.kernel(cache=False, schedule=schedule)(function)(other)
    np.testing.assert_allclose(other, own, rtol=1e-12)
    if wanted is not None:
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def fused(seed: int) -> str:
    """A loop over rows, up or down, around a few loops over columns that hand local arrays on."""
    rng = random.Random(seed)
    down = rng.random() < 0.3
    lines = ["def fused(A, B):", "    n, m = A.shape"]
    known = ["A"]
    locals_ = [f"T{k}" for k in range(rng.randint(1, 3))]
    lines += [f"    {name} = np.empty((n, m), np.int64)" for name in locals_]
    lines += ["    for i in range(n - 1, -1, -1):" if down else "    for i in range(n):"]
    for name in [*locals_, "B"]:
        for condition, value in _cases(rng, name, known, down):
            lines += [f"        {condition}:", "            for j in range(2, m - 2):", f"                {name}[i, j] = {value}"]
        if name in locals_:
            lines += ["        for j in range(2):"]
            lines += [f"            {name}[i, j] = i - j", f"            {name}[i, m - 1 - j] = i + j"]
        known.append(name)
    return "\n".join(lines) + "\n"


def _cases(rng, name, known, down):
    """Conditions on the row, of which one holds, and values."""
    back = rng.randint(1, 4)
    far = f"i < n - {back}" if down else f"i >= {back}"
    near = f"i >= n - {back}" if down else f"i < {back}"
    terms = []
    for other in rng.choices(known, k=rng.randint(1, 3)):
        row = rng.randint(0, back) * (1 if down else -1)
        terms.append(f"{other}[i + {row}, j + {rng.randint(-2, 2)}]")
    if name != "B" and rng.random() < 0.5:
        terms.append(f"{name}[i + {back if down else -back}, j]")
    yield f"if {far}", " + ".join(terms)
    yield f"if {near}", "A[i, j]"


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sweep(keep=14)
def test_random_loops_over_rows(seed):
    function = define(fused(seed), "fused")
    rng = np.random.default_rng(seed)
    A, own = rng.integers(-9, 9, (rng.integers(1, 40), rng.integers(5, 50))), None
    own = np.zeros_like(A)
    with np.errstate(over="ignore"):
        function(A, own)
    for schedule in ("source", "auto"):
        other = np.zeros_like(A)
        polyml.kernel(cache=False, schedule=schedule)(function)(A, other)
        np.testing.assert_array_equal(other, own)
