"""umap-learn: its modules distances, utils, umap_ and layouts."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from benchmarks.found.entry import bits, of_module, vectors

_VECTOR = 1_000_000
_pair = vectors(2)


def _matrix_form(rng: Generator, n: int) -> tuple:
    return rng.random(n), rng.random(n), rng.random((n, n))


def _points(count: int, size: int):
    return lambda rng, n: tuple(rng.random(size) + 0.5 for _ in range(count))


def _counts(rng: Generator, n: int) -> tuple:
    return tuple(rng.integers(0, 9, n).astype(float) for _ in range(2))


def _ball(rng: Generator, n: int) -> tuple:
    return tuple(rng.random(n) / (2 * n) for _ in range(2))


def _sinkhorn(rng: Generator, n: int) -> tuple:
    kernel = rng.random((n, n)).astype(np.float32) + np.float32(0.1)
    return rng.random(n), rng.random(n), kernel, rng.random((n, n))


def _state(rng: Generator, n: int) -> tuple:
    return (rng.integers(-(2**31), 2**31, 3),)


def _submatrix(rng: Generator, n: int) -> tuple:
    return rng.random((n, n)), rng.integers(0, n, (n, 15)), 15


def _distances_to_neighbours(rng: Generator, n: int) -> tuple:
    return np.sort(rng.random((n, 15)).astype(np.float32), axis=1), 15.0


def _membership(rng: Generator, n: int) -> tuple:
    indices = rng.integers(0, n, (n, 15)).astype(np.int32)
    distances = np.sort(rng.random((n, 15)).astype(np.float32), axis=1)
    return indices, distances, rng.random(n).astype(np.float32) + np.float32(0.1), distances[:, 0].copy()


def _categories(rng: Generator, n: int) -> tuple:
    rows, columns = rng.integers(0, n, (2, 10 * n)).astype(np.int32)
    return rows, columns, rng.random(10 * n), rng.integers(-1, 5, n).astype(float)


def _rows_of_graph(rng: Generator, n: int) -> tuple:
    return np.arange(0, 10 * n + 1, 10, dtype=np.int32), rng.random(10 * n).astype(np.float32)


def _transform(rng: Generator, n: int) -> tuple:
    return rng.integers(0, n, (n, 15)), rng.random((n, 15)).astype(np.float32), rng.random((n, 2)).astype(np.float32)


def _update(rng: Generator, n: int) -> tuple:
    return rng.random((2 * n, 2)), n, rng.integers(0, n, (2 * n, 15))


DISTANCES = of_module(
    "umap-learn", "umap.distances",
    {
        "sign": (lambda rng, n: (-0.25,),),
        "softmax": (vectors(1), _VECTOR),
        "euclidean": (_pair, _VECTOR),
        "euclidean_grad": (_pair, _VECTOR),
        "standardised_euclidean": (vectors(3), _VECTOR),
        "standardised_euclidean_grad": (vectors(3), _VECTOR),
        "manhattan": (_pair, _VECTOR),
        "manhattan_grad": (_pair, _VECTOR),
        "chebyshev": (_pair, _VECTOR),
        "chebyshev_grad": (_pair, _VECTOR),
        "minkowski": (_pair, _VECTOR),
        "minkowski_grad": (_pair, _VECTOR),
        "poincare": (_ball, _VECTOR),
        "hyperboloid_grad": (_pair, _VECTOR),
        "weighted_minkowski": (vectors(3), _VECTOR),
        "weighted_minkowski_grad": (vectors(3), _VECTOR),
        "mahalanobis": (_matrix_form, 2_000),
        "mahalanobis_f64": (_matrix_form, 2_000),
        "mahalanobis_grad": (_matrix_form, 2_000),
        "hamming": (bits, _VECTOR),
        "canberra": (_pair, _VECTOR),
        "canberra_grad": (_pair, _VECTOR),
        "bray_curtis": (_pair, _VECTOR),
        "bray_curtis_grad": (_pair, _VECTOR),
        "jaccard": (bits, _VECTOR),
        "matching": (bits, _VECTOR),
        "dice": (bits, _VECTOR),
        "kulsinski": (bits, _VECTOR),
        "rogers_tanimoto": (bits, _VECTOR),
        "russellrao": (bits, _VECTOR),
        "sokal_michener": (bits, _VECTOR),
        "sokal_sneath": (bits, _VECTOR),
        "haversine": (_points(2, 2),),
        "haversine_grad": (_points(2, 2),),
        "yule": (bits, _VECTOR),
        "cosine": (_pair, _VECTOR),
        "cosine_grad": (_pair, _VECTOR),
        "correlation": (_pair, _VECTOR),
        "hellinger": (_pair, _VECTOR),
        "hellinger_grad": (_pair, _VECTOR),
        "softmax_hellinger": (_pair, _VECTOR),
        "softmax_hellinger_grad": (_pair, _VECTOR),
        "approx_log_Gamma": (lambda rng, n: (4.5,),),
        "log_beta": (lambda rng, n: (2.5, 40.0),),
        "log_single_beta": (lambda rng, n: (2.5,),),
        "ll_dirichlet": (_counts, _VECTOR),
        "symmetric_kl": (_pair, _VECTOR),
        "symmetric_kl_grad": (_pair, _VECTOR),
        "correlation_grad": (_pair, _VECTOR),
        "sinkhorn_distance": (_sinkhorn, 400),
        "spherical_gaussian_energy_grad": (_points(2, 3),),
        "gaussian_energy_grad": (_points(2, 5),),
        "spherical_gaussian_grad": (_points(2, 3),),
        "categorical_distance": (lambda rng, n: (3, 4),),
        "ordinal_distance": (lambda rng, n: (3.0, 4.5),),
        "count_distance": (lambda rng, n: (2, n), _VECTOR),
    },
)  # fmt: skip

UTILS = of_module(
    "umap-learn", "umap.utils",
    {
        "fast_knn_indices": (lambda rng, n: (rng.random((n, n)), 10), 500),
        "tau_rand_int": (_state,),
        "tau_rand": (_state,),
        "norm": (vectors(1), _VECTOR),
        "submatrix": (_submatrix, 2_000),
    },
)  # fmt: skip

UMAP = of_module(
    "umap-learn", "umap.umap_",
    {
        "smooth_knn_dist": (_distances_to_neighbours, 2_000),
        "compute_membership_strengths": (_membership, 20_000),
        "fast_intersection": (_categories, 50_000),
        "reprocess_row": (vectors(1), 10_000),
        "reset_local_metrics": (_rows_of_graph, 2_000),
        "init_transform": (_transform, 50_000),
        "init_update": (_update, 50_000),
    },
)  # fmt: skip

LAYOUTS = of_module(
    "umap-learn", "umap.layouts",
    {
        "clip": (lambda rng, n: (4.5,),),
        "rdist": (lambda rng, n: tuple(rng.random(n).astype(np.float32) for _ in range(2)), _VECTOR),
    },
)  # fmt: skip

FUNCTIONS = DISTANCES + UTILS + UMAP + LAYOUTS
