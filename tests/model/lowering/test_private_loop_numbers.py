"""Numbers that a loop alone uses are made in it, where that changes nothing."""

import numpy as np
import pytest

import polyml


def moved(x, out):
    for i in range(out.shape[0]):
        a = x[0] * 0 + 1.5 * i
        b = 0.5 + i / 3.0
        c = b * 2.0
        for j in range(out.shape[1]):
            v = b + j
            while v < 9.0:
                v += c
            out[i, j] = v


def read_behind(x, out):
    total = 0.0
    for i in range(out.shape[0]):
        b = 0.5 + i / 3.0
        for j in range(out.shape[1]):
            v = b + j
            while v < 9.0:
                v += 1.5
            out[i, j] = v
        total += b
    return total


def returned(x, out):
    b = 7.0
    for i in range(out.shape[0]):
        b = 0.5 + i / 3.0
        for j in range(out.shape[1]):
            v = b + j
            while v < 9.0:
                v += 1.5
            out[i, j] = v
    return b


def changed(x, out):
    for i in range(out.shape[0]):
        b = 0.5 + i / 3.0
        for j in range(out.shape[1]):
            while b < 9.0:
                b += x[j] + 0.25
            b -= 7.0
            out[i, j] = b


def of_what_changes(x, out):
    last = 0.0
    for i in range(out.shape[0]):
        b = last * 0.5 + 1.0
        for j in range(out.shape[1]):
            v = b
            while v < 9.0:
                v += x[j] + 0.25
            last = v
            out[i, j] = v
    return last


def in_a_bound(x, out):
    for i in range(out.shape[0]):
        b = 0.5 * i
        for j in range(min(int(b), out.shape[1])):
            v = b
            while v < 9.0:
                v += 1.25
            out[i, j] = v


@pytest.mark.parametrize(
    "function", [moved, read_behind, returned, changed, of_what_changes, in_a_bound], ids=lambda each: each.__name__
)
@pytest.mark.parametrize("shape", [(5, 9), (3, 0), (0, 4)])
def test_loops_behind_numbers_do_what_python_does(function, shape):
    x = np.random.default_rng(1).random(9)
    got, wanted = np.zeros(shape), np.zeros(shape)
    kernel = polyml.kernel(function, cache=False, fallback="error", fp="strict")
    assert kernel(x, got) == function(x, wanted)
    assert got.tobytes() == wanted.tobytes()


def test_both_loops_are_parallel_then():
    def grid(step, out):
        for i in range(out.shape[0]):
            b = 0.5 + i * step
            for j in range(out.shape[1]):
                v = b + j
                n = 0
                while v < 9.0:
                    v += 0.5
                    n += 1
                out[i, j] = n

    kernel = polyml.kernel(grid, cache=False, fallback="error")
    got, wanted = np.zeros((6, 20), np.uint8), np.zeros((6, 20), np.uint8)
    kernel(0.25, got)
    grid(0.25, wanted)
    assert got.tolist() == wanted.tolist()
    assert "for j in range(out.shape[1]):  # j" in kernel.explain() and "go their own ways together" in kernel.explain()
