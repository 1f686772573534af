"""Many random programs, checked in worker processes, with what they covered and what failed."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tests.fuzz.coverage import constructs
from tests.fuzz.generate import program as generate
from tests.fuzz.program import Program
from tests.fuzz.shrink import shrink
from tests.fuzz.worker import Worker
from tests.transformations import Tally


@dataclass
class Report:
    """programs: how many ran. outcomes: by kind. refusals, failures: by engine and reason. covered: over the programs
    that every engine took. tally: the transformations that they met."""

    programs: int = 0
    outcomes: Counter = field(default_factory=Counter)
    refusals: Counter = field(default_factory=Counter)
    covered: Counter = field(default_factory=Counter)
    unbounded_runs: int = 0
    raising_runs: int = 0
    failures: list[tuple[int, Program, dict]] = field(default_factory=list)
    examples: dict[str, int] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    wall_s: float = 0.0

    def add(self, seed: int, program: Program, outcome: dict) -> None:
        self.programs += 1
        self.outcomes[outcome["kind"]] += 1
        self.unbounded_runs += outcome["unbounded"]
        self.raising_runs += outcome["raised"]
        self.tally.add(outcome["fired"], is_wrong=outcome["kind"] == "failed", is_hidden=outcome["hidden"])
        if outcome["kind"] == "failed":
            self.failures.append((seed, program, outcome))
        elif outcome["kind"] == "refused":
            key = f"{outcome['engine']}: {outcome['reason']}"
            self.refusals[key] += 1
            self.examples.setdefault(key, seed)
        else:
            self.covered.update(constructs(program))

    def text(self) -> str:
        """The report for a terminal."""
        lines = [
            f"{self.programs} programs in {self.wall_s:.0f} s: "
            + ", ".join(f"{count} {kind}" for kind, count in sorted(self.outcomes.items()))
        ]
        lines.append(
            f"runs in which Python raises: {self.raising_runs}; "
            f"float runs without an error bound (compared in strict mode alone): {self.unbounded_runs}"
        )
        lines.append(f"constructs in the {self.outcomes['ok']} programs that every engine ran:")
        lines += _columns([f"{count:6d} {name}" for name, count in sorted(self.covered.items())])
        lines.append(self.tally.text())
        if self.refusals:
            lines.append("refused:")
            lines += [f"{count:6d} {key}   (seed {self.examples[key]})" for key, count in self.refusals.most_common()]
        return "\n".join([*lines, *self._failed()])

    def _failed(self) -> list[str]:
        """One example for each engine and reason, and the seeds of the others."""
        groups: dict[tuple[str, str], list] = {}
        for failure in self.failures:
            groups.setdefault((failure[2]["engine"], failure[2]["reason"]), []).append(failure)
        lines = []
        for (engine, why), group in groups.items():
            seed, program, outcome = group[0]
            more = f", also seeds {', '.join(str(s) for s, _, _ in group[1:12])}" if len(group) > 1 else ""
            lines += [
                "",
                f"FAILED {len(group)} x {engine}: {why}: seed {seed} ({program.label}){more}",
                f"sizes {list(program.sizes)}, data {program.data}, input seed {program.seed}, arguments "
                + ", ".join(_argument(a) for a in program.arguments),
                program.source,
                outcome["detail"],
            ]
        return lines


def _argument(a) -> str:
    shape = "" if a.shape is None else f"[{', '.join(a.shape)}]"
    value, layout = (f" = {a.value}" if a.value else ""), ("" if a.layout == "C" else f" {a.layout}")
    return f"{a.name}: {a.element}{shape}{value}{layout}"


def _columns(items: Sequence[str], width: int = 44, columns: int = 3) -> list[str]:
    rows = -(-len(items) // columns)
    return ["".join(item.ljust(width) for item in items[row::rows]).rstrip() for row in range(rows)]


def campaign(seeds: Sequence[int], engines: Callable[[int], Sequence[str]], jobs: int, *, shrunk: int = 10,
             progress: Callable[[Report, int, dict], None] = lambda *_: None, template: str = "") -> Report:  # fmt: skip
    """Check the programs of all seeds.

    engines: seed -> those that run the program. shrunk: how many failures (one per engine and reason) are made small.
    progress(report so far, seed, outcome): called after each program.
    template: of all programs, by name; "": any program.
    """
    report, start = Report(), time.monotonic()
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for seed in seeds:
        waiting.put(seed)
    lock = threading.Lock()

    def work() -> None:
        worker = Worker()
        try:
            while True:
                try:
                    seed = waiting.get_nowait()
                except queue.Empty:
                    return
                with lock:  # Python 3.11's parser mistakes the recursion depth of threads that run it at once
                    program = generate(seed, template)
                outcome = worker.check(program, engines(seed))
                with lock:
                    report.add(seed, program, outcome)
                    report.wall_s = time.monotonic() - start
                    progress(report, seed, outcome)
        finally:
            worker.close()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _shrink_failures(report, engines, shrunk)
    return report


def _shrink_failures(report: Report, engines: Callable[[int], Sequence[str]], limit: int) -> None:
    """Replace the first failure of each engine and reason by a smaller program that fails the same way."""
    seen: set[tuple[str, str]] = set()
    report.failures.sort(key=lambda failure: failure[0])
    for position, (seed, program, outcome) in enumerate(report.failures):
        key = (outcome["engine"], outcome["reason"])
        if key in seen or len(seen) >= limit:
            continue
        seen.add(key)
        smaller, last = small(program, outcome, engines(seed))
        report.failures[position] = (seed, smaller, last)


def small(program: Program, outcome: dict, engines: Sequence[str]) -> tuple[Program, dict]:
    """The program shrunk while its outcome keeps engine and reason, and the outcome of the result."""
    needed = [outcome["engine"]] if outcome["engine"] in engines else list(engines)
    worker = Worker(timeout_s=20.0)
    last = outcome

    def fails(candidate: Program) -> bool:
        nonlocal last
        found = worker.check(candidate, needed)
        same = all(found[key] == outcome[key] for key in ("kind", "engine", "reason"))
        last = found if same else last
        return same

    try:
        if outcome["run"] >= 0:
            only = replace(program, sizes=(program.sizes[outcome["run"]],))
            program = only if fails(only) else program
        return shrink(program, fails), last
    finally:
        worker.close()
