"""covariance: cov := the M x M sample covariance of N observations, data (N, M). Centres data in place; mean (M,)."""

import numpy as np

import polyml
from polyml.kernels._data import largest
from polyml.kernels._sizes import size_table

SIZES = size_table("M N", (28, 32), (80, 100), (240, 260), (1200, 1400), (2600, 3000))
OUTPUTS = ("cov", "data", "mean")


@polyml.kernel
def covariance(float_n, data, cov, mean):
    for j in range(data.shape[1]):
        mean[j] = 0.0
        for i in range(data.shape[0]):
            mean[j] += data[i, j]
        mean[j] /= float_n
    for i in range(data.shape[0]):
        for j in range(data.shape[1]):
            data[i, j] -= mean[j]
    for i in range(data.shape[1]):
        for j in range(i, data.shape[1]):
            cov[i, j] = 0.0
            for k in range(data.shape[0]):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= float_n - 1.0
            cov[j, i] = cov[i, j]


def reference(float_n, data, cov, mean):
    mean = data.mean(axis=0)
    data = data - mean
    return {"cov": data.T @ data / (float_n - 1.0), "data": data, "mean": mean}


def inputs(size, rng, dtype=np.float64):
    """Returns the arguments with variables that share one factor, so that they are correlated, and have means of their own."""
    m, n = size["M"], size["N"]
    data = rng.standard_normal((n, m)) + rng.standard_normal((n, 1)) + rng.uniform(-1.0, 1.0, m)
    return {
        "float_n": float(n),
        "data": data.astype(dtype),
        "cov": np.zeros((m, m), dtype),
        "mean": np.zeros(m, dtype),
    }


def flops(size):
    m, n = size["M"], size["N"]
    return n * m + m + n * m + m * (m + 1) // 2 * (2 * n + 1)


def terms(size):
    return 3 * size["N"] + 3


def magnitude(float_n, data, cov, mean):
    top = largest(data)
    return {"cov": top * top * float_n / max(float_n - 1.0, 1.0), "data": top, "mean": top}
