"""Checks many nasty nests:  python -m tests.nasty --nests 1000 --seed 1 --jobs 2"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from functools import partial

from tests.nasty.check import checked
from tests.nasty.generate import nest
from tests.seed_batches import in_batches

BATCH = 50


def main() -> int:
    """The number of nests that differ or take more than twice the budget decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.nasty", description=__doc__)
    parser.add_argument("--nests", type=int, default=100, help="how many nests")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--budget", type=int, default=10, help="seconds")
    parser.add_argument("--show", action="store_true", help="print the nest --seed and stop")
    options = parser.parse_args()
    if options.show:
        print(nest(options.seed).source)
        return 0
    start, found = time.monotonic(), []
    seeds = range(options.seed, options.seed + options.nests)
    for seed, outcome in in_batches(partial(checked, budget_s=options.budget), seeds, options.jobs, BATCH, 1):
        found.append(outcome)
        if outcome.difference or outcome.seconds > options.budget:
            print(f"seed {seed}, {outcome.kind}: {outcome.seconds:.1f} s, {outcome.form} {outcome.difference}", flush=True)
    wrong = [each for each in found if each.difference]
    late = [each for each in found if each.seconds > 2 * options.budget]
    over = sum(each.seconds > options.budget for each in found)
    print(
        f"{len(found)} nests in {time.monotonic() - start:.0f} s: {len(wrong)} wrong, {len(late)} over twice the budget, {over} over it"
    )
    print(
        f"longest {max(each.seconds for each in found):.1f} s, on average {sum(each.seconds for each in found) / len(found):.2f} s"
    )
    for kind, count in sorted(Counter((each.kind, each.form) for each in found).items()):
        print(f"{count:5} {': '.join(kind)}")
    return 1 if wrong or late else 0


if __name__ == "__main__":
    sys.exit(main())
