"""Where the time goes in which array programs are compiled:  python -m benchmarks.array_compile_time --json FILE

Each program is compiled for LARGE sizes, cold, in a process of its own that has compiled a small kernel before: what the first compilation of a
process costs beside is measured by `benchmarks.compile_time`. Times are those of the processor, of all threads together, so that what else
runs on the machine changes them little; beside their median stands that of the seconds that a caller waits, for which the machine has to be idle.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

import polyml
from benchmarks.results import machine
from polyml.kernels.arrays import workloads

PARTS = {  # part: its passes, as (stage) or (stage, pass); what is in none of them is "other"
    "frontend": ("types", "domain"),
    "dependences": ("deps", "reductions", "scalars", "pieces"),
    "schedule": ("schedule",),
    "loops": (("ast", "build"),),
    "privatisation": (("ast", "privatize"), ("ast", "privatize_reductions"), ("ast", "fold_storage"), ("ast", "share_memory")),
    "passes": ("ast", "vectorize", "pack"),
    "LLVM text": ("llvm",),
    "LLVM": ("object", "other threads"),
}


@dataclass(frozen=True)
class Row:
    """A Row is one program: the seconds of the processor that its compilation takes, those that a caller waits, and those of each part."""

    program: str
    seconds: float
    waited: float
    parts: Mapping[str, float]


@polyml.kernel(cache=False)
def first(A, B):
    for i in range(A.shape[0]):
        B[i] = A[i] + 1


def part_of(stage: str, name: str) -> str:
    """Returns the part of a pass: one that names the pass itself, else one that names its stage, else "other"."""
    for key in ((stage, name), stage):
        for part, members in PARTS.items():
            if key in members:
                return part
    return "other"


def compiled(name: str, preset: str) -> Row:
    """Compiles a program in this process."""
    program = workloads()[name]
    kernel = polyml.kernel(program.function, cache=False, fallback="error")
    arguments = program.arguments(preset)
    first.lower(np.ones(3), np.ones(3))
    began, start, own = time.perf_counter(), time.process_time(), time.thread_time()
    with patch.object(time, "perf_counter", time.thread_time):  # by which passes are timed
        passes = kernel.lower(*arguments).passes
    waited, seconds, own = time.perf_counter() - began, time.process_time() - start, time.thread_time() - own
    parts = Counter[str]()
    for (stage, step), spent in passes.items():
        parts[part_of(stage, step)] += spent
    parts["other"] += own - sum(passes.values())
    parts[part_of("other threads", "")] += seconds - own
    return Row(name, seconds, waited, dict(parts))


def measured(name: str, preset: str, repeat: int) -> Row:
    """Compiles a program in processes of its own, and returns the one with the least time."""
    command = [sys.executable, "-m", "benchmarks.array_compile_time", "--once", name, "--preset", preset]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(repeat)]
    return min((Row(**json.loads(run)) for run in runs), key=lambda row: row.seconds)


def shares(rows: Sequence[Row]) -> dict[str, float]:
    """Returns {part: its share of the time of all programs together}."""
    whole = sum(row.seconds for row in rows)
    return {part: sum(row.parts.get(part, 0.0) for row in rows) / whole for part in (*PARTS, "other")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a line for each program, from the fastest on, then the median and the share of each part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.array_compile_time", description=__doc__)
    parser.add_argument("--programs", nargs="+", default=sorted(workloads()), metavar="NAME", help="default: all")
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="processes for each program, of which the fastest counts"
    )
    parser.add_argument("--preset", default="LARGE", help="sizes to compile for (default: LARGE)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--once", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.once:
        print(json.dumps(asdict(compiled(options.once, options.preset))))
        return
    rows = sorted((measured(name, options.preset, options.repeat) for name in options.programs), key=lambda row: row.seconds)
    for row in rows:
        most = sorted(row.parts.items(), key=lambda item: -item[1])[:4]
        print(f"{row.program:32}{row.seconds * 1e3:7.0f} ms   " + ", ".join(f"{part} {spent * 1e3:.0f}" for part, spent in most))
    for what, found in (("of the processor", [row.seconds for row in rows]), ("waited", [row.waited for row in rows])):
        print(f"{what}: median {statistics.median(found) * 1e3:.0f} ms, slowest {max(found) * 1e3:.0f} ms, {len(rows)} programs")
    print(", ".join(f"{part} {share:.1%}" for part, share in shares(rows).items()))
    if options.json:
        found = {"machine": machine(), "shares": shares(rows), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
