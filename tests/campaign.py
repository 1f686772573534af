"""All fuzzers, one after the other:  python -m tests.campaign --programs 100000 --jobs 2

15 % of the programs are mixed, 18 % of arrays, 10 % chains of products, 8 % any loop nests, 38 % nests of templates whose transformations
others seldom have, 3 % loop nests under random scripts, 8 % functions of which data decide the control. What a fuzzer finds wrong is
printed as it prints it, and after it how often each transformation fired in all programs so far. It takes two cores about three
hours; with `--state FILE` it may be ended at any time, and goes on from the last fuzzer that came to its end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from polyml.reading.userfiles import write_text
from tests.transformations import Tally

# templates of what needs several nests, small types, distances or masks, which other programs seldom have
OF_SEVERAL = (  # named twice or more: those that are drawn so much more often
    "two_products", "rows_of_products", *["sums_over_rows"] * 8, "depth_and_point", *["small_products"] * 6, "at_distance",
    *["at_argument_distance"] * 3, "fading", "scan", "symmetric_update", "row_reduction", "masked", "temporaries", *["weighted_sums"] * 6,
    *["other_shape"] * 2, "added_to_elements", *["as_long"] * 2,
)  # fmt: skip
# module and options of each fuzzer, with its share of the programs in percent
SHARES: tuple[tuple[int, str, tuple[str, ...]], ...] = (
    (15, "tests.mixed", ()),
    (18, "tests.arrays.differential", ()),
    (10, "tests.arrays.chains", ()),
    (8, "tests.fuzz", ("--engines", "strict,threads", "--in-turn")),
    (38, "tests.fuzz", ("--engines", "small-caches,threads", "--in-turn", "--template", ",".join(OF_SEVERAL))),
    (3, "tests.fuzz", ("--engines", "script,script-sums", "--in-turn")),
    (8, "tests.irregular", ()),
)
STEP = 5_000  # programs of all fuzzers together between two turns of one


@dataclass
class State:
    """done: how many programs of each fuzzer have run; total: what came of them; seconds: how long that took."""

    done: list[int] = field(default_factory=lambda: [0] * len(SHARES))
    total: Tally = field(default_factory=Tally)
    seconds: float = 0.0

    def to_json(self) -> str:
        return json.dumps({"done": self.done, "total": json.loads(self.total.to_json()), "seconds": self.seconds})

    @staticmethod
    def from_json(text: str) -> State:
        data = json.loads(text)
        return State(data["done"], Tally.from_json(json.dumps(data["total"])), data["seconds"])


def main() -> int:
    """Whether a program is wrong, or a transformation was hardly tried by 50,000 programs, decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--programs", type=int, default=100_000, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of each fuzzer's first one")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--state", type=Path, help="a file to go on from where it is there, written after each fuzzer")
    options = parser.parse_args()
    state = State.from_json(options.state.read_text()) if options.state and options.state.exists() else State()
    while (turn := next_turn(state.done, options.programs)) is not None:
        position, count = turn
        _, module, more = SHARES[position]
        start = time.monotonic()
        state.total += _run(
            module, ("--programs", count, "--seed", options.seed + state.done[position], "--jobs", options.jobs, *more)
        )
        state.done[position] += count
        state.seconds += time.monotonic() - start
        if options.state:
            write_text(options.state, state.to_json())
        print(f"\n== after {state.seconds:.0f} s: {state.total.text()}", flush=True)
    rare = state.total.rare() if state.total.programs >= 50_000 else []
    if rare:
        print("rare: " + ", ".join(rare))
    return 1 if state.total.wrong or rare else 0


def next_turn(done: Sequence[int], programs: int) -> tuple[int, int] | None:
    """The fuzzer that is furthest behind its share of all programs, by its place in SHARES, and how many programs it is to run; None
    where all have run.
    """
    wanted = [-(-programs * share // 100) for share, _, _ in SHARES]
    behind = [place for place, count in enumerate(done) if count < wanted[place]]
    if not behind:
        return None
    place = min(behind, key=lambda each: done[each] / SHARES[each][0])
    return place, min(wanted[place] - done[place], -(-STEP * SHARES[place][0] // 100))


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
