"""Instances of regions in lanes: what they return, write and raise is what plain Python does, whatever ways the lanes go."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polyml

SIZES = (0, 1, 7, 8, 9, 31)


def escape_times(x, steps):
    for i in range(x.shape[0]):
        z = 0.0
        n = 0
        for _ in range(20):
            if z * z > 4.0:
                break
            z = z * z + x[i]
            n += 1
        steps[i] = n


def nested(x, out):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(6):
            if x[i] * j > 2.0:
                continue
            for k in range(j):
                if total > 3.0:
                    break
                total += x[i] * k
            else:
                total -= 0.5
            if total < -4.0:
                break
        out[i] = total


def own_bounds(x, counts, out):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(counts[i], -1, -2):
            total = total * 0.5 + x[i] - j
            if total > 5.0:
                total -= 7.0
        out[i] = total


def lazily(x, k, out):
    for i in range(out.shape[0]):
        n = 0
        at = k[i]
        while at < x.shape[0] and x[at] > -0.5 or n == 0:
            n += 1
            at += 1 if n % 2 == 0 else math.floor(x[i]) + 2
        out[i] = x[at] if at < x.shape[0] else -1.0


def elements_as_numbers(x, out, best):
    for i in range(out.shape[0]):
        j = 0
        while j < 5 and out[i] < 3.0:
            out[i] += abs(x[i]) + 0.25
            j += 1
            if out[i] > 2.0:
                best[i] = j


def with_functions(x, out):
    for i in range(x.shape[0]):
        y = x[i]
        n = 0
        while abs(y) > 0.1 and n < 12:
            y = math.sin(y) * 0.9 if y > 0 else y + np.exp(y) * 0.3
            n += 1
        out[i] = y + n


def flags(x, mask):
    for i in range(x.shape[0]):
        odd = False
        j = 0
        while j < 9 and not (odd and j * x[i] > 5.0):
            if x[i] * j > 1.0 or x[i] < -1.0:
                odd = not odd
            j += 1
        mask[i] = odd


def random_numbers(seeds, out):
    for i in range(seeds.shape[0]):
        state = seeds[i] & 0x7FFFFFFF
        total = 0.0
        while total < 3.0:
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            total += state / 2147483648.0
        out[i] = total


def collatz(first, steps):
    for i in range(first.shape[0]):
        n = int(first[i])
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        steps[i] = count


def in_rows(A, out):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            v = A[i, j]
            n = 0
            while v < 10.0 and n < 30:
                v = v * 1.5 + 0.1
                n += 1
            out[i, j] = n


def searched(x, k, out):
    for i in range(k.shape[0]):
        low = 0
        high = k[i]
        while low < high:
            middle = (low + high) // 2
            if x[middle] < 0.25:
                low = middle + 1
            else:
                high = middle
        out[i] = low


def walked(x, k, out):
    for i in range(k.shape[0]):
        at = k[i]
        n = 0
        while x[at] < 0.5 and n < 3:
            at -= 1
            n += 1
        out[i] = at


CASES = {
    escape_times: lambda n, rng: (rng.uniform(-2, 1, n), np.zeros(n, int)),
    nested: lambda n, rng: (rng.uniform(-2, 2, n), np.zeros(n)),
    own_bounds: lambda n, rng: (rng.uniform(-2, 2, n), rng.integers(-3, 9, n), np.zeros(n)),
    lazily: lambda n, rng: (rng.uniform(-1, 1, n), rng.integers(0, max(n, 1), n), np.zeros(n)),
    elements_as_numbers: lambda n, rng: (rng.uniform(-1, 1, n), rng.uniform(0, 4, n), np.full(n, -1)),
    with_functions: lambda n, rng: (rng.uniform(-2, 2, n), np.zeros(n)),
    flags: lambda n, rng: (rng.uniform(-2, 2, n), np.zeros(n, bool)),
    random_numbers: lambda n, rng: (rng.integers(0, 2**40, n), np.zeros(n)),
    collatz: lambda n, rng: (rng.integers(1, 200, n), np.zeros(n, np.int32)),
    in_rows: lambda n, rng: (rng.uniform(0, 9, (5, n)), np.zeros((5, n), int)),
    searched: lambda n, rng: (np.sort(rng.random(n)), rng.integers(0, n + 1, n), np.zeros(n, int)),
    walked: lambda n, rng: (rng.random(n), rng.integers(0, max(n, 1), n), np.zeros(n, int)),
}


def in_lanes(function, **settings):
    return polyml.kernel(function, cache=False, fallback="error", on_defect="raise", **settings)


def agrees(function, kernel, arguments, others):
    """Compares what both do with two copies of the arguments: what they raise, and what is in memory behind that."""
    raised = []
    for call, given in ((kernel, arguments), (function, others)):
        try:
            call(*given)
        except IndexError as problem:
            raised.append(problem)
    assert len(raised) != 1
    for one, other in zip(arguments, others):
        np.testing.assert_allclose(one, other, rtol=1e-14 if function is with_functions else 0, atol=0)


def copied(arguments):
    return [each.copy() for each in arguments]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [each for each in CASES if each is not walked], ids=lambda function: function.__name__)
def test_lanes_do_what_python_does(function, threads):
    kernel, rng = in_lanes(function, fp="strict", threads=threads), np.random.default_rng(3)
    for n in SIZES:
        arguments = CASES[function](n, rng)
        agrees(function, kernel, copied(arguments), copied(arguments))
    assert "iterations of its loop run together" in kernel.explain()


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_lanes_of_views_with_strides_do_what_python_does(function):
    arguments = CASES[function](21, np.random.default_rng(4))
    got, wanted = ([each[..., ::-2] for each in copied(arguments)] for _ in range(2))
    agrees(function, in_lanes(function, fp="strict", threads=1), got, wanted)


@pytest.mark.parametrize("place", [0, 3, 8, 20])
@pytest.mark.parametrize("bad", [60, -60])
def test_an_index_outside_stops_where_python_stops(place, bad):
    rng = np.random.default_rng(5)
    x, k, out = CASES[walked](24, rng)
    k[place] = bad
    got, wanted = out.copy(), out.copy()
    with pytest.raises(IndexError, match=f"index {bad}"):
        in_lanes(walked, threads=1)(x, k, got)
    with pytest.raises(IndexError):
        walked(x, k, wanted)
    assert got.tolist() == wanted.tolist()


def test_an_int_that_leaves_64_bits_stops_where_python_goes_on_with_more_bits():
    first = np.array([27, 3, 97, 2**62 + 1, 5, 6, 7, 8, 9, 11])
    steps = np.zeros(10, int)
    with pytest.raises(OverflowError):
        in_lanes(collatz, threads=1)(first, steps)
    assert steps.tolist() == [111, 7, 118, 0, 0, 0, 0, 0, 0, 0]


def test_a_float_that_is_no_int_stops_where_python_stops():
    def rounded(x, out):
        for i in range(x.shape[0]):
            n = 0
            while n < 3:
                n += int(x[i])
            out[i] = n

    x = np.linspace(1.0, 9.0, 20)
    x[11] = np.nan
    got, wanted = np.zeros(20, int), np.zeros(20, int)
    with pytest.raises(ValueError):
        in_lanes(rounded, threads=1)(x, got)
    with pytest.raises(ValueError):
        rounded(x, wanted)
    assert got.tolist() == wanted.tolist()


def test_an_exception_in_a_lane_is_raised_where_python_raises_it():
    def settled(x, out):
        for i in range(x.shape[0]):
            y = x[i]
            n = 0
            while y > 0.1:
                y = y * y - 0.25 * y + 0.1
                n += 1
                if n > 30 or y > 1e6:
                    raise ValueError("it does not end")
            out[i] = n

    def in_rows(x, out):
        for i in range(x.shape[0]):
            for j in range(3):
                y = x[i] * j
                while y > 0.5:
                    y *= 0.5
                    if y > 400.0:
                        raise ArithmeticError("large")
                out[i, j] = y

    for function, shape, error in ((settled, 20, ValueError), (in_rows, (20, 3), ArithmeticError)):
        x = np.linspace(0.0, 1.0, 20)
        x[13] = 900.0
        got, wanted = np.zeros(shape), np.zeros(shape)
        kernel = in_lanes(function, threads=1, fp="strict")
        with pytest.raises(error) as raised:
            kernel(x, got)
        with pytest.raises(error) as expected:
            function(x, wanted)
        assert str(raised.value) == str(expected.value) and got.tobytes() == wanted.tobytes()
        kernel(x[:13], got[:13]), function(x[:13], wanted[:13])
        assert got.tobytes() == wanted.tobytes()


def test_the_first_iteration_of_all_threads_is_told_of():
    x, k, out = CASES[walked](4000, np.random.default_rng(6))
    k[3000], k[2100], k[3999] = 9999, 8888, 7777
    with pytest.raises(IndexError, match="index 8888"):
        in_lanes(walked, threads=2)(x, k, out)


def test_loops_that_depend_on_each_other_have_no_lanes():
    def summed(x, out):
        for i in range(1, x.shape[0]):
            n = 0
            while out[i - 1] + n < x[i]:
                n += 1
            out[i] = n

    kernel = in_lanes(summed)
    x = np.random.default_rng(7).uniform(0, 20, 50)
    got, wanted = np.zeros(50), np.zeros(50)
    kernel(x, got)
    summed(x, wanted)
    assert got.tolist() == wanted.tolist()
    assert "run together" not in kernel.explain()


def test_the_setting_vectorize_leaves_lanes_out():
    kernel = in_lanes(escape_times, vectorize=False)
    kernel(*CASES[escape_times](40, np.random.default_rng(8)))
    assert "run together" not in kernel.explain()
