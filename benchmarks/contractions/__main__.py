"""The command line of the benchmark: which sets, cases, types and peers."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import chosen
from benchmarks.contractions import cold, report, small_types
from benchmarks.contractions.measure import Row, measure, with_share
from benchmarks.contractions.peak import peak_rate
from benchmarks.contractions.sets import SETS, Set
from benchmarks.contractions.worker import PEAK
from benchmarks.results import write_rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.contractions", description="Time contractions against the fastest libraries."
    )
    parser.add_argument(
        "sets", nargs="*", metavar="SET", help=f"{', '.join(SETS)} or all (default: square skinny; square with --sizes)"
    )
    parser.add_argument(
        "--sizes", "--shapes", "--cases", nargs="+", dest="cases", metavar="CASE",
        help="of one set: 512, 4096x32x4096 (rows x columns x depth), 'ki,jk->ji', gemm, 'NCHW 16x64x56 64x3 s1 p1' "
        "(default: all of the set)",
    )  # fmt: skip
    parser.add_argument("--dtypes", nargs="+", choices=dict.fromkeys(("float64", *small_types.DTYPES)), help="default: the set's")
    parser.add_argument("--threads", nargs="+", type=int, metavar="N", help="default: the set's, mostly 1 2")
    parser.add_argument("--peers", nargs="+", metavar="PEER", help="default: all of the set (looptune: numpy)")
    parser.add_argument(
        "--processor-time", action="store_true", help="count the processor's time, not the clock's, of one thread: where others run"
    )
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--budget", type=float, default=10.0, metavar="SECONDS", help="for the rounds of one case")
    parser.add_argument("--turn", type=float, metavar="SECONDS", help="of calls in a row (default: 0.3, looptune 0.1)")
    parser.add_argument("--sample", type=int, default=200, metavar="N", help="shapes of looptune's 2,197 (default: 200)")
    parser.add_argument("--cold", type=int, default=50, metavar="N", help="new processes for looptune's cold times")
    parser.add_argument("--seed", type=int, default=0, help="of looptune's sample")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    return parser


def _chosen(parser: argparse.ArgumentParser, options: argparse.Namespace) -> dict[str, Sequence[str]]:
    """Returns {set: its cases}."""
    names = options.sets or (["square"] if options.cases else ["square", "skinny"])
    if names == ["all"]:
        names = list(SETS)
    for name in names:
        if name not in SETS:
            parser.error(f"there is no set {name!r}; there are {', '.join(SETS)}")
    if not options.cases:
        return {name: SETS[name].cases(options.sample, options.seed) for name in names}
    if len(names) > 1:
        parser.error("--sizes are those of one set")
    try:
        return {names[0]: [SETS[names[0]].canonical(case) for case in options.cases]}
    except ValueError as problem:
        parser.error(str(problem))


def _peers(parser: argparse.ArgumentParser, work: Set, options: argparse.Namespace) -> Sequence[str]:
    """Returns those peers of the set that were named."""
    if options.peers is None:
        return work.default or work.peers
    found = [peer for peer in options.peers if peer in work.peers]
    if not found:
        parser.error(f"{work.name} has none of these peers; it has {', '.join(work.peers)}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 1 when a result is wrong, or a form or peer that is there fails."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.processor_time and options.threads != [1]:
        parser.error("--processor-time is for --threads 1: several threads share the work, and their times add up")
    chosen = _chosen(parser, options)
    peers = {name: _peers(parser, SETS[name], options) for name in chosen}
    rows: list[Row] = []
    cold_rows: list[cold.Row] = []
    for name, cases in chosen.items():
        rows += _measured(SETS[name], cases, peers[name], options, rows)
        if name == "looptune":
            for dtype in options.dtypes or SETS[name].dtypes:
                cold_rows += cold.cold_rows(cases[: options.cold], dtype, 1)
            report.show_cold(cold_rows)
            write_rows(options.json, [*rows, *cold_rows])
    return int(any(r.failure in ("wrong", "error") for r in rows) or any(r.note for r in cold_rows))


def _measured(work: Set, cases: Sequence[str], peers: Sequence[str], options: argparse.Namespace,
              before: Sequence[Row]) -> list[Row]:  # fmt: skip
    """Returns the rows of one set; they are shown, and written behind those `before` after every case."""
    rows: list[Row] = []
    peak_rates: dict[tuple[str, int], float] = {}
    for dtype, threads in itertools.product(options.dtypes or work.dtypes, options.threads or work.threads):
        peak_rates |= {(dtype, number): peak_rate(dtype, number) for number in (1, threads)}
        found: list[Row] = []
        for new in measure(
            work, cases, dtype, threads, peers, repeat=options.repeat, budget_s=options.budget,
            turn_s=options.turn or work.turn_s, by_processor=options.processor_time,
        ):  # fmt: skip
            found += new
            print(f"{work.name} {new[0].case} {dtype} {threads}", file=sys.stderr, flush=True)
            write_rows(options.json, [*before, *rows, *found])
        in_turns = [row.rate for row in found if row.peer == PEAK and row.rate is not None]
        peak_rates[dtype, threads] = max(peak_rates[dtype, threads], *in_turns)
        rows += [with_share(row, peak_rates[dtype, threads]) for row in found]
        write_rows(options.json, [*before, *rows])
    report.show(work, peers, rows, peak_rates)
    print(*chosen.lines(peers), sep="\n")
    return rows


if __name__ == "__main__":
    sys.exit(main())
