"""Reshapes of arrays without elements, in which sizes of zero stand where others are divided."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python, refusal


def pairs(A):
    return A.reshape(-1, 2).copy()


def pairs_as_view(A):
    return A.reshape(-1, 2)


def halves(A):
    return A.reshape(2, -1) + 1


def products_of_pairs(A):
    B, s = A.reshape(-1, 2), np.zeros(1)
    for i in range(B.shape[0]):
        s[0] += B[i, 0] * B[i, 1]
    return s


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (3, 4), (1, 2)])
@pytest.mark.parametrize("function", [pairs, pairs_as_view, halves])
def test_arrays_without_elements_are_reshaped(function, shape):
    assert_python(function, np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (3, 4)])
def test_loops_over_reshaped_arrays_without_elements_do_nothing(shape):
    assert_python(products_of_pairs, np.arange(np.prod(shape), dtype=float).reshape(shape))


def by_columns(A):
    return A.reshape(A.shape[1], -1) * 2


def with_a_zero(A):
    return A.reshape(3, 0, -1) + 1


@pytest.mark.parametrize(
    ("function", "shape"), [(by_columns, (4, 0)), (by_columns, (0, 0)), (with_a_zero, (0, 4)), (with_a_zero, (3, 4))]
)
def test_an_open_size_beside_zero_is_an_error(function, shape):
    given = np.zeros(shape)
    with pytest.raises(ValueError):
        function(given)
    with pytest.raises(ValueError):
        polyml.kernel(fallback="silent", cache=False)(function)(given)
    assert_python(by_columns, np.zeros((2, 4)))


def largest_of_fifths(A):
    y = A.sum()
    if y > 100:
        y = A.reshape(5, -1).max()
    return y


def numbered(A):
    for i in range(A.shape[0]):
        A[i] = i
    return A.reshape(5, -1)


def test_a_reshape_that_does_not_fit_is_an_error_where_it_is_evaluated():
    assert_python(largest_of_fifths, np.ones(10))
    assert_python(largest_of_fifths, np.ones(4), compiles=False)
    assert_python(numbered, np.ones(4), compiles=False)
    assert "the sizes of a reshape do not match" in refusal(numbered, np.ones(4))


def in_rows(A, n):
    return A.reshape(n, -1)


@pytest.mark.parametrize("calls", [[3, 4, 6, 7, 8, 9], [4, 4, 4, 4, 4]])
def test_sizes_that_fit_are_compiled_after_many_that_do_not(calls):
    kernel = polyml.kernel(fallback="silent", cache=False)(in_rows)
    for n in calls:
        with pytest.raises(ValueError, match=rf"cannot reshape array of size {n} into shape \(5,newaxis\)"):
            kernel(np.zeros(n), 5)
        assert kernel.compiled is False
    for n in (10, 15, 10, 5):
        assert kernel(np.zeros(n), 5).shape == (5, n // 5) and kernel.compiled
    for n in (7, 11, 13, 7, 17):  # ints that do not fit, after which one that does is compiled
        with pytest.raises(ValueError):
            kernel(np.zeros(10), n)
    assert kernel(np.zeros(10), 2).shape == (2, 5) and kernel.compiled


def test_a_function_that_is_refused_for_all_sizes_is_left_to_python(monkeypatch):
    monkeypatch.setattr("polyml.api.specialised.SPECIALISATIONS", 4)
    kernel = polyml.kernel(fallback="silent", cache=False)(in_rows)
    for n in (1, 2, 3, 4, 6, 7, 8):
        with pytest.raises(ValueError):
            kernel(np.zeros(n), 5)
    assert len(kernel._kinds.settled) == 1 and not kernel._kinds.by_values
