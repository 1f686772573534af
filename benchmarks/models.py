"""How long the models behind a report take: footprints, symbolic misses, Haystack's example, whole reports.

python -m benchmarks.models [footprints] [symbolic] [haystack] [reports]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import polyml
from benchmarks.nests import conv2d, five_points, gemm, gemm_ikj, parameters, transpose, trsv
from polyml.caches.analytic.footprints import footprints
from polyml.caches.analytic.reuse_distances import distances
from polyml.caches.analytic.scheduled_accesses import ScheduledAccesses, SizeFacts
from polyml.caches.analytic.tile_footprints import tile
from polyml.caches.simulator.trace import references
from polyml.codegen.astgen.build import build
from polyml.codegen.ir.array_layout import placed
from polyml.machines.cache_spec import parse
from polyml.measure import lookup

REPEAT = 3
LINE_BYTES = 64
CACHES = "32K:8:64,1M:16:64"


SQUARE = (256, 256)
CASES = {
    "gemm": (gemm, (SQUARE,) * 3),
    "transpose": (transpose, (SQUARE,) * 2),
    "five points": (five_points, (SQUARE,) * 2),
    "trsv": (trsv, (SQUARE, (256,))),
    "conv2d": (conv2d, ((16, 66, 66), (16, 16, 3, 3), (16, 64, 64))),
}


def main() -> None:
    parts = {"footprints": _footprints, "symbolic": _symbolic, "haystack": _haystack, "reports": _reports}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[], choices=[*parts, []], help="what to time")
    for name in parser.parse_args().parts or parts:
        parts[name]()


def _modelled(name: str, dtype=np.float64):
    """Returns the SCoP, its loops as a program, and the parameters' values."""
    function, shapes = CASES[name]
    return _of(function, shapes, dtype)


def _of(function: Callable, shapes, dtype):
    arguments = [np.zeros(shape, dtype) for shape in shapes]
    scop = polyml.kernel(function, cache=False).schedule("source", *arguments).problem.scop
    return scop, build(scop, scop.schedule), parameters(scop, function, arguments)


def _footprints() -> None:
    print("footprints of all loops, for all sizes           levels  seconds a level")
    for name in CASES:
        scop, _, sizes = _modelled(name)
        levels, seconds = _timed(lambda: footprints(scop, None, sizes, line_bytes=LINE_BYTES))
        print(f"  {name:46} {len(levels):6} {seconds / len(levels):16.4f}")
    scop, _, _ = _modelled("gemm")
    _, seconds = _timed(lambda: tile(scop, {"i": "Ti", "j": "Tj", "k": "Tk"}))
    print(f"  {'one tile of gemm, for all tile sizes':46} {1:6} {seconds:16.4f}")


def _symbolic() -> None:
    print("misses of 512 lines, fully associative, sizes multiples of 8          seconds  misses at 256")
    for name in ("gemm", "transpose", "five points", "trsv"):
        scop, program, sizes = _modelled(name)
        facts = SizeFacts(scop.checked, dict.fromkeys(sizes, LINE_BYTES // 8))
        accesses = ScheduledAccesses(scop, scop.schedule, references(program), {}, None)

        def misses():
            found = distances(accesses, LINE_BYTES, 60.0, facts)
            return [each.formula(512) for each in found.values()]

        found, seconds = _timed(misses)
        print(f"  {name:66} {seconds:8.2f}  {sum(f.evaluate(sizes) for f in found):,}")


def _haystack() -> None:
    scop, program, sizes = _of(gemm_ikj, ((1024, 1024),) * 3, np.float32)
    places = placed(program, sizes)
    accesses = ScheduledAccesses(scop, scop.schedule, references(program), sizes, places)
    by_reference, seconds = _timed(lambda: distances(accesses, LINE_BYTES, 60.0))
    cold = sum(each.cold.evaluate({}) for each in by_reference.values())
    far = sum(each.misses(32 * 1024 // LINE_BYTES) for each in by_reference.values()) - cold
    print(f"Haystack's example (gemm of 1024^3 f32, 32 KiB): {cold:,} compulsory, {far:,} capacity misses, {seconds:.2f} s")


def _reports() -> None:
    machine, caches = lookup.find("host", measure=True), parse(CACHES)
    print("whole reports                                          with simulation  without")
    for name, (function, shapes) in CASES.items():
        arguments = [np.zeros(shape) for shape in shapes]
        kernel = polyml.kernel(function, cache=False)
        times = [_timed(lambda: kernel.report(*arguments, machine=machine, caches=caches, simulate=s))[1] for s in (True, False)]
        print(f"  {name:52} {times[0]:15.2f}  {times[1]:7.2f}")


def _timed(what: Callable) -> tuple[object, float]:
    """Returns the last result, and the median of the seconds."""
    times = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        found = what()
        times.append(time.perf_counter() - start)
    return found, statistics.median(times)


if __name__ == "__main__":
    main()
