"""Powers by a number: square roots where NumPy's loops over elements take them, which is at -0.0 and -inf another number."""

import numpy as np
import pytest

import polyml

NUMBERS = [-0.0, 0.0, -np.inf, np.inf, np.nan, -1.0, 4.0, 2.0, 0.1, 1e300]


def of_array(x, p):
    return x**0.5, np.power(x, 0.5), x ** np.float64(0.5), x ** np.float16(0.5)


def in_place(x, p):
    x **= 0.5
    x[1:] = x[1:] ** 0.5
    return x


def of_elements(x, p):
    y, z = np.zeros(x.shape), np.zeros(x.shape)
    for i in range(x.shape[0]):
        y[i] = x[i] ** 0.5  # not a root: NumPy's numbers have another power than its arrays
        z[i] = np.power(x[i], 0.5)
    return y, z


def by_an_argument(x, p):
    return x**p, np.power(x, p)


def by_a_number(x, p):
    total = p * x.shape[0] / x.shape[0]
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        y[i] = np.power(x[i], total)
    return x**total, y


def by_an_array(x, p):
    return x ** np.full(x.shape[0], 0.5)


def _all(result):
    return result if isinstance(result, tuple) else (result,)


FUNCTIONS = [of_array, in_place, of_elements, by_an_argument, by_a_number, by_an_array]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int64", "int8"])
@pytest.mark.sweep("function", keep=2)
def test_powers_by_a_half_are_those_of_numpy(function, kind):
    if kind[0] == "i" and function is in_place:
        return
    numbers = np.array(NUMBERS if kind[0] == "f" else [0, 4, -9, 2])
    with np.errstate(all="ignore"):
        numbers = numbers.astype(kind)
    for settings in ({}, {"fp": "strict"}, {"threads": 2}):
        kernel = polyml.kernel(fallback="error", cache=False, **settings)(function)
        for x in (numbers, numbers[:1], numbers[: function is by_a_number]):
            with np.errstate(all="ignore"):
                expected, got = function(x.copy(), 0.5), kernel(x.copy(), 0.5)
            for one, other in zip(_all(expected), _all(got)):
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, rtol=1e-15)
                assert np.array_equal(np.signbit(one[one == one]), np.signbit(other[other == other]))


def test_other_exponents_are_powers():
    for p in (2, 2.0, -1, 3, 0, 1, 0.25):
        x = np.array(NUMBERS)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(polyml.kernel(fallback="error")(by_an_argument)(x, p), by_an_argument(x, p), rtol=1e-15)
