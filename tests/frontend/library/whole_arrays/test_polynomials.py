"""np.vander and np.polyval in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python


def powers(x, n):
    some = np.vander(x), np.vander(x, 2), np.vander(x, 5, increasing=True), np.vander(x, 0), np.vander(x, 1)
    return some, np.vander(x, n), np.vander(x, N=n, increasing=True)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int8", "bool", "uint64", "complex128", "complex64"])
def test_powers_of_each_type_are_numpys(kind):
    x = (np.random.default_rng(0).random(9) * 9).astype(kind)
    check(powers, (x, 4), (x[:1], 0), (x[:0], 1), settings=({},), bound=1e-13 if kind[0] == "c" else 0)


def values(p, x, s):
    return np.polyval(p, x), np.polyval(p, s), np.polyval([1.0, -2.0, 3.0], x), np.polyval((1.5, -2.0), s)


def values_of_vectors(p, x):
    return np.polyval(p, x)


@pytest.mark.parametrize("kind", ["float64", "int64", "int8", "float32", "complex128"])
def test_polynomials_of_each_type_are_numpys(kind):
    p, x = (np.random.default_rng(0).random(4) * 5).astype(kind), np.random.default_rng(1).random(9) * 3
    bound = 1e-6 if kind == "float32" else 1e-13
    check(values_of_vectors, (p, x), (x[:3], p), (p, p), (p, x[:0]), settings=({},), bound=bound)
    if kind in ("float64", "int64"):
        check(values, (p, x, 0.5), (p[:1], x[:1], np.float64(2.5)), bound=bound)
    runs_as_python(values_of_vectors, p[:0], x)


def test_powers_are_the_same_in_each_setting():
    x = np.concatenate([np.random.default_rng(0).random(300), [np.nan, np.inf, -np.inf, -0.0]])
    check(powers, (x, 12))


def test_other_calls_are_left_to_python():
    runs_as_python(powers, np.ones((2, 2)), 2)
    with pytest.raises(ValueError, match="negative"):
        polyml.kernel(powers)(np.ones(2), -1)
    with pytest.raises(TypeError):
        polyml.kernel(powers)(np.ones(2), 1.5)
