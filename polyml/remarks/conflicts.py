"""The pair of instances that a transformation would break: a smallest one, with the element, the two references and the distance.

{ S[i] -> T[j] }, pairs that lose their order   ->   S0[1] writes A[1] (line 4), S0[2] reads it (line 4); distance i +1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Access, Scop, Statement
from polyml.model.references.text import reference_text
from polyml.polyhedra.points import Instance, instance_text
from polyml.remarks.source_loops import SourceLoop, place_of
from polyml.remarks.values import Conflict, End

_KINDS = {(True, False): "flow", (False, True): "anti", (True, True): "output"}  # by whether source and sink write


def conflict(broken: isl.UnionMap, scop: Scop, loops: Sequence[SourceLoop]) -> Conflict:
    """Returns a smallest pair of dependent instances.

    broken: { S[i] -> T[j] }, the pairs in question, of which there is one.
    loops: those of the source.
    """
    found = polyhedra.witness(broken)
    if found is None:
        raise ValueError("there is no pair of instances")
    source, sink = found.instances
    sizes = dict(found.sizes)
    for (first, is_write), (second, also), element in _meetings(scop, source, sink, sizes):
        kind = _KINDS.get((is_write, also))
        if kind is not None:
            array = scop.arrays[first.array]
            return Conflict(
                kind=kind,
                element=_element(array.source_name or array.name, element),
                source=_end(scop, source, first, is_write),
                sink=_end(scop, sink, second, also),
                distance=_distance(source, sink, loops),
                sizes=sizes,
            )
    raise ValueError(f"{instance_text(source)} and {instance_text(sink)} touch no element that one of them writes")


def _meetings(
    scop: Scop, source: Instance, sink: Instance, sizes: Mapping[str, int]
) -> Iterator[tuple[tuple[Access, bool], tuple[Access, bool], tuple[int, ...]]]:
    """Yields pairs of accesses of two instances to one element, each with whether it writes, and the element's subscripts."""
    for first, is_write in _accesses(scop.statements[source[0]]):
        for second, also in _accesses(scop.statements[sink[0]]):
            if first.array == second.array:
                both = _touched(first, source, sizes) & _touched(second, sink, sizes)
                for element in sorted(both):
                    yield (first, is_write), (second, also), element


def _accesses(statement: Statement) -> Iterator[tuple[Access, bool]]:
    yield statement.write, True
    yield from ((read, False) for read in statement.reads)


def _touched(access: Access, instance: Instance, sizes: Mapping[str, int]) -> set[tuple[int, ...]]:
    """Returns the subscripts of the elements that an instance touches by an access."""
    here = isl.Set(f"{{ {instance_text(instance)} }}")
    return {element for _, element in polyhedra.points(access.relation.intersect_domain(here).range(), **sizes)}


def _element(array: str, subscripts: tuple[int, ...]) -> str:
    return f"{array}[{', '.join(map(str, subscripts))}]" if subscripts else array


def _end(scop: Scop, instance: Instance, access: Access, writes: bool) -> End:
    statement = scop.statements[instance[0]]
    values = dict(zip(statement.iterators, instance[1]))
    return End(instance_text(instance), values, reference_text(access), writes, place_of(access.loc or statement.loc))


def _distance(source: Instance, sink: Instance, loops: Sequence[SourceLoop]) -> dict[str, int]:
    """Returns by how much the iterators of the loops around both instances differ, outermost first."""
    shared = [loop for loop in loops if source[0] in loop.positions and sink[0] in loop.positions]
    return {loop.iterator: sink[1][loop.positions[sink[0]]] - source[1][loop.positions[source[0]]] for loop in shared}
