"""Reductions of what a mask selects, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

KINDS = ["float64", "float32", "complex128", "int64", "int32", "uint8", "bool"]


def reductions(v, m):
    return v[m].sum(), np.sum(v[m]), v[m].any(), np.all(v[m]), v[m].size


def means(v, m):
    return v[m].mean(), (v[m] * 2).mean(), np.mean(v[m])


def of_several(v, w):
    m = (v > 0.25) & (w < 0.75)
    return (v[m] * w[m]).sum(), (v[m] - w[m] + 1).mean(), (np.sqrt(v[m]) > 0.6).sum(), v[w > 0.5].sum(axis=0)


def in_a_loop(A, limits):
    found = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        row = A[i]
        found[i] = row[row > limits[i]].sum()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(40,), (5, 7), (0,), (1,)])
def test_each_type_has_numpys_sum(kind, shape):
    numbers = np.random.default_rng(0)
    v, m = (numbers.random(shape) * 9).astype(kind), numbers.random(shape) > 0.5
    bound = {"float32": 1e-6}.get(kind, 1e-13 if v.dtype.kind in "fc" else 0)
    check(reductions, (v, m), (v, ~m & m), bound=bound)
    if kind != "bool":
        check(means, (v, m), (v, ~m & m), bound=max(bound, 1e-13))


def test_expressions_of_several_selections():
    v, w = np.random.default_rng(0).random((2, 300))
    check(of_several, (v, w), (v[:0], w[:0]), bound=1e-12)
    check(in_a_loop, (v.reshape(30, 10), w[:30]), bound=1e-12)


def test_what_is_not_selected_may_be_anything():
    v = np.array([1.0, np.nan, np.inf, 2.0])
    check(reductions, (v, np.array([True, False, False, True])))


def test_masks_of_other_shapes_run_as_plain_python():
    runs_as_python(reductions, np.ones((3, 4)), np.array([True, False, True]))
    runs_as_python(reductions, np.ones(3), np.array([True, False]))


def test_a_mask_that_is_no_subscript_is_refused():
    @polyml.kernel(fallback="error")
    def positive(v):
        return np.take(v, v > 0)

    with pytest.raises(polyml.NotAffineError, match="a mask that selects gives an array whose size data decide"):
        positive(np.ones(3))
