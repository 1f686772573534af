"""What developers run, by name:  python -m tasks NAME [options]"""

from __future__ import annotations

import subprocess
import sys

PYTEST = ("-m", "pytest", "-n", "auto", "--dist", "worksteal")
# what each task is for, and its commands, of which the last one takes the options
TASKS: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "quick": ("tests of every package, in less than a minute", ((*PYTEST, "-m", "quick"),)),
    "test": ("all tests, on all cores", (PYTEST,)),
    "lint": ("ruff: its rules and its format", (("-m", "ruff", "check"), ("-m", "ruff", "format", "--check"))),
    "types": ("mypy", (("-m", "mypy"),)),
    "docs": ("every example of the documents", (("-m", "pytest", "tests/docs", "tests/test_doctests.py"),)),
    "site": ("the documents as a site, in build/site", (("-m", "sphinx", "-q", "-E", "-W", "--keep-going", "docs", "build/site"),)),
    "notebooks": ("the notebooks without outputs, as they are kept", (("-m", "tests.notebooks"),)),
    "size": ("modules, circles, lengths and shared names beside the last release's", (("-m", "tests.size"),)),
    "replay": ("whether every program is compiled as at a commit: replay BASE", (("-m", "tests.replay.compare"),)),
    "check": ("every pass of all kernels checked: check [KERNEL ...]", (("-m", "tests.checks"),)),
    "fuzz": ("all fuzzers, one after the other", (("-m", "tests.campaign"),)),
    "bench": ("PolyBench's kernels, checked and timed", (("-m", "polyml", "bench", "all", "--preset", "LARGE"),)),
}


def main() -> int:
    """The exit status of the task's first command that fails, or 0; all of its commands run."""
    name, *options = sys.argv[1:] or [""]
    if name not in TASKS:
        print(__doc__, *(f"    {each:<10}{what}" for each, (what, _) in TASKS.items()), sep="\n")
        return 0 if name in ("", "-h", "--help") else 2
    *before, last = TASKS[name][1]
    ends = [subprocess.run([sys.executable, *command]).returncode for command in (*before, (*last, *options))]
    return next((status for status in ends if status), 0)


if __name__ == "__main__":
    sys.exit(main())
