"""Checks many mixed programs:  python -m tests.mixed --programs 1000 --seed 1 --jobs 2"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from multiprocessing import get_context

from tests.mixed.check import Outcome, check
from tests.mixed.generate import mixed


def main() -> int:
    """The number of different programs decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mixed", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--show", action="store_true", help="print the program --seed and stop")
    options = parser.parse_args()
    if options.show:
        print(mixed(options.seed).source)
        return 0
    start, kinds, totals, failed = time.monotonic(), Counter(), Counter(), 0
    seeds = range(options.seed, options.seed + options.programs)
    with get_context("spawn").Pool(options.jobs, maxtasksperchild=200) as pool:
        for seed, outcome in pool.imap_unordered(_checked, seeds, chunksize=1):
            program = mixed(seed)
            kinds.update(program.kinds)
            totals.update({"ran compiled parts": outcome.parts > 0, "raised": outcome.raised, "had NaN or infinity": outcome.is_inexact})
            if outcome.difference:
                failed += 1
                print(f"seed {seed}: {outcome.difference}", program.source, sep="\n", flush=True)
    print(f"{options.programs} programs in {time.monotonic() - start:.0f} s: {failed} different")
    print(", ".join(f"{count} {what}" for what, count in totals.items()))
    print(", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    return 1 if failed else 0


def _checked(seed: int) -> tuple[int, Outcome]:
    try:
        return seed, check(mixed(seed))
    except Exception as problem:
        return seed, Outcome(f"the check itself ended in {problem!r}")


if __name__ == "__main__":
    sys.exit(main())
