"""Iterators of slices whose start moves count from the array's beginning.

    for k: for i in range(N - k - 1):                          for k: for i in range(k + 1, N):
        A[k + 1 + i, k] /= A[k, k]                 ->              A[i, k] /= A[k, k]

So `A[k + 1 :, k] /= A[k, k]` is the same to a schedule as the loop that says it: iterations that touch one row have the same i. The
iterator of a sum, as in `A[k + 1 :, k] @ B[k + 1 :]`, counts from the beginning of the arrays that are read.
(This undoes loop normalisation, whose harm to dependences is shown by Allen and Kennedy, "Optimizing Compilers for Modern
Architectures".)
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.nest import map_leaves
from polyml.model.core.scop import Access, Index, Scop, Statement, Value

_BLOCK = 32  # elements by which blocks are apart


def rebase(scop: Scop) -> Scop:
    """Returns the SCoP in which the iterator of a slice is the subscript that is written, not the position inside the slice.

    A statement that writes A[k + 1 + i, k] for i >= 0 then writes A[i, k] for i >= k + 1. The order of the instances stays.
    """
    back = {s.name: found for s in scop.statements.values() if (found := _from_absolute(s)) is not None}
    if not back:
        return scop
    statements = {s.name: _rebased(s, back[s.name]) if s.name in back else s for s in scop.statements.values()}
    every = [back.get(s.name) or polyhedra.identity(s.domain) for s in scop.statements.values()]
    schedule = scop.schedule.pullback_union_pw_multi_aff(polyhedra.union_of_functions(every))
    return replace(scop, statements=statements, schedule=schedule)


def _from_absolute(statement: Statement) -> isl.PwMultiAff | None:
    """Returns the function { S[k, i] -> S[k, i - k - 1] } from the iterators that `rebase` gives a statement to those that it has.

    The result is None where it keeps its iterators.
    """
    shifted: dict[int, isl.PwAff] = {}
    for subscript in statement.write.subscripts:
        for position in _last_of_several(subscript):
            if position not in shifted and _is_shift(subscript, position, statement):
                shifted[position] = subscript
    written = {position for subscript in statement.write.subscripts for position in polyhedra.used_iterators(subscript)}
    read = [subscript for access in statement.reads for subscript in access.subscripts]
    for position in {p for subscript in read for p in _last_of_several(subscript)} - written:
        moving = [subscript for subscript in read if position in polyhedra.used_iterators(subscript)]
        same = all(subscript.plain_is_equal(moving[0]) for subscript in moving)
        if same and _is_shift(moving[0], position, statement) and _has_no_blocks(moving[0]):
            shifted[position] = moving[0]
    return polyhedra.inverse_of_shifts(statement.domain, shifted) if shifted else None


def _last_of_several(subscript: isl.PwAff) -> tuple[int, ...]:
    """Returns the last iterator that a subscript has, by position, where it has several; () where it has not."""
    return polyhedra.used_iterators(subscript)[1:][-1:]


def _is_shift(subscript: isl.PwAff, position: int, statement: Statement) -> bool:
    """Returns whether a subscript is the iterator at `position` plus what does not have that iterator, also not in a quotient."""
    rest = subscript.sub(polyhedra.dimension(statement.domain, position).to_pw_aff())
    return subscript.n_piece() == 1 and position not in polyhedra.used_iterators(rest)


def _has_no_blocks(subscript: isl.PwAff) -> bool:
    """Returns whether no iterator moves a subscript by many elements, as that over blocks does in A[1024 * b + i]: of the sum over a
    block, b would be no loop of its own but i // 1024. Windows that move by a few elements are no blocks.
    """
    return all(-_BLOCK < step < _BLOCK for piece in polyhedra.iterator_coefficients(subscript) for step in piece)


def _rebased(statement: Statement, back: isl.PwMultiAff) -> Statement:
    """Returns the statement with its domain, accesses and value over new iterators.

    back: { S[new iterators] -> S[old iterators] }
    """

    def access(a: Access) -> Access:
        relation = isl.Map.from_pw_multi_aff(back).apply_range(a.relation)
        return replace(a, relation=relation, subscripts=tuple(e.pullback_pw_multi_aff(back) for e in a.subscripts))

    def leaf(value: Value) -> Value:
        return replace(value, value=value.value.pullback_pw_multi_aff(back)) if isinstance(value, Index) else value

    return replace(
        statement,
        domain=polyhedra.with_iterators(statement.domain.preimage_pw_multi_aff(back), statement.iterators),
        writes=(access(statement.write),),
        reads=tuple(map(access, statement.reads)),
        value=map_leaves(statement.value, leaf),
    )
