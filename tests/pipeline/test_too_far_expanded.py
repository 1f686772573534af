"""No schedule takes memory for a value of a scalar in each iteration of more loops than arrays have dimensions."""

import numpy as np
import pytest

import polyml
from polyml.kernels.irregular.graphs import floyd_warshall_with_ways


def last(A, B, x):
    for t in range(4):
        for i in range(A.shape[0] - 1):
            if A[i] > x[t]:
                A[i + 1] = A[i] * 0.5 + x[t]
                B[i] = B[i + 1] + 1.0


def drawn(n):
    rng = np.random.default_rng(0)
    return rng.integers(1, 100, (n, n)), rng.integers(0, n, (n, n))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 17])
def test_conditions_of_several_statements_stay_branches(n, threads):
    own, plain = drawn(n), drawn(n)
    kernel = polyml.kernel(floyd_warshall_with_ways, fallback="error", threads=threads, cache=False)
    kernel(*own)
    floyd_warshall_with_ways(*plain)
    assert all(map(np.array_equal, own, plain))
    assert not kernel.inspect_ast().count("empty(")  # nor is there any other local array


def test_conditions_of_as_many_loops_as_arrays_have_dimensions_may_be_kept():
    rng = np.random.default_rng(0)
    own = rng.random(20), rng.random(20), rng.random(4)
    plain = [a.copy() for a in own]
    polyml.kernel(last, fallback="error", cache=False)(*own)
    last(*plain)
    assert all(map(np.allclose, own, plain))
