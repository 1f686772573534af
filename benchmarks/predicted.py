"""Whether predicted times put tiles in the order in which they run: the source's loops of each kernel, in tiles of many sizes.

python -m benchmarks.predicted [KERNEL ...] [--preset MEDIUM] [--sizes 8,16,32,64,128] [--most 24]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

import polyml
from benchmarks.nests import parameters
from benchmarks.ranks import rank_correlation
from polyml import kernels
from polyml.errors import PolymlError
from polyml.machines.descriptions import Cpu
from polyml.measure import lookup
from polyml.performance.cache_misses import misses
from polyml.performance.ecm import Prediction, prediction
from polyml.performance.roofline import roofline
from polyml.performance.variants import form_of
from polyml.schedule.script.schedule import Schedule
from polyml.tune.tiles.choose import extents, nests_of

ROUNDS = 5  # in each of which every tile is timed, so that what slows the machine for a while slows them all
SECONDS = 0.03  # of the calls of a round, of which there are 3 at least
ALIKE = 1.1  # kernels whose slowest tiles take less than so many times the fastest ones' time show noise


@dataclass(frozen=True)
class Tile:
    """A Tile is a row of a kernel's table.

    sizes: those of the tiles of the loops.
    seconds: the least of the rounds' medians.
    """

    sizes: tuple[int, ...]
    seconds: float
    predicted: Prediction


@dataclass(frozen=True)
class Tiled:
    """A Tiled is a kernel whose loops are in tiles of these sizes."""

    sizes: tuple[int, ...]
    kernel: Callable
    predicted: Prediction


@dataclass(frozen=True)
class Nests:
    """Nests are those of a kernel with the same tiles: in each, the loops' addresses, and how many iterations they have."""

    names: tuple[tuple[str, ...], ...]
    extents: tuple[int, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", default=[], metavar="KERNEL", help="of `polyml bench --list`")
    parser.add_argument("--preset", default="MEDIUM", help="sizes of the arrays")
    parser.add_argument("--sizes", default="8,16,32,64,128", help="of tiles, besides whole loops")
    parser.add_argument("--most", type=int, default=24, help="tiles of a kernel")
    parser.add_argument("--tiles", action="store_true", help="print every tile")
    given = parser.parse_args()
    machine, tried = lookup.find("host", measure=True), tuple(map(int, given.sizes.split(",")))
    print(f"{'kernel':16} {'loops':>12} {'tiles':>6} {'slowest':>8} {'rank':>6} {'predicted':>10} {'of best':>8}")
    found: dict[str, list[Tile]] = {}
    for name in given.kernels or kernels.NAMES:
        try:
            loops, rows = _swept(kernels.load(kernels.canonical(name)), given.preset.upper(), tried, given.most, machine)
        except PolymlError as problem:
            print(f"{name:16} {problem.message}")
            continue
        if len(rows) < 3:
            print(f"{name:16} {', '.join(loops):>12} {len(rows):6}  too few tiles are legal")
            continue
        found[name] = rows
        print(_line(name, loops, rows), flush=True)
        if given.tiles:
            _print_tiles(rows)
    _print_all(found)


def _line(name: str, loops: Sequence[str], rows: Sequence[Tile]) -> str:
    measured, predicted = _sides(rows)
    ratio = statistics.median(p / m for p, m in zip(predicted, measured))
    first = measured[predicted.index(min(predicted))] / min(measured)
    spread = max(measured) / min(measured)
    return f"{name:16} {', '.join(loops):>12} {len(rows):6} {spread:8.2f} {rank_correlation(predicted, measured):6.2f} {ratio:10.2f} {first:8.2f}"


def _sides(rows: Sequence[Tile]) -> tuple[list[float], list[float]]:
    return [row.seconds for row in rows], [row.predicted.seconds for row in rows]


def _print_tiles(rows: Sequence[Tile]) -> None:
    for row in sorted(rows, key=lambda row: row.seconds):
        moves = ", ".join(f"{place} {seconds * 1e3:.3g}" for place, seconds in row.predicted.moves.items())
        print(
            f"    {', '.join(map(str, row.sizes)):16} {row.seconds * 1e3:9.3f} ms, predicted {row.predicted.seconds * 1e3:9.3f}: "
            f"instructions {row.predicted.instructions * 1e3:.3g}, {moves}"
        )


def _print_all(found: dict[str, list[Tile]]) -> None:
    """Prints figures over the kernels whose times differ, and over all tiles of all kernels."""
    ranks = {name: rank_correlation(*_sides(rows)) for name, rows in found.items() if _spread(rows) >= ALIKE}
    if not ranks:
        return
    values = sorted(ranks.values())
    every = [row for rows in found.values() for row in rows]
    print(
        f"rank correlation of {len(ranks)} kernels whose tiles differ by {ALIKE - 1:.0%} in time: median {statistics.median(values):.2f}, "
        f"mean {statistics.mean(values):.2f}, least {values[0]:.2f}; of all {len(every)} tiles together {rank_correlation(*_sides(every)):.2f}"
    )


def _spread(rows: Sequence[Tile]) -> float:
    return max(row.seconds for row in rows) / min(row.seconds for row in rows)


def _swept(
    benchmark: kernels.Benchmark, preset: str, tried: Sequence[int], most: int, machine: Cpu
) -> tuple[tuple[str, ...], list[Tile]]:
    """Returns the loops that are tiled, and a row for each legal tile."""
    size = benchmark.sizes[preset]
    named = benchmark.inputs(size, np.random.default_rng(0))
    arguments = tuple(named.values())
    kernel = polyml.kernel(benchmark.kernel.py_func, cache=False, threads=1)
    source = kernel.schedule("source", *arguments)
    sizes = parameters(source.problem.scop, kernel.py_func, arguments)
    nests = tuple(nests_of(source.loops))
    if not nests:
        return (), []
    deepest = max(map(len, nests))
    names = tuple(names for names in nests if len(names) == deepest)
    found = Nests(names, extents(source, names, sizes))
    tiles = []
    for tile in _tiles(found.extents, tried, most):
        try:
            tiles.append(_predicted(kernel, _schedule(source, found, tile), tile, arguments, machine))
        except PolymlError:  # tiles that break a dependence
            continue
    rounds = [[_seconds(tile.kernel, arguments) for tile in tiles] for _ in range(ROUNDS)]
    rows = [Tile(tile.sizes, min(times), tile.predicted) for tile, *times in zip(tiles, *rounds)]
    return tuple(address.rpartition(".")[2] for address in names[0]), rows


def _tiles(extents_: Sequence[int], tried: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Returns combinations of sizes of the last three loops, spread evenly where there are more than `most`."""
    sizes = [
        [extent] if len(extents_) - k > 3 else sorted({*(s for s in tried if s < extent), extent})
        for k, extent in enumerate(extents_)
    ]
    every = list(product(*sizes))
    step = max(1.0, len(every) / most)
    return [every[int(k * step)] for k in range(int(len(every) / step))]


def _schedule(source: Schedule, nests: Nests, sizes: Sequence[int]) -> Schedule:
    for names in nests.names:
        shorter = {name: size for name, size, extent in zip(names, sizes, nests.extents) if size < extent}
        source = source.tile(shorter) if shorter else source
    return source


def _predicted(kernel, schedule: Schedule, tile: tuple[int, ...], arguments: tuple, machine: Cpu) -> Tiled:
    tiled = kernel.with_schedule(schedule)
    compiled = tiled.lower(*arguments)
    form = form_of("tiled", compiled)
    sizes = parameters(compiled.program.scop, kernel.py_func, arguments)
    found = misses(form, sizes, machine.machine.caches)
    bound = roofline(form, found, sizes, machine, 1)
    return Tiled(tile, tiled, prediction(form, bound, sizes, found.simulation.places, machine, 1))


def _seconds(kernel: Callable, arguments: tuple) -> float:
    """Returns the median of calls with fresh arguments."""
    times: list[float] = []
    while sum(times) < SECONDS or len(times) < 4:
        fresh = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        start = time.perf_counter()
        kernel(*fresh)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])  # the first one may compile, and brings the code into the caches


if __name__ == "__main__":
    main()
