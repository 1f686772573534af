"""Node splitting: values that are overwritten later are copied to arrays of their own, an element per iteration that reads them.

    for k:                                           for k:
        for i, j: A[i, j] = f(A[i, j], A[i, k])           for i: V[k, i] = A[i, k]
        for i: A[i, k] = g(A[i, k])             ->        for i, j: A[i, j] = f(A[i, j], V[k, i])
                                                          for i: A[i, k] = g(A[i, k])

The array of what is read is expanded (Feautrier, "Array expansion", ICS 1988), so that no write has to wait for the reads: of the
anti dependences only those of the copy are left. A copy is made where no instance between it and its readers writes the element,
which is decided for each pair of statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import SourceOrder
from polyml.model.core.scop import Access, Array, Load, Role, Scop, Statement
from polyml.model.scop_passes.scalar_expansion import ranges


@dataclass(frozen=True)
class _SplitNode:
    """A _SplitNode describes a copy of those elements of an array that some statements read and other instances overwrite later.

    before: the statement before which the copy has to run, in each iteration of the outer loops
    dims: the numbers of the readers' iterators over which the copy runs: the outer ones, and those in the read's subscripts
    readers: pairs (statement, position of the read among its reads)
    """

    array: str
    before: str
    dims: tuple[int, ...]
    readers: tuple[tuple[str, int], ...]  # statement, number of the read


def split_nodes(scop: Scop, inner: Sequence[str], depth: int, readers: Mapping[str, isl.Set]) -> tuple[Scop, dict[str, str]] | None:
    """Returns the SCoP with new statements that copy elements which `readers` read, and which other instances overwrite later.

    The readers then read the copies. The result is a pair: this SCoP, and for the name of each new statement the statement before
    which it has to run, which the caller puts into the schedule. It is None where nothing is copied.

    inner: the statements of a nest in the order in which they run in each iteration of its `depth` outer loops; none of them has
        dependences within such an iteration
    readers: some of these statements, each with the instances { S[i] } that the copies are made for, which may be more than its
        domain
    """
    found = _InnerStatements(scop, inner, depth).split_nodes(readers)
    if not found:
        return None
    arrays, statements, before = dict(scop.arrays), dict(scop.statements), {}
    for node in found:
        first = scop.statements[node.readers[0][0]]
        every = readers[first.name]
        limits = ranges(every, polyhedra.on_parameters(scop.context, polyhedra.parameter_names(every)))
        if limits is None:
            return None
        starts, extents = ([side[d] for d in node.dims] for side in limits)
        old = scop.arrays[node.array]
        taken = {*arrays, *scop.params, *(p.name for p in scop.parameters)}
        name = next(n for k in count() if (n := f"{old.name}_{k}") not in taken)
        arrays[name] = replace(old, name=name, shape=tuple(extents), role=Role.LOCAL)
        copy = _copy(first, node, arrays[name], every, starts, f"S{len(statements)}")
        for statement, number in node.readers:
            statements[statement] = _reading(statements[statement], number, name, node.dims, starts)
        statements[copy.name] = copy
        before[copy.name] = node.before
    return replace(scop, arrays=arrays, statements=statements), before


class _InnerStatements:
    """An _InnerStatements holds the statements of a nest in the order in which they run in an iteration of its outer loops.

    depth: how many outer loops there are
    """

    def __init__(self, scop: Scop, inner: Sequence[str], depth: int) -> None:
        self._scop, self._inner, self._depth = scop, inner, depth
        self._order = SourceOrder(scop)

    def split_nodes(self, readers: Iterable[str]) -> list[_SplitNode]:
        """Returns the copies to be made: of elements that `readers` read and other instances overwrite later.

        Reads of the same values share a copy, described by one _SplitNode.
        """
        found: list[_SplitNode] = []
        for name in self._inner:
            statement = self._scop.statements[name]
            for number, access in enumerate(statement.reads if name in readers else ()):
                moving = {k for e in access.subscripts for k in polyhedra.used_iterators(e)}
                dims = tuple(k for k in range(len(statement.iterators)) if k < self._depth or k in moving)
                if access.may or not access.subscripts or len(dims) == len(statement.iterators):
                    continue
                if not self._is_overwritten(name, access):
                    continue
                node = _SplitNode(access.array, name, dims, ((name, number),))
                at = next((k for k, other in enumerate(found) if self._reads_the_same(other, node, access)), None)
                if at is None:
                    found.append(node)
                else:
                    found[at] = replace(found[at], readers=(*found[at].readers, (name, number)))
        return found

    def _is_overwritten(self, name: str, access: Access) -> bool:
        """Returns whether an instance of these statements writes an element after statement `name` has read it by `access`."""
        for other in self._inner:
            writer = self._scop.statements[other]
            if writer.write.array == access.array:
                same = _same_element(writer, self._scop.statements[name], access).reverse()
                if not self._order.among(same, name, other).is_empty():
                    return True
        return False

    def _reads_the_same(self, node: _SplitNode, later: _SplitNode, access: Access) -> bool:
        """Returns whether the reader of `later` can use the copy of `node`: both read the same elements in the same iterations.

        No statement that runs between the two readers in an iteration of the outer loops may write one of these elements.

        access: the only read of `later`
        """
        first, number = node.readers[0]
        other, name = self._scop.statements[first].reads[number], later.before
        if (node.array, node.dims) != (later.array, later.dims):
            return False
        if not polyhedra.rename_domain(other.relation, name).is_equal(access.relation):
            return False
        between = self._inner[self._inner.index(node.before) : self._inner.index(name)]
        writers = (self._scop.statements[n] for n in between if self._scop.statements[n].write.array == access.array)
        same = (_same_element(w, self._scop.statements[name], access) for w in writers)
        return all(m.intersect(polyhedra.equal_first(m, self._depth)).is_empty() for m in same)


def _same_element(writer: Statement, reader: Statement, access: Access) -> isl.Map:
    """Returns { W[i] -> R[j] : W[i] writes the element that R[j] reads by `access` }."""
    written = writer.write.relation.intersect_domain(writer.domain)
    return written.apply_range(access.relation.intersect_domain(reader.domain).reverse())


def _copy(first: Statement, node: _SplitNode, array: Array, every: isl.Set, starts: Sequence[isl.PwAff], name: str) -> Statement:
    """Returns the statement `array[i] = element` that copies the elements which the readers of a node read.

    first: the first of the readers
    array: the array of the copies
    every: { S[i] }, the instances of that reader for which copies are made, which may be more than its domain
    starts: the first value of each iterator of the copy
    name: that of the new statement
    """
    iterators = tuple(first.iterators[d] for d in node.dims)
    domain = polyhedra.with_iterators(polyhedra.onto(every, node.dims, name), iterators)
    access = first.reads[node.readers[0][1]]
    subscripts = polyhedra.values_onto(access.relation, node.dims, name)
    own = tuple(polyhedra.offset_dimension(domain, d, start) for d, start in enumerate(starts))
    relation = polyhedra.rename_domain(polyhedra.relation(domain.get_space(), access.array, subscripts), name)
    return Statement(
        name=name,
        iterators=iterators,
        domain=domain,
        writes=(_access(domain, name, array.name, own),),
        reads=(replace(access, relation=relation, subscripts=subscripts),),
        value=Load(0, dtype=array.element),
        loc=first.loc,
        loops=tuple(first.loops[d] for d in node.dims) if first.loops else (),
    )


def _reading(statement: Statement, number: int, array: str, dims: Sequence[int], starts: Sequence[isl.PwAff]) -> Statement:
    """Returns the statement with its read `reads[number]` replaced by a read of the array of copies.

    array: the array of copies
    dims, starts: the numbers of the iterators that subscript it, and their first values, which are subtracted
    """
    own = tuple(polyhedra.offset_dimension(statement.domain, d, start) for d, start in zip(dims, starts))
    read = replace(_access(statement.domain, statement.name, array, own), loc=statement.reads[number].loc)
    return replace(statement, reads=(*statement.reads[:number], read, *statement.reads[number + 1 :]))


def _access(domain: isl.Set, statement: str, array: str, subscripts: tuple[isl.PwAff, ...]) -> Access:
    relation = polyhedra.rename_domain(polyhedra.relation(domain.get_space(), array, subscripts), statement)
    return Access(array=array, relation=relation, subscripts=subscripts)
