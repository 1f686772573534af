"""Values that are computed ahead for strips of iterations change no result, no error, and nothing of what is written before one."""

import warnings

import numpy as np
import pytest

import polyml


def histogram(x, low, high, counts):
    for i in range(x.shape[0]):
        if x[i] >= low and x[i] < high:
            k = int((x[i] - low) / (high - low) * counts.shape[0])
            counts[k] += 1


def unguarded(x, low, high, counts):
    for i in range(x.shape[0]):
        k = int((x[i] - low) / (high - low) * counts.shape[0])
        counts[k] += 1


def histogram_of_pairs(x, low, high, counts):
    last = -1
    for i in range(0, x.shape[0] - 1, 2):
        j = min(int(x[i] * 3.0), counts.shape[0] - 1)
        k = int(np.sqrt(abs(x[i + 1])))
        last = j + k
        if x[i] > low:
            counts[j] += 1
        else:
            counts[k] -= 1
        counts[j - 1] += k
    return last


def conditions(x, low, high, counts):
    total = 0
    for i in range(x.shape[0]):
        k = int(x[i])
        if k >= 0 and x[i] < high:
            m = int(x[i] / 2.0)
            if m < counts.shape[0]:
                counts[m] += k
                k = m - 1
            else:
                total += 1
        elif x[i] > 2.0 * low:
            counts[0] -= k
        total += k
    return total


def own_input(x, low, high, counts):
    for i in range(x.shape[0]):
        k = int(x[i] / 2.0)
        counts[k] += 1
        x[k] = x[i] - 1.0


def carried(x, low, high, counts):
    place = 0
    for i in range(x.shape[0]):
        k = int(x[i] / 4.0 + 0.5)
        place = (place + k) % 7
        counts[place] += k
        counts[k] += place
    return place


def backwards(x, low, high, counts):
    for i in range(x.shape[0] - 1, -1, -1):
        k = int(x[i] / 4.0)
        counts[k] = i


FUNCTIONS = (histogram, unguarded, histogram_of_pairs, conditions, own_input, carried, backwards)


def outcome(call, arguments):
    """Returns what a call does: its result or error, and its arguments after it."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = call(*arguments)
        except (ValueError, OverflowError, IndexError) as error:
            made = next(kind.__name__ for kind in (IndexError, OverflowError, ValueError) if isinstance(error, kind))
    return made, *(a.tolist() if isinstance(a, np.ndarray) else a for a in arguments)


@pytest.mark.parametrize("threads, fp", [(1, "reassociate"), (2, "strict")])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.sweep("function", keep=2)
def test_as_in_python(function, dtype, threads, fp):
    kernel = polyml.kernel(function, fallback="error", threads=threads, fp=fp)
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 63, 64, 65, 127, 128, 129, 130, 300):
        for width, bins in ((10.0, 12), (30.0, 40)):
            x = rng.uniform(0.0, width, size).astype(dtype)
            for odd in (None, -0.5, -3.0, width * 4, np.nan, np.inf):
                if odd is not None and size:
                    x[size * 2 // 3] = odd
                made, wanted = (outcome(f, (x.copy(), 0.0, width, np.zeros(bins, np.int64))) for f in (kernel, function))
                assert str(made) == str(wanted), (size, odd)


def test_strips_are_made():
    kernel = polyml.kernel(histogram, fallback="error")
    kernel(np.random.default_rng(1).uniform(0, 1, 1000), 0.0, 1.0, np.zeros(10, np.int64))
    assert "[64 x i64], align 64" in kernel.inspect_llvm()


def test_one_array_for_two_arguments():
    def moved(x, y, counts):
        for i in range(x.shape[0]):
            k = int(x[i] / 2.0)
            counts[k] += 1
            y[i] = x[i // 2] + 1.0

    kernel = polyml.kernel(moved, fallback="error")
    made, wanted = (np.arange(200.0) % 17 for _ in range(2))
    counts, right = np.zeros((2, 200), np.int64)
    kernel(made[:150], made[50:], counts)
    moved(wanted[:150], wanted[50:], right)
    assert np.array_equal(made, wanted) and np.array_equal(counts, right)


def test_elements_that_a_condition_guards_are_not_read_ahead():
    def guarded(x, n, counts):
        for i in range(n):
            if i < x.shape[0]:
                k = int(x[i] / 2.0)
                counts[k] += 1

    kernel = polyml.kernel(guarded, fallback="error")
    x, counts, right = np.arange(100.0), np.zeros(50, np.int64), np.zeros(50, np.int64)
    kernel(x, 5000, counts)
    guarded(x, 5000, right)
    assert np.array_equal(counts, right)
