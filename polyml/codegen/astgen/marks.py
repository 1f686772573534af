"""The directives and roles that the marks of a schedule tree give the loops below them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyml.codegen.ir.program import Loop
from polyml.schedule.tree.bands import APART, POINT, TILE, partial_results
from polyml.schedule.tree.directives import NO_DIRECTIVES, Directives, parse_mark


@dataclass(frozen=True)
class LoopMarks:
    """What the marks above a node of the schedule tree say of the next loop made below it.

    parallel, role, partial, apart: the values of these fields of that `Loop`.
    name, directives: the values of these fields too; they are empty unless a mark is for that loop alone.
    """

    parallel: bool = False
    role: str = POINT
    partial: tuple[str, ...] = ()
    name: str = ""
    directives: Directives = NO_DIRECTIVES
    apart: bool = False

    def under(self, mark: str) -> LoopMarks:
        """Returns the marks that hold below these marks and one more, whose text is `mark`."""
        named = parse_mark(mark)
        if named is not None:
            name, directives = named
            is_tile = directives.tile or directives.parallel or directives.pack  # what is copied for an iteration knows it
            return LoopMarks(directives.parallel, TILE if is_tile else POINT, directives.partial, name, directives)
        if mark == APART:
            return replace(self, apart=True)
        partial = partial_results(mark)
        if partial is not None:
            return LoopMarks(True, TILE, partial, apart=self.apart)
        return LoopMarks(False, mark) if mark in (TILE, POINT) else self

    def inside(self) -> LoopMarks:
        """Returns the marks for loops in the body of the next loop. Of these marks, only the role, "tile" or "point", holds there
        too.
        """
        return LoopMarks(role=self.role)

    def marked(self, loop: Loop) -> Loop:
        """Returns the loop with its fields set to those of the marks."""
        return replace(
            loop, parallel=self.parallel, role=self.role, partial=self.partial, name=self.name, directives=self.directives,
            apart=self.apart,
        )  # fmt: skip
