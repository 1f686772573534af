"""Python's sum, any, all, min and max of arrays, generators and what else a loop can go over."""

import warnings

import numpy as np
import pytest

import polyml
from polyml.frontend.parsing.builtin_reductions import COMPENSATES


def sum_of_array(A):
    return sum(A)


def least_and_greatest(A):
    return min(A), max(A)


def range_of_parts(A):
    return max(A[1:]) - min(A * 2)


def any_and_all(A):
    return any(A > 3), all(A > 0)


def any_and_all_of_numbers(A):
    return any(A), all(A)


def any_of_generator(A):
    return any(a > 3 for a in A), all(a < 3 for a in A if a != 1)


def all_of_list(A):
    return all([a > -3 for a in A])


def any_that_stops(A):
    return any(A[i + 2] > 1 for i in range(A.shape[0]) if i + 2 < A.shape[0])


def sum_of_range(A):
    return sum(range(A.shape[0]))


def of_written_parts(A):
    return sum((A[0], A[1])), min((A[0], A[1], A[-1])), max([A[1], A[0]]), any((A[0] > 1, A[1] > 1))


def of_parts_of_each_row(A):
    for i in range(A.shape[0]):
        A[i] = max(A[: i + 1]) * 2 + sum(A[:i])
    return A[-1]


def own_names(A):
    a = 2.0
    s = any(a > 3 for a in A)
    return s, a


def of_numpy(A):
    return sum(np.abs(A)), max(np.sqrt(np.abs(A)))


def as_arguments(A):
    return max(min(A), A[0]) + sum(A) * sum(A[::2])


FUNCTIONS = [
    sum_of_array, least_and_greatest, range_of_parts, any_and_all, any_and_all_of_numbers, any_of_generator, all_of_list,
    any_that_stops, sum_of_range, of_written_parts, of_parts_of_each_row, own_names, of_numpy, as_arguments,
]  # fmt: skip
GIVEN = [
    np.arange(6.0), np.arange(6.0, dtype=np.float32) + 0.25, np.arange(6), np.array([1, 0, 2], np.int8), np.array([5.0, np.nan, -2.0]),
    np.array([np.nan, 1.0, 0.0]), np.array([3.0, -4.0]),
]  # fmt: skip


def outcome(called, given):
    try:
        result = called(given)
    except Exception as error:
        return type(error)
    values = result if isinstance(result, tuple) else (result,)
    return [(getattr(value, "dtype", None), str(value)) for value in values], str(given)


@pytest.mark.parametrize("given", GIVEN, ids=lambda a: f"{a.dtype}-{a.size}")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_are_pythons(function, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = polyml.kernel(function, cache=False, fp="strict", fallback="error")
        wanted, got = outcome(function, given.copy()), outcome(kernel, given.copy())
    assert got == wanted


@pytest.mark.parametrize("function", [sum_of_array, least_and_greatest, any_and_all], ids=lambda f: f.__name__)
@pytest.mark.parametrize("given", [np.zeros(0), np.zeros(0, np.int16), np.ones((2, 3)), np.ones((3, 0))], ids=str)
def test_what_is_not_compiled_is_pythons_too(function, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = polyml.kernel(function, cache=False)
        assert str(outcome(kernel, given.copy())) == str(outcome(function, given.copy()))


def sum_of_generator(A):
    return sum(a * a for a in A if a > 1), sum(a * b for a in A for b in A), sum(i * a for i, a in enumerate(A))


def test_sums_of_generators_are_compiled_where_they_are_additions():
    wanted = sum_of_generator(np.arange(6.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if COMPENSATES else "error")
        assert polyml.kernel(sum_of_generator, cache=False)(np.arange(6.0)) == wanted


def refused_inside(A):
    s = sum(map(abs, A))
    for i in range(A.shape[0]):
        A[i] = A[i] * s
    t = any(print(a) for a in A)
    for i in range(A.shape[0]):
        A[i] = A[i] + 1.0
    return s, t


def test_what_is_refused_is_the_statement(capsys):
    wanted, got = np.array([2.0, -3.0, 1.0]), np.array([2.0, -3.0, 1.0])
    right = refused_inside(wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = polyml.kernel(refused_inside, cache=False)
        assert kernel(got) == right
    np.testing.assert_array_equal(got, wanted)
    assert len([*kernel.compiled_parts()]) == 2
    assert len(capsys.readouterr().out.splitlines()) == 6


def lazily(A):
    return A[0] > 1 and any(A > 2)


def with_a_start(A):
    return sum(A, 1.0)


def by_a_key(A):
    return max(A, key=abs)


@pytest.mark.parametrize("function", [lazily, with_a_start, by_a_key], ids=lambda f: f.__name__)
def test_other_forms_run_as_python(function):
    given = np.array([2.0, -3.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert polyml.kernel(function, cache=False)(given) == function(given)
