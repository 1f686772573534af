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


def rows_of_a_region(x, k, out):
    for i in range(out.shape[0]):
        total = k[i]
        for j in range(out.shape[1]):
            total = int(x[total % x.shape[0]])
        out[i, 0] = total


def rows_as_data_say(x, k, out):
    for i in range(out.shape[0]):
        for j in range(k[i]):
            out[i, 0] += x[j]


@pytest.mark.parametrize("function, is_counted", [(rows_of_a_region, True), (rows_as_data_say, False)])
def test_loops_of_a_region_count_as_they_are_where_sizes_say_how_long(function, is_counted):
    args = np.arange(5.0), np.array([1, 4, 2]), np.zeros((3, 3))
    kernel = polyml.kernel(function, cache=False, threads=2, fallback="error")
    text = re.search(r"(?s)define i64 @polyml_kernel\(.*?\n}", str(kernel.inspect_llvm(*args))).group()
    assert text.count("i64 1048576)") == (2 if is_counted else 1)  # the loop's length is limited, and its work
    own, plain = [[a.copy() for a in args] for _ in range(2)]
    kernel(*own)
    function(*plain)
    assert all(map(np.array_equal, own, plain))


def steps_of_few_operations(x, out):
    for i in range(out.shape[0]):
        t = x[i]
        while t > 1.0:
            t *= 0.5
        out[i] = t


def steps_of_many_operations(x, out):
    for i in range(out.shape[0]):
        t = x[i]
        while t > 1.0:
            t = np.exp(-t) / (1.0 + np.sin(t)) + np.cos(t) ** 3.5
        out[i] = t


def test_operations_of_a_region_count_as_work():
    args = np.full(3, 9.0), np.zeros(3)
    works = []
    for function in (steps_of_few_operations, steps_of_many_operations):
        kernel = polyml.kernel(function, cache=False, threads=2, fallback="error")
        works.append(int(re.search(r"mul i64 16, (\d+)", str(kernel.inspect_llvm(*args))).group(1)))
    assert works[0] < 10 < 150 < works[1]


def test_functions_of_threads_know_what_was_checked_at_entry():
    args = np.arange(5.0), np.array([1, 4, 2]), np.zeros((3, 3))
    kernel = polyml.kernel(rows_as_data_say, cache=False, threads=2, fallback="error")
    kernel(*args)
    text = re.search(r"(?s)define hidden void @polyml_kernel.parallel1\(.*?\n}", str(kernel.inspect_llvm(*args))).group()
    assert text.count("call void @llvm.assume") >= 3
    for sizes in ((0, 4), (3, 0), (1, 1)):
        x, k, out = np.arange(9.0), np.full(sizes[0], 2), np.zeros(sizes)
        if sizes[1]:
            kernel(x, k, out)
            assert (out[:, 0] == 1.0).all()


def gathered_beside(k, x, y, ptr, z):
    for i in range(k.shape[0]):
        y[i] = x[k[i]] * 2.0
    for i in range(ptr.shape[0] - 1):
        total = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            total += x[p % x.shape[0]]
        z[i] = total


def test_functions_of_threads_take_nothing_for_granted_of_elements_of_index_arrays():
    kernel = polyml.kernel(gathered_beside, cache=False, threads=2, fallback="error")
    for least, most in ((0, 6), (9, 9), (-10, -1)):
        k, x, ptr = np.random.default_rng(1).integers(least, most + 1, 5000), np.arange(10.0), np.arange(0, 20_001, 4)
        own, other = (np.zeros(5000), np.zeros(5000)), (np.zeros(5000), np.zeros(5000))
        kernel(k, x, own[0], ptr, own[1])
        gathered_beside(k, x, other[0], ptr, other[1])
        assert all(map(np.array_equal, own, other))
    text = re.search(r"(?s)define hidden void @polyml_kernel.parallel1\(.*?\n}", str(kernel.inspect_llvm())).group()
    assert len(re.findall(r"xor i1 (%\w+), true\n *call void @llvm.assume", text)) == 1  # of y and k, none of elements
