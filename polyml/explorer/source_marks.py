"""The source of a kernel with what its characters stand for: loops, statements and references to arrays."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from polyml.model.core.scop import Scop
from polyml.schedule.tree import loop_tree
from polyml.source import Loc, Source


@dataclass(frozen=True)
class Span:
    """A span is a range of characters in one line of the source.

    line: in the file; begin, end: in the line, from 0.
    mark: what it stands for: "s:S0" a statement, "a:A" a reference to an array, "f:12" the loop that line 12 begins.
    """

    line: int
    begin: int
    end: int
    mark: str


def source_of(scop: Scop) -> Source | None:
    """Returns the source of a kernel's statements; None where none has a place in a source."""
    return next((s.loc.source for s in scop.statements.values() if s.loc is not None), None)


def spans(scop: Scop, source: Source) -> list[Span]:
    """Returns the spans of a kernel's statements, their references, and the loops around them."""
    found: list[Span] = []
    for statement in scop.statements.values():
        found += _span(statement.loc, f"s:{statement.name}")
        for access in (statement.write, *statement.reads):
            found += _span(access.loc, f"a:{access.array}")
    for loop in _loops(source):
        text = source.line(loop.lineno).rstrip("\n")
        found.append(Span(loop.lineno, len(text) - len(text.lstrip()), len(text), f"f:{loop.lineno}"))
    return [span for span in dict.fromkeys(found) if source.line(span.line)]


def _span(loc: Loc | None, mark: str) -> Iterator[Span]:
    if loc is not None:
        yield Span(loc.line, loc.column - 1, loc.column - 1 + loc.width, mark)


def _loops(source: Source) -> list[ast.For]:
    """Returns the `for` loops of a source, with the line numbers of its file; [] where it is no function of Python by itself."""
    try:
        parsed = ast.parse(textwrap.dedent("\n".join(line.rstrip("\n") for line in source.lines)))
    except (SyntaxError, ValueError):
        return []
    ast.increment_lineno(parsed, source.first_line - 1)
    return [node for node in ast.walk(parsed) if isinstance(node, ast.For)]


def lines_of_loops(scop: Scop, source: Source, tree: loop_tree.Node) -> list[tuple[int, ...]]:
    """Returns for each loop of a schedule, in the order of `loop_tree.loops`, the lines of the source's loops that it is made of.

    A loop is made of those loops around its statements whose iterators it has in its name: `i_t` and `i` of `for i`.
    """
    found, known = [], _loops(source)
    for _, loop in loop_tree.loops(tree):
        base = re.sub(r"(_t\d*|_\d+)+$", "", loop.name)
        places = (scop.statements[name].loc for name in loop_tree.statements(loop))
        lines = dict.fromkeys(_around(known, (place.line for place in places if place is not None), {base, loop.name}))
        found.append(tuple(lines))
    return found


def _around(known: Iterable[ast.For], lines: Iterable[int], names: set[str]) -> Iterator[int]:
    """Yields the first lines of the loops over an iterator of one of these names that are around one of the lines."""
    wanted = [*lines]
    for each in known:
        targets = {node.id for node in ast.walk(each.target) if isinstance(node, ast.Name)}
        if targets & names and any(each.lineno < line <= (each.end_lineno or line) for line in wanted):
            yield each.lineno
