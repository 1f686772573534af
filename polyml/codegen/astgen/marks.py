"""What the marks of a schedule tree say of the loops below them."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.schedule.tree.bands import POINT, TILE, partial_results
from polyml.schedule.tree.directives import NO_DIRECTIVES, Directives, parse_mark


@dataclass(frozen=True)
class Marked:
    """What the marks above say of the next loop. name, asked: of a mark that is for that loop alone."""

    parallel: bool = False
    role: str = POINT
    partial: tuple[str, ...] = ()
    name: str = ""
    directives: Directives = NO_DIRECTIVES

    def under(self, mark: str) -> Marked:
        named = parse_mark(mark)
        if named is not None:
            name, asked = named
            around = asked.tile or asked.parallel or asked.pack  # what is copied for an iteration knows it
            return Marked(asked.parallel, TILE if around else POINT, asked.partial, name, asked)
        partial = partial_results(mark)
        if partial is not None:
            return Marked(True, TILE, partial)
        return Marked(False, mark) if mark in (TILE, POINT) else self

    def inside(self) -> Marked:
        """What still holds in the body of that loop."""
        return Marked(role=self.role)
