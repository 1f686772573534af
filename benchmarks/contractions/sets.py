"""The sets of cases, each with its forms of polyml and its peers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.contractions import convolution, polybench, products, small_types, tccg
from benchmarks.contractions.problem import Problem


@dataclass(frozen=True)
class Set:
    """A Set has cases of one kind.

    cases: gives them from the size of a sample and its seed; only looptune takes a sample.
    canonical: gives the name of a case that a user wrote; raises ValueError where it is none.
    problem: gives what to compute for (case, dtype).
    own: the forms of polyml.
    peers: all others that there are.
    default: those that run when none are named.
    turn_s: seconds of calls in a row.
    """

    name: str
    what: str
    cases: Callable[[int, int], Sequence[str]]
    canonical: Callable[[str], str]
    problem: Callable[[str, str], Problem]
    own: tuple[str, ...]
    peers: tuple[str, ...]
    default: tuple[str, ...] | None = None
    dtypes: tuple[str, ...] = ("float32", "float64")
    threads: tuple[int, ...] = (1, 2)
    turn_s: float = 0.3


def _product(name: str, what: str, cases: Callable[[int, int], Sequence[str]], **more: object) -> Set:
    return Set(name, what, cases, products.canonical, products.problem, ("polyml",), ("numpy", "mkl", "onednn"), **more)


SETS = {
    s.name: s
    for s in (
        _product(
            "looptune", "small products, m, n, k from 64 to 256", products.looptune_sample,
            default=("numpy",), threads=(1,), turn_s=0.1,
        ),
        _product("square", "square products", lambda sample, seed: [products.canonical(c) for c in products.SQUARE]),
        _product("skinny", "products with small sizes", lambda sample, seed: products.SKINNY),
        Set(
            "tccg", "contractions of TCCG", lambda sample, seed: tccg.cases(), tccg.canonical, tccg.problem,
            ("loops", "einsum"), ("numpy", "torch"),
        ),
        Set(
            "polybench", "kernels of PolyBench, rate against products of their sizes",
            lambda sample, seed: [polybench.canonical(c) for c in polybench.PRODUCTS], polybench.canonical,
            polybench.problem, ("polyml",), ("numpy", "mkl", "scipy"), dtypes=("float64",), threads=(2,),
        ),
        Set(
            "small-types", "products of bytes and bfloat16 numbers", lambda sample, seed: small_types.CASES, products.canonical,
            small_types.problem, ("polyml",), ("torch",), dtypes=small_types.DTYPES, threads=(2,),
        ),
        Set(
            "convolution", "ResNet-50's convolutions", lambda sample, seed: convolution.cases(), convolution.canonical,
            convolution.problem, ("ops", "loops"), ("torch", "numpy"), default=("torch",), dtypes=("float32",),
        ),
    )
}  # fmt: skip
