"""What developers run, by name:  python -m tasks NAME [options]"""

from __future__ import annotations

import subprocess
import sys

TASKS = {
    "test": ("all tests, on all cores", ["-m", "pytest", "-n", "auto"]),
    "lint": ("ruff: rules and format", ["-m", "ruff", "check"]),
    "types": ("mypy", ["-m", "mypy"]),
    "replay": ("whether every program is compiled as at a commit: replay BASE", ["-m", "tests.replay.compare"]),
    "fuzz": ("all fuzzers, one after the other", ["-m", "tests.campaign"]),
}


def main() -> int:
    """The exit status of the task."""
    name, *options = sys.argv[1:] or [""]
    if name not in TASKS:
        print(__doc__, *(f"    {each:<10}{what}" for each, (what, _) in TASKS.items()), sep="\n")
        return 0 if name in ("", "-h", "--help") else 2
    return subprocess.run([sys.executable, *TASKS[name][1], *options]).returncode


if __name__ == "__main__":
    sys.exit(main())
