"""Programs of several array operations: the bytes that they move, simulated, and with --time their times against other libraries.

python -m benchmarks.fused [PROGRAM ...] [--quick] [--threads 1] [--caches 32K:8:64,1M:16:64] [--arrays]
python -m benchmarks.fused --time [PROGRAM ...] [--peers numpy torch compile jax] [--python PYTHON]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fused import programs, table
from benchmarks.fused.moved_bytes import Setting
from benchmarks.results import write_rows
from polyml.machines import catalogue
from polyml.machines.cache_spec import parse

MACHINE = "zen4"
CACHES = {"FULL": "32K:8:64,1M:16:64", "QUICK": "32K:8:64,128K:8:64"}


def setting(preset: str, machine: str = MACHINE, caches: str = "", threads: int = 1) -> Setting:
    """Returns the machine that programs are compiled for and the caches that they run in. machine: a name from `catalogue`."""
    return Setting(catalogue.preset(machine).machine, parse(caches or CACHES[preset]), threads)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; the exit status is 1 where a program is not compiled or cannot be simulated."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes and small caches")
    parser.add_argument("--threads", type=int, default=1, help="how many run each program (default: 1)")
    parser.add_argument("--machine", default=MACHINE, help=f"that the code is for (default: {MACHINE})")
    parser.add_argument("--caches", default="", help=f"that are simulated (default: {CACHES['FULL']})")
    parser.add_argument("--arrays", action="store_true", help="what each array moves where it is more than by hand")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    given = parser.parse_args(arguments)
    preset = "QUICK" if given.quick else "FULL"
    unknown = [name for name in given.programs if name not in programs()]
    if unknown:
        parser.error(f"no program {unknown[0]!r}; there are {', '.join(programs())}")
    where = setting(preset, given.machine, given.caches, given.threads)
    rows = []
    for name in given.programs or programs():
        print(name, file=sys.stderr, flush=True)
        rows.append(table.row(programs()[name], preset, where))
        write_rows(given.json, rows)
    print(f"{where.threads} threads, code for {given.machine}, caches {given.caches or CACHES[preset]}; bytes to and from memory")
    print(*table.lines(rows), sep="\n")
    for each in rows:
        if given.arrays and (each.over_hand or 0) > table.MOST_OF_HAND:
            print(f"\n{each.program}, {each.over_hand:.2f} of the bytes by hand:", *table.arrays(each), sep="\n")
    return int(any(each.problem for each in rows))


if __name__ == "__main__":
    sys.exit(main())
