"""The table of bytes: what each program moves without fusion, as polyml compiles it, and as the nest written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.fused.moved_bytes import Moved, Setting, moved
from benchmarks.fused.program import Program
from benchmarks.results import geometric_mean
from polyml.errors import PolymlError

MOST_OF_HAND = 1.05  # bytes over those of the nest written by hand, up to which a program counts as fused
CLOSE = 1.01  # times the least bytes, up to which the nest by hand is simulated in its own order alone


@dataclass(frozen=True)
class Row:
    """A Row holds the bytes of one program's forms.

    separate: with fusion="no".
    fused: with the settings that a user has.
    hand: the nest written by hand, in its own order or as polyml compiles it, whichever moves less; None where there is none.
    least: each argument read once, each result fetched and written once.
    problem: why there are no bytes; "" where there are.
    """

    program: str
    separate: Moved | None
    fused: Moved | None
    hand: Moved | None
    least: int
    problem: str = ""

    @property
    def by_hand(self) -> int:
        """Returns the bytes to compare with: those of the nest written by hand, or the least where there is none."""
        return self.least if self.hand is None else self.hand.total

    @property
    def over_hand(self) -> float | None:
        """Returns the program's bytes over those by hand."""
        return self.fused.total / self.by_hand if self.fused else None

    @property
    def saved(self) -> float | None:
        """Returns the share of bytes that fusion saves."""
        return 1 - self.fused.total / self.separate.total if self.fused and self.separate else None

    @property
    def could_be_saved(self) -> float | None:
        """Returns the share of bytes that the nest written by hand saves."""
        return 1 - self.by_hand / self.separate.total if self.separate else None


def row(program: Program, preset: str, setting: Setting) -> Row:
    """Returns the bytes of a program in all forms."""
    arguments, least = program.arguments(preset), program.least_bytes(preset)
    try:
        separate = moved(program.function, arguments, setting, fusion="no")
        fused = moved(program.function, arguments, setting)
    except PolymlError as problem:
        return Row(program.name, None, None, None, least, problem.message)
    return Row(program.name, separate, fused, by_hand(program, arguments, setting, least), least)


def by_hand(program: Program, arguments: Sequence, setting: Setting, least: int) -> Moved | None:
    """Returns the bytes of the nest written by hand; None where the program has none.

    least: the least bytes, by which it is known that another order cannot do much better.
    """
    if program.hand is None:
        return None
    found = moved(program.hand, arguments, setting, schedule="source")
    if found.total <= CLOSE * least:
        return found
    return min(found, moved(program.hand, arguments, setting), key=lambda m: m.total)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yields the table as Markdown, one row for each program, then what holds for all of them."""
    yield '| program | `fusion="no"` | as compiled | by hand | least | over by hand | saved | by hand saves | predicted | local arrays |'
    yield "|---|---|---|---|---|---|---|---|---|---|"
    yield from map(_line, rows)
    ratios = [r.over_hand for r in rows if r.over_hand is not None]
    if ratios:
        reached = sum(ratio <= MOST_OF_HAND for ratio in ratios)
        yield ""
        yield (
            f"{reached} of {len(rows)} programs move at most {MOST_OF_HAND} of the bytes by hand; geometric mean "
            f"{geometric_mean(ratios):.2f}, most {max(ratios):.2f}"
        )


def _line(row: Row) -> str:
    if not row.fused or not row.separate:
        return f"| {row.program} | {row.problem} |"
    hand = f"{row.hand.total:,}" if row.hand else "-"
    predicted = "-" if row.fused.predicted is None else f"{row.fused.predicted:,}"
    cells = (
        row.program, f"{row.separate.total:,}", f"{row.fused.total:,}", hand, f"{row.least:,}", f"{row.over_hand:.2f}",
        f"{row.saved:.0%}", f"{row.could_be_saved:.0%}", predicted, f"{row.fused.local_bytes:,}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def arrays(row: Row) -> Iterator[str]:
    """Yields, for a program, the arrays that move more than by hand, and what the compiler says of its nests."""
    if not row.fused:
        return
    known = row.hand.arrays if row.hand else {}
    for array, (fetched, written) in sorted(row.fused.arrays.items(), key=lambda item: -sum(item[1])):
        beside = f", by hand {known[array][0]:,} and {known[array][1]:,}" if array in known else ""
        yield f"    {array}: {fetched:,} bytes fetched, {written:,} written{beside}"
    yield from (f"    {note}" for note in row.fused.notes if not note.startswith((" ", "S")))
