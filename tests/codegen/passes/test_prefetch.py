"""The last nest of a tile fetches rows of the next one, which a nest before it has read too."""

import numpy as np

from tests.passing import before_and_after


def twice(A, x, y, t):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t[i] += A[i, j] * x[j]
        for j in range(A.shape[1]):
            y[j] += A[i, j] * t[i]


def once(A, x, y, t):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t[i] += A[i, j] * x[j]


def changed(function):
    rng = np.random.default_rng(0)
    return before_and_after(
        "prefetch", function, rng.random((300, 300)), rng.random(300), rng.random(300), np.zeros(300), threads=2
    )


def test_rows_of_the_next_tile_are_fetched():
    assert changed(twice) == ([], ["fetch for S1_of_y_partial: A at i + 8"])


def test_rows_that_one_nest_reads_are_not():
    assert changed(once) == ([], [])
