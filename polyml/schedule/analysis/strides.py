"""How accesses move through memory as a loop runs: the iterators in a band member, and the subscripts that depend on them."""

from __future__ import annotations

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Access, Scop, Statement


def iterators_of(member: isl.UnionPwAff, name: str) -> list[int]:
    """Returns the positions of those iterators of the statement `name` on which the band member { S[i] -> [(e)] } depends."""
    value = polyhedra.expressions(member).get(name)
    return [] if value is None else _positions(value)


def positions_in(member: isl.UnionPwAff) -> dict[str, list[int]]:
    """Returns, by statement, the positions of those of its iterators on which the band member { S[i] -> [(e)] } depends."""
    return {name: _positions(value) for name, value in polyhedra.expressions(member).items()}


def _positions(value: isl.PwAff) -> list[int]:
    return sorted({i for piece in polyhedra.iterator_coefficients(value) for i, c in enumerate(piece) if c})


def moves(access: Access, along: list[int], dims: slice = slice(None)) -> bool:
    """Returns whether the access goes to other elements as iterators change: whether a subscript depends on one of them.

    along: the iterators' positions in the statement's domain.
    dims: the dimensions of the array whose subscripts count.
    """
    return any(piece[i] for pieces in access.coefficients[dims] for piece in pieces for i in along)


def goes_to_neighbours(access: Access, along: list[int]) -> bool:
    """Returns whether the last subscript changes by one as an iterator does: the access moves to the next element in memory.

    along: the positions of the iterators in the statement's domain.
    """
    return any(abs(piece[i]) == 1 for pieces in access.coefficients[-1:] for piece in pieces for i in along)


def is_same_element(a: Access, b: Access) -> bool:
    """Returns whether both accesses are to the same element in every instance."""
    return a.array == b.array and a.relation.plain_is_equal(b.relation)


def accesses(statement: Statement) -> tuple[Access, ...]:
    """Returns the statement's reads, and its write last."""
    return (*statement.reads, statement.write)


def largest_accesses(scop: Scop, names: list[str]) -> list[tuple[str, Access]]:
    """Returns the accesses with the most subscripts among the statements `names`, each with its statement's name."""
    listed = [(name, a) for name in names for a in accesses(scop.statements[name])]
    rank = max((len(a.subscripts) for _, a in listed), default=0)
    return [(name, a) for name, a in listed if len(a.subscripts) == rank]


def runs_along_rows(scop: Scop, names: list[str], member: isl.UnionPwAff) -> bool:
    """Returns whether an access with the most subscripts goes along a row of memory as the band member runs."""
    return any(
        moves(a, along, slice(-1, None)) and not moves(a, along, slice(0, -1))
        for name, a in largest_accesses(scop, names)
        for along in [iterators_of(member, name)]
    )


def jumps(scop: Scop, name: str, along: list[int]) -> int:
    """Returns how many of a statement's accesses go to another row of memory as the iterators `along` change.

    In such an access a subscript other than the last one depends on one of these iterators.

    name: the statement's.
    along: the positions of the iterators in the statement's domain.
    """
    return sum(moves(a, along, slice(0, -1)) for a in accesses(scop.statements[name]) if len(a.subscripts) > 1)
