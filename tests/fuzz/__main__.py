"""python -m tests.fuzz --programs 10000 --seed 1 --jobs 2"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.fuzz.campaign import Report, campaign
from tests.fuzz.engines import ENGINES, NAMES
from tests.fuzz.generate import program
from tests.fuzz.gpu_templates import GPU_TEMPLATES
from tests.fuzz.row_templates import ROW_TEMPLATES
from tests.fuzz.templates import TEMPLATES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--engines", default=",".join(NAMES), help=f"some of {', '.join(ENGINES)}")
    parser.add_argument("--template", default="", help="all programs of these templates of tests/fuzz/*templates.py")
    parser.add_argument("--in-turn", action="store_true", help="each program by one of the engines, those next to it by the others")
    parser.add_argument("--shrink", type=int, default=10, help="how many kinds of failures are made small")
    parser.add_argument("--check", action="store_true", help="every pass is checked as well, which takes ten times as long")
    parser.add_argument("--show", action="store_true", help="print the program --seed and stop")
    parser.add_argument("--tally", type=Path, help="write what fired to this file, as JSON")
    options = parser.parse_args()
    if options.check:
        os.environ["POLYML_CHECK"] = "1"  # of the workers too
    known = {each.__name__ for each in (*TEMPLATES, *ROW_TEMPLATES, *GPU_TEMPLATES)}
    if unknown := {each for each in options.template.split(",") if each} - known:
        parser.error(f"no such template: {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")
    if options.show:
        print(program(options.seed, options.template).source, program(options.seed, options.template), sep="\n")
        return 0
    named = options.engines.split(",")
    if unknown := set(named) - set(ENGINES):
        parser.error(f"no such engine: {', '.join(sorted(unknown))}; known: {', '.join(ENGINES)}")

    def engines(seed: int) -> list[str]:
        chosen = [named[seed % len(named)]] if options.in_turn else named
        return list(dict.fromkeys(["interpret", *chosen]))  # the interpreter says where the language departs

    seeds = range(options.seed, options.seed + options.programs)
    report = campaign(seeds, engines, options.jobs, shrunk=options.shrink, progress=_progress, template=options.template)
    print(report.text())
    if options.tally:
        options.tally.write_text(report.tally.to_json())
    return 1 if report.failures else 0


def _progress(report: Report, seed: int, outcome: dict) -> None:
    if outcome["kind"] == "failed":
        print(f"seed {seed} failed, {outcome['engine']}: {outcome['reason']}", file=sys.stderr, flush=True)
    if report.programs % 100 == 0:
        failed = report.outcomes["failed"]
        print(f"{report.programs} programs, {failed} failed, {report.wall_s:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
