"""Scalars that are only names for a value leave the nest."""

import numpy as np

from tests.passing import before_and_after


def named(A, B):
    for i in range(A.shape[0]):
        t = A[i] + 1
        B[i] = t * 2


def test_a_definition_moves_into_its_uses():
    gone, come = before_and_after("forward_substitution", named, np.arange(8.0), np.zeros(8))
    assert gone == ["array t: f64 (local)", "t = A[i] + 1.0", "B[i] = t*2.0"] and come == ["B[i] = (A[i] + 1.0)*2.0"]


def overwritten(A, B):
    for i in range(A.shape[0]):
        t = A[i] + 1
        A[i] = 0.0
        B[i] = t * 2


def test_a_definition_stays_where_what_it_reads_is_overwritten():
    assert before_and_after("forward_substitution", overwritten, np.arange(8.0), np.zeros(8)) == ([], [])
