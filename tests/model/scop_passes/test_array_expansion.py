"""Arrays filled anew in every iteration of outer loops: which are expanded, and that all values stay."""

import numpy as np
import pytest

import polyml
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.model.scop_passes.array_expansion import expand_arrays
from polyml.runtime.storage import size_classes
from tests.codegen.samples import scop_of


def per_row(A, C, s):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            for p in range(A.shape[2]):
                s[p] = 0
                for k in range(A.shape[2]):
                    s[p] += A[r, q, k] * C[k, p]
            for p in range(A.shape[2]):
                A[r, q, p] = s[p]


def only_started_once(A, C, s):
    for p in range(A.shape[2]):
        s[p] = 0
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            for p in range(A.shape[2]):
                for k in range(A.shape[2]):
                    s[p] += A[r, q, k] * C[k, p]


def in_part(A, C, s):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            for p in range(1, A.shape[2]):
                s[p] = 0
                for k in range(A.shape[2]):
                    s[p] += A[r, q, k] * C[k, p]
            for p in range(A.shape[2]):
                A[r, q, p] = s[p]


def read_by_the_next(A, C, s):
    for r in range(1, A.shape[0]):
        for q in range(A.shape[1]):
            for p in range(A.shape[2]):
                s[p] = 0
                for k in range(A.shape[2]):
                    s[p] += A[r - 1, q, k] * C[k, p]
            for p in range(A.shape[2]):
                A[r, q, p] = s[p]


def shorter_and_shorter(A, C, s):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            for p in range(r, A.shape[2]):
                s[p] = 0
                for k in range(A.shape[2]):
                    s[p] += A[r, q, k] * C[k, p]
            for p in range(r, A.shape[2]):
                A[r, q, p] = s[p]


def arguments(r, q, p):
    random = np.random.default_rng(r + q + p)
    return [random.integers(-3, 4, shape).astype(float) for shape in ((r, q, p), (p, p), (p + 1,))]


def expanded(kernel, most=2**30):
    names = ("A", "C", "s")
    scop = scop_of(kernel, dict(zip(names, arguments(4, 5, 6))))
    found = dependences(scop)
    values = dict.fromkeys((p.name for p in scop.parameters), 6)
    return scop, expand_arrays(scop, found, reductions(scop, "reassociate"), values)[0]


def test_what_is_filled_anew_gets_elements_for_every_iteration():
    before, after = expanded(per_row)
    (name,) = set(after.arrays) - set(before.arrays)
    assert len(after.arrays[name].shape) == 3
    assert len(after.statements) == len(before.statements) + 1


@pytest.mark.parametrize("kernel", [only_started_once, in_part, read_by_the_next, shorter_and_shorter])
def test_what_passes_values_on_stays(kernel):
    """Or what is last written by iterations that no single expression gives."""
    before, after = expanded(kernel)
    assert after is before


def test_much_memory_is_not_taken(monkeypatch):
    monkeypatch.setattr("polyml.model.scop_passes.array_expansion.MOST_BYTES", 6**3 * 8 - 1)
    before, after = expanded(per_row)
    assert after is before


@pytest.mark.parametrize("kernel", [per_row, only_started_once, in_part, read_by_the_next, shorter_and_shorter])
def test_values_stay_in_all_arrays(kernel, monkeypatch):
    monkeypatch.setattr(size_classes, "_LITTLE", {rank: 0 for rank in range(5)})
    compiled = polyml.kernel(cache=False, threads=2)(kernel)
    for extents in ((4, 5, 6), (1, 1, 1), (0, 5, 6), (4, 0, 6), (3, 2, 0), (5, 9, 17)):
        got, wanted = arguments(*extents), arguments(*extents)
        compiled(*got)
        kernel(*wanted)
        for a, b in zip(got, wanted):
            np.testing.assert_array_equal(a, b)


def flat_products(A, B, C, D, E, F, G, NI, NJ, NK, NL, NM):
    for i in range(NI):
        for j in range(NJ):
            E[NJ * i + j] = 0.0
            for k in range(NK):
                E[NJ * i + j] += A[NK * i + k] * B[NJ * k + j]
    for i in range(NJ):
        for j in range(NL):
            F[NL * i + j] = 0.0
            for k in range(NM):
                F[NL * i + j] += C[NM * i + k] * D[NL * k + j]
    for i in range(NI):
        for j in range(NL):
            G[NL * i + j] = 0.0
            for k in range(NJ):
                G[NL * i + j] += E[NJ * i + k] * F[NL * k + j]


def test_elements_that_quotients_tell_apart_are_copied_out():
    """G[e] is that of the iteration e // NL: an expression of the copy's own iterator."""
    ni, nj, nk, nl, nm = extents = 40, 50, 60, 70, 80
    rng = np.random.default_rng(1)
    operands = [rng.integers(-9, 9, n).astype(float) for n in (ni * nk, nk * nj, nj * nm, nm * nl)]
    results = [np.zeros(n) for n in (ni * nj, nj * nl, ni * nl)]
    compiled = polyml.kernel(cache=False)(flat_products)
    compiled(*operands, *results, *extents)
    a, b, c, d = (o.reshape(s) for o, s in zip(operands, [(ni, nk), (nk, nj), (nj, nm), (nm, nl)]))
    assert compiled.compiled
    np.testing.assert_array_equal(results[2].reshape(ni, nl), (a @ b) @ (c @ d))
