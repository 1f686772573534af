"""Tables of a report. A column is its heading and the function that gives a row's cell, so that both always stand together."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Generic, TypeVar

Row = TypeVar("Row")
_MOST_LINES = 3  # of a folded cell
_JOINT = "\N{NO-BREAK SPACE}"
_QUANTITY = re.compile(r"[-+]?[\d.,]+ \S+")


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

    def lines(self, width: int | None = None) -> list[str]:
        """Returns the table's lines, the heads first, with each column as wide as its widest cell.

        width: the most characters of a line; None: any. Where a line would be longer, cells are folded at their spaces. Where that
            is not enough, the columns stand in several tables, one below the other, each with the first column. A number stays
            next to its unit.
        """
        joined = replace(self, rows=tuple(tuple(map(_joined, row)) for row in self.rows))
        lines: list[str] = []
        for group in joined._groups(width):
            found = [line.replace(_JOINT, " ") for line in joined._lines_of(group)]
            lines += ["", *found] if lines else found
        return lines

    def _groups(self, width: int | None) -> list[dict[int, int]]:
        """Returns the columns that stand side by side: for each table a dict from the number of a column to its width."""
        columns = list(zip(self.heads, *self.rows))
        natural = [max(map(len, column)) for column in columns]
        if width is None or _fits(natural, width):
            return [dict(enumerate(natural))]
        most = max(width // 3, 1)  # of a word that is not broken; two columns always fit
        least = [_least(column, most) for column in columns]
        groups = [[0]]
        for number in range(1, len(columns)):
            if _fits([least[n] for n in (*groups[-1], number)], width):
                groups[-1].append(number)
            else:
                groups.append([0, number])
        return [_narrowed({n: natural[n] for n in group}, least, width) for group in groups]

    def _lines_of(self, widths: Mapping[int, int]) -> list[str]:
        """Returns the lines of a table of some of the columns. widths: from the number of a column to its width."""

        def cell(number: int, text: str) -> str:
            return text.ljust(widths[number]) if self.left[number] else text.rjust(widths[number])

        found = []
        for row in (self.heads, *self.rows):
            folded = [_folded(row[number], width) for number, width in widths.items()]
            for line in zip_longest(*folded, fillvalue=""):
                found.append("  ".join(map(cell, widths, line)).rstrip())
        return found


def _joined(cell: str) -> str:
    """Returns a cell, such as "32 KiB", in which a number and its unit are one word."""
    return cell.replace(" ", _JOINT) if _QUANTITY.fullmatch(cell) else cell


def _fits(widths: Sequence[int], width: int) -> bool:
    return sum(widths) + 2 * (len(widths) - 1) <= width


def _least(cells: Sequence[str], most: int) -> int:
    """Returns the least width at which no word of the cells is broken, and none of them has more than three lines, or `most`."""
    words = max((len(word) for cell in cells for word in cell.split(" ")), default=0)
    found = (width for width in range(words, most) if all(len(_folded(cell, width)) <= _MOST_LINES for cell in cells))
    return next(found, most)


def _narrowed(widths: dict[int, int], least: Sequence[int], width: int) -> dict[int, int]:
    """Returns widths of columns that fit, the widest columns made narrower. least: the least width of each column."""
    while not _fits(list(widths.values()), width):
        number = max((n for n in widths if widths[n] > least[n]), key=lambda n: widths[n])
        widths = {**widths, number: widths[number] - 1}
    return widths


def _folded(text: str, width: int) -> list[str]:
    """Returns the lines of a cell."""
    return [text] if len(text) <= width else textwrap.wrap(text, width, break_on_hyphens=False)


def table(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> Table:
    """Returns the table with these columns and a line for each row.

    >>> print(*table([Column("name", str, is_left=True), Column("length", lambda word: f"{len(word)}")], ["tile", "skew by 2"]).lines(), sep="\\n")
    name       length
    tile            4
    skew by 2       9
    """
    made = tuple(tuple(column.cell(row) for column in columns) for row in rows)
    return Table(tuple(column.head for column in columns), made, tuple(column.is_left for column in columns))


def lines(parts: Iterable[str | Table], width: int | None = None) -> str:
    """Returns lines and tables, in order, as one text. width: the most characters of a line, but of long words; None: any."""
    found = (part.lines(width) if isinstance(part, Table) else [wrapped(part, width)] for part in parts)
    return "\n".join(line for each in found for line in each).rstrip()


def wrapped(text: str, width: int | None) -> str:
    """Returns a text with its long lines continued on further ones, which are indented by two characters more.

    Words are not broken, so that a path or a call can be copied.

    width: the most characters of a line; None: the text stays as it is

    >>> print(wrapped("  the bound is exact, and the time an estimate", 30))
      the bound is exact, and the
        time an estimate
    """
    if width is None:
        return text
    return "\n".join(line if len(line) <= width else _continued(line, width) for line in text.split("\n"))


def _continued(line: str, width: int) -> str:
    if line.endswith("─"):
        return line[:width]  # a heading
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(
        line.lstrip(), max(width, len(indent) + 3), initial_indent=indent, subsequent_indent=indent + "  ", expand_tabs=False,
        replace_whitespace=False, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
