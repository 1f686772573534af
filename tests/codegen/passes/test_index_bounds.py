"""The least and the greatest element of index arrays are found before anything is written."""

import numpy as np
import pytest

import polyml
from tests.passing import before_and_after


def gather(x, idx, y):
    for i in range(idx.shape[0]):
        y[i] = x[idx[i]]


def test_loops_before_the_checks_find_what_these_compare():
    gone, come = before_and_after("index_bounds", gather, np.arange(8.0), np.array([7, 0, 3]), np.zeros(3))
    assert gone == [] and [line.partition("  #")[0] for line in come] == [
        "idx_min = 4611686018427387904", "idx_max = -4611686018427387904", "for find0_0 in range(0, idx_0):",
        "idx_min = min(idx_min, idx[find0_0])", "idx_max = max(idx_max, idx[find0_0])",
    ]  # fmt: skip


def test_a_call_with_an_element_that_is_no_index_raises_what_python_does():
    with pytest.raises(IndexError):
        polyml.kernel(gather, cache=False)(np.arange(8.0), np.array([7, 8]), np.zeros(2))
