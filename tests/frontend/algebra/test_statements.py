"""Products that statements share, and statements that are joined: only where nothing changes in between, and where it is cheaper."""

import numpy as np
import pytest

import polyml
from tests.frontend.define import define

HEAD = "def f(A, B, C, D, x):\n"
CASES = {  # body -> what explain says, of statements
    "T = A @ B\n return T @ x": "`T` is computed where it is used",
    "T = A @ B\n y = T @ x\n return y, T": "",  # it is used twice
    "T = A @ B\n for i in range(3):\n  x[:] = T @ x / 60\n return x": "",  # it would be computed in each iteration
    "T = A @ B\n A[0] = 0\n return T @ x": "",
    "V = A.T\n T = A @ B\n V[0] = 0\n return T @ x": "",  # V is a view of A
    "T = A @ B\n return T": "",
    "C[:] = A @ B + D\n D[:] = A @ B * 2": "`A @ B` is computed once, for 2 uses",
    "C[:] = A @ B\n D[:] = np.exp(-(A @ B) / 900)": "`A @ B` is computed once, for 2 uses",
    "C[:] = (A @ B) * (A @ B)": "`A @ B` is computed once, for 2 uses",
    "C[:] = A @ B + D\n A[0] = 1\n D[:] = A @ B * 2": "",
    "A[:] = A @ B + D\n D[:] = A @ B * 2": "",
    "R = A[::-1]\n C[:] = A @ B + D\n R[0] = 1\n D[:] = A @ B * 2": "",
    "C[:] = A @ B + D\n if x[0] > 2:\n  B[0] = 1\n D[:] = A @ B * 2": "",
    "C[:] = A @ B + D\n B = B + 1\n D[:] = A @ B * 2": "",
    "C[0] = (A @ B) @ x\n C[1] = 2 * ((A @ B) @ D[0])": "",  # two vectors are cheaper than a matrix
    "C[:] = (A @ B) * (D @ B)\n D[:] = np.exp(-(A @ B) / 900) * (D @ B)": "is computed once, for 2 uses",  # both are shared
    "P = A @ B\n Q = A @ B\n P[0] = 0\n return P, Q": "",  # two arrays
    "return (A @ B).T, (A @ B)[1:]": "",  # views of two arrays
}


def arguments(dtype):
    rng = np.random.default_rng(7)
    return [rng.integers(-4, 5, (60, 60)).astype(dtype) for _ in range(4)] + [rng.integers(1, 5, 60).astype(dtype)]


@pytest.mark.sweep("body")
@pytest.mark.parametrize("dtype", [np.float64, np.int64], ids=["f64", "i64"])
@pytest.mark.parametrize("body", CASES, ids=lambda body: body.replace("\n", ";"))
def test_statements_are_joined_and_products_shared_where_that_is_right(body, dtype):
    if dtype is np.int64 and ("/" in body or "exp" in body):
        pytest.skip("floats alone")
    function = define(HEAD + "\n".join(f"    {line.removeprefix(' ')}" for line in body.split("\n")))
    kernel = polyml.kernel(function, fallback="error", cache=False)
    wanted, got = arguments(dtype), arguments(dtype)
    results = function(*wanted), kernel(*got)
    pairs = zip(*(each if isinstance(each, tuple) else (each,) for each in results))
    for one, other in [*zip(wanted, got), *((a, b) for a, b in pairs if a is not None)]:
        np.testing.assert_allclose(other, one, rtol=1e-12)
        assert one.dtype == other.dtype
    said = [line for line in kernel.explain().splitlines() if "algebra:" in line and " is computed as " not in line]
    assert bool(said) is bool(CASES[body]) and all(CASES[body] in line for line in said)


def test_a_product_is_shared_under_strict_with_the_same_bits():
    source = HEAD + "    C[:] = A @ B + D\n    D[:] = A @ B * 0.1\n"
    results = []
    for body in (source, source.replace("A @ B", "P").replace("    C", "    P = A @ B\n    C")):
        given = [np.random.default_rng(k).random((40, 40)) for k in range(4)] + [np.ones(40)]
        kernel = polyml.kernel(define(body), fp="strict", fallback="error", cache=False)
        kernel(*given)
        results.append((given[2].tobytes(), given[3].tobytes(), "is computed once" in kernel.explain()))
    assert results[0][:2] == results[1][:2] and [each[2] for each in results] == [True, False]
