"""What a thread loads and stores, by hand."""

import numpy as np
import pytest

from polyml.codegen.ir.array_layout import placed_whole
from polyml.gpu.thread_accesses import uses
from tests.gpu.mapping import problem, source_nests


def found_in(function, shapes):
    found, sizes = problem(function, *(np.zeros(shape) for shape in shapes))
    (nest,) = source_nests(found)
    return uses(nest, found.scop, sizes, placed_whole(found.scop, sizes, 256)).uses


def summary(function, shapes):
    found = found_in(function, shapes)
    return {("store " * use.is_write + use.text): (use.loops, use.held, use.points.count_val().to_python()) for use in found}


def test_the_innermost_loops_that_move_nothing_are_held():
    def product(A, x, B):
        for i in range(B.shape[0]):
            for j in range(B.shape[1]):
                for k in range(A.shape[1]):
                    for m in range(x.shape[0]):
                        B[i, j] += A[i, k] * x[m]

    found = summary(product, [(5, 6), 7, (5, 4)])
    assert found["A[i, k] of S0"] == (("i", "j", "k"), ("m",), 5 * 4 * 6)
    assert found["x[m] of S0"] == (("i", "j", "k", "m"), (), 5 * 4 * 6 * 7)  # k is not innermost
    assert found["B[i, j] of S0"] == found["store B[i, j] of S0"] == (("i", "j"), ("k", "m"), 20)


def test_loads_of_one_element_are_one():
    def twice(A, B):
        for i in range(A.shape[0]):
            B[i] = A[i] * A[i] + A[i]

    assert len(found_in(twice, [9, 9])) == 2


def test_what_is_stored_first_is_not_loaded():
    def restarted(A, x):
        for i in range(x.shape[0]):
            x[i] = 1.0
            for k in range(A.shape[1]):
                x[i] += A[i, k]

    assert [use.is_write for use in found_in(restarted, [(5, 6), 5]) if use.array == "x"] == [True]


def test_what_is_stored_in_later_iterations_alone_is_loaded():
    """The sum of k = 0 comes before the first store of 2."""

    def late(A, x):
        for i in range(x.shape[0]):
            for k in range(A.shape[1]):
                if k > 0:
                    x[i] = 2.0
                x[i] += A[i, k]

    assert [use.is_write for use in found_in(late, [(5, 6), 5]) if use.array == "x"] == [False, True]

    def always(A, x):
        for i in range(x.shape[0]):
            for k in range(A.shape[1]):
                x[i] = 2.0
                x[i] += A[i, k]

    assert [use.is_write for use in found_in(always, [(5, 6), 5]) if use.array == "x"] == [True]


def test_some_threads_load():
    def half(A, x):
        for i in range(x.shape[0]):
            if i < 3:
                x[i] = 0.0
            for k in range(A.shape[1]):
                x[i] += A[i, k]

    (load,) = [use for use in found_in(half, [(8, 6), 8]) if use.array == "x" and not use.is_write]
    assert load.points.count_val().to_python() == 5


def test_one_of_two_elements_in_a_loop_is_not_held():
    def switched(A, x):
        for i in range(x.shape[0]):
            for k in range(x.shape[0]):
                x[i] += A[min(k, 3)]

    assert [found for text, found in summary(switched, [9, 9]).items() if text.startswith("A")] == [(("i", "k"), (), 81)]


def test_an_array_that_is_stored_elsewhere_is_loaded_each_time():
    def solve(A, B):
        for j in range(B.shape[1]):
            for i in range(1, B.shape[0]):
                B[i, j] = B[i, j] + B[0, j] * A[i]

    found = summary(solve, [6, (6, 5)])
    assert found["B[0, j] of S0"] == (("j", "i"), (), 25) and found["A[i] of S0"] == (("j", "i"), (), 25)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_parts_of_complex_numbers_are_beside_each_other(dtype):
    def scaled(A, B):
        for i in range(A.shape[0]):
            B[i] = A[i]

    found, sizes = problem(scaled, np.zeros(50, dtype), np.zeros(50, dtype))
    for nest in source_nests(found):
        for use in uses(nest, found.scop, sizes, placed_whole(found.scop, sizes, 256)).uses:
            assert use.element_bytes == np.dtype(dtype).itemsize // 2
            assert use.step(use.loops.index("i")) == np.dtype(dtype).itemsize
