"""A nest as text: parameters, arrays, requirements, then loops as Python writes them."""

import numpy as np

from polyml.model.core import nest_text
from tests.passing import ran


def mixed(A, B, x, k):
    total = 0.0
    for i in range(A.shape[0] - 1, 0, -1):
        if i >= k:
            A[i] = max(A[i - 1], x) if i % 2 == 0 else -(A[i] - 1.0)
        total += A[i] * (B[i] + k)
    return total


def test_a_nest_reads_like_the_loops_of_a_function():
    nest = ran("forward_substitution", mixed, np.arange(8.0), np.ones(8), 2.5, 3).after
    head, loops = nest_text.text(nest).split("total = 0.0\n")
    assert head.splitlines()[:3] == ["parameter A_0 = A.shape[0]", "parameter B_0 = B.shape[0]", "parameter k = k"]
    assert "array A: f64[A_0] (argument)" in head and "array total: f64 (local)" in head
    assert loops.splitlines() == [
        "for i in range(A_0 - 1, 0, -1):",
        "    if i - k >= 0:",
        "        A[i] = max(A[i - 1], x) if (-2*((i) // 2) + i == 0) else -(A[i] - 1.0)",
        "    total = total + A[i]*(B[i] + k)",
        "return total: f64",
    ]


def picks(x, idx, y):
    for i in range(idx.shape[0]):
        y[i] = x[idx[i]] if i > 0 else 1.0
    return y.sum(), x[0]


def test_requirements_elements_at_data_and_several_results():
    nest = ran("resolve", picks, np.arange(8.0), np.array([1, 2]), np.zeros(2)).after
    lines = nest_text.text(nest).splitlines()
    assert "parameter idx_min = idx.min()" in lines and "require (-idx_max + x_0 - 1 >= 0) and (idx_min + x_0 >= 0)" in lines
    assert "    y[i] = x[idx[i] + x_0 if idx[i] < 0 else idx[i]] if (i - 1 >= 0) else 1.0" in lines
    assert lines[-1] == "return result: f64, result_1: f64,"
