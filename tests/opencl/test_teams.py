"""Threads that share loops, on an OpenCL device: updates of all operators and types, as the host chooses and otherwise."""

import numpy as np
import pytest

import polyml
from polyml.runtime.gpu.host import code as host_code
from polyml.runtime.gpu.opencl import OpenCl
from polyml.schedule.gpu.team_choice import PLAIN, WHOLE, parts
from tests.codegen.gpu.rows.test_row_teams import CASES as ROWS
from tests.codegen.gpu.test_teams import CASES
from tests.opencl.test_opencl import pytestmark as on_devices

pytestmark = on_devices
RNG = np.random.default_rng(11)
ON_DEVICE = {"target": polyml.Target.opencl(), "fallback": "error", "cache": False}


@pytest.fixture(params=[WHOLE, 3], ids=["team", "split"])
def forced(request, monkeypatch):
    """Lets the host choose teams whatever the sizes are, whose iterations are perhaps divided among three blocks."""
    monkeypatch.setattr(host_code, "parts", lambda *_: request.param)
    monkeypatch.setattr(OpenCl, "in_turn", False)


def updates(A, add, multiply, low, high, odd):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            add[i] += A[i, k]
            multiply[i] *= A[i, k]
            low[i] = min(low[i], A[i, k])
            high[i] = max(high[i], A[i, k])
        for k in range(A.shape[1]):
            if A[i, k] > 1:
                odd[i] -= A[i, k]


def bits(A, both, either, one):
    for i in range(A.shape[0]):
        both[0] &= A[i]
        either[0] |= A[i]
        one[0] ^= A[i]


def nans(A, low, high, kept, least):
    for k in range(A.shape[0]):
        low[0] = np.minimum(low[0], A[k])
        high[0] = np.maximum(high[0], A[k])
        kept[0] = max(kept[0], A[k])
        least[0] = np.fmin(least[0], A[k])


def compared(function, *arrays):
    wanted, found = [a.copy() for a in arrays], [a.copy() for a in arrays]
    with np.errstate(all="ignore"):
        result = polyml.kernel(function, cache=False)(*wanted)
        assert polyml.kernel(function, **ON_DEVICE)(*found) == result
    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(found, wanted)), (found, wanted)


@pytest.mark.parametrize("columns", [0, 1, 7, 300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_updates_of_numbers(forced, dtype, columns):
    A = RNG.integers(1, 3, (5, columns)).astype(dtype)
    A[:, 40:] = 1  # products of floats stay exact
    compared(updates, A, *(np.arange(1, 6).astype(dtype) for _ in range(5)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64, np.bool_])
def test_updates_of_bits(forced, dtype):
    A = RNG.integers(0, 100, 90).astype(dtype)
    compared(bits, A, *(np.ones(1, dtype) for _ in range(3)))


@pytest.mark.parametrize("at", [(), (0,), (70,), (3, 69)])
def test_nan_counts_as_on_processors(forced, at):
    A = RNG.random(80)
    A[list(at)] = np.nan
    compared(nans, A, *(np.array([0.5]) for _ in range(4)))


def test_complex_sums(forced):
    def total(A, x, y):
        for i in range(A.shape[0]):
            for k in range(A.shape[1]):
                y[i] += A[i, k] * x[k]

    A, x, y = (RNG.integers(-4, 4, shape) + 1j * RNG.integers(-4, 4, shape) for shape in ((6, 50), (50,), (6,)))
    compared(total, A, x, y)


@pytest.mark.parametrize("function, arrays", CASES, ids=[f.__name__ for f, _ in CASES])
def test_loops_that_threads_share(forced, function, arrays):
    compared(function, *arrays)


def test_the_host_chooses_by_sizes(monkeypatch):
    monkeypatch.setattr(OpenCl, "in_turn", False)
    assert parts([15], 15, 1, 256, (256, 256), True) == PLAIN
    assert (
        parts([1000], 1000, 1 << 17, 1 << 20, (8, 8), False) == PLAIN
        and parts([1000], 1000, 1 << 17, 1 << 20, (8, 8), True) == WHOLE
    )
    assert parts([5000, 100], 5000, 1, 256, (256, 8), True) == 244  # 8 iterations for each of 244 * 256 threads

    def total(A):
        s = 0.0
        for i in range(A.shape[0]):
            s += A[i]
        return s

    kernel = polyml.kernel(total, **ON_DEVICE)
    for size in (3, 100, 5000, 100_000):
        A = RNG.integers(-9, 9, size).astype(float)
        assert kernel(A) == A.sum()
    assert "s over i by 256 threads of a block with partial results" in kernel.explain()


@pytest.mark.parametrize("variant", [0, 1, 2, -1])
@pytest.mark.parametrize("function, arrays", ROWS, ids=[f"{f.__name__}-{k}" for k, (f, _) in enumerate(ROWS)])
def test_teams_that_run_rows(monkeypatch, function, arrays, variant):
    monkeypatch.setattr(host_code, "row_variant", lambda trips, rows, variants: range(len(variants))[variant])
    monkeypatch.setattr(OpenCl, "in_turn", False)
    compared(function, *arrays)
