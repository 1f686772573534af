"""NumPy's own type objects. bfloat16 is one of ml_dtypes, which is imported where a bfloat16 is first met."""

from __future__ import annotations

from functools import cache

import numpy as np

from polyml.dtypes import BF16, DType


@cache
def numpy_dtype(dtype: DType) -> np.dtype:
    """NumPy's type of numbers held as `dtype`, the same object every time.

    >>> numpy_dtype(BF16).itemsize
    2
    """
    if dtype == BF16:
        import ml_dtypes  # noqa: F401  adds the name to NumPy's
    return np.dtype(dtype.numpy_name)
