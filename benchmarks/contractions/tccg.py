"""The 48 contractions of the TCCG benchmark (Springer and Bientinesi, ACM TOMS 2018), as loops and as einsum.

A case is an einsum string with its sizes, `ki,jk->ji i=2048 j=2048 k=712`; without them it has those of the benchmark.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.contractions.problem import Form, Problem, compiled, product_error, torch_library, uniform
from benchmarks.generated import function_of

_FILE = Path(__file__).parent.parent / "data" / "contractions.csv"


@cache
def cases() -> tuple[str, ...]:
    with _FILE.open(newline="") as rows:
        return tuple(f"{row['einsum']} {row['sizes']}" for row in csv.DictReader(rows))


def canonical(case: str) -> str:
    """Returns the case with its sizes. Raises ValueError for a string without sizes that is not in the benchmark."""
    if "=" in case:
        return case
    known = {known.split()[0]: known for known in cases()}
    if case not in known:
        raise ValueError(f"{case!r} has no sizes and is not a contraction of TCCG")
    return known[case]


def loops(einsum: str) -> Callable:
    """Returns the contraction as a nest of loops: the result's indices in its order, then those that are contracted.

    ki,jk->ji   ->   for j: for i: for k: C[j, i] += A[k, i] * B[j, k]
    """
    left, right, result = einsum.replace("->", ",").split(",")
    lines = ["def contraction(C, A, B):"]
    contracted = [index for index in dict.fromkeys(left + right) if index not in result]
    for depth, index in enumerate([*result, *contracted], 1):
        array, letters = next((a, s) for a, s in (("C", result), ("A", left), ("B", right)) if index in s)
        lines.append("    " * depth + f"for {index} in range({array}.shape[{letters.index(index)}]):")
    operands = (f"{array}[{', '.join(letters)}]" for array, letters in (("C", result), ("A", left), ("B", right)))
    lines.append("    " * len(lines) + "{} += {} * {}\n".format(*operands))
    return function_of("\n".join(lines), "contraction")


def problem(case: str, dtype: str) -> Problem:
    einsum, *sizes = case.split()
    extent = {name: int(number) for name, number in (size.split("=") for size in sizes)}
    left, right, result = einsum.replace("->", ",").split(",")
    random = np.random.default_rng(0)
    A, B = (uniform(random, tuple(extent[i] for i in letters), dtype) for letters in (left, right))
    C = np.zeros(tuple(extent[i] for i in result), dtype)
    depth = math.prod(extent[i] for i in set(left + right) - set(result))
    reference = cache(lambda: np.einsum(einsum, A.astype("f8"), B.astype("f8"), optimize=True))

    def error():
        return product_error(C, reference(), depth)

    def of_loops(threads: int) -> dict[str, Form]:
        call = compiled(loops(einsum), threads)
        return {"": Form(lambda: call(C, A, B), error)}

    def of_einsum(threads: int) -> dict[str, Form]:
        source = f'def contraction(C, A, B):\n    C[...] = np.einsum("{einsum}", A, B)\n'
        call = compiled(function_of(source, "contraction"), threads)
        return {"": Form(lambda: call(C, A, B), error)}

    def of_numpy(threads: int) -> dict[str, Form]:
        return {"": Form(lambda: np.einsum(einsum, A, B, optimize=True, out=C), error)}

    def of_torch(threads: int) -> dict[str, Form]:
        torch = torch_library(threads)
        a, b = torch.from_numpy(A), torch.from_numpy(B)

        def got():
            return product_error(torch.einsum(einsum, a, b).numpy(), reference(), depth)

        return {"": Form(lambda: torch.einsum(einsum, a, b), got)}

    forms = {"loops": of_loops, "einsum": of_einsum, "numpy": of_numpy, "torch": of_torch}
    return Problem(2 * C.size * depth, forms)
