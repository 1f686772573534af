"""Tables of a report. A column is its heading and the function that gives a row's cell, so that both always stand together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table: its heading, and the function that gives the text of its cell in a row.

    head: the heading.
    cell: from a row to the text.
    is_left: whether it is flush left; else it is flush right.
    """

    head: str
    cell: Callable[[Row], str]
    is_left: bool = False


@dataclass(frozen=True)
class Table:
    """A table of texts, which `table` makes.

    heads: the headings of the columns.
    rows: the cells of each row, one for each column.
    left: for each column, whether it is flush left.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[bool, ...]

    def lines(self) -> list[str]:
        """Returns the table's lines, the heads first, with each column as wide as its widest cell."""
        every = [self.heads, *self.rows]
        widths = [max(map(len, column)) for column in zip(*every)]

        def cell(number: int, text: str) -> str:
            return text.ljust(widths[number]) if self.left[number] else text.rjust(widths[number])

        return ["  ".join(cell(number, text) for number, text in enumerate(line)).rstrip() for line in every]


def table(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> Table:
    """Returns the table with these columns and a line for each row.

    >>> print(*table([Column("name", str, is_left=True), Column("length", lambda word: f"{len(word)}")], ["tile", "skew by 2"]).lines(), sep="\\n")
    name       length
    tile            4
    skew by 2       9
    """
    made = tuple(tuple(column.cell(row) for column in columns) for row in rows)
    return Table(tuple(column.head for column in columns), made, tuple(column.is_left for column in columns))


def lines(parts: Iterable[str | Table]) -> str:
    """Returns lines and tables, in order, as one text."""
    found = (part.lines() if isinstance(part, Table) else [part] for part in parts)
    return "\n".join(line for each in found for line in each).rstrip()
