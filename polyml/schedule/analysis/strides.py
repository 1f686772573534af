"""How accesses move through memory as a loop runs: the iterators in a band member, and the subscripts that depend on them."""

from __future__ import annotations

import islpy as isl

from polyml.model.core.scop import Access, Scop, Statement
from polyml.polyhedra import iterator_coefficients


def iterators_of(member: isl.UnionPwAff, name: str) -> list[int]:
    """Returns the positions of the statement's iterators on which the member { S[i] -> [(e)] } depends."""
    pieces = member.get_pw_aff_list()
    found: set[int] = set()
    for k in range(pieces.n_pw_aff()):
        if pieces.get_at(k).domain().get_tuple_name() == name:
            for coefficients in iterator_coefficients(pieces.get_at(k)):
                found |= {i for i, c in enumerate(coefficients) if c}
    return sorted(found)


def moves(access: Access, along: list[int], dims: slice = slice(None)) -> bool:
    """Whether some subscript, among those of these dimensions, changes as the iterators at the positions `along` do."""
    return any(piece[i] for pieces in access.coefficients[dims] for piece in pieces for i in along)


def goes_to_neighbours(access: Access, along: list[int]) -> bool:
    """Whether the last subscript changes by one as one of the iterators at the positions `along` does."""
    return any(abs(piece[i]) == 1 for pieces in access.coefficients[-1:] for piece in pieces for i in along)


def is_same_element(a: Access, b: Access) -> bool:
    """Whether both accesses are to the same element in every instance."""
    return a.array == b.array and a.relation.plain_is_equal(b.relation)


def accesses(statement: Statement) -> tuple[Access, ...]:
    """Returns the statement's reads, and its write last."""
    return (*statement.reads, statement.write)


def largest_accesses(scop: Scop, names: list[str]) -> list[tuple[str, Access]]:
    """Returns the accesses of the most dimensions, which bring most of the data, each with its statement's name."""
    listed = [(name, a) for name in names for a in accesses(scop.statements[name])]
    rank = max((len(a.subscripts) for _, a in listed), default=0)
    return [(name, a) for name, a in listed if len(a.subscripts) == rank]


def runs_along_rows(scop: Scop, names: list[str], member: isl.UnionPwAff) -> bool:
    """Whether some access of the most dimensions goes along a row of memory as the member runs."""
    return any(
        moves(a, along, slice(-1, None)) and not moves(a, along, slice(0, -1))
        for name, a in largest_accesses(scop, names)
        for along in [iterators_of(member, name)]
    )


def jumps(scop: Scop, name: str, along: list[int]) -> int:
    """Returns how many of the statement's accesses go to another row as the iterators at the positions `along` change."""
    return sum(moves(a, along, slice(0, -1)) for a in accesses(scop.statements[name]) if len(a.subscripts) > 1)
