"""PolyBench's kernels that are made of products, against the rate that libraries reach on products of those sizes.

No library has a routine for most of these kernels, so that their GFLOP/s (of the operations that they need, which for
triangles is half of a square's) are set against the GFLOP/s of np.matmul and of MKL on the products below, which do the
kernel's work without its triangles, scalings and divisions. For cholesky and lu there is LAPACK itself (SciPy's), which
overwrites its argument and checks nothing; its lu pivots, which the kernel's does not.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache

import numpy as np

from benchmarks.contractions.problem import Form, Problem, compiled
from benchmarks.contractions.products import in_a_row
from benchmarks.peer import PeerUnavailable
from polyml import kernels
from polyml.kernels._accuracy import compare

PRODUCTS: dict[str, Callable[[dict[str, int]], list[tuple[int, int, int]]]] = {
    "gemm": lambda s: [(s["NI"], s["NJ"], s["NK"])],
    "k2mm": lambda s: [(s["NI"], s["NJ"], s["NK"]), (s["NI"], s["NL"], s["NJ"])],
    "k3mm": lambda s: [(s["NI"], s["NJ"], s["NK"]), (s["NJ"], s["NL"], s["NM"]), (s["NI"], s["NL"], s["NJ"])],
    "syrk": lambda s: [(s["N"], s["N"], s["M"])],  # A A^T
    "syr2k": lambda s: [(s["N"], s["N"], s["M"])] * 2,  # A B^T and B A^T
    "trmm": lambda s: [(s["M"], s["N"], s["M"])],
    "symm": lambda s: [(s["M"], s["N"], s["M"])],
    "covariance": lambda s: [(s["M"], s["M"], s["N"])],  # of the centred data, transposed, with itself
    "correlation": lambda s: [(s["M"], s["M"], s["N"])],
    "doitgen": lambda s: [(s["NR"] * s["NQ"], s["NP"], s["NP"])],
    "cholesky": lambda s: [(s["N"], s["N"], s["N"])],
    "lu": lambda s: [(s["N"], s["N"], s["N"])],
    "ludcmp": lambda s: [(s["N"], s["N"], s["N"])],
    "gramschmidt": lambda s: [(s["N"], s["N"], s["M"])],  # Q^T A
}
"""{kernel: the products (rows, columns, depth) of its leading sizes}"""


def canonical(case: str) -> str:
    """Returns `gemm` or `gemm MINI` with the kernel's own name and the preset. Raises ValueError for a kernel without products."""
    name, preset, *more = [*case.split(), "LARGE"]
    if more not in ([], ["LARGE"]) or kernels.canonical(name) not in PRODUCTS:
        raise ValueError(f"{case!r} is none of {', '.join(PRODUCTS)}, with or without a size set")
    return f"{kernels.canonical(name)} {kernels.preset(preset)}"


def problem(case: str, dtype: str) -> Problem:
    name, preset = case.split()
    benchmark = kernels.load(name)
    size = benchmark.sizes[preset]
    arguments = cache(lambda: benchmark.inputs(size, np.random.default_rng(0), np.dtype(dtype)))

    def of_polyml(threads: int) -> dict[str, Form]:
        fresh, used = arguments(), copy.deepcopy(arguments())
        call = compiled(benchmark.kernel.py_func, threads)

        def error():
            return compare(benchmark, size, fresh, used).ratio

        return {"": Form(lambda: call(*used.values()), error, prepare=lambda: _put_back(used, fresh))}

    def of_scipy(threads: int) -> dict[str, Form]:
        if name not in _LAPACK:
            raise PeerUnavailable("no such routine")
        return {"": _LAPACK[name](arguments()["A"], benchmark.terms(size))}

    products = PRODUCTS[name](size)
    return Problem(benchmark.flops(size), {
        "polyml": of_polyml,
        "numpy": lambda threads: in_a_row(products, "numpy", dtype, threads),
        "mkl": lambda threads: in_a_row(products, "mkl", dtype, threads),
        "scipy": of_scipy,
    })  # fmt: skip


def _put_back(used: dict, fresh: dict) -> None:
    for name, value in used.items():
        if isinstance(value, np.ndarray):
            np.copyto(value, fresh[name])


def _linalg():
    try:
        import scipy.linalg
    except ImportError:
        raise PeerUnavailable("SciPy is not installed") from None
    return scipy.linalg


def _factored(A: np.ndarray, factor: Callable, again: Callable, terms: int) -> Form:
    """Returns a form whose factors overwrite a copy in Fortran's order, as LAPACK has it; `again` multiplies them.

    The backward error of both factorisations is within terms eps |L| |U| (Higham, Theorems 9.3 and 10.3), and the elements
    of |L| |U| are within a few times the largest of these matrices.
    """
    used, found = np.asfortranarray(A), []

    def call() -> None:
        found[:] = [factor(used)]

    def error() -> float:
        bound = 5.0 * terms * float(np.finfo(A.dtype).eps) * float(np.abs(A).max())
        return float(np.abs(again(found[0]) - A).max()) / bound

    return Form(call, error, prepare=lambda: np.copyto(used, A))


def _cholesky(A: np.ndarray, terms: int) -> Form:
    linalg = _linalg()

    def factor(used):
        return linalg.cholesky(used, lower=True, overwrite_a=True, check_finite=False)

    return _factored(A, factor, lambda L: L @ L.T, terms)


def _lu(A: np.ndarray, terms: int) -> Form:
    linalg = _linalg()

    def again(found: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        factors, exchanges = found
        product = (np.tril(factors, -1) + np.eye(len(factors), dtype=factors.dtype)) @ np.triu(factors)
        for row in reversed(range(len(exchanges))):
            product[[row, exchanges[row]]] = product[[exchanges[row], row]]
        return product

    return _factored(A, lambda used: linalg.lu_factor(used, overwrite_a=True, check_finite=False), again, terms)


_LAPACK = {"cholesky": _cholesky, "lu": _lu}
