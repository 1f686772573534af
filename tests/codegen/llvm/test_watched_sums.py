"""A sum that a loop looks at after each addition is added up as in Python: fused with products, each addition would wait longer."""

import numpy as np
import pytest

import polyml
from polyml.kernels.irregular.particles import nearest_neighbours


def until(points, queries, found):
    for q in range(queries.shape[0]):
        product, total = 1.0, 0.0
        for d in range(points.shape[1]):
            product *= points[0, d] * 0.5 + queries[q, d]
            total += points[0, d] * queries[q, d]
            if product > 3.0:
                found[q] = d
                break


def squares(points, queries, found):
    for q in range(queries.shape[0]):
        total = 0.0
        for i in range(found[q], points.shape[0]):
            total += points[i, 0] * queries[q, 0]
        queries[q, 0] = total


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (30, 1), (30, 7)])
@pytest.mark.parametrize("function", [nearest_neighbours, until])
@pytest.mark.sweep("function", keep=2)
def test_as_in_python(function, shape, dtype):
    rng = np.random.default_rng(0)
    points, queries = rng.uniform(0, 2, shape).astype(dtype), rng.uniform(0, 2, (9, shape[1])).astype(dtype)
    made, wanted = np.zeros((2, 9), np.int64)
    polyml.kernel(function, fallback="error")(points, queries, made)
    function(points, queries, wanted)
    assert np.array_equal(made, wanted)


@pytest.mark.parametrize("function, is_fused", [(nearest_neighbours, False), (squares, True)])
def test_code(function, is_fused):
    kernel = polyml.kernel(function, fallback="error", threads=1)
    kernel(np.ones((30, 4)), np.ones((9, 4)), np.zeros(9, np.int64))
    assert ("fadd reassoc contract" in kernel.inspect_llvm()) == is_fused
