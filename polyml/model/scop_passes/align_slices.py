"""Iterators of slices whose start moves count from the array's beginning.

    for k: for i in range(N - k - 1):                          for k: for i in range(k + 1, N):
        A[k + 1 + i, k] /= A[k, k]                 ->              A[i, k] /= A[k, k]

So `A[k + 1 :, k] /= A[k, k]` is the same to a schedule as the loop that says it: iterations that touch one row have the same i.
(This undoes loop normalisation, whose harm to dependences is shown by Allen and Kennedy, "Optimizing Compilers for Modern
Architectures".)
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.nest import map_leaves
from polyml.model.core.scop import Access, Index, Scop, Statement, Value


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
    shifted = {}
    for subscript in statement.write.subscripts:
        for position in polyhedra.used_iterators(subscript)[1:][-1:]:  # the last of several
            rest = subscript.sub(polyhedra.dimension(statement.domain, position).to_pw_aff())
            is_shift = subscript.n_piece() == 1 and position not in polyhedra.used_iterators(rest)  # also not in a quotient
            if is_shift and position not in shifted:
                shifted[position] = subscript
    return polyhedra.inverse_of_shifts(statement.domain, shifted) if shifted else None


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
        write=access(statement.write),
        reads=tuple(map(access, statement.reads)),
        value=map_leaves(statement.value, leaf),
    )
