"""How much work a parallel loop has is told from the sizes that code is for, where these are enough to tell."""

import re

import numpy as np
import pytest

import polyml
from polyml.codegen.ir.program import Loop
from polyml.codegen.llvm.loops.parallel_work import work_at
from polyml.quasi_affine.affine import Affine, extremum, variable


def loop(var, first, last, *body, step=1, **more):
    return Loop(var, tuple(first), tuple(last), step, body, **more)


def test_the_work_of_loops_is_the_product_of_their_iterations():
    inner = loop("j", [Affine(0)], [variable("M") - 1], step=4)
    assert work_at(loop("i", [Affine(2)], [variable("N") - 1], inner), {"N": 12, "M": 40}) == [10 * 10]


def test_a_loop_over_a_tile_counts_in_the_middle_of_the_loops_around():
    tile = loop("j", [variable("i")], [extremum("min", [variable("i") + 31, variable("N") - 1])])
    assert work_at(loop("i", [Affine(0)], [variable("N") - 1], tile, step=32), {"N": 640}) == [20 * 32]


def test_work_that_depends_on_a_loop_around_is_not_known():
    assert work_at(loop("i", [variable("t")], [variable("N") - 1]), {"N": 640}) == [None]


@polyml.kernel(cache=False)
def product(alpha, beta, C, A, B):
    C[:] = alpha * (A @ B) + beta * C


def entry(*arrays):
    """The text of the kernel's own function for a call."""
    return re.search(r"(?s)define i64 @polyml_kernel\(.*?\n}", product.lower(2.0, 3.0, *arrays).llvm).group()


def test_bytes_of_copies_for_given_sizes_need_no_tests_for_overflow():
    text = entry(*(np.ones((700, 700)) for _ in range(3)))
    assert "call ptr @polyml_acquire" in text and "umul" not in text


def test_sizes_that_differ_are_refused_by_one_comparison():
    assert entry(*(np.ones((700, 700)) for _ in range(3))).count("icmp ne i64") == 3
    with pytest.warns(polyml.PolymlPerformanceWarning), pytest.raises(ValueError, match="mismatch"):
        product(2.0, 3.0, np.ones((700, 699)), np.ones((700, 701)), np.ones((700, 699)))
    C = np.ones((700, 699))
    product(2.0, 3.0, C, np.ones((700, 701)), np.ones((701, 699)))
    assert (C == 2.0 * 701 + 3.0).all()
