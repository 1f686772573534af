"""Remarks as a part of an HTML page: the loops with their lines of the source, and an answer to each question below them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from polyml.remarks.values import ANALYSIS, MISSED, PASSED, Conflict, Remark, Remarks
from polyml.source import reader_name

_SIGNS = {PASSED: ("&#10003;", "done"), MISSED: ("&#10007;", "not done"), ANALYSIS: ("&#183;", "a fact")}
_CELL = "text-align: left; vertical-align: top; padding: 0 0.4em; overflow-wrap: anywhere"


def part(found: Remarks) -> str:
    """Returns the remarks as a part of a page, without scripts, other files or colours that a scheme may lack."""
    return "\n".join(["<div>", *_loops(found), *_statements(found), *_arrays(found), *_python(found), "</div>"])


def document(found: Remarks) -> str:
    """Returns the remarks as a whole page."""
    title = escape(f"{found.where}: what was done and what was not")
    head = f'<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>{title}</title></head>'
    body = f"<h3>{escape(found.where)}</h3>\n<p><code>{escape(found.kernel + found.signature)}</code></p>\n{part(found)}\n{_notes(found)}"
    return f'<!doctype html>\n<html lang="en">{head}\n<body style="font-family: sans-serif; max-width: 70em">\n{body}\n</body></html>\n'


def _loops(found: Remarks) -> Iterator[str]:
    for loop in found.loops:
        place = f"{escape(reader_name(loop.place.file))}:{loop.place.line}" if loop.place else "no place in the source"
        written = escape(loop.written or f"a loop over {loop.iterator} that the compiler made")
        yield f'<details open style="margin-left: {loop.depth}em"><summary><code>{written}</code> <small>{place}</small></summary>'
        yield from _table(loop.remarks)
        yield "</details>"


def _statements(found: Remarks) -> Iterator[str]:
    for statement in found.statements:
        if statement.remarks:
            yield f"<p><code>{escape(statement.written or statement.text)}</code> <small>{escape(statement.name)}</small></p>"
            yield from _table(statement.remarks)


def _arrays(found: Remarks) -> Iterator[str]:
    if found.arrays:
        yield "<p>arrays</p>"
        yield from _table(found.arrays)


def _python(found: Remarks) -> Iterator[str]:
    for each in found.python:
        place = f"{escape(reader_name(each.place.file))}:{each.place.line}: " if each.place else ""
        yield f"<p>{place}runs as plain Python ({each.code}): {escape(each.text)}<br><em>change: {escape(each.advice)}</em></p>"


def _table(remarks: tuple[Remark, ...]) -> Iterator[str]:
    yield '<table style="border-collapse: collapse; font-size: 90%; margin: 0.2em 0 0.8em 1em">'
    for remark in remarks:
        sign, meaning = _SIGNS[remark.kind]
        cells = (f'<span role="img" aria-label="{meaning}" title="{meaning}">{sign}</span>', escape(remark.question), _said(remark))
        yield f"<tr>{''.join(f'<td style={chr(34)}{_CELL}{chr(34)}>{cell}</td>' for cell in cells)}</tr>"
    yield "</table>"


def _said(remark: Remark) -> str:
    parts = [escape(remark.text)]
    if remark.conflict is not None:
        parts.append(f"<small>{escape(_pair(remark.conflict))}</small>")
    if remark.advice:
        parts.append(f"<em>change: {escape(remark.advice)}</em>")
    return "<br>".join(parts)


def _pair(found: Conflict) -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in found.sizes.items())
    return f"for example {found.source.instance} and {found.sink.instance}{f' with {sizes}' if sizes else ''}"


def _notes(found: Remarks) -> str:
    lines = "".join(f"<li><code>{escape(note)}</code></li>" for note in found.notes)
    return f"<details><summary>notes of the passes</summary><ul>{lines}</ul></details>" if lines else ""
