"""What is said of lanes whose iterations depend on each other names the rule that lets them be lanes."""

import numpy as np
import pytest

import polyml


def nine_back(A):
    for i in range(9, A.shape[0]):
        A[i] = A[i - 9] * 0.5 + 1


def ahead(A):
    for i in range(A.shape[0] - 1):
        A[i] = A[i + 1] * 0.5


def fading(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i - 1] * 0.5 + A[i]


def one_back(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i - 1] * A[i - 1] + A[i]


@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (nine_back, "in order: no dependence that this order would break is shorter than 9 iterations"),
        (ahead, "each vector reads before it writes"),
        (fading, "each of which continues from the one before, in steps (a scan)"),
        (one_back, "depend on each other: flow dependence through A"),
    ],
)
def test_the_rule_that_decided_is_said(function, rule):
    kernel = polyml.kernel(function, cache=False, threads=1)
    kernel(np.ones(3000))
    assert rule in str(kernel.why("i", "vectorized"))
