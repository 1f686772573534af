"""The command:  python -m benchmarks.found [NAMES] [--list]"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.found import functions
from benchmarks.found.entry import Found
from benchmarks.found.measured import Job, Row, row_of, serve
from benchmarks.found.table import heading, line, markdown, summary
from benchmarks.interleaved_processes import Process, rounds, with_job
from benchmarks.results import write_rows


def measure(chosen: Sequence[Found], options: argparse.Namespace) -> Iterator[Row]:
    """Yields the row of each function; numba and polyml take turns, each in a process of its own."""
    with ExitStack() as stack:
        own: Process | None = None
        peer: Process | None = None
        for found in chosen:
            own = with_job(own, Job("polyml", found.title, options.threads), serve, stack)
            own.prepare()
            is_timed = own.failure is None and own.ready.is_timed and not options.untimed
            if is_timed:
                peer = with_job(peer, Job("numba", found.title, options.threads), serve, stack)
                peer.prepare()
                rounds([own, peer], options.repeat, options.budget)
            yield row_of(found, own, peer if is_timed else None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 1 when a result is wrong."""
    parser = argparse.ArgumentParser(description="Functions that other projects wrote for numba, by polyml and by numba.")
    parser.add_argument("names", nargs="*", metavar="NAMES", help="functions, or beginnings of their names (default: all)")
    parser.add_argument("--list", action="store_true", help="print the functions, and run none")
    parser.add_argument("--untimed", action="store_true", help="say what is compiled and whether it is right, and time nothing")
    parser.add_argument("--threads", type=int, default=1, help="of both (default: 1)")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--budget", type=float, default=2.0, metavar="SECONDS", help="for the rounds of one function")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there")
    options = parser.parse_args(arguments)
    chosen = [found for title, found in functions().items() if not options.names or title.startswith(tuple(options.names))]
    if not chosen:
        parser.error(f"no function begins with {', '.join(options.names)}")
    if options.list:
        print(*(found.title for found in chosen), sep="\n")
        return 0
    rows: list[Row] = []
    print(heading())
    for row in measure(chosen, options):
        rows.append(row)
        print(line(row), flush=True)
        write_rows(options.json, rows)
    print(*summary(rows), sep="\n")
    if options.markdown is not None:
        options.markdown.write_text("\n".join(markdown(rows)) + "\n")
    return int(any(row.ready.problem for row in rows))


if __name__ == "__main__":
    sys.exit(main())
