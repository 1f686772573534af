"""Prints a page with the present output of its commands:  python -m tests.docs FILE.md

Output with a line `...` is left as it is, and where it no longer agrees, what is printed now goes to standard error.
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import agrees, refreshed, run_page


def main(page: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        results = run_page(page, Path(folder))
    for command, printed in results:
        if not agrees(command.output, printed):
            print(f"$ {' '.join(command.words)}", *printed, sep="\n", file=sys.stderr)
    print(refreshed(page, dict(results)), end="")


if __name__ == "__main__":
    main(sys.argv[1])
