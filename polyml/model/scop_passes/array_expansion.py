"""Arrays that every iteration of outer loops fills anew get an element for each such iteration, so that these loops are parallel.

        for r, q:                                         for r, q:
            for p: s[p] = 0                                   for p: S[r, q, p] = 0
            for p, k: s[p] += A[r, q, k]*C[k, p]   ->         for p, k: S[r, q, p] += A[r, q, k]*C[k, p]
            for p: A[r, q, p] = s[p]                          for p: A[r, q, p] = S[r, q, p]
                                                          for p: s[p] = S[R - 1, Q - 1, p]

Array expansion: Feautrier, "Array expansion", ICS 1988; the final values are copied out. The pass applies where sums are
accumulated in such an array, the loops have no other dependences, and the memory is not much: then the sums are contractions
over all of the loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences, dependences
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Access, Array, Load, Role, Scop, Statement
from polyml.model.core.source_order import SourceBlock, SourceLoop, loop_paths, schedule_tree
from polyml.model.scop_passes.scalar_expansion import common_depth, ranges, uses
from polyml.polyhedra import BudgetExceeded, budget

MOST_BYTES = 128 * 2**20  # of an expanded array at the sizes expected
LEAST_LOOPS = 3  # around a sum
EXPANSION_OPERATIONS = 300_000  # of isl, ten times what PolyBench needs


def expand_arrays(
    scop: Scop, found: Dependences, free: Mapping[str, Reduction], sizes: Mapping[str, int]
) -> tuple[Scop, Dependences]:
    """Returns a SCoP in which each iteration of outer loops has its own copy of arrays that it fills anew, and its dependences.

    The outer loops are then parallel. Only arrays in which sums are accumulated are expanded. Both are returned unchanged where isl
    would need too many steps.

    found: the dependences of the SCoP
    free: the updates whose order is free, by statement
    sizes: values of parameters that memory is estimated with
    """
    try:
        with budget(EXPANSION_OPERATIONS):
            return _all_expanded(scop, found, free, sizes)
    except BudgetExceeded:
        return scop, found


def _all_expanded(
    scop: Scop, found: Dependences, free: Mapping[str, Reduction], sizes: Mapping[str, int]
) -> tuple[Scop, Dependences]:
    for name in dict.fromkeys(r.array for s, r in free.items() if len(scop.statements[s].iterators) >= LEAST_LOOPS):
        array = scop.arrays[name]
        if array.shape and not array.pairs and array.role in (Role.ARGUMENT, Role.LOCAL):
            scop, found = _expanded(scop, found, array, sizes) or (scop, found)
    return scop, found


def _expanded(scop: Scop, found: Dependences, array: Array, sizes: Mapping[str, int]) -> tuple[Scop, Dependences] | None:
    """Returns the SCoP with one array expanded over the outer loops that its users share, and its dependences.

    The result is None where that is not possible, would not make these loops parallel, or would take too much memory.
    """
    users = [s for s in scop.statements.values() if uses(s, array.name)]
    paths = loop_paths(scop.schedule)
    depth = common_depth([paths[s.name] for s in users])
    while depth and any(_moves(s, array.name, depth) for s in users):
        depth -= 1
    if not depth:
        return None
    outer = polyhedra.outer(users[0].domain, depth)
    same = all(polyhedra.outer(s.domain, depth).is_equal(outer) for s in users)
    context = polyhedra.on_parameters(scop.context, polyhedra.parameter_names(scop.domain))
    limits = ranges(outer, context) if same and polyhedra.is_box(outer) else None
    if limits is None:
        return None
    starts, extents = limits
    shape = (*extents, *array.shape)
    if prod(polyhedra.value_at(e, sizes) for e in shape) * array.element.size_bytes > MOST_BYTES:
        return None
    if not all(_is_filled_anew(s, users, array.name, depth, found) for s in users):
        return None
    taken = {*scop.arrays, *scop.params, *(p.name for p in scop.parameters)}
    wide = next(replace(array, name=n, shape=shape, role=Role.LOCAL) for k in count() if (n := f"{array.name}_{k}") not in taken)
    made = _with_array(scop, users, array, wide, starts)
    if made is None:
        return None
    now = dependences(made)
    return (made, now) if _are_free(users, depth, now) else None


def _with_array(scop: Scop, users: Sequence[Statement], array: Array, wide: Array, starts: Sequence[isl.PwAff]) -> Scop | None:
    """Returns the SCoP whose statements `users` use the expanded array in place of `array`.

    A local array is dropped; the final values of any other are copied back into it. The result is None where that is not possible.

    users: all statements that use the array
    wide: the expanded array
    starts: the first values of the loops that it is expanded over
    """
    arrays = {**scop.arrays, wide.name: wide}
    statements = {**scop.statements, **{s.name: _moved(s, array.name, wide.name, starts) for s in users}}
    if array.role is Role.LOCAL:
        del arrays[array.name]
        return replace(scop, arrays=arrays, statements=statements)
    copy = _copied_out(scop, users, array, wide, starts)
    if copy is None:
        return None
    statements[copy.name] = copy
    order = SourceBlock((copy.name,))
    for dim in reversed(range(len(copy.iterators))):
        order = SourceBlock((SourceLoop(order, dim, 1),))
    tail = schedule_tree(order, statements, scop.context)
    return replace(scop, arrays=arrays, statements=statements, schedule=scop.schedule.sequence(tail))


def _moves(statement: Statement, name: str, depth: int) -> bool:
    """Returns whether the elements of the array `name` that the statement touches depend on one of the `depth` outer loops."""
    subscripts = (e for a in (*statement.reads, statement.write) if a.array == name for e in a.subscripts)
    return any(any(piece[:depth]) for e in subscripts for piece in polyhedra.iterator_coefficients(e))


def _is_filled_anew(statement: Statement, users: Sequence[Statement], name: str, depth: int, found: Dependences) -> bool:
    """Returns whether all that the statement reads of an array was written in the same iteration of the `depth` outer loops.

    users: all statements that use the array `name`
    """
    if not any(a.array == name for a in statement.reads):
        return True
    sources = [s for s in users if s.write.array == name]
    flow = found.value_flow_through(name)
    here = [polyhedra.extract_map(flow, s.domain, statement.domain) for s in sources]
    filled = [m.intersect(polyhedra.equal_first(m, depth)).range() for m in here]
    rest = statement.domain
    for each in filled:
        rest = rest.subtract(each)
    return rest.is_empty()


def _are_free(users: Sequence[Statement], depth: int, found: Dependences) -> bool:
    """Returns whether all dependences between the statements `users` stay inside one iteration of the `depth` outer loops."""
    maps = (polyhedra.extract_map(found.validity, a.domain, b.domain) for a in users for b in users)
    return all(m.is_subset(polyhedra.equal_first(m, depth)) for m in maps)


def _moved(statement: Statement, name: str, wide: str, starts: Sequence[isl.PwAff]) -> Statement:
    """Returns the statement with elements of the expanded array `wide` in place of those of the array `name`.

    starts: the first values of the loops that it is expanded over
    """

    def access(a: Access) -> Access:
        if a.array != name:
            return a
        own = (polyhedra.offset_dimension(statement.domain, dim, start) for dim, start in enumerate(starts))
        return _access(a, wide, (*own, *a.subscripts), statement)

    return replace(statement, writes=(access(statement.write),), reads=tuple(map(access, statement.reads)))


def _access(like: Access, array: str, subscripts: tuple[isl.PwAff, ...], statement: Statement) -> Access:
    relation = polyhedra.relation(statement.domain.get_space(), array, subscripts)
    relation = polyhedra.rename_domain(relation, statement.name)
    return replace(like, array=array, relation=relation, subscripts=subscripts)


def _copied_out(scop: Scop, users: Sequence[Statement], array: Array, wide: Array, starts: Sequence[isl.PwAff]) -> Statement | None:
    """Returns the statement array[e] = wide[i, e], which copies the final values back: iteration i is the last that wrote e.

    The result is None where that iteration is not one expression.

    users: all statements that use the array
    wide: the expanded array
    starts: the first values of the loops that it is expanded over
    """
    name = f"S{len(scop.statements)}"
    writers = [s for s in users if s.write.array == array.name]
    iterators = tuple(f"e{d}" for d in range(len(array.shape)))
    last = polyhedra.last_of([(s.write.relation.intersect_domain(s.domain), len(starts)) for s in writers], name, iterators)
    if last is None:
        return None
    domain, values = last
    own = tuple(polyhedra.dimension(domain, d).to_pw_aff() for d in range(len(iterators)))
    there = tuple(v.sub(polyhedra.on_domain(s, domain)) for v, s in zip(values, starts))
    blank = replace(writers[0], name=name, iterators=iterators, domain=domain, reads=(), loops=())
    return replace(
        blank,
        writes=(_access(writers[0].write, array.name, own, blank),),
        reads=(_access(writers[0].write, wide.name, (*there, *own), blank),),
        value=Load(0, dtype=array.element),
    )
