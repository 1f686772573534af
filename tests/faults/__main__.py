"""python -m tests.faults [--only WORD] [--share 0.1] [--seed 1]: polyml under hostile sizes, files and moments, as a table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.faults.campaign import Row, campaign, table
from tests.faults.faults import FAULTS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="faults whose name has this word")
    parser.add_argument("--share", type=float, default=1.0, help="of the trials of each fault")
    parser.add_argument("--seed", type=int, default=1, help="what the trials are drawn by")
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if options.only in fault.name]
    if not chosen:
        parser.error(f"no fault is called so; there are: {', '.join(fault.name for fault in FAULTS)}")
    with tempfile.TemporaryDirectory(prefix="polyml-faults-", ignore_cleanup_errors=True) as folder:
        rows = campaign(chosen, options.seed, Path(folder), share=options.share, done=_progress)
    print(table(rows))
    return 1 if any(row.tally.wrong for row in rows) else 0


def _progress(row: Row) -> None:
    print(f"{row.fault.name}: {row.tally.trials} trials, {len(row.tally.wrong)} wrong, {row.seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
