"""np.argmax and np.argmin of all elements, which are searched in blocks: the first extremum, the first NaN."""

import numpy as np
import pytest

import polyml
from polyml.frontend.arrays.functions.extrema import ARGMAX_BLOCK

SHAPES = [
    (1,),
    (5,),
    (ARGMAX_BLOCK - 1,),
    (ARGMAX_BLOCK,),
    (ARGMAX_BLOCK + 1,),
    (5 * ARGMAX_BLOCK,),
    (7, 2 * ARGMAX_BLOCK + 3),
    (4, 1, 3),
]


def places(A):
    return np.argmax(A), A.argmin(), np.argmax(A, keepdims=True), np.argmin(-A.T)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "u8", "?"])
@pytest.mark.sweep()
def test_the_first_extremum(dtype):
    def checked(A):
        for got, expected in zip(kernel(A), function(A), strict=True):
            np.testing.assert_array_equal(got, expected)

    def truths(A):
        return np.argmax(A), A.argmin()

    function = truths if dtype == "?" else places
    kernel = polyml.kernel(cache=False, threads=2, fallback="error")(function)
    random = np.random.default_rng(0)
    for shape in SHAPES:
        for most in (1, 2, 100):  # all equal, many equal, few equal
            checked(random.integers(0, most, shape).astype(dtype))
    if dtype.startswith("f"):
        for shape in SHAPES:
            for value in (np.nan, np.inf, -np.inf):
                A = random.integers(0, 5, shape).astype(dtype)
                A.flat[random.integers(0, A.size, 2)] = value
                checked(A)
            checked(np.full(shape, np.nan, dtype))
            checked(np.where(random.random(shape) < 0.5, 0.0, -0.0).astype(dtype))


def test_what_is_computed_for_the_search_is_found_again():
    """Products and sums that one loop rounds once and another twice would not be."""

    def sums(A, B, C):
        return np.argmax(A * B + C)

    kernel = polyml.kernel(cache=False, fallback="error")(sums)
    random = np.random.default_rng(0)
    for n in (3, 100, ARGMAX_BLOCK + 7, 3 * ARGMAX_BLOCK):
        A, B, C = random.random((3, n))
        assert kernel(A, B, C) == sums(A, B, C)


def test_no_elements_are_an_error():
    kernel = polyml.kernel(cache=False)(places)
    with pytest.warns(polyml.PolymlPerformanceWarning, match="no elements"), pytest.raises(ValueError, match="empty sequence"):
        kernel(np.zeros((0, 3)))
