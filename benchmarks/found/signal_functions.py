"""stumpy (its module core), resampy and trackpy: series, sound and images."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from benchmarks.found.entry import of_module

_WINDOW = 8


def _profile(rng: Generator, n: int) -> tuple:
    return _WINDOW, rng.random(n), 0.5, 0.3, rng.random(n), rng.random(n) + 0.1, False, rng.random(n) < 0.1


def _mass(rng: Generator, n: int) -> tuple:
    return rng.random(_WINDOW), rng.random(n + _WINDOW - 1), *_profile(rng, n)[1:]


def _one_distance(rng: Generator, n: int) -> tuple:
    return _WINDOW, 2.0, 0.5, 0.3, 0.4, 0.2, False, False


def _nan_variance(rng: Generator, n: int) -> tuple:
    return rng.random(n), _WINDOW, np.ones(n - _WINDOW + 1, bool)


def _merged(rng: Generator, n: int) -> tuple:
    return rng.random(n), rng.random(n), rng.integers(0, n, n), rng.integers(0, n, n)


def _multi(rng: Generator, n: int) -> tuple:
    return 3, 5, rng.random((3, n)), np.zeros(n), 0, np.zeros((3, n)), np.zeros((3, n), int)


def _incremental(rng: Generator, n: int) -> tuple:
    return rng.random(n), np.sort(rng.random((n, 3)), axis=1), rng.integers(0, n, (n, 3)), 2


CORE = of_module(
    "stumpy", "stumpy.core",
    {
        "_sliding_dot_product": (lambda rng, n: (rng.random(_WINDOW), rng.random(n)), 100_000),
        "_welford_nanvar": (_nan_variance, 300_000),
        "_rolling_nanstd_1d": (lambda rng, n: (rng.random(n), _WINDOW), 100_000),
        "_calculate_squared_distance": (_one_distance,),
        "_calculate_squared_distance_profile": (_profile, 500_000),
        "calculate_distance_profile": (_profile, 500_000),
        "_p_norm_distance_profile": (lambda rng, n: (rng.random(_WINDOW), rng.random(n)), 100_000),
        "_mass": (_mass, 500_000),
        "_apply_exclusion_zone": (lambda rng, n: (rng.random(n), n // 2, n // 4, np.inf),),
        "_count_diagonal_ndist": (lambda rng, n: (np.arange(-n // 2, n // 2), _WINDOW, n, n), 1_000_000),
        "_get_array_ranges": (lambda rng, n: (rng.integers(1, 9, n), 4, False), 500_000),
        "_get_ranges": (lambda rng, n: (n, 4, False), 500_000),
        "_rolling_isconstant": (lambda rng, n: (rng.integers(0, 2, n), 3), 100_000),
        "_total_diagonal_ndists": (lambda rng, n: (-3, 5, n, n + 3),),
        "_merge_topk_PI": (_merged, 500_000),
        "_shift_insert_at_index": (lambda rng, n: (rng.random(n), n // 2, 0.5), 1_000_000),
        "_compute_multi_PI": (_multi, 100_000),
        "_update_incremental_PI": (_incremental, 10_000),
    },
)  # fmt: skip


def _resampled(rng: Generator, n: int) -> tuple:
    window = np.sinc(np.linspace(0, 8, 4097)) * np.hanning(8193)[4096:]
    differences = np.zeros_like(window)
    differences[:-1] = np.diff(window)
    return rng.random(n), np.arange(int(n * 0.75)) / 0.75, window, differences, 512, 0.75, np.zeros(int(n * 0.75))


def _disk(radius: int) -> tuple[np.ndarray, np.ndarray]:
    axis = np.arange(-radius, radius + 1)
    return np.nonzero(axis[:, None] ** 2 + axis**2 <= radius**2)


def _features(rng: Generator, n: int) -> tuple:
    radius, size = 5, 128
    rows, columns = _disk(radius)
    coords = rng.integers(radius + 1, size - radius - 1, (n, 2))
    image = rng.random((size, size)) + 0.1
    return image, radius, radius, coords, n, 10, 0.6, size, size, rows, columns, rows.size, np.zeros((n, 3))


def _characterized(rng: Generator, n: int) -> tuple:
    image, *rest, _ = _features(rng, n)
    rows, columns, _ = rest[-3:]
    angle = np.arctan2(columns - 5.0, rows - 5.0)
    squares = (rows - 5) ** 2 + (columns - 5) ** 2
    return rng.random(image.shape), image, *rest[:8], *rest[8:], squares, np.cos(2 * angle), np.sin(2 * angle), np.zeros((n, 8))


SAMPLING = of_module(
    "resampy", "resampy.interpn",
    {"_resample_loop_p": (_resampled, 50_000, 60), "_resample_loop_s": (_resampled, 50_000, 60)},
)  # fmt: skip

FEATURES = of_module(
    "trackpy", "trackpy.refine.center_of_mass",
    {"_numba_refine_2D": (_features, 1_000), "_numba_refine_2D_c": (_characterized, 1_000)},
)  # fmt: skip

FUNCTIONS = CORE + SAMPLING + FEATURES
