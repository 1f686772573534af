"""correlation: corr := the M x M Pearson correlation of N observations, data (N, M). Normalises data in place.

mean and stddev are (M,); a standard deviation of at most 0.1 is replaced by 1.
"""

import math

import numpy as np

import polyml
from polyml.kernels._data import largest
from polyml.kernels._sizes import size_table

SIZES = size_table("M N", (28, 32), (80, 100), (240, 260), (1200, 1400), (2600, 3000))
OUTPUTS = ("corr", "mean", "stddev")


@polyml.kernel
def correlation(float_n, data, corr, mean, stddev):
    eps = 0.1
    for j in range(data.shape[1]):
        mean[j] = 0.0
        for i in range(data.shape[0]):
            mean[j] += data[i, j]
        mean[j] /= float_n
    for j in range(data.shape[1]):
        stddev[j] = 0.0
        for i in range(data.shape[0]):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] /= float_n
        stddev[j] = np.sqrt(stddev[j])
        stddev[j] = 1.0 if stddev[j] <= eps else stddev[j]
    for i in range(data.shape[0]):
        for j in range(data.shape[1]):
            data[i, j] -= mean[j]
            data[i, j] /= math.sqrt(float_n) * stddev[j]
    for i in range(data.shape[1] - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, data.shape[1]):
            corr[i, j] = 0.0
            for k in range(data.shape[0]):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[data.shape[1] - 1, data.shape[1] - 1] = 1.0


def reference(float_n, data, corr, mean, stddev):
    mean = data.mean(axis=0)
    stddev = data.std(axis=0)
    stddev[stddev <= 0.1] = 1.0
    normal = (data - mean) / (np.sqrt(data.dtype.type(float_n)) * stddev)
    corr = normal.T @ normal
    np.fill_diagonal(corr, 1.0)
    return {"corr": corr, "mean": mean, "stddev": stddev}


def inputs(size, rng, dtype=np.float64):
    """Returns the arguments with variables that share one factor, so that they are correlated, and have means of their own.

    One in eight is almost constant, so that the floor of the standard deviation is used.
    """
    m, n = size["M"], size["N"]
    scale = np.where(np.arange(m) % 8 == 7, 1e-3, 1.0)
    data = scale * (rng.standard_normal((n, m)) + rng.standard_normal((n, 1))) + rng.uniform(-1.0, 1.0, m)
    return {
        "float_n": float(n),
        "data": data.astype(dtype),
        "corr": np.zeros((m, m), dtype),
        "mean": np.zeros(m, dtype),
        "stddev": np.zeros(m, dtype),
    }


def flops(size):
    m, n = size["M"], size["N"]
    return n * m + m + 4 * n * m + 2 * m + 3 * n * m + m * (m - 1) * n


def terms(size):
    return 4 * size["N"] + 8


def magnitude(float_n, data, corr, mean, stddev):
    """Returns the scale of each output's errors: entries of corr are at most 1.

    An error of the mean enters relative to the standard deviation, which is near 1 but for the columns that are not normalised.
    """
    top = largest(data)
    return {"corr": max(1.0, top), "mean": top, "stddev": top}
