"""What is compiled: PolyBench's kernels in loops, array programs and random programs, as CUDA C++ for arrays of float64 and of float32."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import polyml
from polyml import kernels
from polyml.kernels.arrays import workloads
from tests.fuzz.generate import program
from tests.fuzz.program import function, make_arguments

FLOATS = ("float64", "float32")


def texts(only: str = "", kinds: tuple[str, ...] = ("",)) -> Iterator[tuple[str, str]]:
    """Yields names and CUDA texts of PolyBench's kernels in loops and of the array programs whose names contain `only`.

    kinds: the types of floats in arrays, one after the other; "": the program's own.
    """
    found: dict[str, str] = {}
    for kind in kinds:
        for name, kernel, arguments in _programs(only):
            text = kernel.inspect_cuda(*(_as(value, kind) for value in arguments))
            if found.get(name) != text:  # a kernel on integers is the same for all
                found[name] = text
                yield f"{name} {kind}".rstrip(), text


def random_texts(first: int, count: int) -> Iterator[tuple[str, str]]:
    """Yields names and CUDA texts of random programs; "" in place of the text of one that kernels do not take."""
    for seed in range(first, first + count):
        made = program(seed)
        try:
            yield f"random {seed}", polyml.kernel(function(made), fallback="error").inspect_cuda(*make_arguments(made, 0))
        except polyml.PolymlError:
            yield f"random {seed}", ""


def _programs(only: str) -> Iterator[tuple[str, polyml.Kernel, tuple]]:
    """Yields the name, the kernel and small arguments of each program."""
    for name in kernels.NAMES:
        if only in name:
            benchmark = kernels.load(name)
            arguments = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(0), benchmark.dtype)
            yield name, benchmark.kernel, tuple(arguments.values())
    for name, workload in workloads().items():
        if only in name:
            smallest = min(workload.sizes, key=lambda each: np.prod([*workload.sizes[each].values()], dtype=float))
            yield f"arrays {name}", workload.kernel, tuple(workload.arguments(smallest))


def _as(value: object, kind: str) -> object:
    """Returns an argument, its floats of another type if it is an array or one of them."""
    is_float = isinstance(value, (np.ndarray, np.floating)) and value.dtype in (np.float32, np.float64)
    return value.astype(kind) if kind and is_float else value
