"""What the iterators of statements do in sums over the columns of rows: they count rows, go over columns, or do something else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.model.core.nest import children
from polyml.model.core.scop import Access, Index, Load, Statement, Value

# a subscript: ("row", k) is the k-th iterator of rows, ("column", 0) that of columns, ("other", position) another one, ("at", number) a number
Place = tuple[str, int]
Scale = tuple[str, str, tuple[Place, ...]]  # operator, array, subscripts: what the terms of a row are divided by


@dataclass(frozen=True)
class Member:
    """A statement with the roles of its iterators.

    rows: the positions of those that count rows, in the order of the maximum's.
    column: the position of the one that goes along a row.
    """

    statement: Statement
    rows: tuple[int, ...]
    column: int

    @property
    def others(self) -> tuple[int, ...]:
        return tuple(k for k in range(len(self.statement.iterators)) if k != self.column and k not in self.rows)

    def places(self, access: Access) -> tuple[Place, ...] | None:
        """Returns the subscripts of an access; None where one is neither an iterator nor a number."""
        found: list[Place] = []
        for subscript in access.subscripts:
            number = _iterator_or_number(subscript)
            if number is None:
                return None
            kind, value = number
            if kind == "at":
                found.append(number)
            elif value in self.rows:
                found.append(("row", self.rows.index(value)))
            else:
                found.append(("column", 0) if value == self.column else ("other", value))
        return tuple(found)


def _iterator_or_number(subscript: isl.PwAff) -> Place | None:
    row = polyhedra.linear_row(subscript)
    if row is None:
        return None
    names = {name: c for name, c in row[0].items() if c}
    if not names:
        return ("at", row[1])
    (name, c), *rest = names.items()
    return ("iterator", name) if not rest and c == 1 and row[1] == 0 and isinstance(name, int) else None


def of_reduction(statement: Statement) -> Member | None:
    """Returns the roles in a reduction over one loop: rows are those that tell what is written, in the order of its subscripts."""
    found = [_iterator_or_number(subscript) for subscript in statement.write.subscripts]
    rows = [place[1] for place in found if place is not None and place[0] == "iterator"]
    rest = {*range(len(statement.iterators))} - {*rows}
    if None in found or len({*rows}) < len(rows) or len(rest) != 1:
        return None
    return Member(statement, tuple(rows), rest.pop())


def reading_maximum(statement: Statement, access: Access, maximum: Member) -> Iterator[Member]:
    """Yields the roles that a statement may have that reads the maximum by an access, one for each loop that may go over columns."""
    like = maximum.places(maximum.statement.write) or ()
    rows: dict[int, int] = {}
    for place, subscript in zip(like, access.subscripts):
        here = _iterator_or_number(subscript)
        if here is None or (place[0] == "at") != (here[0] == "at") or place[0] == "at" and place != here:
            return
        if place[0] == "row":
            rows[place[1]] = here[1]
    if len({*rows.values()}) == len(rows):
        own = tuple(rows[k] for k in range(len(rows)))
        yield from (Member(statement, own, k) for k in range(len(statement.iterators)) if k not in own)


def reading_terms(statement: Statement, access: Access, term: Member) -> Member | None:
    """Returns the roles in a statement that reads a term by an access."""
    rows: dict[int, int] = {}
    column = -1
    for place, subscript in zip(term.places(term.statement.write) or (), access.subscripts):
        here = _iterator_or_number(subscript)
        if here is None or here[0] != "iterator":
            return None
        if place[0] == "row":
            rows[place[1]] = here[1]
        else:
            column = here[1]
    if len({*rows.values(), column}) != len(rows) + 1 or column < 0:
        return None
    return Member(statement, tuple(rows[k] for k in range(len(rows))), column)


def form(value: Value, member: Member) -> tuple | None:
    """Returns a value with what it reads named by the roles of subscripts, so that values of two statements can be compared."""
    if isinstance(value, Load):
        access = member.statement.reads[value.access]
        places = member.places(access)
        return None if places is None else ("load", access.array, places)
    if isinstance(value, Index):
        return None
    parts = tuple(form(part, member) for part in children(value))
    if None in parts:
        return None
    if not parts:
        return (value,)
    name = getattr(value, "op", "") or getattr(value, "function", "")
    return (type(value).__name__, name, value.dtype, parts)


def row_scale(op: str, value: Value, member: Member) -> Scale | None:
    """Returns (operator, array, subscripts) of a read of one element for each row; None for any other value."""
    if not isinstance(value, Load):
        return None
    access = member.statement.reads[value.access]
    places = member.places(access)
    if places is None or any(kind not in ("row", "at") for kind, _ in places) or len({*places}) < len(member.rows):
        return None
    return op, access.array, places
