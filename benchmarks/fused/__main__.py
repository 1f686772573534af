"""Programs of several array operations: the bytes that they move, simulated, and with --time their times against other libraries.

python -m benchmarks.fused [PROGRAM ...] [--quick] [--threads 1] [--caches 32K:8:64,1M:16:64] [--arrays]
python -m benchmarks.fused --time [PROGRAM ...] [--peers numpy torch compile jax] [--threads 2]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import chosen
from benchmarks.fused import programs, table, times
from benchmarks.fused.moved_bytes import Setting
from benchmarks.fused.peers import CALLS
from benchmarks.results import write_rows
from polyml.machines import catalogue
from polyml.machines.cache_spec import parse

MACHINE = "zen4"
CACHES = {"FULL": "32K:8:64,1M:16:64", "QUICK": "32K:8:64,128K:8:64"}


def setting(preset: str, machine: str = MACHINE, caches: str = "", threads: int = 1) -> Setting:
    """Returns the machine that programs are compiled for and the caches that they run in. machine: a name from `catalogue`."""
    return Setting(catalogue.preset(machine).machine, parse(caches or CACHES[preset]), threads)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; the exit status is 1 where a program is not compiled, is wrong or cannot be simulated."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes and small caches")
    parser.add_argument("--threads", type=int, help="how many run each program (default: 1, for times 2)")
    parser.add_argument("--machine", default=MACHINE, help=f"that the code is for (default: {MACHINE})")
    parser.add_argument("--caches", default="", help=f"that are simulated (default: {CACHES['FULL']})")
    parser.add_argument("--arrays", action="store_true", help="what each array moves where it is more than by hand")
    parser.add_argument("--time", action="store_true", help="measure times, not bytes")
    parser.add_argument("--peers", nargs="+", default=list(CALLS), choices=CALLS, help="for times (default: all)")
    parser.add_argument("--repeat", type=int, default=9, help="rounds of times (default: 9)")
    parser.add_argument("--budget", type=float, default=12.0, metavar="SECONDS", help="for the rounds of one program")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    given = parser.parse_args(arguments)
    preset = "QUICK" if given.quick else "FULL"
    unknown = [name for name in given.programs if name not in programs()]
    if unknown:
        parser.error(f"no program {unknown[0]!r}; there are {', '.join(programs())}")
    names = given.programs or list(programs())
    return _print_times(given, names, preset) if given.time else _print_bytes(given, names, preset)


def _print_bytes(given: argparse.Namespace, names: Sequence[str], preset: str) -> int:
    where = setting(preset, given.machine, given.caches, given.threads or 1)
    rows = []
    for name in names:
        print(name, file=sys.stderr, flush=True)
        rows.append(table.row(programs()[name], preset, where))
        write_rows(given.json, rows)
    print(f"{where.threads} threads, code for {given.machine}, caches {given.caches or CACHES[preset]}; bytes to and from memory")
    print(*table.lines(rows), sep="\n")
    for each in rows:
        if given.arrays and (each.over_hand or 0) > table.MOST_OF_HAND:
            print(f"\n{each.program}, {each.over_hand:.2f} of the bytes by hand:", *table.arrays(each), sep="\n")
    return int(any(each.problem for each in rows))


def _print_times(given: argparse.Namespace, names: Sequence[str], preset: str) -> int:
    threads, peers = given.threads or 2, ["polyml", *(peer for peer in given.peers if peer != "polyml")]
    rows = []
    for name in names:
        print(name, file=sys.stderr, flush=True)
        rows.append(times.row(name, preset, threads, peers, given.repeat, given.budget))
        write_rows(given.json, rows)
    print(f"{threads} threads; a peer's time / polyml's, medians of interleaved rounds")
    print(*times.lines(rows, peers), sep="\n")
    print(*chosen.lines(peers), sep="\n")
    return int(any("polyml" in each.notes for each in rows))


if __name__ == "__main__":
    sys.exit(main())
