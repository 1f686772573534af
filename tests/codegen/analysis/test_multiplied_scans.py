"""Recurrences with constant factors, c*X[i - 1] + A[i], have lanes where `fp` allows, and their rounding errors stay in the bound
that docs/meaning.md gives: 2*n*eps times the sum of the terms' magnitudes, as of one number after the other."""

import numpy as np
import pytest

import polyml
from polyml.codegen.ir.program import Jam, every
from tests.codegen.native import WIDE, compiled, copied, presets, program_of


def halved(A, B):
    for i in range(1, A.shape[0]):
        A[i] = 0.5 * A[i - 1] + B[i]


def signs(A, B):
    for i in range(1, A.shape[0]):
        A[i] = B[i] * 3.0 - (0.9 * A[i - 1] - B[i])


def divided(A, B):
    for i in range(1, A.shape[0]):
        A[i] = (B[i] - A[i - 1]) / 1.5 + 1.0


def growing(A, B):
    for i in range(1, A.shape[0]):
        A[i] = B[i] + A[i - 1] * 1.01


def backwards(A, B):
    for i in range(A.shape[0] - 2, -1, -1):
        A[i] = 0.75 * A[i + 1] + B[i]


def faded(A, B):
    x = A[0]
    for i in range(1, A.shape[0]):
        x = 0.9 * x + 0.1 * B[i]
        A[i] = x


def before(A, B):
    """Each iteration reads the number before it is updated."""
    x = A[0] - B[0]
    for i in range(A.shape[0]):
        A[i] = x
        x = B[i] - 0.5 * x


def total(A, B):
    x = A[0]
    for i in range(1, A.shape[0]):
        x = 0.5 * x + B[i]
    A[A.shape[0] - 1] = x


def on_rows(A, B):
    for k in range(3):
        x = B[k]
        for i in range(k, A.shape[0]):
            x = B[i] + x * 0.25
            A[i] += x


FACTORS = {halved: 0.5, signs: -0.9, divided: -1 / 1.5, growing: 1.01, backwards: 0.75}


def two_numbers(A, B):
    x = A[0]
    y = B[0]
    for i in range(1, A.shape[0]):
        x = 0.5 * x + 0.25 * y
        y = 0.5 * y + B[i]
        A[i] = x + y


NUMBERS = [faded, before, total, on_rows, two_numbers]  # numbers that are passed on


def coupled(A, B):
    x = A[0]
    y = B[0]
    for i in range(1, A.shape[0]):
        x = 0.5 * x + 0.25 * y
        y = 0.5 * y + x * B[i]
        A[i] = x + y


def chosen(A, B):
    x = A[0]
    for i in range(1, A.shape[0]):
        x = 0.5 * x + B[i]
        A[i] = x
        x = x if x < 1.0 else 0.0


def by_data(A, B):
    for i in range(1, A.shape[0]):
        A[i] = B[i] * A[i - 1] + 1.0


def squared(A, B):
    for i in range(1, A.shape[0]):
        A[i] = 0.5 * A[i - 1] * A[i - 1] + B[i]


def huge(A, B):
    for i in range(1, A.shape[0]):
        A[i] = 1e40 * A[i - 1] + B[i]


def tiny(A, B):
    for i in range(1, A.shape[0]):
        A[i] = 1e-40 * A[i - 1] + B[i]


def two_back(A, B):
    for i in range(2, A.shape[0]):
        A[i] = 0.5 * A[i - 1] + 0.25 * A[i - 2] + B[i]


def scans(function, fp="reassociate", dtype="float64"):
    arguments = {"A": np.zeros(3, dtype), "B": np.zeros(3, dtype)}
    program = program_of(function, arguments, WIDE[-1], fp=fp, form="source")
    return [node for node in every(program.body) if isinstance(node, Jam) and node.scans]


@pytest.mark.parametrize("function", [*FACTORS, *NUMBERS], ids=lambda f: f.__name__)
def test_they_have_lanes_unless_the_order_is_kept(function):
    assert scans(function) and scans(function, dtype="float32")
    assert not scans(function, fp="strict")


@pytest.mark.parametrize("function", [by_data, squared, huge, tiny, two_back, coupled, chosen], ids=lambda f: f.__name__)
def test_other_recurrences_have_none(function):
    assert not scans(function)


@pytest.mark.parametrize("preset", presets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", FACTORS, ids=lambda f: f.__name__)
def test_errors_stay_within_the_bound(function, dtype, preset):
    """Oracle: the same loop in numbers of more digits."""
    rng, factor = np.random.default_rng(3), abs(FACTORS[function])
    made = compiled(function, {"A": np.zeros(3, dtype), "B": np.zeros(3, dtype)}, preset, fp="reassociate", form="source")
    for n in (1, 2, 8, 9, 17, 40, 133, 260):
        given = {name: rng.uniform(-1, 1, n).astype(dtype) for name in "AB"}
        exact = {name: values.astype(np.longdouble) for name, values in given.items()}
        function(**exact)
        got = copied(given)
        status, _ = made(got, 1)
        assert status == 0
        terms, total = np.abs(given["B"]).astype(float) * 4 + 1, np.zeros(n)
        order = range(n) if function is not backwards else range(n - 1, -1, -1)
        carry = abs(float(given["A"][order[0]]))
        for k in order:
            carry = carry * factor + terms[k]
            total[k] = carry
        bound = 2 * (n + 2) * np.finfo(dtype).eps * total
        assert (np.abs(got["A"] - exact["A"]) <= bound).all()


@pytest.mark.parametrize("preset", presets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", NUMBERS, ids=lambda f: f.__name__)
def test_a_number_that_is_passed_on_is_that_of_one_iteration_after_the_other(function, dtype, preset):
    rng = np.random.default_rng(4)
    made = compiled(function, {"A": np.zeros(3, dtype), "B": np.zeros(3, dtype)}, preset, fp="reassociate", form="source")
    for n in (3, 4, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33, 34, 66, 133):
        given = {name: rng.uniform(-1, 1, n).astype(dtype) for name in "AB"}
        exact, got = {name: values.astype(np.longdouble) for name, values in given.items()}, copied(given)
        function(**exact)
        status, _ = made(got, 1)
        assert status == 0
        np.testing.assert_allclose(got["A"], exact["A"].astype(float), rtol=0, atol=40 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", [*FACTORS, faded, before], ids=lambda f: f.__name__)
def test_nan_and_infinity_are_where_one_number_after_the_other_has_them(function, odd, dtype):
    kernel = polyml.kernel(function, cache=False, threads=1)
    for place in (0, 1, 5, 20, 36):
        arrays = [np.zeros(37, dtype), np.zeros(37, dtype)]
        for name in range(2):
            arrays[name][place] = odd
            given, wanted = [a.copy() for a in arrays], [a.copy() for a in arrays]
            kernel(*given)
            with np.errstate(all="ignore"):
                function(*wanted)
            np.testing.assert_allclose(given[0], wanted[0], rtol=1e-4)
