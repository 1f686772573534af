"""Where the loops and statements that a report names stand in the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polyml.model.core.printer import statement_text
from polyml.model.core.scop import Scop
from polyml.remarks.source_loops import place_of, source_loops, written_at
from polyml.source import Loc


@dataclass(frozen=True)
class SourcePlace:
    """The place of a loop or a statement.

    name: by which the report calls it: "i", "S0.i" where several loops are named i, or "S0".
    kind: "loop" or "statement".
    file, line: "" and 0 where it is not known.
    text: the line of the source without its indentation; for a statement that has none, the statement.
    """

    name: str
    kind: str
    file: str
    line: int
    text: str


def source_places(scop: Scop) -> tuple[SourcePlace, ...]:
    """Returns the places of the loops and statements of a SCoP in the order of their lines, those without a place last."""
    return tuple(sorted(_places(scop), key=lambda each: (not each.line, each.file, each.line)))


def _places(scop: Scop) -> Iterator[SourcePlace]:
    for loop in source_loops(scop):
        yield _place(loop.name, "loop", loop.loc, "made by the compiler")
    for name, statement in scop.statements.items():
        yield _place(name, "statement", statement.loc, statement_text(statement))


def _place(name: str, kind: str, loc: Loc | None, otherwise: str) -> SourcePlace:
    place = place_of(loc)
    if place is None:
        return SourcePlace(name, kind, "", 0, otherwise)
    return SourcePlace(name, kind, place.file, place.line, written_at(loc) or otherwise)
