"""What is known of the integers of a region at a place of its code spares tests, and never one that Python needs."""

import numpy as np
import pytest

import polyml


def masked(seed, n):
    state, total = seed, 0
    k = 0
    while k < n[0]:
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        state = (state ^ (state << 13)) & 0xFFFFFFFF
        total = (total + state % (k + 7) + state // (k + 3)) & 0xFFFF
        k += 1
    return total, state


def limited(x, n):
    total = 0
    for i in range(n[0]):
        v = x[i] + 0
        if v < 0 or v > 1000:
            continue
        total = (total * 7 + v * v * v) % 1000003
    return total


def tripled(x):
    i = 0
    while x[i] != 0:
        n = int(x[i])
        x[i] = 3 * n + 1 if n % 2 else n // 2
        i += 1
    return i


def clamped(x, k):
    total = x[0] * 0.0
    i = k[0]
    while i < 5:
        if i < 0:
            i = 0
        total += x[i]
        i += 1
    return total


def counted_down(x, k):
    i = k[0]
    for _ in range(k[1]):
        if i <= 0:
            break
        i = i - x[i % 4] if i % 2 else i // 2
    return i


def outcome(function, args):
    own = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        return repr(function(*own)), own
    except (IndexError, OverflowError) as error:
        return f"{type(error).__name__}: {error}", own


def same(function, *args):
    kernel = polyml.kernel(function, fallback="error", threads=1, cache=False)
    got, wanted = outcome(kernel, args), outcome(function, args)
    assert got[0].split("\n")[0].endswith(wanted[0]) or got[0] == wanted[0]
    assert all(np.array_equal(a, b) for a, b in zip(got[1], wanted[1]) if isinstance(a, np.ndarray))
    return kernel


@pytest.mark.parametrize("seed", [1, -5, 2**62, -(2**63)])
def test_numbers_that_a_mask_bounds(seed):
    kernel = same(masked, seed, np.array([50]))
    assert "with.overflow" not in str(kernel.inspect_llvm())  # nothing here can leave 64 bits, whatever the seed


@pytest.mark.parametrize("values", [[5, 1000, 0, 3], [-1, 1001, 7], [2**62, -(2**62), 999]])
def test_numbers_that_conditions_bound(values):
    same(limited, np.array(values), np.array([len(values)]))


@pytest.mark.parametrize("first", [3, -7, (2**63 - 2) // 3 - 1, -(2**61) + 1])
def test_sums_and_products_of_one_number_have_one_test(first):
    kernel = same(tripled, np.array([first, 4, 0]))
    assert "with.overflow" not in str(kernel.inspect_llvm())


def test_what_leaves_64_bits_in_one_test_is_no_result():
    kernel = polyml.kernel(tripled, fallback="error", threads=1, cache=False)
    for first in ((2**63 - 1) // 3 + 2, -(2**63) + 1):
        with pytest.raises(OverflowError):
            kernel(np.array([first | 1, 0]))


@pytest.mark.parametrize("start", [-3, 0, 4, 7])
def test_branches_bound_an_index(start):
    same(clamped, np.arange(5.0), np.array([start]))


@pytest.mark.parametrize("start, steps", [(-3, 9), (100, 3), (100, 50), (2**62, 70)])
def test_what_a_break_bounds(start, steps):
    same(counted_down, np.array([1, 2, 3, 4]), np.array([start, steps]))
