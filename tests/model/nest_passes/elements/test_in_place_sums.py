"""A sum is added up in the element that it is added to, where nobody can tell but by rounding."""

import numpy as np
import pytest

import polyml
from polyml.pipeline.passes import without
from tests.passing import before_and_after


def product(A, B, C):
    C += A @ B


def lower(A, B, C):
    for i in range(B.shape[0]):
        B[i] += A[i + 1 :, i] @ B[i + 1 :]


def taken(A, B, C):
    C -= A @ B


def factor(A, B, C):
    for i in range(C.shape[0]):
        C[i, i] = np.sqrt(np.abs(C[i, i] - A[i, :i] @ A[i, :i]) + B[i, i])


def from_the_sum(A, B, C):
    for i in range(C.shape[0]):
        C[i, i] = A[i] @ B[i] - C[i, i]


def divided_by_another(A, B, C):
    for i in range(C.shape[0]):
        C[i, 0] = (C[i, 0] - A[i] @ B[i]) // (C[0, 0] * C[0, 0] + 1)


def scaled(A, B, C):
    C += 2 * (A @ B)


def of_itself(A, B, C):
    for i in range(B.shape[0]):
        B[i] += A[:, i] @ B


def used_again(A, B, C):
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j]
        C[i, 0] += s
        C[i, 1] = s


def random(dtype=float, n=9):
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, (n, n)).astype(dtype) for _ in range(3)]


@pytest.mark.parametrize(
    "function", [product, lower, taken, factor, from_the_sum, divided_by_another, scaled, of_itself, used_again]
)
@pytest.mark.parametrize("dtype", [float, np.int64, np.int8])
@pytest.mark.filterwarnings("ignore::polyml.PolymlPerformanceWarning")
def test_results_are_those_of_numpy(function, dtype):
    if dtype is np.int8 and function is used_again:
        pytest.skip("a Python number and elements of 8 bits")
    wanted, got = random(dtype), random(dtype)
    function(*wanted)
    polyml.kernel(function, cache=False)(*got)
    for a, b in zip(wanted, got):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("function", "line"), [
    (product, "C[_i1, _i2] = C[_i1, _i2] + A[_i1, _i3]*B[_i3, _i2]"),
    (lower, "B[i, _i3] = B[i, _i3] + A[i + _i2 + 1, i]*B[i + _i2 + 1, _i3]"),
    (taken, "C[_i1, _i2] = C[_i1, _i2] - A[_i1, _i3]*B[_i3, _i2]"),
])  # fmt: skip
def test_what_is_added_is_added_to_the_element(function, line):
    gone, come = before_and_after("in_place_sums", function, *random())
    assert len([each for each in come if "*" in each]) == 1 and any("= 0.0" in each for each in gone)


def test_what_is_done_to_the_element_with_its_sum_is_done_behind_it():
    gone, come = before_and_after("in_place_sums", factor, *random())
    assert [line.strip() for line in come] == [
        "C[i, i] = C[i, i] - A[i, _i1]*A[i, _i1]", "C[i, i] = sqrt(abs(C[i, i]) + B[i, i])"
    ]  # fmt: skip


@pytest.mark.parametrize("function", [scaled, of_itself, used_again, from_the_sum, divided_by_another])
def test_a_sum_stays_that_is_scaled_or_needed_again_or_reads_the_element(function):
    assert before_and_after("in_place_sums", function, *random()) == ([], [])


def test_the_order_of_sums_stays_where_it_counts():
    assert before_and_after("in_place_sums", product, *random(), fp="strict") == ([], [])


def test_the_order_of_integers_does_not_count():
    assert before_and_after("in_place_sums", product, *random(np.int64), fp="strict") != ([], [])


def test_large_numbers_stay_within_the_bound_of_the_sum():
    rng = np.random.default_rng(3)
    A, B, C = rng.random((40, 300)), rng.random((300, 40)), 1e6 * rng.random((40, 40))
    exact = (C.astype(np.longdouble) + A.astype(np.longdouble) @ B.astype(np.longdouble)).astype(float)
    terms = 301 * np.finfo(float).eps * (np.abs(C) + A @ B)
    got = C.copy()
    polyml.kernel(product, cache=False)(A, B, got)
    assert (np.abs(got - exact) <= terms).all()
    with without("in_place_sums"):
        other = C.copy()
        polyml.kernel(product, cache=False)(A, B, other)
    assert (np.abs(other - exact) <= terms).all()
