"""Integers that lie far apart, sorted by their digits in kernels, beside NumPy's sorts."""

import numpy as np
import pytest

from tests.frontend.library.compare import check


def rows(A):
    return np.sort(A), np.argsort(A, kind="stable", axis=0)


def single(v):
    return np.sort(v, kind="stable"), np.argsort(v, kind="stable")


def far_apart(kind, size):
    """Returns vectors of a type: spread over its whole range, close together with one far away, and with few different numbers far apart."""
    numbers = np.random.default_rng(size)
    least, greatest = np.iinfo(kind).min, np.iinfo(kind).max
    spread = numbers.integers(least, greatest, size, dtype=kind, endpoint=True)
    close = (numbers.integers(0, size * 20, size) % (greatest // 2)).astype(kind)
    close[size // 2] = greatest
    low = np.append(close[1:], np.array([least], kind))
    few = spread[numbers.integers(0, 5, size)]
    multiples = (spread >> np.array(12, kind)) << np.array(12, kind) if greatest > 2**20 else spread
    almost = np.sort(spread)
    almost[::10] = spread[::10]
    return spread, close, low, few, multiples, almost, np.sort(spread), np.sort(spread)[::-1], np.full(size, greatest)


@pytest.mark.parametrize("kind", ["int64", "int32", "int16", "uint64", "uint32"])
def test_integers_that_lie_far_apart_are_sorted_by_digits(kind):
    given = [v for size in (63, 64, 300, 4200) for v in far_apart(kind, size)]
    check(single, *((v,) for v in given), settings=({"threads": 2},))
    tables = [np.array(far_apart(kind, size)) for size in (64, 300)]
    check(rows, *((A,) for A in tables), (tables[1][:, ::-2],), settings=({"fp": "strict"},))


def test_two_numbers_at_both_ends_of_their_range_keep_the_order_of_equal_ones():
    ends = np.array([np.iinfo("int64").min, np.iinfo("int64").max])
    check(single, (ends[np.arange(500) % 3 % 2],), (ends[np.random.default_rng(0).integers(0, 2, 3000)],))
