"""np.round to decimals, and round of NumPy's numbers, in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python


def to_decimals(x):
    return np.round(x, 2), np.around(x, decimals=7), x.round(1), np.round(x * 3, 22)


def to_tens(x):
    return np.round(x, -1), x.round(-3)


def of_elements(x, out):
    for i in range(x.shape[0]):
        out[i] = round(x[i], 2)
    return round(x[0], 1), np.round(x[1], 3)


def of_numbers(n, s):
    return round(n, 2), round(n, 0), np.round(s, 2)


def of_a_python_float(s):
    return round(s, 2)


def numbers(kind):
    x = (np.random.default_rng(0).standard_normal(3000) * 20).astype(kind)
    if x.dtype.kind == "f":
        x[:8] = [0.125, 2.675, 0.5, -0.001, np.nan, np.inf, -np.inf, 1e30]
    return x


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "uint8"])
def test_numbers_are_rounded_to_decimals_as_numpy_does_it(kind):
    x = numbers(kind)
    check(to_decimals, (x,), (x[::2],), (x[:0],), (x.reshape(30, 100),))
    check(of_elements, (x, np.zeros(3000)))
    if x.dtype.kind == "f":
        check(to_tens, (x,), (x.reshape(30, 100),))


def test_numbers_have_the_types_of_python_and_numpy():
    check(of_numbers, (5, 2.675), (-3, np.float32(0.125)))
    check(of_a_python_float, (np.float64(2.675),), (np.float32(2.675),), (7,))


def to_more_decimals(s):
    return round(s, 11)


def test_more_decimals_than_are_exact_are_refused():
    refused = r"a Python float is rounded to 11 decimals(.|\n)*polyml compiles: NumPy's float32(.|\n)*to at most 10"
    with pytest.raises(polyml.NotAffineError, match=refused):
        polyml.kernel(fallback="error")(to_more_decimals)(2.675)
    for function, given in (
        (to_more_decimals, 2.675),
        (to_tens, np.arange(30)),
        (to_decimals, np.ones(3, np.float16)),
        (to_decimals, np.ones(3) * 1j),
    ):
        runs_as_python(function, given)
