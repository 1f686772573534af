"""What costs that are known of some tiles say of others: what each loop inside a tile costs as it starts, so much less for each
instance as the loop is longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

RIDGE = 1e-3  # of the greatest cost, by which each coefficient is held near 0


def expected(known: Mapping[tuple[int, ...], float], sizes: np.ndarray) -> np.ndarray:
    """Costs of tiles of these sizes, a row each: a sum of reciprocals of sizes, and of two of them, fitted to the known ones so
    that errors relative to these are small.
    """
    least = np.min(sizes, axis=0)
    costs = np.array([*known.values()])
    rows = _terms(np.array([*known], float), least) / costs[:, None]
    held = RIDGE * np.diag([0.0, *[1.0] * (rows.shape[1] - 1)]) / np.max(costs) ** 2
    found = np.linalg.lstsq(rows.T @ rows + held, rows.T @ np.ones(len(costs)), rcond=None)[0]
    return _terms(sizes.astype(float), least) @ found


def _terms(sizes: np.ndarray, least: np.ndarray) -> np.ndarray:
    """1, and reciprocals from 0 to 1."""
    each = (least / sizes).T
    return np.stack([np.ones(len(sizes)), *each, *(a * b for a, b in combinations(each, 2))], axis=1)
