"""Which elements of a loop are read one behind the other, beside elements whose places data decide."""

import numpy as np
import pytest

import polyml


def gathered(ptr, col, val, x, y):
    for i in range(y.shape[0]):
        total = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            total += val[k] * x[col[k]]
        y[i] = total


def rows_of_two(first, col, val, x):
    total = 0.0
    for i in range(val.shape[0]):
        for k in range(first[i], val.shape[1] - 1):
            total += val[i, k + 1] * val[i, k] * x[col[i, k]]
    return total


def strided(first, col, x):
    total = 0.0
    for k in range(first[0], col.shape[0] // 2):
        total += x[col[2 * k]]
    return total


def summed(first, x):
    total = 0.0
    for k in range(first[0], x.shape[0]):
        total += x[k]
    return total


PTR, COL = np.array([0, 2, 2, 5]), np.array([1, 0, 3, 2, 0])
X = np.array([1.0, 2.0, 3.0, 4.0])
ROWS = (np.array([0, 1]), np.array([[1, 0, 3], [2, 2, 1]]), np.arange(6.0).reshape(2, 3), X)


@pytest.mark.parametrize(
    "function, args, streams",
    [
        (gathered, (PTR, COL, np.arange(5.0), X, np.zeros(3)), 2),
        (rows_of_two, ROWS, 2),  # val[i, k + 1] is fetched with val[i, k]
        (strided, (np.array([0]), COL, X), 0),
        (summed, (np.array([1]), X), 0),
    ],
)
def test_rows_beside_elements_anywhere_are_fetched_ahead(function, args, streams):
    own, plain = [[a.copy() for a in args] for _ in range(2)]
    kernel = polyml.kernel(function, threads=1, fallback="error", cache=False)
    assert kernel(*own) == function(*plain)
    assert all(map(np.array_equal, own, plain))
    fetched = [line for line in str(kernel.inspect_llvm()).splitlines() if "call void @llvm.prefetch" in line]
    assert bool(fetched) == bool(streams)
    assert len(fetched) % max(streams, 1) == 0


def test_what_is_fetched_need_not_exist():
    """Rows end with their arrays, backwards or read with strides too: prefetches behind the end are none of a program's accesses."""
    val, col = np.arange(10.0)[::-2], np.array([1, 0, 3, 2, 0], np.int32)[::-1]
    own = np.zeros(3)
    polyml.kernel(gathered, threads=1, fallback="error")(PTR, col, val, X, own)
    wanted = np.zeros(3)
    gathered(PTR, col, val, X, wanted)
    assert np.array_equal(own, wanted)
