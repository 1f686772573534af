"""Checks many mixed programs:  python -m tests.mixed --programs 1000 --seed 1 --jobs 2"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.mixed.check import checked
from tests.mixed.generate import mixed
from tests.seed_batches import in_batches
from tests.transformations import Tally


def main() -> int:
    """The number of different programs decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mixed", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--show", action="store_true", help="print the program --seed and stop")
    parser.add_argument("--tally", type=Path, help="write what fired to this file, as JSON")
    options = parser.parse_args()
    if options.show:
        print(mixed(options.seed).source)
        return 0
    start, kinds, totals, failed = time.monotonic(), Counter(), Counter(), 0
    tally = Tally()
    seeds = range(options.seed, options.seed + options.programs)
    for seed, outcome in in_batches(checked, seeds, options.jobs):
        program = mixed(seed)
        kinds.update(program.kinds)
        totals.update({"ran compiled parts": outcome.parts > 0, "raised": outcome.raised})
        tally.add(outcome.fired, is_wrong=bool(outcome.difference), is_hidden=outcome.is_inexact, has_parts=outcome.has_boundary)
        if outcome.difference:
            failed += 1
            print(f"seed {seed}: {outcome.difference}", program.source, sep="\n", flush=True)
    print(f"{options.programs} programs in {time.monotonic() - start:.0f} s: {failed} different")
    print(", ".join(f"{count} {what}" for what, count in totals.items()))
    print(", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    print(tally.text())
    if options.tally:
        options.tally.write_text(tally.to_json())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
