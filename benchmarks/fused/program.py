"""The values that are needed to compile, check, simulate and time a program of several array operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

PROGRAMS: dict[str, Program] = {}
F32, F64 = np.float32, np.float64
TOLERANCES = {"float32": 2e-4, "float64": 1e-9}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A Program is what people write in several steps, with all that it is compared with. Every form takes the same arguments,
    changes none of them and returns the result, or a tuple of them.

    function: the program as people write it, which polyml compiles.
    hand: the nest, or the fewest nests, that an expert writes by hand; None where it is no kernel, so that the least bytes stand
        for it.
    reference: the program in NumPy's array operations; JAX runs it as well.
    torch: the program in PyTorch's; it takes torch and the tensors.
    jax: the program for JAX where it is not the reference; it takes jax and the arrays.
    inputs: gives the arguments for a size and a random generator.
    sizes: {preset: {parameter: int}}; "FULL": what is handed on does not fit a second cache of 1 MiB, "QUICK": one of 128 KiB.
    passes: {argument: how often it has to be read}, where that is more than once.
    """

    name: str
    function: Callable
    hand: Callable | None
    reference: Callable
    torch: Callable
    jax: Callable | None
    inputs: Callable[[Mapping[str, int], np.random.Generator], tuple]
    sizes: Mapping[str, Mapping[str, int]]
    passes: Mapping[str, int] = field(default_factory=dict)

    def arguments(self, preset: str, seed: int = 0) -> tuple:
        """Returns fresh arguments."""
        return self.inputs(self.sizes[preset], np.random.default_rng(seed))

    def least_bytes(self, preset: str) -> int:
        """Returns the bytes that have to move: each argument is read once (or `passes` times), the memory of each result is fetched
        once and written once.
        """
        arguments = self.arguments(preset)
        names = self.function.__code__.co_varnames
        read = sum(a.nbytes * self.passes.get(name, 1) for name, a in zip(names, arguments) if isinstance(a, np.ndarray))
        return read + 2 * sum(result.nbytes for result in results(self.reference(*arguments)))

    def problem(self, result: object, arguments: Sequence) -> str:
        """Returns in words where a result differs from the reference's in double precision, or ""."""
        doubles = [a.astype(F64) if isinstance(a, np.ndarray) and a.dtype == F32 else a for a in arguments]
        got, wanted = results(result), results(self.reference(*doubles))
        if len(got) != len(wanted):
            return f"{len(got)} results in place of {len(wanted)}"
        return next(filter(None, map(_difference, got, wanted)), "")


def results(returned: object) -> tuple[np.ndarray, ...]:
    """Returns what a form has returned as arrays."""
    return tuple(map(np.asarray, returned if isinstance(returned, (tuple, list)) else (returned,)))


def _difference(got: np.ndarray, wanted: np.ndarray) -> str:
    if got.shape != wanted.shape:
        return f"shape {got.shape} in place of {wanted.shape}"
    if got.dtype.kind in "iu":  # of results that are rounded, those halfway between two differ by one
        apart = np.abs(got.astype(np.int64) - wanted)
        return "" if apart.max(initial=0) <= 1 and np.mean(apart > 0) < 0.002 else f"whole numbers are {apart.max()} apart"
    scale = np.max(np.abs(wanted), initial=1e-300)
    apart = np.max(np.abs(got - wanted), initial=0.0) / scale
    return "" if apart <= TOLERANCES[got.dtype.name] else f"{apart:.1e} apart"


def program(*, inputs, full, quick, torch, hand=None, reference=None, jax=None, passes=None):
    """Returns a decorator that registers a function as a program of its name. full, quick: the sizes of the two presets."""

    def register(function):
        PROGRAMS[function.__name__] = Program(
            name=function.__name__, function=function, hand=hand, reference=reference or function, torch=torch, jax=jax,
            inputs=inputs, sizes={"FULL": full, "QUICK": quick}, passes=passes or {},
        )  # fmt: skip
        return function

    return register


def normal(rng: np.random.Generator, *shape: int, dtype=F32) -> np.ndarray:
    """Returns normally distributed numbers, scaled so that sums over the last but one axis of products stay about 1."""
    scale = shape[-2] ** -0.5 if len(shape) > 1 else 1.0
    return (rng.standard_normal(shape) * scale).astype(dtype)
