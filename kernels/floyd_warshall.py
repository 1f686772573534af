"""floyd-warshall: path[i, j] := length of the shortest way from i to j; path (N, N) holds the edge lengths, ints."""

import numpy as np

import polyml
from polyml.kernels._sizes import size_table

DTYPE = "int32"
SIZES = size_table("N", (60,), (180,), (500,), (2800,), (5600,))
OUTPUTS = ("path",)


@polyml.kernel
def floyd_warshall(path):
    for k in range(path.shape[0]):
        for i in range(path.shape[0]):
            for j in range(path.shape[0]):
                path[i, j] = path[i, j] if path[i, j] < path[i, k] + path[k, j] else path[i, k] + path[k, j]


def reference(path):
    path = path.copy()
    for k in range(path.shape[0]):
        np.minimum(path, path[:, k, None] + path[k], out=path)
    return {"path": path}


def inputs(size, rng, dtype=np.int32):
    """Returns the edge lengths of a random graph with about one edge in three.

    A missing edge is longer than any path, and short enough that sums stay in range.
    """
    n = size["N"]
    length = rng.integers(1, 1000, (n, n))
    path = np.where(rng.random((n, n)) < 0.3, length, 1_000_000)
    np.fill_diagonal(path, 0)
    return {"path": path.astype(dtype)}


def flops(size):
    return 2 * size["N"] ** 3


terms = None
