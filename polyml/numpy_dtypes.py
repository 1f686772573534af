"""NumPy's type objects of polyml's types, and complex numbers as pairs of parts. bfloat16 is one of ml_dtypes, which is imported where a bfloat16 is first met."""

from __future__ import annotations

from functools import cache

import numpy as np

from polyml.dtypes import BF16, OF_PYTHON, DType


@cache
def numpy_dtype(dtype: DType) -> np.dtype:
    """Returns NumPy's dtype for a type of polyml, the same object every time.

    >>> numpy_dtype(BF16).itemsize
    2
    """
    if dtype == BF16:
        import ml_dtypes  # noqa: F401  adds the name to NumPy's
    return np.dtype(dtype.numpy_name)


def number_type(dtype: DType) -> type:
    """Returns the Python class of a type's numbers: int, float, complex or bool for a weak type, else a scalar class of NumPy.

    >>> number_type(DType("float", "f", 64, weak=True))
    <class 'float'>
    """
    return next((kind for kind, own in OF_PYTHON.items() if own == dtype), None) or numpy_dtype(dtype).type


def as_pairs(array: np.ndarray) -> np.ndarray:
    """Returns an array of complex numbers as a view of their real and imaginary parts, with one more dimension, the first."""
    parts = array.real
    return np.lib.stride_tricks.as_strided(
        parts, (2, *array.shape), (parts.itemsize, *array.strides), writeable=array.flags.writeable
    )
