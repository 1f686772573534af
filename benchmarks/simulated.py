"""How many cycles of systolic arrays the engines simulate in a second: products of matrices with results or weights that stay."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import numpy as np

import polyml
from polyml.systolic.simulate import ENGINES

ROUNDS = 3
SIDES = (128, 256)
ROWS = 65_536  # that stream past what stays
LONG_ROWS = 262_144  # the same, of calls in which what is made before the first cycle counts for less: compiled, the largest array


@polyml.kernel
def floats(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@polyml.kernel
def bytes_into_words(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.int32(A[i, k]) * np.int32(B[k, j])


def arguments(kernel, rows: int, depth: int, columns: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    number, total = (np.float32, np.float32) if kernel is floats else (np.int8, np.int32)
    A, B = (rng.integers(-9, 10, shape).astype(number) for shape in ((rows, depth), (depth, columns)))
    return [A, B, np.zeros((rows, columns), total)]


def print_speed() -> None:
    """Prints the medians of whole simulations, programs of the folds included; the code is made once, each result is checked."""
    print("array      numbers       stays     cycles" + "".join(f"{engine + ' cycles/s':>22}" for engine in ENGINES))
    for side, rows, engines in (*((side, ROWS, ENGINES) for side in SIDES), (SIDES[-1], LONG_ROWS, ("compiled",))):
        for kernel in (floats, bytes_into_words):
            for dataflow, shape in (("os", (side, rows, side)), ("ws", (rows, side, side))):
                print(_row(kernel, side, dataflow, shape, engines))


def _row(kernel, side: int, dataflow: str, shape: tuple[int, int, int], engines: Sequence[str]) -> str:
    args = arguments(kernel, *shape)
    plan = next(
        p
        for p in kernel.report(*args, target="systolic", array=(side, side), dataflow=dataflow).nests[0].plans
        if len(p.folds.shape) == 2
    )
    expected = args[0].astype(np.float64) @ args[1].astype(np.float64)  # of whole numbers, exact
    speeds: dict[str, list[float]] = {engine: [] for engine in engines}
    for _ in range(ROUNDS):
        for engine in engines:
            own = [arg.copy() for arg in args]
            start = time.perf_counter()
            simulation = kernel.simulate(*own, array=(side, side), engine=engine, plans=(plan,))
            speeds[engine].append(simulation.cycles / (time.perf_counter() - start))
            assert np.array_equal(own[2], expected)
    numbers = f"{args[0].dtype} -> {args[2].dtype}" if args[0].dtype != args[2].dtype else str(args[0].dtype)
    cells = "".join(f"{statistics.median(speeds[engine]):22,.0f}" for engine in engines)
    return f"{side} x {side}  {numbers:14}{dataflow:>5}{plan.folds.cycles:11,}{cells}"
