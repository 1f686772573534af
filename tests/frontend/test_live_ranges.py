"""Local numbers that are used for several things become several numbers."""

import numpy as np

from tests.passing import before_and_after


def used_twice(A, B):
    for i in range(A.shape[0]):
        x = A[i]
        B[i] = x
        x = 0
        A[i] = B[x]


def test_assignments_that_reach_no_common_read_have_a_name_each():
    gone, come = before_and_after("live_ranges", used_twice, np.arange(1.0, 9.0), np.zeros(8))
    assert gone == ["x = 0", "A[i] = B[x]"] and come == ["x.1 = 0", "A[i] = B[x.1]"]


def kept(A, B):
    s = 0.0
    for i in range(A.shape[0]):
        if A[i] > 0.5:
            s = A[i]
        B[i] = s


def test_assignments_that_reach_one_read_keep_one_name():
    assert before_and_after("live_ranges", kept, np.linspace(0.0, 1.0, 8), np.zeros(8)) == ([], [])
