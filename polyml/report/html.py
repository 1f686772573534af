"""A report as a part of a page, for notebooks: tables, the roofline and the tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from polyml.drawing.tables import scrolled
from polyml.report.table import Table

_STYLE = "border-collapse: collapse; font-size: 90%; margin: 0.5em 0"


def page(found: Iterable[str | Table], *pictures: str) -> str:
    """Returns lines, tables and pictures as a part of an HTML page, without scripts or other files. pictures: SVG texts."""
    return "\n".join(["<div>", *(line for part in found for line in _part(part)), *pictures, "</div>"])


def document(title: str, body: str) -> str:
    """Returns a whole HTML page with a title and this body."""
    head = f'<head><meta charset="utf-8"><title>{escape(title)}</title></head>'
    return f'<!doctype html>\n<html lang="en">{head}\n<body style="font-family: sans-serif">\n{body}\n</body></html>\n'


def _part(part: str | Table) -> Iterator[str]:
    if isinstance(part, Table):
        rows = (_row("th", part.heads, part.left), *(_row("td", row, part.left) for row in part.rows))
        yield scrolled("\n".join((f'<table style="{_STYLE}">', *rows, "</table>")))
    elif part.startswith("── "):
        yield f"<h4>{escape(part.strip('─ '))}</h4>"
    elif part:
        yield f"<div><code>{escape(part)}</code></div>"


def _row(tag: str, cells: Sequence[str], left: Sequence[bool]) -> str:
    sides: Iterable[str] = ("left" if is_left else "right" for is_left in left)
    made = (
        f'<{tag} style="text-align: {side}; padding: 0 0.6em; white-space: nowrap">{escape(cell)}</{tag}>'
        for side, cell in zip(sides, cells)
    )
    return f"<tr>{''.join(made)}</tr>"
