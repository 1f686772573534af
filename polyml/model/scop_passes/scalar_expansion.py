"""Scalars that every iteration defines anew become arrays over those loops.

        for i in range(N):                       for i in range(N):
            s = 0.0                                  s[i] = 0.0
            for j in range(M):         ->            for j in range(M):
                s += A[i, j]                             s[i] += A[i, j]
            B[i] += 2 * s                            B[i] += 2 * s[i]

One scalar orders all iterations that use it, though no value passes between them; in its array each iteration has an element of
its own. Scalar and array expansion: Feautrier, "Array expansion", ICS 1988. A schedule may bring the uses together again, so that
the code generator keeps the element in a register.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.call_interface import ScalarResult
from polyml.model.core.scop import Access, Role, Scop, Statement
from polyml.model.core.source_order import loop_paths


def expand(scop: Scop) -> Scop:
    """Returns the SCoP with local scalars expanded to arrays, which have an element per iteration of outer loops.

    These are as many loops as possible in each of whose iterations the scalar is assigned before it is read. The source order
    stays.
    """
    results = {r.array for r in scop.results if isinstance(r, ScalarResult)}
    scalars = [a for a in scop.arrays.values() if not a.shape and a.role is Role.LOCAL and a.name not in results]
    if not scalars:
        return scop
    paths = loop_paths(scop.schedule)
    context = polyhedra.on_parameters(scop.context, polyhedra.parameter_names(scop.domain))
    known: dict[isl.Set, tuple | None] = {}
    arrays, statements = dict(scop.arrays), dict(scop.statements)
    for scalar in scalars:
        users = [s for s in scop.statements.values() if uses(s, scalar.name)]
        domain = _defined_domain(scalar.name, users, paths, context)
        if domain is None:
            continue
        if domain not in known:
            known[domain] = ranges(domain, context)
        limits = known[domain]
        if limits is None:
            continue
        starts, extents = limits
        arrays[scalar.name] = replace(scalar, shape=extents)
        for user in users:
            statements[user.name] = _expanded(statements[user.name], scalar.name, starts)
    return replace(scop, arrays=arrays, statements=statements)


def uses(statement: Statement, name: str) -> bool:
    """Returns whether the statement reads or writes the array."""
    return statement.write.array == name or any(a.array == name for a in statement.reads)


def _defined_domain(name: str, users: list[Statement], paths: Mapping[str, tuple[int, ...]], context: isl.Set) -> isl.Set | None:
    """Returns the iterations { [i] } of the outer loops over which a scalar can be expanded; None where there are no such loops.

    They are as many outer loops as possible, shared by all its users, in each of whose iterations it is assigned before it is read.

    users: the statements that use the scalar
    paths: the loops around each statement, as `source_order.loop_paths` numbers them
    """
    for depth in range(common_depth([paths[s.name] for s in users]), 0, -1):
        domain = _defined_at(name, users, depth, context)
        if domain is not None:
            return domain
    return None


def common_depth(paths: list[tuple[int, ...]]) -> int:
    """Returns the number of outer loops that all paths have in common.

    paths: of some statements, from `source_order.loop_paths`
    """
    depth = 0
    while all(len(p) > depth for p in paths) and len({p[depth] for p in paths}) == 1:
        depth += 1
    return depth


def _defined_at(name: str, users: list[Statement], depth: int, context: isl.Set) -> isl.Set | None:
    """Returns the iterations { [i] } of the `depth` outer loops in which the first use of the scalar is an assignment.

    That assignment is not inside further loops. The result is None where the scalar is used in an iteration without it.

    users: the statements that use the scalar, in source order
    """
    first: isl.Set | None = None
    rest: isl.Set | None = None
    for user in users:
        is_definition = len(user.iterators) == depth and not any(a.array == name for a in user.reads)
        here = polyhedra.outer(user.domain.intersect_params(context), depth)
        if is_definition and rest is None:
            first = here if first is None else first.union(here)
        else:
            rest = here if rest is None else rest.union(here)
    if first is None or (rest is not None and not rest.is_subset(first)):
        return None
    return first.coalesce()


def ranges(domain: isl.Set, context: isl.Set) -> tuple[tuple[isl.PwAff, ...], tuple[isl.PwAff, ...]] | None:
    """Returns the first value and the number of values of each dimension of a set, as expressions in the parameters.

    The result is a tuple of the former and a tuple of the latter; None where a first value is piecewise.
    """
    starts, extents = [], []
    for dim in range(polyhedra.dimensions(domain)):
        first, last = polyhedra.value_range(domain, dim)
        if first is None:
            return None
        starts.append(first)
        extents.append(polyhedra.extent(first, last, context))
    return tuple(starts), tuple(extents)


def _expanded(statement: Statement, name: str, starts: tuple[isl.PwAff, ...]) -> Statement:
    """Returns the statement with an element per iteration of outer loops in place of the scalar `name`.

    starts: the first values of these loops
    """

    def access(a: Access) -> Access:
        if a.array != name:
            return a
        subscripts = tuple(polyhedra.offset_dimension(statement.domain, dim, start) for dim, start in enumerate(starts))
        space = statement.domain.get_space()
        relation = polyhedra.rename_domain(polyhedra.relation(space, name, subscripts), statement.name)
        return replace(a, relation=relation, subscripts=subscripts)

    return replace(statement, writes=(access(statement.write),), reads=tuple(map(access, statement.reads)))
