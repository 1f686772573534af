"""Products of matrices that cuBLAS computes, each a function that raises where one is wrong:  python -m tests.runtime.gpu.cuda.products LIBRARY NAME

`test_cublas.py` runs them in processes whose CUDA driver and cuBLAS are the emulated ones. LIBRARY is cuda-python or pycuda.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

import polyml
from polyml.errors import PolymlError
from polyml.runtime.gpu.cuda.cublas import Cublas
from polyml.schedule.gpu import launch_plan
from polyml.schedule.gpu.libraries import choice, placement
from tests.cuda.emulator.subjects import SMALL_TILE

LIBRARY, NAME = sys.argv[1:3] if __name__ == "__main__" else ("", "")
F4, F8 = np.float32, np.float64


def by_cublas(function):
    return polyml.kernel(function, target=polyml.Target.cuda(library=LIBRARY), libraries=True, fallback="error", cache=False)


@contextmanager
def calls():
    """The calls of cuBLAS in a `with` block; sizes decide nothing."""
    seen, product = [], Cublas.product

    def noted(self, call, *given):
        seen.append(call)
        return product(self, call, *given)

    with patch.object(Cublas, "product", noted), patch.object(choice, "LARGE", 1):
        yield seen


@by_cublas
def gemm(alpha, beta, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


@by_cublas
def product(A, B):
    return A @ B


@by_cublas
def layer(X, W, b):
    return np.maximum(X @ W + b, 0)


@by_cublas
def two(A, B, C):
    return (A @ B) @ C


@by_cublas
def gram(A):
    return A @ A.T


@by_cublas
def batched(A, B):
    return np.einsum("bij,bkj->bik", A, B)


@by_cublas
def part(C, A, B, m, n):
    for i in range(2, m):
        for j in range(1, n):
            for k in range(3, A.shape[1]):
                C[i, j] += A[i - 2, k] * B[k - 3, j + 1]


@by_cublas
def pointwise(x, w):
    n, h, v, c = x.shape
    y = np.zeros((n, h, v, w.shape[1]), x.dtype)
    for a in range(n):
        for i in range(h):
            for j in range(v):
                for f in range(w.shape[1]):
                    for e in range(c):
                        y[a, i, j, f] += x[a, i, j, e] * w[e, f]
    return y


@by_cublas
def coupled(A, X, B, n):
    for t in range(n):
        Y = A @ X
        X[:] = Y @ B


@by_cublas
def triangle(C, A):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]


@by_cublas
def diagonal(C, A, B):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, i + j] += A[i, k] * B[k, j]


def some(*shape, dtype=F4):
    """Small whole numbers, whose sums have no rounding in any order."""
    made = np.random.default_rng(sum(shape)).integers(-3, 4, shape)
    return made.astype(dtype)


def equal(found, expected):
    assert np.array_equal(found, expected, equal_nan=True), (found, expected)


def forms() -> None:
    """Products in loops and as array expressions, with factors, of transposed matrices, of parts of arrays, in host loops."""
    A, B, C = some(5, 7), some(7, 6), some(5, 6)
    with calls() as seen:
        expected = 3 * C + 2 * (A @ B)
        gemm(F4(2), F4(3), C, A, B)
        equal(C, expected)
        equal(layer(A, B, C[0]), np.maximum(A @ B + C[0], 0))
        equal(gram(A), A @ A.T)
        assert len(seen) == 2 and {call.depth for call in seen} == {7}, seen  # of A @ A.T one half is computed
    with calls() as seen:
        C, expected = some(8, 9), some(8, 9)
        expected[2:6, 1:4] += A[:4, 3:] @ B[:4, 2:5]
        part(C, A, B, 6, 4)
        equal(C, expected)
        assert [(call.rows, call.columns, call.depth) for call in seen] == [(3, 4, 4)]
    with calls() as seen:
        A, B, X = (some(4, 4, dtype=F8) for _ in range(3))
        expected = X.copy()
        for _ in range(3):
            expected = A @ expected @ B
        coupled(A, X, B, 3)
        equal(X, expected)
        assert len(seen) == 6


def batches() -> None:
    """Batches of products, loops that are one dimension of a matrix together, and two products in one kernel."""
    with calls() as seen:
        left, right = some(3, 4, 5, dtype=F8), some(3, 6, 5, dtype=F8)
        equal(batched(left, right), np.einsum("bij,bkj->bik", left, right))
        assert [(call.rows, call.columns, call.depth, call.batch) for call in seen] == [(6, 4, 5, 3)]
    with calls() as seen:
        x, w = some(2, 3, 4, 5), some(5, 6)
        equal(pointwise(x, w), x @ w)
        assert [(call.rows, call.columns, call.depth) for call in seen] == [(6, 24, 5)]
    with calls() as seen:
        A, B, C = some(5, 7, dtype=F8), some(7, 6, dtype=F8), some(6, 3, dtype=F8)
        equal(two(A, B, C), A @ B @ C)
        assert len(seen) == 2


def halves() -> None:
    """Products of numbers of 16 bits are summed up in float32, and tf32=True rounds operands of float32."""
    A, B = some(5, 7, dtype=np.float16), some(7, 6, dtype=np.float16)
    with calls() as seen:
        equal(product(A, B), A @ B)
    assert [call.result.array for call in seen] == ["_rounded"]
    rounded = polyml.kernel(product.py_func, target=product.gpu, libraries=True, tf32=True, fallback="error", cache=False)
    with calls() as seen:
        made = rounded(np.full((5, 7), 2049, F4), np.ones((7, 6), F4))
    assert len(seen) == 1 and np.array_equal(made, np.full((5, 6), 7 * 2050, F4)), made


def refusals() -> None:
    """Where cuBLAS would compute something else, or the matrices are not stored as it takes them, launches run."""
    A, B, C = some(5, 7), some(7, 6), some(5, 6)
    A[0, 0] = np.inf
    with calls() as seen:
        with np.errstate(invalid="ignore"):
            expected = C * F4(1) + (F4(0) * A) @ B
        gemm(F4(0), F4(1), C, A, B)
        equal(C, expected)
        C[1, 1] = np.nan
        with np.errstate(invalid="ignore"):
            expected = C * F4(0) + A @ B
        gemm(F4(1), F4(0), C, A, B)
        equal(C, expected)
        S, expected = some(6, 6), some(6, 6) + np.tril(some(6, 4) @ some(6, 4).T)
        triangle(S, some(6, 4))
        equal(S, expected)
        wide, expected = some(5, 10), some(5, 10)
        A = some(5, 7)
        for i in range(5):
            expected[i, i : i + 6] += A[i] @ B
        diagonal(wide, A, B)
        equal(wide, expected)
        for empty in (np.zeros((5, 0), F4), np.zeros((0, 7), F4)):
            equal(product(empty, np.zeros((empty.shape[1], 6), F4)), np.zeros((empty.shape[0], 6), F4))
        assert not seen
    equal(product(A, B), A @ B)
    assert f"by cuBLAS where its sums have at least {placement.LARGE:,} terms together" in product.explain()
    assert "not by cuBLAS: its loops are no box" in triangle.explain()


def repeated() -> None:
    """A call like an earlier one starts cuBLAS again, in the stream of the call."""
    from tests.runtime.gpu.cuda import calls as on_device

    on_device.LIBRARY = LIBRARY
    A, B, C = (on_device.OnDevice(each) for each in (some(5, 7), some(7, 6), np.zeros((5, 6), F4)))
    with calls() as seen:
        for _ in range(3):
            gemm(F4(1), F4(1), C, A, B)
    assert len(seen) == 1
    equal(C.get(), 3 * (some(5, 7) @ some(7, 6)))


def missing() -> None:
    """Where there is no cuBLAS, a call says what to install."""
    with patch("polyml.runtime.gpu.cuda.cublas._places", lambda: iter(["no_such_library.so"])), patch.object(choice, "LARGE", 1):
        try:
            product(some(5, 7), some(7, 6))
        except PolymlError as refused:
            assert "libraries=True needs cuBLAS" in str(refused) and "pip install nvidia-cublas" in str(refused)
        else:
            raise AssertionError("a product without cuBLAS")


if __name__ == "__main__":
    launch_plan.TILE = launch_plan.TILE_OF_HALVES = SMALL_TILE  # so that g++ takes less time
    globals()[NAME]()
    print("right")
