"""np.arange of floats, and of numbers that a kernel computes, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python


def of_constants():
    some = np.arange(0.0, 1.0, 0.1), np.arange(0, 1, 0.3), np.arange(5.0), np.arange(2, -1, -0.7), np.arange(3, 1, 0.5)
    return *some, np.arange(0.1, 1.0, 0.3), np.arange(0, 2 * np.pi, np.pi / 4), np.arange(5.5, 0)


def of_numbers(a, b, h):
    return np.arange(a, b, h)


def of_elements(x):
    return np.arange(x[0]), np.arange(x[0], x[1], x[2]), np.arange(x[0], x[1], x[2], dtype=np.float64) * 2


def of_a_computed_count(x):
    n = int(x[1])
    return np.arange(n) + n, np.arange(1, n, dtype=np.float64)


def sampled(x, h):
    t = np.arange(0, x[1], h)
    y = np.zeros(len(t))
    for i in range(len(t)):
        y[i] = t[i] * 2 + i
    return t, y


def gone_through(h):
    total = 0.0
    for t in np.arange(0, 1, h):
        total += t
    return total


def in_float32(h):
    return np.arange(0, 1, h, dtype=np.float32)


def test_ranges_are_numpys():
    x = np.array([0.0, 5.0, 0.7])
    check(of_constants, (), settings=({"fp": "strict"},))
    check(of_constants, (), bound=1e-15)
    check(
        of_numbers, (0.0, 1.0, 0.1), (1, 2, 0.3), (5.0, 1.0, 1.0), (1, 10, 3), (10, 0, -3), (0.1, 1.0, 0.3), (0, 0, 1), bound=1e-15
    )
    check(of_elements, (x,), (np.array([5.0, 1.0, -0.7]),), (np.array([1, 7, 2]),), (np.array([7, 1, -2]),), bound=1e-15)
    check(of_a_computed_count, (x,))
    check(sampled, (x, 0.1), (x * 0, 0.1), (x, 5.0), bound=1e-15)
    check(gone_through, (0.1,), (0.3,), bound=1e-14)


@pytest.mark.parametrize("end, error, text", [
    (np.nan, ValueError, "arange: cannot compute length"),
    (np.inf, ValueError, "Maximum allowed size exceeded"),
])  # fmt: skip
def test_errors_are_numpys(end, error, text):
    with pytest.raises(error, match=f"^{text}$"):
        polyml.kernel(fallback="error")(of_numbers)(0.0, end, 0.5)
    runs_as_python(of_numbers, 0.0, end, 0.5)


def test_ranges_of_other_types_are_left_to_python():
    for given in ((np.float32(0), 1, 0.5), (np.int32(1), 3, 1), (0.0, 1, 0.5 + 0j)):
        runs_as_python(of_numbers, *given)
    runs_as_python(in_float32, 0.1)
    with pytest.raises(polyml.NotAffineError, match="of floats no dtype= other than float64"):
        polyml.kernel(fallback="error")(in_float32)(0.1)
