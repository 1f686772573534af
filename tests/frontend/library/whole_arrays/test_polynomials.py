"""np.vander in kernels, beside NumPy's."""

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


def test_powers_are_the_same_in_each_setting():
    x = np.concatenate([np.random.default_rng(0).random(300), [np.nan, np.inf, -np.inf, -0.0]])
    check(powers, (x, 12))


def test_other_calls_are_left_to_python():
    runs_as_python(powers, np.ones((2, 2)), 2)
    with pytest.raises(ValueError, match="negative"):
        polyml.kernel(powers)(np.ones(2), -1)
    with pytest.raises(TypeError):
        polyml.kernel(powers)(np.ones(2), 1.5)
