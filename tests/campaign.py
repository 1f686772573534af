"""All fuzzers, one after the other:  python -m tests.campaign --programs 100000 --jobs 2

In rounds of 10,000 programs: 60 % mixed, 20 % of arrays, 17 % loop nests, 3 % loop nests under random scripts. What a fuzzer finds
wrong is printed as it prints it; after each round stands how often each transformation fired in all programs so far.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.transformations import Tally

# module and options of each fuzzer, with its share of the programs in percent
SHARES: tuple[tuple[int, str, tuple[str, ...]], ...] = (
    (60, "tests.mixed", ()),
    (20, "tests.arrays.differential", ()),
    (17, "tests.fuzz", ("--engines", "strict,threads")),
    (3, "tests.fuzz", ("--engines", "script,script-sums")),
)
ROUND = 10_000  # programs between two totals


def main() -> int:
    """Whether a program is wrong, or a transformation was hardly tried by 100,000 programs, decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--programs", type=int, default=100_000, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of each fuzzer's first one")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    options = parser.parse_args()
    total, next_seed, start = Tally(), [options.seed] * len(SHARES), time.monotonic()
    while total.programs < options.programs:
        size = min(ROUND, options.programs - total.programs)
        for position, (share, module, more) in enumerate(SHARES):
            count = -(-size * share // 100)
            total += _run(module, ("--programs", count, "--seed", next_seed[position], "--jobs", options.jobs, *more))
            next_seed[position] += count
        print(f"\n== after {time.monotonic() - start:.0f} s: {total.text()}", flush=True)
    rare = total.rare() if total.programs >= 100_000 else []
    if rare:
        print("rare: " + ", ".join(rare))
    return 1 if total.wrong or rare else 0


def _run(module: str, options: tuple[object, ...]) -> Tally:
    words = list(map(str, options))
    print(f"\n== python -m {module} {' '.join(words)}", flush=True)
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        subprocess.run([sys.executable, "-W", "ignore", "-m", module, *words, "--tally", file.name], check=False)
        text = Path(file.name).read_text()
    if not text:
        raise SystemExit(f"{module} ended without a tally")
    return Tally.from_json(text)


if __name__ == "__main__":
    sys.exit(main())
