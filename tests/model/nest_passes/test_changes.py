"""What passes on nests did with arrays, as `explain` tells it."""

import numpy as np

import polyml
from polyml.remarks.values import OF_ARRAYS
from tests.model.nest_passes.test_alike_sizes import swept

TOLD = OF_ARRAYS[:4]


def told(function, *args):
    """Returns (kind, text) of what passes on nests did in a compilation for these arguments."""
    kernel = polyml.kernel(function, cache=False, fallback="error")
    kernel(*args)
    return [(each.question, each.text) for each in kernel.explain().remarks[0].arrays if each.question in TOLD]


def line_of(function, offset):
    return function.__code__.co_firstlineno + offset


def test_an_array_that_is_computed_where_it_is_read_is_told():
    def chain(A, B):
        t = A * 2
        u = t + B
        return u * t

    told_of = told(chain, np.ones(9), np.ones(9))
    assert told_of == [
        ("storage", f"{name} (line {line_of(chain, at)}) has no memory: its elements are computed where they are read")
        for name, at in (("t", 1), ("u", 2))
    ]


def test_an_array_whose_elements_are_kept_one_at_a_time_is_told():
    def sums(A, x, y):
        t = A @ x
        y[:] = y * 0.5 + t

    assert told(sums, np.ones((9, 9)), np.ones(9), np.ones(9)) == [
        (
            "storage",
            f"_product (line {line_of(sums, 1)}) has no memory: one element of it is kept at a time, since the loops over its elements "
            "are one loop",
        )
    ]


def test_an_array_that_is_another_one_from_the_start_and_a_half_that_is_copied_are_told():
    def product(data, out):
        c = data.T @ data
        out[:] = c / data.shape[0]

    assert told(product, np.ones((30, 20)), np.ones((20, 20))) == [
        ("storage", f"_product (line {line_of(product, 1)}) has no memory: it is out from the start"),
        ("symmetric", f"half of out (line {line_of(product, 1)}) is computed, and copied to the other half"),
    ]


def test_an_update_that_is_a_part_of_the_next_one_is_told():
    def scaled(C, A, c):
        for i in range(1, C.shape[0]):
            for j in range(C.shape[1]):
                C[i, j] *= c
            for j in range(C.shape[1]):
                C[i, j] += A[i, j]

    assert told(scaled, np.ones((9, 9)), np.ones((9, 9)), 2.0) == [
        ("joined", f"what line {line_of(scaled, 3)} assigns to C is a part of the next assignment to the same elements")
    ]


def test_an_assignment_that_is_stored_over_is_told():
    def twice(A, B):
        C = np.zeros(A.shape[0])
        for i in range(A.shape[0]):
            C[i] = A[i] + B[i]
        return C

    assert told(twice, np.ones(9), np.ones(9)) == [
        ("joined", f"what line {line_of(twice, 1)} assigns to C is stored over before anything reads it")
    ]


def test_sizes_that_are_taken_to_be_equal_are_told():
    found = told(swept, np.ones((50, 50)), 2)
    assert (
        "sizes alike",
        "the code is for A.shape[1] == A.shape[0], which is tested at entry; other calls have code of their own",
    ) in found


def test_numbers_are_not_told():
    def loop(A, B):
        for i in range(A.shape[0]):
            t = A[i] * 2
            B[i] = t + 1

    assert told(loop, np.ones(9), np.ones(9)) == []
