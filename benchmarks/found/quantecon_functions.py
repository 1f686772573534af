"""quantecon: modules of whole programs in economics: grids, Markov chains, linear programs, quadrature."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from benchmarks.found.entry import of_module, vectors


def _stochastic(rng: Generator, n: int) -> np.ndarray:
    matrix = rng.random((n, n)) + 0.01
    return matrix / matrix.sum(axis=1, keepdims=True)


def _repeated(rng: Generator, n: int) -> tuple:
    return rng.random(n), 5, np.zeros(n * 25)


def _linear_model(rng: Generator, n: int) -> tuple:
    return rng.random((6, 6)) / 6, rng.random(6), rng.random((6, n - 1)), n


def _state_actions(rng: Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    actions = np.tile(np.arange(4), n)
    return np.repeat(np.arange(n), 4), actions, np.arange(0, 4 * n + 1, 4)


def _dense(rng: Generator, n: int) -> tuple:
    states, actions, _ = _state_actions(rng, n)
    return states, actions, rng.random((4 * n, n)), np.zeros((n, 4, n))


def _maxima(rng: Generator, n: int) -> tuple:
    _, actions, pointers = _state_actions(rng, n)
    return actions, pointers, rng.random(4 * n), np.zeros(n)


def _maxima_and_places(rng: Generator, n: int) -> tuple:
    return *_maxima(rng, n), np.zeros(n, int)


def _policy(rng: Generator, n: int) -> tuple:
    _, actions, pointers = _state_actions(rng, n)
    return actions, pointers, rng.integers(0, 4, n), np.zeros(n, int)


def _tauchen(rng: Generator, n: int) -> tuple:
    return np.linspace(-3, 3, n), np.zeros((n, n)), n, 0.9, 0.2, 3 / (n - 1)


def _paths(rng: Generator, n: int) -> tuple:
    return np.cumsum(_stochastic(rng, 10), axis=1), rng.integers(0, 10, 10), rng.random((10, n - 1)), np.zeros((10, n), int)


def _sparse_paths(rng: Generator, n: int) -> tuple:
    cdfs = np.cumsum(_stochastic(rng, 10), axis=1).ravel()
    return cdfs, np.tile(np.arange(10), 10), np.arange(0, 101, 10), *_paths(rng, n)[1:]


def _tableau(rng: Generator, n: int) -> tuple:
    return rng.random((n, 2 * n)) + 0.1, 1, n // 2


def _ratios(rng: Generator, n: int) -> tuple:
    return rng.random((n, 8)) - 0.3, 1, -1, np.arange(n), n, 1e-10, 1e-15


def _lexicographic(rng: Generator, n: int) -> tuple:
    return rng.integers(0, 3, (n, 2 * n)).astype(float), 1, n, np.zeros(n, int)


GRIDS = of_module(
    "quantecon", "quantecon._gridtools",
    {
        "_repeat_1d": (_repeated, 100_000),
        "_cartesian_index": (lambda rng, n: (rng.integers(0, 2, 8), np.full(8, 3)),),
        "simplex_grid": (lambda rng, n: (4, n), 100, 8),
        "num_compositions_jit": (lambda rng, n: (5, n),),
    },
)  # fmt: skip

INEQUALITY = of_module(
    "quantecon", "quantecon._inequality",
    {"lorenz_curve": (vectors(1), 100_000), "gini_coefficient": (vectors(1), 3_000)},
)  # fmt: skip

MODELS = of_module("quantecon", "quantecon._lss", {"simulate_linear_model": (_linear_model, 100_000)})

UTILITIES = of_module(
    "quantecon", "quantecon.markov.utilities",
    {
        "sa_indices": (lambda rng, n: (n, 4), 500_000),
        "_fill_dense_Q": (_dense, 500),
        "_s_wise_max_argmax": (_maxima_and_places, 300_000),
        "_s_wise_max": (_maxima, 300_000),
        "_find_indices": (_policy, 300_000),
        "_has_sorted_sa_indices": (lambda rng, n: _state_actions(rng, n)[:2], 500_000),
        "_generate_a_indptr": (lambda rng, n: (n, _state_actions(rng, n)[0], np.zeros(n + 1, int)), 500_000),
    },
)  # fmt: skip

MARKOV = (
    *of_module(
        "quantecon", "quantecon.markov.approximation",
        {"std_norm_cdf": (lambda rng, n: (0.3,),), "_fill_tauchen": (_tauchen, 500)},
    ),
    *of_module(
        "quantecon", "quantecon.markov.core",
        {"_generate_sample_paths": (_paths, 20_000), "_generate_sample_paths_sparse": (_sparse_paths, 20_000)},
    ),
    *of_module(
        "quantecon", "quantecon.markov.estimate",
        {"_count_transition_frequencies": (lambda rng, n: (rng.integers(0, 10, n), np.zeros((10, 10))), 1_000_000)},
    ),
    *of_module(
        "quantecon", "quantecon.markov.gth_solve",
        {"_gth_solve_jit": (lambda rng, n: (_stochastic(rng, n), np.zeros(n)), 300)},
    ),
)  # fmt: skip

PIVOTING = of_module(
    "quantecon", "quantecon.optimize.pivoting",
    {
        "_pivoting": (_tableau, 1_000),
        "_min_ratio_test_no_tie_breaking": (_ratios, 300_000),
        "_lex_min_ratio_test": (_lexicographic, 1_000),
    },
)  # fmt: skip

QUADRATURE = of_module(
    "quantecon", "quantecon.quad",
    {
        "_qnwcheb1": (lambda rng, n: (n, -1.0, 2.0), 1_000),
        "_qnwlege1": (lambda rng, n: (n, -1.0, 2.0), 1_000),
        "_qnwnorm1": (lambda rng, n: (n,), 150, 10),
        "_qnwsimp1": (lambda rng, n: (n + 1, -1.0, 2.0), 500_000),
        "_qnwtrap1": (lambda rng, n: (n, -1.0, 2.0), 500_000),
        "_qnwbeta1": (lambda rng, n: (n, 1.5, 2.0), 100, 10),
        "_qnwgamma1": (lambda rng, n: (n, 1.5, 2.0), 60, 10),
    },
)  # fmt: skip

UTIL = (
    *of_module(
        "quantecon", "quantecon.util.array",
        {"searchsorted": (lambda rng, n: (np.sort(rng.random(n)), 0.4),)},
    ),
    *of_module(
        "quantecon", "quantecon.util.combinatorics",
        {
            "next_k_array": (lambda rng, n: (np.arange(n),),),
            "k_array_rank_jit": (lambda rng, n: (np.arange(n // 4) * 2,),),
        },
    ),
    *of_module("quantecon", "quantecon.util.numba", {"comb_jit": (lambda rng, n: (n, n // 3),)}),
)  # fmt: skip

FUNCTIONS = GRIDS + INEQUALITY + MODELS + UTILITIES + MARKOV + PIVOTING + QUADRATURE + UTIL
