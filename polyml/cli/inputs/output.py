"""What the commands print: tables, JSON, and values in short."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from polyml.errors import PolymlError


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
    """Prints a table, with bold headings and folded cells in a terminal, and as plain text in a pipe.

    right: the numbers of the columns that are flush right.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold")
    for position, heading in enumerate(headings):
        made.add_column(heading, justify="right" if position in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(200, console.width))
    console.print(made)


def pairs(rows: Sequence[tuple[str, str, bool]]) -> None:
    """Prints lines `name  text` in two aligned columns; further lines of a text are indented.

    rows: (name, text, whether all is well); if not, the name is red.
    """
    width = max(len(name) for name, _, _ in rows)
    for name, text, ok in rows:
        first, *rest = text.split("\n")
        click.echo(click.style(name.ljust(width), fg=None if ok else "red", bold=True) + "  " + first)
        for line in rest:
            click.echo(" " * (width + 2) + line)


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
