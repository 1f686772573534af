"""Programs that random testing found, each with what it once showed."""

import numpy as np
import pytest

import polyml
from polyml.config import Options
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.pipeline import compile as pipeline


def skewed_stencil(A):
    for t in range(2):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    A[i, j, k] = A[i + 1, j, k] - 2 * A[i, j, k] + A[i, j + 1, k] - A[i, j, k - 1]


def test_one_hard_question_about_a_nest_does_not_cost_the_kernel_its_schedule():
    """isl takes seconds for how far apart these accesses meet in skewed tiles."""
    made = pipeline.compile(
        parse(skewed_stencil), pipeline.CompileRequest((arg_type(np.ones((3, 3, 3))),), ("C",), Options(fp="strict"))
    )
    assert not [note for note in made.artifact.notes if "given up" in note]
    assert made.timings["vectorize"] < 5


def counted_under_a_condition(B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[0] - 1, -1, -1):
            if 1 <= i < 3:
                C[i] += 1
            B[j] = i


def test_iterations_that_add_to_one_element_under_a_guard_do_not_lose_any():
    B, C = np.zeros(15, int), np.zeros(15, int)
    polyml.kernel(cache=False, schedule="source")(counted_under_a_condition)(B, C)
    assert C.tolist() == [0, 15, 15] + 12 * [0]


def two_kinds_of_use(C, n):
    for i in range(C.shape[0]):
        C[i, 0] = max(n, i)
        C[i, 1] = n % 2


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, int])
def test_a_number_argument_that_is_compared_with_a_loop_variable_keeps_its_type(kind):
    C, wanted = np.zeros((5, 2), kind), np.zeros((5, 2), kind)
    polyml.kernel(cache=False, fp="strict")(two_kinds_of_use)(C, kind(3))
    two_kinds_of_use(wanted, 3)
    np.testing.assert_array_equal(C, wanted)


def test_products_of_which_the_low_bits_alone_count_may_leave_64_bits():
    def generated(state, n, out):
        for i in range(n):
            state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFF
            out[i] = state % 1024
        return state

    got, wanted = np.zeros(50, int), np.zeros(50, int)
    kernel = polyml.kernel(generated, cache=False, fallback="error")
    assert kernel(12345, 50, got) == generated(12345, 50, wanted)
    assert got.tolist() == wanted.tolist()
