"""Loops over arrays, `enumerate`, `zip`, `reversed` and tuples that are written out do what they do in Python."""

import warnings

import numpy as np
import pytest

import polyml
from polyml.errors import LanguageError
from polyml.frontend.parsing.parse import parse


def dot(A, B):
    s = 0.0
    for a, b in zip(A, B):
        s += a * b
    return s


def scaled(A, B):
    for i, a in enumerate(A):
        A[i] = a * i + B[0]


def numbered_from(A, B):
    s = 0.0
    for i, a in enumerate(A, 3):
        s += i * a
    return s


def numbered_from_a_name(A, B):
    s = 0.0
    for i, a in enumerate(A, start=A.shape[0] - 1):
        A = B
        s += i * a
    return s


def nested_targets(A, B):
    for i, (a, b) in enumerate(zip(A, B)):
        A[i] = a - b * i


def number_behind(A, B):
    for a, i in zip(A, range(2, 100, 3)):
        B[i % B.shape[0]] += a


def backwards(A, B):
    s = 0.0
    for a in reversed(A):
        s = s * 0.5 + a
    return s


def backwards_over_numbers(A, B):
    s = 0.0
    for i in reversed(range(A.shape[0])):
        s = s * 0.5 + A[i]
    return s


def backwards_in_steps(A, B):
    s = 0.0
    for i in reversed(range(1, A.shape[0], 3)):
        s = s * 0.5 + A[i]
    for i in reversed(range(A.shape[0] - 1, 0, -2)):
        s = s * 0.5 + A[i]
    return s


def neighbours(A, B):
    for a, b in zip(A[1:], A[:-1]):
        B[0] += a * b


def bound_anew(A, B):
    s = 0.0
    for a in A:
        A = B
        s += a * A[0]
    return s


def number_bound_anew(A, B):
    s = 0.0
    for i, a in enumerate(A):
        i = i * 2
        s += i * a
    return s


def over_written_parts(A, B):
    for w in (1.0, -2.0, 0.5):
        for i, a in enumerate(A):
            A[i] = a * w + 1.0


def over_pairs(A, B):
    for d, w in ((1, 0.25), (2, 0.125)):
        for i in range(d, A.shape[0]):
            B[i % B.shape[0]] += w * A[i - d]


def over_arrays(A, B):
    for X in [A, B]:
        for i in range(X.shape[0]):
            X[i] += 1.0


def inner_loop_with_the_same_name(A, B):
    for i in range(A.shape[0]):
        A[i] += i
        for i in range(B.shape[0]):
            B[i] += i


FUNCTIONS = [
    dot, scaled, numbered_from, numbered_from_a_name, nested_targets, number_behind, backwards, backwards_over_numbers,
    backwards_in_steps, neighbours, bound_anew, number_bound_anew, over_written_parts, over_pairs, over_arrays, inner_loop_with_the_same_name,
]  # fmt: skip


@pytest.mark.parametrize("sizes", [(7, 7), (5, 9), (9, 4), (1, 1), (2, 3)])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_loops_do_what_they_do_in_python(function, sizes):
    rng = np.random.default_rng([*sizes])
    given = [rng.integers(-8, 9, size).astype(float) for size in sizes]
    wanted, got = [a.copy() for a in given], [a.copy() for a in given]
    kernel = polyml.kernel(function, cache=False, fallback="error")
    right, made = function(*wanted), kernel(*got)
    np.testing.assert_array_equal(made, right) if right is not None else None
    for a, b in zip(got, wanted):
        np.testing.assert_array_equal(a, b)


def rows(M):
    s = 0.0
    for i, row in enumerate(M):
        for j, x in enumerate(row):
            s += x * (i + 1) * (j - 2)
        row[0] = s
    return s


def columns(M):
    s = 0.0
    for column in M.T:
        for x in reversed(column):
            s = s * 0.5 + x
    return s


def of_one_row(M):
    s = 0.0
    for x in M[1]:
        s += x
    return s


def parts_of_rows(M):
    for a, b in zip(M[1:], M[:-1]):
        a[0] += b[-1]


@pytest.mark.parametrize("function", [rows, columns, of_one_row, parts_of_rows], ids=lambda f: f.__name__)
def test_rows_of_matrices_are_elements(function):
    given = np.arange(12.0).reshape(3, 4)
    wanted, got = given.copy(), given.copy()
    right = function(wanted)
    made = polyml.kernel(function, cache=False, fallback="error")(got)
    assert made == right
    np.testing.assert_array_equal(got, wanted)


def empty(A):
    s = 1.0
    for i, a in enumerate(A):
        s += a
    return s


def numbers_up(n, x):
    s = x * 0
    for i, j in zip(range(n), range(n)):
        s = s + i * x
    return s


def numbers_down(n, x):
    s = x * 0
    for i in reversed(range(n)):
        s = s * x + i * x
    return s


def numbers_down_in_steps(n, x):
    s = x * 0
    for i in reversed(range(1, n, 4)):
        s = s * x + i * x
    for i in reversed(range(n, -3, -5)):
        s = s * x + i * x
    return s


def pairs_down(n, x):
    s = x * 0
    for i, j in zip(range(n), reversed(range(n))):
        s = s + i * j * x
    return s


def numbered_from_a_number(n, x):
    s = x * 0
    for i, j in enumerate(range(n), n):
        s = s + i * j * x
    return s


@pytest.mark.parametrize("n", [np.int64(7), np.int32(9), 8, 0, 1, -2, 2.5, np.float64(2.0), True])
@pytest.mark.parametrize(
    "function", [numbers_up, numbers_down, numbers_down_in_steps, pairs_down, numbered_from_a_number], ids=lambda f: f.__name__
)
def test_numbers_are_pythons_whatever_their_limits_are(function, n):
    def run(called):
        try:
            result = called(n, np.float32(0.75))
            return type(result), float(result)
        except TypeError as error:
            return TypeError, str(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(polyml.kernel(function, cache=False)) == run(function)


def test_nothing_is_done_for_an_empty_array():
    assert polyml.kernel(empty, cache=False, fallback="error")(np.zeros(0)) == 1.0


def same_name_read_behind(A):
    s = 0
    for i in range(A.shape[0]):
        for i in range(3):
            A[i] += 1.0
        s += i
    return s


def same_name_read_in_the_next_iteration(A):
    for i in range(A.shape[0]):
        for j in range(2):
            A[i] += 2.0
            for i in range(3):
                A[i] += j


def same_name_limits_the_next_loop(A):
    for i in range(1, 4):
        for j in range(2):
            for i in range(i + 1):
                A[i] += j


def same_name_read_at_the_end(A):
    for i in range(A.shape[0]):
        for i in range(3):
            A[i] += 1.0
    return i


def last_values(A):
    t = 0.0
    for k, (i, a) in enumerate(zip(range(1, 50, 2), A)):
        t += i * a
    return t, k, i, a


def over_a_number(A):
    for a in A[0]:
        A[1] = a


def pairs_of_elements(A):
    for a, *b in A:
        A[0] = a


def of_zips_backwards(A):
    for a, b in reversed(zip(A, A)):
        A[0] = a


def many_parts(A):
    for w in (
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        14,
        15,
        16,
        17,
        18,
        19,
        20,
        21,
        22,
        23,
        24,
        25,
        26,
        27,
        28,
        29,
        30,
        31,
        32,
        33,
    ):
        A[0] += w


def three_for_two(A):
    for a, b, c in zip(A, A):
        A[0] = a


@pytest.mark.parametrize(
    "function",
    [
        same_name_read_behind,
        same_name_read_in_the_next_iteration,
        same_name_limits_the_next_loop,
        of_zips_backwards,
        many_parts,
        three_for_two,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_not_compiled_is_refused_by_the_parser(function):
    with pytest.raises(LanguageError):
        parse(function)


@pytest.mark.parametrize(
    "function",
    [
        same_name_read_behind,
        same_name_read_in_the_next_iteration,
        same_name_limits_the_next_loop,
        same_name_read_at_the_end,
        last_values,
        many_parts,
        over_a_number,
        three_for_two,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_not_compiled_runs_as_in_python(function):
    def run(called):
        given = np.arange(1.0, 9.0)
        try:
            return called(given), given.tolist()
        except Exception as error:
            return type(error), given.tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(polyml.kernel(function, cache=False)) == run(function)


def test_a_refused_statement_in_a_loop_over_parts_is_run_by_python(capsys):
    def told(A):
        for w in (1.0, 2.0):
            print(w)
            for i in range(A.shape[0]):
                A[i] = A[i] * w + 1.0

    wanted, got = np.ones(100), np.ones(100)
    told(wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = polyml.kernel(told, cache=False)
        for _ in range(5):
            got[:] = 1.0
            kernel(got)
    np.testing.assert_array_equal(got, wanted)
    assert capsys.readouterr().out == "1.0\n2.0\n" * 6


CALLED = np.ones(3)


def over_the_call_of_an_array(A):
    for a in CALLED(A):
        A[0] = a


def with_the_call_of_an_array(A):
    A[0] = CALLED(A)


@pytest.mark.parametrize("function", [over_the_call_of_an_array, with_the_call_of_an_array], ids=lambda f: f.__name__)
def test_what_is_called_may_be_any_object(function):
    with warnings.catch_warnings(), pytest.raises((TypeError, LanguageError)):
        warnings.simplefilter("ignore")
        polyml.kernel(function, cache=False)(np.ones(3))


def test_a_loop_that_numbers_elements_has_the_name_of_the_number():
    loop = parse(scaled).body[0]
    assert loop.var == "i"
