"""Loops over ranges whose step is computed: its sign is known as the call runs, and zero raises what Python raises."""

from __future__ import annotations

import numpy as np
import pytest

import polyml


def sieve(flags):
    n = flags.shape[0]
    for p in range(2, n):
        if p * p >= n:
            break
        if flags[p]:
            for q in range(p * p, n, p):
                flags[q] = False


def stepped(A, a, b, s):
    total = 0
    for i in range(a, b, s):
        if i == 7:
            continue
        if i == 9:
            break
        A[i] += 1
        total += i
    else:
        total += 1000
    return total


def of_elements(A, steps):
    for k in range(steps.shape[0]):
        for i in range(0, A.shape[0], steps[k]):
            A[i] = A[i] * 2 + k
            i += 1
            A[0] += i


def last(A, s):
    i = -1
    for i in range(0, A.shape[0], s):
        A[i] += 1
    return i


def ran(function, *arguments):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        result = function(*given)
    except (IndexError, ValueError) as error:
        result = (IndexError,) if isinstance(error, IndexError) else (type(error), error.args)
    return [type(result), result, *(a.tolist() for a in given if isinstance(a, np.ndarray))]


def compiled(function, **settings):
    return polyml.kernel(function, cache=False, fallback="error", on_defect="raise", **settings)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [0, 1, 4, 1000])
def test_a_sieve(size, threads):
    assert ran(compiled(sieve, threads=threads), np.ones(size, bool)) == ran(sieve, np.ones(size, bool))


@pytest.mark.parametrize("step", [-5, -2, -1, 0, 1, 2, 3, 9])
def test_steps_up_down_and_none(step):
    kernel = compiled(stepped)
    for a in range(-3, 12, 2):
        for b in range(-4, 13, 3):
            assert ran(kernel, np.zeros(11), a, b, step) == ran(stepped, np.zeros(11), a, b, step)


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("steps", [[1, 2, 3], [5], [], [2, 0, 1], [-1]])
def test_steps_that_are_elements(steps, dtype, fp):
    arguments = np.arange(6).astype(dtype), np.array(steps, np.int32)
    assert ran(compiled(of_elements, fp=fp), *arguments) == ran(of_elements, *arguments)


def test_numpys_integers_and_the_value_behind_the_loop():
    kernel = compiled(last)
    for step in (2, np.int64(3), np.uint8(4)):
        for size in (0, 1, 7):
            assert ran(kernel, np.zeros(size), step) == ran(last, np.zeros(size), step)


def test_a_step_must_be_an_integer():
    with pytest.raises(polyml.PolymlTypeError, match="must be an integer, not a Python float"):
        compiled(last)(np.zeros(3), 1.5)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        polyml.kernel(last, cache=False, fallback="silent")(np.zeros(3), 1.5)
