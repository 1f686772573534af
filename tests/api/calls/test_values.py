"""Kernels that are affine only for known integers and sizes: a few forms for the values of calls, then one for all values."""

from __future__ import annotations

import numpy as np
import pytest

import polyml
from polyml.api.specialised import VALUED


def flat(A, n):
    for i in range(4):
        for j in range(n):
            A[i * n + j] += 1


def strided(A, s):
    for i in range(0, A.shape[0], s):
        A[i] = A[i] * 2


def quotients(A, n):
    for i in range(A.shape[0]):
        A[i // n] += i


def remainders(A, n):
    for i in range(A.shape[0]):
        A[i % n] += i


def reshaped(A, n):
    return A.reshape(n, 2).sum(axis=1)


def ran(function, *arguments):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        result = function(*given)
    except (IndexError, ValueError, ZeroDivisionError) as error:
        raised = next(kind for kind in (IndexError, ZeroDivisionError, ValueError) if isinstance(error, kind))
        return raised  # after which affine code, which tests at entry, and Python have not written the same
    return [type(result), result, *(a.tolist() for a in given if isinstance(a, np.ndarray))]


def compiled(function, **settings):
    return polyml.kernel(function, **{"cache": False, "fallback": "error", "on_defect": "raise", **settings})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("function", [flat, strided, quotients, remainders])
def test_calls_with_many_values_give_what_python_gives(function, dtype, fp, threads):
    kernel = compiled(function, fp=fp, threads=threads)
    for n in (1, 2, 3, 4, 5, 7, 0, -1, -3, 2, 50, 6):
        for size in (0, 1, 30):
            A = np.arange(size, dtype=dtype)
            assert ran(kernel, A, n) == ran(function, A, n), (n, size)


def test_a_fourth_value_makes_a_form_for_all():
    kernel = compiled(flat)
    for n in range(1, 20):
        A = np.zeros(100)
        kernel(A, n)
        assert kernel.compiled and A.sum() == 4 * n
    made = [form for form in kernel.signatures if not form.reason]
    assert len(made) == VALUED + 1 and made[-1].why == "more values of sizes and integers than have forms of their own"


def test_what_has_no_form_for_all_values_keeps_one_for_each():
    kernel = compiled(reshaped)
    for n in range(1, 8):
        A = np.arange(2.0 * n)
        assert kernel(A, n).tolist() == reshaped(A, n).tolist() and kernel.compiled


def test_the_form_for_all_values_is_kept_on_disk(tmp_path):
    for again in (False, True):
        kernel = compiled(flat, cache=True, cache_dir=str(tmp_path))
        for n in range(1, 7):
            kernel(np.zeros(100), n)
        assert kernel.from_cache is again
