"""What has the same value in a whole call is computed before all loops, and has the value that the source gives it."""

import re

import numpy as np
import pytest

import polyml

FORMS = ("strict", "reassociate", "fast")


def scaled(A, p):
    return A * np.float32(A.shape[1] ** -0.5) + np.float32(np.exp(p))


def two_loops(A, p):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] * (1.0 / (A.shape[0] + 3)) if A[i, j] > p**0.3 else A[i, j] / np.cosh(p)


def of_an_iterator(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= np.exp(-float(i))


def _blocks(text, inside):
    """Yields the labels of the blocks in which an instruction stands."""
    label = ""
    for line in str(text).splitlines():
        if found := re.match(r"(\w+):$", line):
            label = found[1]
        if inside in line:
            yield label


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", FORMS)
def test_the_values_are_those_of_the_source(fp, threads):
    rng = np.random.default_rng(1)
    A = rng.random((70, 67)).astype(np.float32)
    got = polyml.kernel(fp=fp, threads=threads, cache=False, fallback="error")(scaled)(A, 0.7)
    np.testing.assert_allclose(got, scaled(A, 0.7), rtol=3e-7)
    for p in (0.1, 0.9, -1.0, 0.0, np.inf):
        with np.errstate(all="ignore"):
            A = rng.random((70, 67))
            B = A.copy()
            polyml.kernel(fp=fp, threads=threads, cache=False, fallback="error")(two_loops)(A, p)
            wanted = np.where(B > np.float64(p) ** 0.3, B * (1.0 / 73), B / np.cosh(p))
        np.testing.assert_allclose(A, wanted, rtol=1e-14)


def test_a_power_of_a_size_runs_once():
    text = polyml.kernel(scaled, threads=1, vectorize=False).inspect_llvm("f32[:, :]", "f64")
    calls = list(_blocks(text, "= fmul double"))
    assert calls and all(label.startswith(("once", "seldom", "after")) for label in calls)
    plain = str(polyml.kernel(of_an_iterator, threads=1, vectorize=False).inspect_llvm("f64[:, :]"))
    assert "once" not in plain


def test_a_call_without_elements_has_no_values_to_miss():
    for shape in ((0, 5), (5, 0)):
        A = np.zeros(shape, np.float32)
        assert polyml.kernel(scaled, cache=False, fallback="error")(A, 1.0).shape == shape
