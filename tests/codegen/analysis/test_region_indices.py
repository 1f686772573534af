"""Indices with products of numbers, as in `w[offset + i * step]`, are tested before a loop, and errors are Python's."""

import numpy as np
import pytest

import polyml


def steps_through(w, x, starts, steps, y):
    for t in range(y.shape[0]):
        step, count, total = int(steps[t]), int(starts[t]) % 5 + 1, 0.0
        for i in range(count):
            total += w[starts[t] + i * step] * x[i]
        y[t] = total


def backwards(w, n, step, first):
    out = np.zeros(n)
    end = first
    while end > 0:
        end -= 1
        for i in range(n - 1, -1, -1):
            out[i] += w[(n - i) * step - end]
    return out


def of_numbers_around(w, scale, k, y):
    step = int(scale * 4.0)
    for t in range(y.shape[0]):
        for i in range(k[t]):
            y[t] += w[i * step]


def stored(w, n, step, k):
    for t in range(k.shape[0]):
        for i in range(k[t]):
            w[i * step + n] = t + i


def outcome(function, arguments):
    own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        result = function(*own)
    except (IndexError, OverflowError) as error:  # Python's ints do not leave 64 bits here: documented in docs/meaning.md
        result = error
    return result, [a for a in own if isinstance(a, np.ndarray)]


def check(function, arguments, **options):
    compiled = polyml.kernel(function, cache=False, fallback="error", **options)
    (found, arrays), (wanted, others) = outcome(compiled, arguments), outcome(function, arguments)
    if isinstance(wanted, Exception):
        assert isinstance(found, type(wanted)) or isinstance(found, OverflowError), (found, wanted)
    else:
        np.testing.assert_array_equal(found, wanted)
    for one, other in zip(arrays, others):
        np.testing.assert_array_equal(one, other)


FAR = (2**26, 2**27, 2**28, 2**40, 2**61, -(2**27), -(2**61))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_values_are_those_of_python(dtype, fp):
    rng = np.random.default_rng(0)
    w, x = rng.integers(0, 9, 60).astype(dtype), rng.integers(0, 9, 60).astype(dtype)
    starts, steps = rng.integers(0, 9, 12), rng.integers(-2, 10, 12)
    check(steps_through, (w, x, starts, steps, np.zeros(12)), fp=fp)
    for n, step, first in ((5, 3, 4), (5, 0, 2), (0, 3, 4), (1, 59, 1), (5, -3, 4), (7, 8, 1)):
        check(backwards, (w, n, step, first), fp=fp)
    for scale in (0.25, 0.0, 2.0, -0.5, 3.75, 5.0):
        check(of_numbers_around, (w, scale, np.array([3, 0, 1, 4]), np.zeros(4)), fp=fp)
        check(stored, (w, 1, int(scale * 4), np.array([3, 0, 1, 4])), fp=fp)


@pytest.mark.parametrize("step", FAR)
def test_errors_of_far_indices_are_pythons(step):
    w = np.arange(60.0)
    check(of_numbers_around, (w, step / 4, np.array([1, 0, 1, 4]), np.zeros(4)))
    check(stored, (w, 3, step, np.array([1, 0, 1, 4])))
    check(backwards, (w, 5, step, 1))
    check(steps_through, (w, w, np.array([3, 2, 1, 0]), np.array([0, 1, step, 2]), np.zeros(4)))


def test_a_loop_with_such_indices_has_a_form_without_tests():
    text = str(polyml.kernel(of_numbers_around, threads=1).inspect_llvm("f64[:]", "float", "i64[:]", "f64[:]"))
    assert "fast" in text and "mul nsw" in text


def from_narrow(k, x, y, n):
    for p in range(k.shape[0]):
        first = k[p] + k[0]
        for c in range(n):
            y[p] += x[first + c] * x[k[p] - c]


def scaled_narrow(k, x, y, n):
    for p in range(k.shape[0]):
        for c in range(n):
            y[p] += x[k[p] * 2 + c]


def while_narrow(k, x, y, n):
    for p in range(k.shape[0]):
        c = 0
        while c < n:
            y[p] += x[k[p] + c]
            c += 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("function", [from_narrow, scaled_narrow, while_narrow])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sweep("function", keep=3)
def test_sums_of_narrow_integers_wrap_as_they_do_in_numpy(function, dtype):
    x = np.random.default_rng(3).random(260)
    most = int(np.iinfo(dtype).max)
    for values in (
        [0, 3, 5],
        [0, 120, 60],
        [2, 127, 100],
        [0, 250, 9],
        [most, 0],
        [most - 3, 1],
        [-3 % (most + 1), 2],
        [0, -1 % (most + 1)],
    ):
        for n in (0, 1, 7, 9, 140):
            check(function, (np.array([v % (most + 1) for v in values], dtype), x, np.zeros(len(values)), n), fp="strict")
    if np.dtype(dtype).kind == "i":
        for values in ([-2, -1], [-100, 100], [int(np.iinfo(dtype).min), 3]):
            check(function, (np.array(values, dtype), x, np.zeros(len(values)), 9), fp="strict")
