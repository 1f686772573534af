"""Faults as values: what is tried, how often, and what must never come of it.

A trial does one bad thing to polyml - a flipped bit, a killed process, a size of 2**59 - and looks at what follows. Right are the
result of plain Python and an error of polyml's own. Wrong are another result, a foreign exception, a process that ends by a signal
or hangs, code run that is not polyml's, and a message that calls the input a defect of polyml.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HANG_SECONDS = 20  # nothing that a user does may take longer than this to answer


@dataclass
class Tally:
    """What trials came to. ended: how many ended in each way that is right, as "as Python", "refused". wrong: one line for each that
    ended otherwise, with what repeats it.
    """

    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def trials(self) -> int:
        return self.ended.total() + len(self.wrong)

    def add(self, ended: str) -> None:
        self.ended[ended] += 1

    def fail(self, line: str) -> None:
        self.wrong.append(line)


@dataclass(frozen=True)
class Fault:
    """One kind of fault: a row of the table.

    trials: how many the command makes. few: how many the tests make. run(count, seed, folder): makes that many, drawn by `seed`, in
    an empty folder; a campaign that tries all of something (every pair of entries) may make more or fewer.
    """

    name: str
    trials: int
    few: int
    run: Callable[[int, int, Path], Tally]


@dataclass(frozen=True)
class Row:
    """What came of one fault."""

    fault: Fault
    tally: Tally
    seconds: float


def campaign(faults: Sequence[Fault], seed: int, folder: Path, *, share: float = 1.0, done=lambda row: None) -> list[Row]:
    """Every fault in turn, each in a folder of its own. share: of each fault's trials. done: called with each row."""
    rows = []
    for number, fault in enumerate(faults):
        own = folder / f"fault{number}"
        own.mkdir()
        start = time.monotonic()
        tally = fault.run(max(1, round(fault.trials * share)), seed, own)
        rows.append(Row(fault, tally, time.monotonic() - start))
        done(rows[-1])
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows for a terminal or for Markdown, and after them each trial that went wrong."""
    lines = ["| fault | trials | wrong | ended | s |", "|---|---:|---:|---|---:|", *map(_line, rows)]
    wrong = [f"WRONG {row.fault.name}: {line}" for row in rows for line in row.tally.wrong]
    return "\n".join([*lines, *wrong])


def _line(row: Row) -> str:
    ended = ", ".join(f"{count:,} {how}" for how, count in row.tally.ended.most_common())
    return f"| {row.fault.name} | {row.tally.trials:,} | {len(row.tally.wrong)} | {ended} | {row.seconds:.0f} |"
