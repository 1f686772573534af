"""Kernels whose mutations are tried, with sizes at which each bound matters."""

from __future__ import annotations

import re
from collections.abc import Callable

import ml_dtypes
import numpy as np

from tests.cuda.emulator.mutations import Mutation
from tests.cuda.emulator.survivors import Arguments, Subject
from tests.gpu import kernels, sums, tf32
from tests.opencl import footprints

_ORDER = ("barrier", "wait", "swizzle")  # mutations of kernels whose sizes here do not make every bound decide something
SMALL_TILE = (8, 8), (4, 4)  # for `launch_plan.TILE`: threads along x and y, and iterations of each

# mistakes that change nothing: (the kernel, and the line with @ before the bound, how much it is moved, why); none else may survive
EQUIVALENT = (
    (r"if \(\w+ > @0\) \{", -1, "a sum of no products is stored as it was loaded"),
    (r"; (\w+_chunk) < @.*; \1 \+= ", 1, "a chunk that begins where the loop ends copies nothing and sums up nothing"),
    (r"if \(\w+_chunk \+ \d+ < @", 1, "a chunk that begins where the loop ends copies nothing"),
    (r"if \(\w+_chunk >= @0\)", -1, "chunks begin at multiples of their size"),
    (r"(?:halves|product)_0: if \(plain && .* <= @", 1, "rows of whole vectors end with a chunk, or some iterations before"),
    (r"for \(int (\w+) = 0; \1 < @(?:32|64); \1 \+= (?:8|16)\)", -1, "steps of 8 or 16 end where they did"),
    (r": for \(int e = 0; e < @8; e\+\+\)", 1, "a copy more puts zeros into the padding of a tile"),
    (r"if \(k_chunk \+ 16 <= @", 1, "what is copied beyond the end of the loop is zero, and adds nothing"),
    (r"for \(int k = 0; k < @\w+ - k_chunk; ", 1, "what is copied beyond the end of the loop is zero, and adds nothing"),
    (r"if \(.*% \d+ == @0", 1, "elements are then stored one by one"),
    (r"for \(int \w+ = 0; \w+ < @4; \w+ \+= [24]\)", -1, "steps of 2 or 4 end where they did"),
    (r"if \(\w+( \+ j_item \+ 3| \+ 1) < @", 1, "vectors and pairs are in the result as a whole, or not at all"),
    (r"if \(\w+( \+ j_item \+ 3| \+ 1) < @", -1, "vectors and pairs are in the result as a whole, or not at all"),
    (r"if \(.*\w > @3 ", -1, "a thread's first row is a multiple of 4"),
    (r"for \(int d = 0; d < @16; d \+= 4\)", -1, "steps of 4 end where they did"),
    (r"if \(w_tile_at_[pq] >= @", 1, "a filter's elements follow one another, so that going on to another row adds nothing"),
    (r"if \(w_tile_at_[pq] >= @", -1, "a filter's elements follow one another, so that going on to another row adds nothing"),
    (r"positions_end % 4 == @0", 1, "elements are then stored one by one"),
    (r"for \(int (\w+_position_item) = 0; \1 < @4; ", 1, "no thread has a position for another item"),
    (r"if \(\w+_position_item < @\w+_positions_left", 1, "positions behind the last one have its sums"),
    (r"if \(n_i_j_position_item < @n_i_j_positions_left", -1, "vectors are of four positions that there are"),
    (r": if \(thread < @32\) \{", 1, "what another warp's lanes combine goes nowhere"),
    (r": if \(thread < @32\) \{", -1, "fewer warps than 31 have results to combine"),
    (r"_partial: if \(\w+ == 0 && i < @", 1, "the partial results have room for whole blocks"),
    (r"_(team|partial|join): if \(.*\w_1 > @0\)", 1, "threads are a team where there are 16 iterations or more"),
    (r"_(team|partial|join): if \(.*\w_1 > @0\)", -1, "threads are a team where there are 16 iterations or more"),
)


def halves(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


def syr2k(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[0]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]


def softmax(x, y, high, total):
    for i in range(x.shape[0]):
        high[i] = -1e30
        for j in range(x.shape[1]):
            high[i] = np.maximum(high[i], x[i, j])
        total[i] = 0.0
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j] - high[i])
            total[i] += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / total[i]


def triangular_solve(L, x, b):
    for i in range(x.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def seven_point(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            for k in range(1, A.shape[2] - 1):
                B[i, j, k] = (
                    A[i, j, k] + A[i + 1, j, k] + A[i - 1, j, k] + A[i, j + 1, k] + A[i, j - 1, k] + A[i, j, k + 1] + A[i, j, k - 1]
                )


def total(A, s):
    for i in range(A.shape[0]):
        s[0] += A[i]


def _numbers(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-9, 10, shape).astype(dtype)


def _rows(n: int, m: int) -> np.ndarray:
    """Numbers whose greatest one in a row is in another lane of a warp, and in another part of the row, each time."""
    made = _numbers(n, m, dtype=float)
    made[range(n), [(33 * row - 1) % m if row != 1 else 0 for row in range(n)]] = 10
    return made


def _unset(*shapes: tuple[int, ...] | int) -> tuple[np.ndarray, ...]:
    return tuple(np.full(shape, np.nan) for shape in shapes)


def _products(
    function: Callable, left: str, right: str, *sizes: tuple[int, int, int], dtype: object = np.float32
) -> tuple[Arguments, ...]:
    def shape(of: str, n: int, m: int, k: int) -> tuple[int, ...]:
        return tuple({"n": n, "m": m, "k": k}[each] for each in of)

    return tuple(
        (_numbers(n, m), _numbers(*shape(left, n, m, k), dtype=dtype), _numbers(*shape(right, n, m, k), dtype=dtype))
        for n, m, k in sizes
    )


def why_equivalent(mutation: Mutation) -> str:
    """Returns why a mistake changes nothing that a kernel does, "" where there is no reason."""
    return next(
        (
            why
            for found, shift, why in EQUIVALENT
            if shift == mutation.shift and re.search(found, f"{mutation.kernel}: {mutation.text}")
        ),
        "",
    )


def subjects() -> tuple[Subject, ...]:
    """Returns the kernels; products are to have tiles of 32 x 32, SMALL_TILE."""
    sizes = ((64, 64, 16), (31, 64, 17), (64, 31, 17), (64, 64, 15), (32, 32, 1), (32, 32, 33), (31, 33, 17))
    return (
        Subject("gemm", kernels.gemm, _products(kernels.gemm, "nk", "km", *sizes)),
        Subject("halves", halves, _products(halves, "nk", "km", *sizes, (64, 64, 64), (64, 64, 41), dtype=ml_dtypes.bfloat16)),
        Subject("tf32", tf32.product, _products(tf32.product, "nk", "km", *sizes, (64, 64, 64), (64, 64, 41), (64, 64, 68)), settings={"tf32": True}),
        Subject("tf32_transposed", tf32.both_transposed, _products(tf32.both_transposed, "kn", "mk", *sizes, (64, 64, 64), (64, 64, 41)), _ORDER, {"tf32": True}),
        Subject("syr2k", syr2k, tuple((_numbers(n, n), _numbers(n, k), _numbers(n, k)) for n, k in ((64, 16), (63, 17), (32, 1), (64, 15), (65, 33), (36, 5)))),
        Subject("transpose", kernels.transpose, tuple((_numbers(n, m), _numbers(m, n)) for n, m in ((64, 32), (31, 33), (33, 31), (33, 65), (40, 40)))),
        Subject("turned", footprints.turned, tuple((_numbers(n, m), _numbers(m, n)) for n, m in ((66, 67), (65, 65))), _ORDER),
        Subject("convolution", footprints.convolution, ((_numbers(2, 4, 35), _numbers(32, 2, 3, 3), _numbers(32, 2, 33)),), _ORDER),
        Subject("merged", sums.convolution, tuple((_numbers(n, f, h, w), _numbers(n, c, 2*h + 1, w + 2), _numbers(f, c, 3, 3)) for n, f, c, h, w in ((2, 17, 2, 3, 5), (1, 16, 7, 4, 8), (1, 3, 9, 2, 2)))),
        Subject("five_point", kernels.five_point, tuple((_numbers(n, m), _numbers(n, m)) for n, m in ((66, 130), (33, 35), (36, 34), (9, 33)))),
        Subject("seven_point", seven_point, tuple((_numbers(n, m, k), _numbers(n, m, k)) for n, m, k in ((6, 10, 34), (5, 12, 35), (7, 9, 33)))),
        Subject("matvec", kernels.matvec, tuple((_numbers(n, k), _numbers(k), _numbers(n)) for n, k in ((128, 40), (129, 128), (127, 33), (5, 1), (3, 9000)))),
        Subject("total", total, tuple((_numbers(n), _numbers(1)) for n in (1, 16, 257, 1024, 100_001, 700_001))),
        Subject("softmax", softmax, tuple((_rows(n, m), *_unset((n, m), n, n)) for n, m in ((128, 40), (129, 33), (90, 3), (5, 1), (23, 4800), (9, 500), (3, 1000), (3, 2000), (2, 2500), (2, 4000), (2, 8000), (2, 9000))), _ORDER),
        Subject("triangular_solve", triangular_solve, tuple((np.tril(_numbers(n, n, dtype=float)) / 40 + np.eye(n), *_unset(n), _numbers(n, dtype=float)) for n in (20, 33))),
    )  # fmt: skip
