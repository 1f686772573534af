"""np.max and np.min: they begin with the least or greatest value of the elements' type, which no result shows."""

import numpy as np
import pytest

import polyml
from polyml.dtypes import BF16, FIXED

KINDS = [d.numpy_name for d in FIXED if d != BF16]


def extrema(A):
    return A.max(), A.min(), np.max(A, axis=0), np.min(A, axis=1, keepdims=True), A.max(axis=(0, 1))


def rows(A):
    return A.max(axis=1)


def columns(A):
    return A.min(axis=0)


def elements(kind):
    """Returns arrays of a type: random ones, the type's own limits alone, and, where it has them, NaN and zeros of both signs."""
    given = (np.random.default_rng(0).random((7, 9)) * 200 - 100).astype(kind)
    dtype = given.dtype
    if dtype.kind == "b":
        return [given, np.zeros((3, 5), bool), np.ones((3, 5), bool)]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return [given, *(np.full((3, 5), limit, dtype) for limit in (limits.min, limits.max))]
    gaps = given.copy()
    gaps[2, 3], gaps[4] = np.nan, np.inf
    return [given, gaps, np.full((3, 5), -np.inf, dtype), np.full((3, 5), np.inf, dtype), np.full((3, 5), -0.0, dtype)]


@pytest.mark.filterwarnings("ignore")  # NumPy warns of the complex infinities above
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_value_is_never_seen(kind):
    kernel = polyml.kernel(extrema, cache=False, fallback="error")
    for given in elements(kind):
        for got, wanted in zip(kernel(given), extrema(given)):
            assert np.asarray(got).dtype == np.asarray(wanted).dtype
            np.testing.assert_array_equal(got, wanted)
            if given.dtype.kind == "f":
                assert np.array_equal(np.signbit(got), np.signbit(wanted)) or np.isnan(wanted).any()


@pytest.mark.filterwarnings("ignore::polyml.PolymlPerformanceWarning")  # calls without a result run as plain Python
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("function", [rows, columns], ids=lambda f: f.__name__)
def test_no_elements_have_no_extremum(function, shape):
    kernel, given = polyml.kernel(function, cache=False), np.zeros(shape)
    axis = 1 if function is rows else 0
    if shape[axis]:
        assert kernel(given).shape == (0,) == function(given).shape
        return
    for call in (kernel, function):
        with pytest.raises(ValueError, match="zero-size array"):
            call(given)
