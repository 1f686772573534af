"""Checks many programs of which data decide the control:  python -m tests.irregular --programs 1000 --seed 1 --jobs 2"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tests.irregular.check import Outcome, checked
from tests.irregular.generate import features, program
from tests.irregular.run import script
from tests.irregular.shrink import shrink
from tests.seed_batches import in_batches
from tests.transformations import Tally

CHUNK = 5
MOST_REASONS = 12
ENDED = Outcome("its process ended: a crash, or a call that does not end")


def main() -> int:
    """The number of different programs decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.irregular", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--show", action="store_true", help="print the program --seed as a script and stop")
    parser.add_argument("--shrink", action="store_true", help="print a smaller program that differs in the same way, too")
    parser.add_argument("--tally", type=Path, help="write what fired to this file, as JSON")
    options = parser.parse_args()
    if options.show:
        print(script(program(options.seed)))
        return 0
    start, failed, tally = time.monotonic(), 0, Tally()
    had: Counter[str] = Counter()
    forms, raised, reasons = had.copy(), had.copy(), had.copy()
    allowed: dict[str, list[int]] = defaultdict(list)
    for seed, outcome in _outcomes(range(options.seed, options.seed + options.programs), options.jobs):
        case = program(seed)
        had.update({*features(case.source), *case.pieces, *case.traits})
        forms["compiled whole" if outcome.is_whole else "compiled in part" if outcome.has_parts else "plain Python"] += 1
        raised.update(set(outcome.raised))
        tally.add(outcome.fired, is_wrong=bool(outcome.difference), is_hidden=False, has_parts=outcome.has_parts)
        for what in outcome.allowed:
            allowed[what].append(seed)
        reasons.update([outcome.reason] if outcome.reason else [])
        if outcome.difference:
            failed += 1
            has_ended = outcome.difference == ENDED.difference
            print(
                f"seed {seed}: {outcome.difference}",
                script(shrink(case) if options.shrink and not has_ended else case),
                sep="\n",
                flush=True,
            )
    print(f"{options.programs} programs in {time.monotonic() - start:.0f} s: {failed} different")
    for title, counts in [("forms", forms), ("had", had), ("Python raised", raised)]:
        print(f"{title}: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    print("allowed:", *(f"  {len(seeds)} {what}, seeds {seeds[:10]}" for what, seeds in allowed.items()), sep="\n")
    print("why not whole:", *(f"  {count} {reason}" for reason, count in reasons.most_common(MOST_REASONS)), sep="\n")
    print(tally.text())
    if options.tally:
        options.tally.write_text(tally.to_json())
    return 1 if failed else 0


def _outcomes(seeds: range, jobs: int) -> Iterator[tuple[int, Outcome]]:
    """Yields each seed with its outcome. Where a process ends, those that it may have had are checked alone."""
    while seeds:
        try:
            for seed, outcome in in_batches(checked, seeds, jobs, chunk=CHUNK):
                yield seed, outcome
                seeds = range(seed + 1, seeds.stop)
        except BrokenProcessPool:
            for seed in seeds[: CHUNK * (jobs + 1)]:
                yield seed, _alone(seed)
            seeds = seeds[CHUNK * (jobs + 1) :]


def _alone(seed: int) -> Outcome:
    try:
        return next(outcome for _, outcome in in_batches(checked, [seed], 1))
    except BrokenProcessPool:
        return ENDED


if __name__ == "__main__":
    sys.exit(main())
