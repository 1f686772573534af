"""The rows of functions as text: lines for a terminal, a table for a document, and what they say together."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.found.measured import Row
from benchmarks.results import geometric_mean


def heading() -> str:
    """Returns the line above the rows: times in milliseconds, and numba's time / polyml's."""
    return f"{'function':60} {'whole':5} {'first call':>10} {'polyml':>9} {'numba':>9} {'ratio':>6} reason"


def line(row: Row) -> str:
    """Returns a row as text. A row whose result is wrong says so before all else."""
    ready = row.ready
    whole = "yes" if ready.whole else f"{ready.parts} p." if ready.parts else "no"
    cells = [
        f"{row.title:60}",
        f"{whole:5}",
        f"{ready.seconds * 1e3:10.0f}",
        *(_milliseconds(row, peer) for peer in ("polyml", "numba")),
    ]
    cells.append("      " if row.ratio is None else f"{row.ratio:6.2f}")
    return " ".join([*cells, f"WRONG: {ready.problem}" if ready.problem else ready.reason]).rstrip()


def summary(rows: Sequence[Row]) -> list[str]:
    """Returns how many functions are compiled whole, why the others are not, and how numba's times compare."""
    whole = sum(row.ready.whole for row in rows)
    lines = [f"{whole} of {len(rows)} functions are compiled whole"]
    reasons = Counter(row.ready.reason for row in rows if row.ready.reason)
    lines += [f"{count:4} {reason}" for reason, count in reasons.most_common()]
    ratios = {row.title: row.ratio for row in rows if row.ratio is not None}
    if ratios:
        least = min(ratios, key=ratios.__getitem__)
        mean = geometric_mean(ratios.values())
        lines.append(f"numba / polyml: geometric mean {mean:.2f} of {len(ratios)}, least {ratios[least]:.2f} ({least})")
    return lines


def markdown(rows: Iterable[Row]) -> list[str]:
    """Returns a table for each package, in the order of the rows."""
    lines = []
    for package, group in itertools.groupby(rows, key=lambda row: row.package):
        lines += [
            f"**{package}**",
            "",
            "| function | compiled | polyml, ms | numba, ms | numba / polyml |",
            "|---|---|---|---|---|",
        ]
        for row in group:
            compiled = "whole" if row.ready.whole else row.ready.reason.replace("|", "\\|")
            times = [_milliseconds(row, peer).strip() for peer in ("polyml", "numba")]
            ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
            lines.append("| " + " | ".join([f"`{row.title}`", compiled, *times, ratio]) + " |")
        lines.append("")
    return lines[:-1]


def _milliseconds(row: Row, peer: str) -> str:
    return f"{row.seconds[peer] * 1e3:9.3f}" if peer in row.seconds else " " * 9
