"""Values that later iterations overwrite are kept in arrays of their own, an element for each iteration that reads them.

    for k:                                           for k:
        for i, j: A[i, j] = f(A[i, j], A[i, k])           for i: V[k, i] = A[i, k]
        for i: A[i, k] = g(A[i, k])             ->        for i, j: A[i, j] = f(A[i, j], V[k, i])
                                                          for i: A[i, k] = g(A[i, k])

Array expansion (Feautrier, "Array expansion", ICS 1988) of what is read, so that nothing has to wait until it was read: of the
anti dependences only those of the copy are left. A copy is made where no instance between it and those that read it
writes the element, which is asked for each pair of statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import SourceOrder
from polyml.model.core.scop import Access, Array, Load, Role, Scop, Statement
from polyml.model.scop_passes.scalar_expansion import ranges


@dataclass(frozen=True)
class _Version:
    """What some statements read of an array in an iteration of the outer loops, as it is before one of them runs.

    dims: the iterators that the copy has: the outer ones, and those that move the access.
    """

    array: str
    before: str
    dims: tuple[int, ...]
    readers: tuple[tuple[str, int], ...]  # statement, number of the read


def keep(scop: Scop, turns: Sequence[str], depth: int, readers: Mapping[str, isl.Set]) -> tuple[Scop, dict[str, str]] | None:
    """The scop with copies of what `readers` read and others overwrite later, and before which statement each copy runs; the
    schedule is still without them. None where there are none.

    turns: the statements of a nest in the order in which they run in each iteration of its `depth` outer loops, none with
    dependences within it. readers: some of them, each with the domain { S[i] } that it is a piece of.
    """
    found = tuple(_versions(scop, turns, depth, readers))
    if not found:
        return None
    arrays, statements, before = dict(scop.arrays), dict(scop.statements), {}
    for version in found:
        first = scop.statements[version.readers[0][0]]
        every = readers[first.name]
        limits = ranges(every, polyhedra.on_parameters(scop.context, polyhedra.parameter_names(every)))
        if limits is None:
            return None
        starts, extents = ([side[d] for d in version.dims] for side in limits)
        old = scop.arrays[version.array]
        taken = {*arrays, *scop.params, *(p.name for p in scop.parameters)}
        name = next(n for k in count() if (n := f"{old.name}_{k}") not in taken)
        arrays[name] = replace(old, name=name, shape=tuple(extents), role=Role.LOCAL)
        copy = _copy(first, version, arrays[name], every, starts, f"S{len(statements)}")
        for statement, number in version.readers:
            statements[statement] = _reading(statements[statement], number, name, version.dims, starts)
        statements[copy.name] = copy
        before[copy.name] = version.before
    return replace(scop, arrays=arrays, statements=statements), before


def _versions(scop: Scop, turns: Sequence[str], depth: int, readers: Mapping[str, isl.Set]) -> Iterator[_Version]:
    found: list[_Version] = []
    order = SourceOrder(scop)
    for name in turns:
        statement = scop.statements[name]
        for number, access in enumerate(statement.reads if name in readers else ()):
            moving = {k for e in access.subscripts for k in polyhedra.used_iterators(e)}
            dims = tuple(k for k in range(len(statement.iterators)) if k < depth or k in moving)
            if access.may or not access.subscripts or len(dims) == len(statement.iterators):
                continue
            if not _is_overwritten(scop, turns, name, access, order):
                continue
            at = next((k for k, v in enumerate(found) if _is_the_same(scop, turns, depth, v, dims, name, access)), None)
            if at is None:
                found.append(_Version(access.array, name, dims, ((name, number),)))
            else:
                found[at] = replace(found[at], readers=(*found[at].readers, (name, number)))
    return iter(found)


def _is_overwritten(scop: Scop, turns: Sequence[str], name: str, access: Access, order: SourceOrder) -> bool:
    """Whether some instance writes an element after the statement has read it."""
    for other in turns:
        writer = scop.statements[other]
        if writer.write.array == access.array:
            same = _same_element(writer, scop.statements[name], access).reverse()
            if not order.among(same, name, other).is_empty():
                return True
    return False


def _is_the_same(
    scop: Scop, turns: Sequence[str], depth: int, version: _Version, dims: tuple[int, ...], name: str, access: Access
) -> bool:
    """Whether the access names the same elements as the version in the same iterations, and none of them is written between."""
    first, number = version.readers[0]
    other = scop.statements[first].reads[number]
    if version.array != access.array or version.dims != dims:
        return False
    theirs = polyhedra.rename_domain(other.relation, name)
    if not theirs.is_equal(access.relation):
        return False
    between = turns[turns.index(version.before) : turns.index(name)]
    writers = (scop.statements[n] for n in between if scop.statements[n].write.array == access.array)
    same = (_same_element(w, scop.statements[name], access) for w in writers)
    return all(m.intersect(polyhedra.equal_first(m, depth)).is_empty() for m in same)


def _same_element(writer: Statement, reader: Statement, access: Access) -> isl.Map:
    """{ W[i] -> R[j] : W[i] writes what the access of R[j] names }"""
    written = writer.write.relation.intersect_domain(writer.domain)
    return written.apply_range(access.relation.intersect_domain(reader.domain).reverse())


def _copy(first: Statement, version: _Version, array: Array, every: isl.Set, starts: Sequence[isl.PwAff], name: str) -> Statement:
    """array[i] = the element that the readers name. first: of these; every: its iterators' ranges, also where others read."""
    iterators = tuple(first.iterators[d] for d in version.dims)
    domain = polyhedra.with_iterators(polyhedra.onto(every, version.dims, name), iterators)
    access = first.reads[version.readers[0][1]]
    subscripts = polyhedra.values_onto(access.relation, version.dims, name)
    own = tuple(polyhedra.offset_dimension(domain, d, start) for d, start in enumerate(starts))
    relation = polyhedra.rename_domain(polyhedra.relation(domain.get_space(), access.array, subscripts), name)
    return Statement(
        name=name,
        iterators=iterators,
        domain=domain,
        write=_access(domain, name, array.name, own),
        reads=(replace(access, relation=relation, subscripts=subscripts),),
        value=Load(0, dtype=array.element),
        loc=first.loc,
    )


def _reading(statement: Statement, number: int, array: str, dims: Sequence[int], starts: Sequence[isl.PwAff]) -> Statement:
    """The statement with one read from the array."""
    own = tuple(polyhedra.offset_dimension(statement.domain, d, start) for d, start in zip(dims, starts))
    read = replace(_access(statement.domain, statement.name, array, own), loc=statement.reads[number].loc)
    return replace(statement, reads=(*statement.reads[:number], read, *statement.reads[number + 1 :]))


def _access(domain: isl.Set, statement: str, array: str, subscripts: tuple[isl.PwAff, ...]) -> Access:
    relation = polyhedra.rename_domain(polyhedra.relation(domain.get_space(), array, subscripts), statement)
    return Access(array=array, relation=relation, subscripts=subscripts)
