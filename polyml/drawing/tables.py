"""Tables as HTML, which notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a table as HTML: numbers at the right with separators of thousands, all else at the left. Cells keep to one line, and what
    is wider than the page is scrolled to.

    >>> html_table("misses", ["array", "L1"], [["A", 1200]]).count("1,200")
    1
    """

    def cell(tag: str, value: object) -> str:
        is_number = isinstance(value, (int, float))
        words = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if isinstance(value, float) else str(value)
        return f'<{tag} style="text-align: {"right" if is_number else "left"}; padding: 0 0.6em; white-space: nowrap">{escape(words)}</{tag}>'

    lines = [f"<tr>{''.join(cell('th', head) for head in heads)}</tr>"]
    lines += [f"<tr>{''.join(cell('td', value) for value in row)}</tr>" for row in rows]
    return scrolled(
        f'<table style="border-collapse: collapse"><caption style="text-align: left">{escape(caption)}</caption>{"".join(lines)}</table>'
    )


def scrolled(table: str) -> str:
    """Returns a table in a box as wide as the page, in which it is scrolled where it is wider."""
    return f'<div style="overflow-x: auto">{table}</div>'
