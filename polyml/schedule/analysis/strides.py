"""How loops move through memory: which iterators a band member follows, and which elements an access then names."""

from __future__ import annotations

import islpy as isl

from polyml.model.core.scop import Access, Scop, Statement
from polyml.polyhedra import iterator_coefficients


def iterators_of(member: isl.UnionPwAff, name: str) -> list[int]:
    """Which iterators of the statement the member's expression moves with."""
    pieces = member.get_pw_aff_list()
    found: set[int] = set()
    for k in range(pieces.n_pw_aff()):
        if pieces.get_at(k).domain().get_tuple_name() == name:
            for coefficients in iterator_coefficients(pieces.get_at(k)):
                found |= {i for i, c in enumerate(coefficients) if c}
    return sorted(found)


def moves(access: Access, along: list[int], dims: slice = slice(None)) -> bool:
    """Whether the access names other elements, in some of the dimensions, as those iterators change."""
    return any(piece[i] for pieces in access.coefficients[dims] for piece in pieces for i in along)


def goes_to_neighbours(access: Access, along: list[int]) -> bool:
    """Whether the last subscript changes by one as one of those iterators does."""
    return any(abs(piece[i]) == 1 for pieces in access.coefficients[-1:] for piece in pieces for i in along)


def is_same_element(a: Access, b: Access) -> bool:
    """Whether both name one element in every instance."""
    return a.array == b.array and a.relation.plain_is_equal(b.relation)


def accesses(statement: Statement) -> tuple[Access, ...]:
    return (*statement.reads, statement.write)


def largest_accesses(scop: Scop, names: list[str]) -> list[tuple[str, Access]]:
    """The accesses of the most dimensions, each with its statement: those that bring most of the data."""
    listed = [(name, a) for name in names for a in accesses(scop.statements[name])]
    rank = max((len(a.subscripts) for _, a in listed), default=0)
    return [(name, a) for name, a in listed if len(a.subscripts) == rank]


def runs_along_rows(scop: Scop, names: list[str], member: isl.UnionPwAff) -> bool:
    """Whether neighbours in memory follow one another along the member, for some access of the most dimensions."""
    return any(
        moves(a, along, slice(-1, None)) and not moves(a, along, slice(0, -1))
        for name, a in largest_accesses(scop, names)
        for along in [iterators_of(member, name)]
    )


def jumps(scop: Scop, name: str, along: list[int]) -> int:
    """How many of the statement's accesses leave their row as those iterators change."""
    return sum(moves(a, along, slice(0, -1)) for a in accesses(scop.statements[name]) if len(a.subscripts) > 1)
