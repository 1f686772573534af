"""The values that are needed to run, check and time an irregular function, and the sparse inputs that several of them have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Size = Mapping[str, int]
Outputs = dict[str, object]
FUNCTIONS: dict[str, Irregular] = {}


@dataclass(frozen=True, kw_only=True)
class Irregular:
    """An Irregular is a function that is not affine, with all that is needed to run, check and time it.

    function: plain Python of loops, scalars and NumPy arrays.
    inputs: gives its arguments, from a size and a random generator.
    reference: gives, from the arguments, which it leaves as they are, what is right after the call, computed in another way:
        {name: array} of changed arguments and of "result", a tuple where the function returns one.
    sizes: {preset: {parameter: int}}.
    tolerance: how far a value may be from the right one, relative to the largest of its output; 0 where results are exact.
    parallel: the loop whose iterations are independent except for sums, as `benchmarks.loops` names it; "" where none is.
    """

    name: str
    function: Callable
    inputs: Callable[[Size, np.random.Generator], tuple]
    reference: Callable[..., Outputs]
    sizes: Mapping[str, Size]
    tolerance: float = 0.0
    parallel: str = ""

    def arguments(self, preset: str, seed: int = 0) -> tuple:
        """Returns fresh arguments."""
        return self.inputs(self.sizes[preset], np.random.default_rng(seed))

    def problem(self, wanted: Outputs, arguments: tuple, result: object) -> str:
        """Returns in words where the outcome of a call differs from what the reference wants, or ""."""
        code = self.function.__code__
        got = {**dict(zip(code.co_varnames[: code.co_argcount], arguments)), "result": result}
        for name, right in wanted.items():
            for one, other in _pairs(got[name], right):
                found = difference(one, other, self.tolerance)
                if found:
                    return f"{name}: {found}"
        return ""


def _pairs(got: object, right: object) -> list[tuple[object, object]]:
    """Returns the values that are to be compared, those of tuples one by one."""
    if not isinstance(right, tuple):
        return [(got, right)]
    if not isinstance(got, tuple) or len(got) != len(right):
        return [(np.nan, 0.0)]
    return list(zip(got, right))


def difference(one: object, other: object, tolerance: float) -> str:
    """Returns in words how a value differs from the right one by more than the tolerance, or "".

    >>> difference([1, 2], [1, 3], 0.0)
    '1 of 2 values differ'
    """
    got, right = np.asarray(one), np.asarray(other)
    if got.shape != right.shape:
        return f"shape {got.shape} against {right.shape}"
    if not tolerance:
        wrong = int(np.count_nonzero(got != right))
        return f"{wrong} of {right.size} values differ" if wrong else ""
    apart = np.max(np.abs(got - right), initial=0.0) / np.max(np.abs(right), initial=1e-300)
    return "" if apart <= tolerance else f"{apart:.1e} apart"


def irregular(
    small: Size, large: Size, inputs: Callable, reference: Callable, tolerance: float = 0.0, parallel: str = ""
) -> Callable[[Callable], Callable]:
    """Returns a decorator that registers a function under its name and leaves it as it is."""

    def register(function: Callable) -> Callable:
        FUNCTIONS[function.__name__] = Irregular(
            name=function.__name__, function=function, inputs=inputs, reference=reference,
            sizes={"SMALL": small, "LARGE": large}, tolerance=tolerance, parallel=parallel,
        )  # fmt: skip
        return function

    return register


def compressed(keys: np.ndarray, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns (row pointers, column indices) of the CSR matrix with elements at row * columns + column for each distinct key."""
    keys = np.unique(keys)
    pointers = np.searchsorted(keys, np.arange(rows + 1) * columns)
    return pointers.astype(np.int32), (keys % columns).astype(np.int32)


def random_csr(rng: np.random.Generator, rows: int, columns: int, per_row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns a CSR matrix as (row pointers, column indices, values), whose rows differ in length."""
    pointers, indices = compressed(rng.integers(0, rows * columns, rows * per_row), rows, columns)
    return pointers, indices, rng.uniform(0.1, 1.0, len(indices))


def random_graph(rng: np.random.Generator, nodes: int, per_node: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns (pointers, neighbours) of an undirected graph without loops in CSR form."""
    one, other = rng.integers(0, nodes, (2, nodes * per_node // 2))
    one, other = one[one != other], other[one != other]
    return compressed(np.concatenate([one * nodes + other, other * nodes + one]), nodes, nodes)


def rows_of(pointers: np.ndarray) -> np.ndarray:
    """Returns the row of each element of a CSR matrix."""
    return np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
