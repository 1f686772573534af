"""Programs in Oclgrind, an interpreter of OpenCL that tells of what threads do wrong.

Each runs in a process of its own: Oclgrind forgets of memory that is given back and asked for again which parts were written.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

SIGNS = re.compile(
    r"data race|Invalid (read|write)|Uninitialized|divergence|barrier|FATAL ERROR|Unaligned|Invalid|atomic", re.IGNORECASE
)  # of a line with which a report begins
MOST_SECONDS = 300


def watched(library: str, runs: Sequence[Sequence[str]], tile: str = "", teams: str = "") -> int:
    """Prints the programs that are wrong or that Oclgrind reports, and returns 1 where there is one.

    runs: the options of `python -m tests.opencl` for each program.
    """
    start, wrong, total = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "oclgrind.icd").write_text(f"{library}\n")
        for given in runs:
            total += 1
            problem = _problem(folder, [*given, *(["--tile", tile] if tile else []), *(["--teams", teams] if teams else [])])
            wrong += bool(problem)
            if problem:
                print(f"{' '.join(given)}: {problem}", flush=True)
    print(f"{total} runs in Oclgrind in {time.monotonic() - start:.0f} s: {wrong} wrong or reported")
    return 1 if wrong else 0


def _problem(folder: str, given: Sequence[str]) -> str:
    """Returns what one run prints that is wrong, "" where nothing is."""
    settings = {
        "OCL_ICD_VENDORS": folder,
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_UNINITIALIZED": "1",
        "PYOPENCL_BUILD_OPTIONS": "-cl-opt-disable",  # the instruction `freeze` of optimised code is not known to it
    }
    command = [sys.executable, "-m", "tests.opencl", *given]
    try:
        ran = subprocess.run(
            command, env={**os.environ, **settings}, capture_output=True, text=True, errors="replace", timeout=MOST_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"not done after {MOST_SECONDS} s"
    reports = [line.strip() for line in ran.stderr.splitlines() if SIGNS.search(line)]
    if reports:
        return f"{len(reports)} reports, the first: {reports[0]}"
    return "" if ran.returncode == 0 else (ran.stdout + ran.stderr)[-500:]
