"""Loops that data end, as loops of the model: a `while`, or a `for` that `break` leaves.

    while rr > tol:                    for trip in range(trip_end):
        A                      ->          left = region: leaves the loop unless rr > tol
        if bad: break                      A              if trip < trip_end_1
        B                                  region: leaves the loop if bad
                                           B              if trip < trip_end_2

Where the loop ends, and which part of the last iteration runs, are numbers that nobody knows before: parameters of the model, which is exact for
all values that they may have. Each exit reads and writes the number `left`, so that iterations stay in order. In the code the parameters
are larger than any loop runs, and the exits alone end the loop.

(Benabderrahmane et al., "The polyhedral model is more widely applicable than you think", CC 2010, have exit predicates for the same.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyml.frontend import syntax
from polyml.frontend.name_resolution import left
from polyml.frontend.syntax import Stmt
from polyml.model.lowering.regions.region_building import halves
from polyml.source import Loc


@dataclass(frozen=True)
class EndedLoop:
    """An EndedLoop is a loop that data end, whose body is divided behind each statement that may leave it.

    parts: all of them but the last one end with a statement that may leave the loop
    label: what these leave
    """

    loop: syntax.For | syntax.While
    parts: tuple[tuple[Stmt, ...], ...]
    label: str

    @property
    def exits(self) -> tuple[Stmt, ...]:
        """Returns the statements that may leave the loop."""
        return tuple(part[-1] for part in self.parts[:-1])


def ended_loop(stmt: Stmt) -> EndedLoop | None:
    """Returns the loop that a statement is, if data end it: a `while`, or a loop in a Block of its own; None for other statements, and where
    the loop may leave more than itself.
    """
    if left((stmt,)):
        return None
    loop, label = stmt, ""
    if isinstance(stmt, syntax.Block) and len(stmt.body) == 1:
        loop, label = stmt.body[0], stmt.label
    if isinstance(loop, syntax.For):
        return EndedLoop(loop, _parts(loop.body), label) if label and loop.step > 0 else None
    if not isinstance(loop, syntax.While):
        return None
    label = label or f"_while {loop.loc}"
    ends = syntax.If(loop.condition, (), (syntax.Leave(label, loc=loop.loc),), loc=loop.loc)
    if isinstance(loop.condition, syntax.Const):
        return EndedLoop(loop, _parts(loop.body), label) if loop.condition.value else None
    return EndedLoop(loop, _parts((ends, *loop.body)), label)


def _parts(body: Sequence[Stmt]) -> tuple[tuple[Stmt, ...], ...]:
    parts: list[list[Stmt]] = [[]]
    for stmt in body:
        parts[-1].append(stmt)
        if left((stmt,)):
            parts.append([])
    return tuple(map(tuple, parts))


def ended_places(body: Sequence[Stmt]) -> Iterator[Loc]:
    """Yields the places of the outermost loops that data end and that no condition is around."""
    for stmt in body:
        found = ended_loop(stmt)
        if found is not None and found.loop.loc is not None:
            yield found.loop.loc
        elif isinstance(stmt, syntax.For):
            yield from ended_places(stmt.body)
        elif isinstance(stmt, syntax.Block):
            yield from ended_places(halves(stmt.body)[0])
