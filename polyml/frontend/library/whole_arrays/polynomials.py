"""Powers and polynomials: np.vander and np.polyval."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import is_float64, is_number, is_wide, ndim


def vander(x, N=None, increasing=False):
    """Returns the matrix of the powers of numbers, each the one before it times the number."""
    required(x.ndim == 1, "np.vander of an array with several dimensions; vectors")
    count = x.shape[0] if N is None else N
    powers = np.empty((x.shape[0], count), dtype=np.result_type(x, np.int64(0)))
    columns = powers if increasing else powers[:, ::-1]
    for k in range(min(1, count)):
        columns[:, k] = 1
    for k in range(1, min(2, count)):
        columns[:, k] = x
    for k in range(2, count):
        columns[:, k] = columns[:, k - 1] * x
    return powers


def polyval(p, x):
    """Returns the values of a polynomial, from its coefficients, the highest power first, by Horner's rule."""
    factors = np.asarray(p)
    required(factors.ndim == 1 and is_number(factors) and is_number(x), "np.polyval of this; a vector of coefficients, of numbers")
    required(factors.shape[0] > 0, "np.polyval without coefficients")
    if ndim(x) == 0:
        required(
            is_wide(factors) and is_wide(x) and (is_float64(factors) or is_float64(x)),
            "np.polyval at a number of this type; float64",
        )
        value = np.float64(0.0)
        for k in range(factors.shape[0]):
            value = value * x + factors[k]
        return value
    else:
        values = np.zeros(x.shape, dtype=np.result_type(factors, x))
        for k in range(factors.shape[0]):
            values[...] = values * x + factors[k]
        return values


TEXTS = (vander, polyval)
