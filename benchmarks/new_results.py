"""Time kernels that return a new array beside NumPy:  python -m benchmarks.new_results [--sizes MB ...] [--repeat N] [--json FILE]

`a + 1`, `a + s`, `np.exp(a)` and `a @ b`, results of 1, 8, 32 and 128 MB. A result is dropped before the next call, kept until the end of its
turn (eight of them, or as many as 512 MB hold), or dropped with other arrays made and freed between the calls. Polyml and NumPy take turns
of as many calls in one process. A turn begins once the other's threads sleep, which look for work a while after a call, and with a call that is
not timed. The least and the median of a call's times count.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import polyml
from benchmarks.results import print_geometric_mean, write_rows

SIZES_MB = (1, 8, 32, 128)
MODES = ("dropped", "kept", "others")
_ITEM_BYTES, _MB, _KEPT_MB, _INNER = 8, 1 << 20, 512, 64
_ASLEEP_S = 0.05  # after a call, OpenBLAS' threads look for work for 20 ms and take a core meanwhile


def plus_one(a):
    return a + 1


def plus_number(a, s):
    return a + s


def exponential(a):
    return np.exp(a)


def product(a, b):
    return a @ b


FUNCTIONS = (plus_one, plus_number, exponential, product)


@dataclass(frozen=True)
class Row:
    """A Row has the times of one function, size and use of its results, in milliseconds. ratio: polyml's least over NumPy's."""

    function: str
    megabytes: int
    mode: str
    numpy_ms: float
    polyml_ms: float
    numpy_median_ms: float
    polyml_median_ms: float
    ratio: float


def arguments(function: Callable, megabytes: int) -> tuple:
    """Returns arguments for which the result has so many megabytes. A product has an inner size of 64."""
    random = np.random.default_rng(1)
    elements = megabytes * _MB // _ITEM_BYTES
    if function is product:
        rows = 1 << (elements.bit_length() // 2)
        return random.random((rows, _INNER)), random.random((_INNER, elements // rows))
    return (random.random(elements), 1.5)[: function.__code__.co_argcount]


def make_others(size_bytes: int) -> None:
    """Makes and frees arrays of other sizes, as the rest of a program does between two calls."""
    for _ in range(3):
        larger, smaller = np.empty(size_bytes // _ITEM_BYTES + 1000), np.empty(size_bytes // (2 * _ITEM_BYTES))
        larger[:], smaller[:] = 1.0, 2.0


def timed(call: Callable, values: tuple, kept: list | None) -> float:
    start = time.perf_counter()
    result = call(*values)
    seconds = time.perf_counter() - start
    if kept is not None:
        kept.append(result)
    return seconds


def row(function: Callable, megabytes: int, mode: str, repeat: int) -> Row:
    values = arguments(function, megabytes)
    calls = {"numpy": function, "polyml": polyml.kernel(function)}
    np.testing.assert_allclose(calls["polyml"](*values), function(*values), rtol=1e-12)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    together = min(8, max(2, _KEPT_MB // megabytes))
    for turn in range(repeat + 1):
        for name, call in calls.items():
            kept: list | None = [] if mode == "kept" else None
            time.sleep(_ASLEEP_S)
            call(*values)
            for _ in range(together):
                if mode == "others":
                    make_others(megabytes * _MB)
                taken = timed(call, values, kept)
                if turn:
                    seconds[name].append(taken)
    least = {name: 1e3 * min(each) for name, each in seconds.items()}
    middle = {name: 1e3 * statistics.median(each) for name, each in seconds.items()}
    ratio = least["polyml"] / least["numpy"]
    return Row(
        function.__name__, megabytes, mode, least["numpy"], least["polyml"], middle["numpy"], middle["polyml"], ratio
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES_MB, metavar="MB", help="megabytes of a result")
    parser.add_argument("--functions", nargs="+", default=[f.__name__ for f in FUNCTIONS], choices=[f.__name__ for f in FUNCTIONS])
    parser.add_argument("--repeat", type=int, default=15, help="how many turns")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    given = parser.parse_args(argv)
    rows = []
    print(f"{'function':12} {'MB':>4} {'results':8} {'NumPy ms':>9} {'polyml ms':>9} {'median':>9} {'median':>9} {'ratio':>6}")
    for function in (f for f in FUNCTIONS if f.__name__ in given.functions):
        for megabytes in given.sizes:
            for mode in MODES:
                rows.append(made := row(function, megabytes, mode, given.repeat))
                times = (made.numpy_ms, made.polyml_ms, made.numpy_median_ms, made.polyml_median_ms)
                print(
                    f"{made.function:12} {megabytes:4} {mode:8} {' '.join(f'{t:9.3f}' for t in times)} {made.ratio:6.2f}",
                    flush=True,
                )
    print_geometric_mean(each.ratio for each in rows)
    write_rows(given.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
