"""Rows of numbers for functions of row pointers, the numbers of all rows, and one number for each row."""

import numpy as np


def arguments(seed: int, rows: int = 40, spread: float = 4.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns random ones. spread: the standard deviation of the number of each row"""
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 5, rows))])
    return ptr, rng.standard_normal(ptr[-1]) * 3, rng.standard_normal(rows) * spread
