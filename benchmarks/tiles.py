"""How good the tiles are that a report chooses: against all tiles of a grid, in simulated misses and in run time.

python -m benchmarks.tiles [CASE ...] [--run] [--grid 8,16,32,...]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

import polyml
from benchmarks.nests import conv2d, gemm, parameters
from benchmarks.ranks import rank_correlation
from polyml.caches.simulator.simulate import simulate
from polyml.codegen.astgen.build import build
from polyml.codegen.ir.array_layout import placed
from polyml.errors import PolymlError
from polyml.machines.cache_spec import parse
from polyml.measure import lookup
from polyml.report.report import rates
from polyml.schedule.script.schedule import Schedule
from polyml.tune.tiles.choose import Tiles, tiles

CACHES = "32K:8:64"
GRID = (8, 16, 24, 32, 48, 64, 96, 128)
REPEAT = 5
AGAIN = 6  # of the grid, that run once more in turns


def syrk(A, C):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * A[j, k]


def jacobi_2d(A, B, T: int):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


CASES = {
    "gemm 200": (gemm, ((200, 200),) * 3),
    "gemm 256": (gemm, ((256, 256),) * 3),
    "syrk 240": (syrk, ((240, 200), (240, 240))),
    "conv2d 64": (conv2d, ((16, 66, 66), (16, 16, 3, 3), (16, 64, 64))),
    "jacobi_2d 500": (jacobi_2d, ((500, 500), (500, 500), 2)),
}


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable
    arguments: tuple
    source: Schedule
    sizes: dict[str, int]

    def tiled(self, chosen: Tiles, sizes: tuple[int, ...]) -> Schedule:
        """Returns the source's order in tiles, the same for each nest of these loops."""
        schedule = self.source
        for nest in chosen.nests:
            schedule = schedule.tile(dict(zip(nest, sizes)))
        return schedule


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=[], metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--run", action="store_true", help="also time every tile of the grid")
    parser.add_argument("--grid", default=",".join(map(str, GRID)), help="sizes of tiles that are tried")
    given = parser.parse_args()
    grid = tuple(map(int, given.grid.split(",")))
    print(f"{'case':16} {'chosen':>20} {'misses':>12} {'best of grid':>20} {'misses':>12} {'ratio':>6} {'seconds':>8}")
    for name in given.cases or CASES:
        case = _case(name)
        chosen = tiles(case.source, case.sizes, parse(CACHES))
        swept = {sizes: _misses(case, chosen, sizes) for sizes in _grid(chosen, grid)}
        best = min(swept, key=swept.get)
        own = _misses(case, chosen, chosen.best.sizes)
        print(
            f"{name:16} {_text(chosen.best.sizes):>20} {own:12,} {_text(best):>20} {swept[best]:12,} {own / swept[best]:6.3f} "
            f"{chosen.seconds:8.2f}"
        )
        if given.run:
            _print_times(case, swept)


def _case(name: str) -> Case:
    function, shapes = CASES[name]
    arguments = tuple(np.random.default_rng(0).random(s) if isinstance(s, tuple) else s for s in shapes)
    kernel = polyml.kernel(function, cache=False, threads=1)
    source = kernel.schedule("source", *arguments)
    return Case(name, function, arguments, source, parameters(source.problem.scop, function, arguments))


def _grid(chosen: Tiles, grid: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yields every combination of sizes, and whole loops; short loops are always whole."""
    sizes = [[extent] if extent <= 8 else sorted({*(g for g in grid if g < extent), extent}) for extent in chosen.extents]
    yield from product(*sizes)


def _misses(case: Case, chosen: Tiles, sizes: tuple[int, ...]) -> int:
    schedule = case.tiled(chosen, sizes)
    problem = schedule.problem
    program = build(problem.scop, schedule.tree, problem.reductions)
    found = simulate(program, case.sizes, parse(CACHES), classify=False, places=placed(program, case.sizes))
    return sum(counts.misses[0] for counts in found.counts.values())


def _print_times(case: Case, swept: dict) -> None:
    """Prints the times of every tile of the grid.

    The fastest ones, the one of the least predicted time, and polyml's schedule are timed once more.
    """
    machine = lookup.find("host", measure=True)
    levels = machine.machine.caches
    found = tiles(case.source, case.sizes, levels, rates(levels, machine, 1))
    kernels = {sizes: _kernel(case, found, sizes) for sizes in {*swept, found.fastest.sizes}}
    times = {sizes: _seconds(case, [kernel])[0] for sizes, kernel in kernels.items() if kernel is not None}
    known = [sizes for sizes in swept if sizes in times]
    rank = rank_correlation([swept[s] for s in known], [times[s] for s in known])
    first = sorted(known, key=times.get)[:AGAIN]
    own = polyml.kernel(case.function, cache=False, threads=1)
    chosen, default, *others = _seconds(case, [kernels[found.fastest.sizes], own, *(kernels[s] for s in first)])
    least = min(others)
    print(
        f"  run: fastest {_text(first[others.index(least)])} {least * 1e3:.3g} ms; predicted to be fastest {_text(found.fastest.sizes)} "
        f"{chosen * 1e3:.3g} ms, ratio {chosen / least:.2f} ({found.seconds:.2f} s); polyml's schedule {default * 1e3:.3g} ms, ratio "
        f"{default / least:.2f}; rank correlation of misses and times {rank:.2f}"
    )


def _kernel(case: Case, chosen: Tiles, sizes: tuple[int, ...]):
    """Returns the kernel in these tiles; None where they are refused."""
    try:
        kernel = polyml.kernel(case.function, cache=False, threads=1).with_schedule(case.tiled(chosen, sizes))
        kernel(*(a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments))
        return kernel
    except PolymlError:
        return None


def _seconds(case: Case, kernels: list) -> list[float]:
    """Returns the medians of some calls of each kernel, in turns."""
    arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments]
    found = [[] for _ in kernels]
    for kernel in kernels:
        kernel(*arguments)
    for _ in range(REPEAT * len(kernels)):
        for kernel, times in zip(kernels, found):
            start = time.perf_counter()
            kernel(*arguments)
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in found]


def _text(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes))


if __name__ == "__main__":
    main()
