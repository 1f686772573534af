"""What the commands print: tables, JSON, and values in short."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence

import click

from polyml.errors import PolymlError

_NARROWEST = 20  # characters of a line


def line(error: PolymlError) -> str:
    """Returns an error as one line of text: its location, its message and its notes."""
    place = f"{error.loc}: " if error.loc else ""
    notes = f" ({'; '.join(error.notes)})" if error.notes else ""
    return " ".join(f"{place}error: {error.message}{notes}".split())


def as_json(value: object) -> None:
    """Prints a value as indented JSON, with NumPy's numbers and arrays as Python's."""
    click.echo(json.dumps(value, indent=2, default=_plain))


def _plain(value: object) -> object:
    """Returns what JSON can hold of a value: the numbers of a NumPy number or array, or the text of anything else."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Prints a table, with folded cells where it is wider than the terminal.

    right: the numbers of the columns that are flush right.
    """
    from polyml.report.table import Table

    left = tuple(position not in right for position in range(len(headings)))
    click.echo("\n".join(Table(tuple(headings), tuple(map(tuple, rows)), left).lines(width())))


def width() -> int | None:
    """Returns how many characters a printed line has at most: those of COLUMNS or the terminal; None where there is neither."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns[:9]) > 0:
        return max(int(columns[:9]), _NARROWEST)
    return max(shutil.get_terminal_size().columns, _NARROWEST) if sys.stdout.isatty() else None


def prose(text: str) -> None:
    """Prints a text, with lines that are longer than the terminal is wide continued on further ones."""
    from polyml.report.table import wrapped

    click.echo(wrapped(text, width()))


def pairs(rows: Sequence[tuple[str, str, bool]]) -> None:
    """Prints lines `name  text` in two aligned columns; further lines of a text are indented.

    rows: (name, text, whether all is well); if not, the name is red.
    """
    from polyml.report.table import wrapped

    longest, most = max(len(name) for name, _, _ in rows), width()
    for name, text, ok in rows:
        first, *rest = wrapped(text, None if most is None else max(most - longest - 2, _NARROWEST)).split("\n")
        click.echo(click.style(name.ljust(longest), fg=None if ok else "red", bold=True) + "  " + first)
        for line in rest:
            click.echo(" " * (longest + 2) + line)


def described(value: object) -> str:
    """Returns an array's type, shape, minimum, maximum and mean as a text; the repr of any other value."""
    import numpy as np

    if not isinstance(value, np.ndarray):
        return repr(value)
    head = f"{value.dtype}{list(value.shape)}"
    if value.size == 0:
        return f"{head} empty"
    if value.dtype.kind == "b":
        return f"{head} {int(value.sum())} of {value.size} true"
    with np.errstate(all="ignore"):
        return f"{head} min {value.min():.6g} max {value.max():.6g} mean {value.mean(dtype=np.float64):.6g}"
