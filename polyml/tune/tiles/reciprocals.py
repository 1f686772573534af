"""Costs of tiles that are expected from the costs of others: what a loop costs as it starts is shared by its iterations, so that
costs per instance are a sum of reciprocals of tile sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

RIDGE = 1e-3  # of the largest cost: the weight of the ridge regression


def expected(known: Mapping[tuple[int, ...], float], sizes: np.ndarray) -> np.ndarray:
    """Returns costs of tiles that are expected from the known costs of others. A cost is taken for a sum of coefficients times 1 /
    size of each loop's tile and 1 / (size * size) of each two loops, plus a constant; the coefficients are fitted to the known
    costs.

    known: tile sizes -> cost; errors relative to these costs are minimised.
    sizes: the tile sizes whose costs are returned, a row each.
    """
    least = np.min(sizes, axis=0)
    costs = np.array([*known.values()])
    rows = _terms(np.array([*known], float), least) / costs[:, None]
    ridge = RIDGE * np.diag([0.0, *[1.0] * (rows.shape[1] - 1)]) / np.max(costs) ** 2
    found = np.linalg.lstsq(rows.T @ rows + ridge, rows.T @ np.ones(len(costs)), rcond=None)[0]
    return _terms(sizes.astype(float), least) @ found


def _terms(sizes: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Returns the terms that the fit has coefficients for, as a row for each row of sizes: 1, least / size for each loop, and the
    product of these quotients for each two loops.

    sizes: tile sizes, a row for each tile and a column for each loop.
    least: the least size of each loop.
    """
    each = (least / sizes).T
    return np.stack([np.ones(len(sizes)), *each, *(a * b for a, b in combinations(each, 2))], axis=1)
