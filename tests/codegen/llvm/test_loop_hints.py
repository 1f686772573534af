"""Loops that store over an element that they read in each iteration become no vectors, and compute what Python computes."""

import numpy as np
import pytest

import polyml
from polyml.kernels.irregular.graphs import floyd_warshall_with_ways


def eliminated(d, following):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            if following[i, k] > 0:
                for j in range(k + 1, n):
                    d[i, j] = d[i, j] + d[i, k] * 3 - following[k, j]


def lines(kernel):
    return kernel.inspect_llvm().count(", !llvm.loop !1000")


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 5, 40])
@pytest.mark.parametrize("function, hinted", [(floyd_warshall_with_ways, True), (eliminated, False)])
@pytest.mark.sweep("function", keep=3)
def test_as_in_python(function, hinted, size, dtype):
    rng = np.random.default_rng(size)
    d = rng.integers(1, 90, (size, size)).astype(dtype)
    following = np.tile(np.arange(size), (size, 1)) % 3
    made, wanted = [d.copy(), following.copy()], [d.copy(), following.copy()]
    kernel = polyml.kernel(function, fallback="error", threads=1)
    with np.errstate(all="ignore"):
        kernel(*made)
        function(*wanted)
    assert all(map(np.array_equal, made, wanted))
    assert (lines(kernel) > 0) == hinted
