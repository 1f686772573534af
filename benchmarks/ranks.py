"""How alike two orders are."""

from collections.abc import Sequence

import numpy as np


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns Spearman's rank correlation, where equal values share the mean of their ranks.

    It is 0.0 where all values of one side are equal.

    >>> round(rank_correlation([1, 2, 3, 4], [10, 20, 40, 30]), 6)
    0.8
    >>> rank_correlation([1, 1], [1, 2])
    0.0
    """
    ranks = [_ranks(values) for values in (first, second)]
    if any(np.ptp(r) == 0 for r in ranks):
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray:
    _, group, counts = np.unique(np.asarray(values, float), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[group]
