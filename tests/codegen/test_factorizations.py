"""Factorisations and triangular solves in many orders of loops, with slabs and caches so small that few elements need many
of them, against the same loops as Python runs them.
"""

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.schedule.tiling import blocked_factorization, panel
from tests.codegen.forms import small_machine

CUT = {
    "lu_by_outer_products", "lu_of_slices", "lu_by_columns", "cholesky_by_outer_products", "cholesky_of_the_upper_triangle", "ldl",
    "solve_lower", "solve_from_the_right", "solve_by_outer_products", "gram_schmidt", "gram_schmidt_of_rows",
    "inverse_of_a_triangle", "shortest_paths", "lu", "cholesky",
}  # fmt: skip


def lu_by_outer_products(A):
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]


def lu_of_slices(A):
    for k in range(A.shape[0]):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k][:, None] * A[k, k + 1 :][None, :]


def lu_by_columns(A):
    n = A.shape[0]
    for j in range(n):
        for k in range(j):
            for i in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
        for i in range(j + 1, n):
            A[i, j] /= A[j, j]


def cholesky_by_outer_products(A):
    n = A.shape[0]
    for k in range(n):
        A[k, k] = np.sqrt(A[k, k])
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                A[i, j] -= A[i, k] * A[j, k]


def cholesky_of_the_upper_triangle(A):
    n = A.shape[0]
    for j in range(n):
        for k in range(j):
            A[j, j] -= A[k, j] * A[k, j]
        A[j, j] = np.sqrt(A[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                A[j, i] -= A[k, j] * A[k, i]
            A[j, i] /= A[j, j]


def ldl(A, d):
    n = A.shape[0]
    for j in range(n):
        for k in range(j):
            A[j, j] -= A[j, k] * A[j, k] * d[k]
        d[j] = A[j, j]
        for i in range(j + 1, n):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k] * d[k]
            A[i, j] /= d[j]


def solve_lower(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i):
                B[i, j] -= A[i, k] * B[k, j]
            B[i, j] /= A[i, i]


def solve_upper(A, B):
    for i in range(B.shape[0] - 1, -1, -1):
        for j in range(B.shape[1]):
            for k in range(i + 1, B.shape[0]):
                B[i, j] -= A[i, k] * B[k, j]
            B[i, j] /= A[i, i]


def solve_from_the_right(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[0]):
            for k in range(j):
                B[i, j] -= B[i, k] * A[j, k]
            B[i, j] /= A[j, j]


def solve_by_outer_products(A, B):
    for k in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[k, j] /= A[k, k]
        for i in range(k + 1, B.shape[0]):
            for j in range(B.shape[1]):
                B[i, j] -= A[i, k] * B[k, j]


def gram_schmidt(A, R, Q):
    for k in range(A.shape[1]):
        R[k, k] = 0.0
        for i in range(A.shape[0]):
            R[k, k] += A[i, k] * A[i, k]
        R[k, k] = np.sqrt(R[k, k])
        for i in range(A.shape[0]):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = 0.0
            for i in range(A.shape[0]):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(A.shape[0]):
                A[i, j] -= Q[i, k] * R[k, j]


def gram_schmidt_of_rows(A, R, Q):
    for k in range(A.shape[0]):
        R[k, k] = 0.0
        for i in range(A.shape[1]):
            R[k, k] += A[k, i] * A[k, i]
        R[k, k] = np.sqrt(R[k, k])
        for i in range(A.shape[1]):
            Q[k, i] = A[k, i] / R[k, k]
        for j in range(k + 1, A.shape[0]):
            R[j, k] = 0.0
            for i in range(A.shape[1]):
                R[j, k] += Q[k, i] * A[j, i]
            for i in range(A.shape[1]):
                A[j, i] -= Q[k, i] * R[j, k]


def classical_gram_schmidt(A, R, Q):
    for k in range(A.shape[1]):
        for j in range(k):
            R[j, k] = 0.0
            for i in range(A.shape[0]):
                R[j, k] += Q[i, j] * A[i, k]
        for j in range(k):
            for i in range(A.shape[0]):
                A[i, k] -= Q[i, j] * R[j, k]
        R[k, k] = 0.0
        for i in range(A.shape[0]):
            R[k, k] += A[i, k] * A[i, k]
        R[k, k] = np.sqrt(R[k, k])
        for i in range(A.shape[0]):
            Q[i, k] = A[i, k] / R[k, k]


def gauss_jordan(A, B):
    n = A.shape[0]
    for k in range(n):
        for i in range(n):
            if i != k:
                w = A[i, k] / A[k, k]
                for j in range(k, n):
                    A[i, j] -= w * A[k, j]
                for j in range(n):
                    B[i, j] -= w * B[k, j]


def shortest_paths(A):
    n = A.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                A[i, j] = min(A[i, j], A[i, k] + A[k, j])


def inverse_of_a_triangle(A, B):
    n = A.shape[0]
    for j in range(n):
        B[j, j] = 1.0 / A[j, j]
        for i in range(j + 1, n):
            B[i, j] = 0.0
            for k in range(j, i):
                B[i, j] -= A[i, k] * B[k, j]
            B[i, j] /= A[i, i]


def crossed(A):
    n = A.shape[0]
    for k in range(3, n - 2):
        for i in range(k + 1, n):
            A[i, k - 2] /= A[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                A[i, j] -= A[i, k - 2] * A[k, j]


def householder(A, v, w):
    m = A.shape[0]
    n = A.shape[1]
    for k in range(min(m, n)):
        s = 0.0
        for i in range(k, m):
            s += A[i, k] * A[i, k]
        d = A[k, k] + np.sqrt(s)
        for i in range(k + 1, m):
            A[i, k] /= d
        t = 2.0
        for j in range(k + 1, n):
            w[j] = A[k, j]
            for i in range(k + 1, m):
                w[j] += A[i, k] * A[i, j]
            A[k, j] -= t * w[j]
            for i in range(k + 1, m):
                A[i, j] -= t * A[i, k] * w[j]


lu, cholesky = (kernels.load(name).kernel.py_func for name in ("lu", "cholesky"))
FUNCTIONS = {
    f.__name__: f
    for f in (
        lu, lu_by_outer_products, lu_of_slices, lu_by_columns, cholesky, cholesky_by_outer_products,
        cholesky_of_the_upper_triangle, ldl, solve_lower, solve_upper, solve_from_the_right, solve_by_outer_products,
        gram_schmidt, gram_schmidt_of_rows, classical_gram_schmidt, gauss_jordan, shortest_paths, inverse_of_a_triangle,
        crossed, householder,
    )
}  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch):
    small_machine(monkeypatch)
    monkeypatch.setattr(blocked_factorization, "WIDTH", 8)
    monkeypatch.setattr(blocked_factorization, "FEW_WIDTH", 4)
    monkeypatch.setattr(blocked_factorization, "FEW", 20)
    monkeypatch.setattr(panel, "STRIP", 8)


def operands(function, n, dtype):
    """A well-conditioned matrix for each parameter in capitals, more rows than columns for those made orthogonal."""
    random = np.random.default_rng(n)
    more = 3 if "gram" in function.__name__ else 0
    made = []
    for name in function.__code__.co_varnames[: function.__code__.co_argcount]:
        if name.islower():
            made.append(random.standard_normal(n).astype(dtype))
            continue
        shape = (n, n) if name == "R" else (n, n + more) if "of_rows" in function.__name__ else (n + more, n)
        square = random.standard_normal(shape)
        made.append((square @ square.T / n + 4 * np.eye(n) if shape == (n, n) else square + 3 * np.eye(*shape)).astype(dtype))
    return made


@pytest.mark.parametrize("options", [{}, {"fp": "strict", "threads": 2}], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.sweep(keep=8)
def test_a_factorisation_computes_what_its_loops_say(name, options):
    function = FUNCTIONS[name]
    kernel = polyml.kernel(cache=False, fallback="error", **options)(function)
    for n in (1, 13, 37):
        wanted = operands(function, n, "float64")
        found = [np.asfortranarray(a) if k == 1 and n == 13 else a.copy() for k, a in enumerate(wanted)]
        function(*wanted)
        kernel(*found)
        for one, other in zip(found, wanted):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * max(1.0, abs(other).max()))
    assert ("slabs of" in kernel.explain()) == (name in CUT), kernel.explain()


@pytest.mark.parametrize("name", sorted(CUT))
@pytest.mark.sweep(keep=5)
def test_a_factorisation_in_float32(name):
    function = FUNCTIONS[name]
    wanted = operands(function, 29, "float32")
    found = [a.copy() for a in wanted]
    function(*wanted)
    polyml.kernel(cache=False, fallback="error")(function)(*found)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3 * max(1.0, abs(other).max()))


def test_what_a_factorisation_has_finished_is_copied():
    kernel = polyml.kernel(cache=False)(cholesky)
    kernel(*operands(cholesky, 37, "float64"))
    assert "copies of A: " in kernel.explain()
    assert "together" in kernel.inspect_ast()
