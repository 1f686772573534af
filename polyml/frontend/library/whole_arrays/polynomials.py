"""Powers and polynomials: np.vander."""

import numpy as np

from polyml.frontend.library.requirements import required


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


TEXTS = (vander,)
