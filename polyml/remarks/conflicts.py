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
    if polyhedra.fix(_of_calls(scop), dict(found.sizes)).is_empty():  # of no call, if there is one of a call
        found = polyhedra.witness(broken.intersect_params(_of_calls(scop))) or found
    source, sink = found.instances
    sizes = _with_sizes_of_accesses(dict(found.sizes), scop, (source[0], sink[0]))
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


def _of_calls(scop: Scop) -> isl.Set:
    """Returns { : ... }, the parameters of calls that pass the checks of bounds at entry."""
    return polyhedra.subtracted(scop.context, [check.violated for check in scop.checks if check.kind == "bounds" and not check.may])


def _with_sizes_of_accesses(sizes: dict[str, int], scop: Scop, names: Sequence[str]) -> dict[str, int]:
    """Returns sizes with those too that the accesses of some statements need, such as A_1 of `A[i, -1]`: the least of a call.

    names: the statements.
    """
    relations = [access.relation for name in names for access, _ in _accesses(scop.statements[name])]
    used = dict.fromkeys(name for relation in relations for name in polyhedra.used_parameters(relation))
    missing = [name for name in used if name not in sizes]
    if not missing:
        return sizes
    region = polyhedra.fix(_of_calls(scop), sizes)
    if region.is_empty():  # accesses that depend on data are not checked at entry
        region = polyhedra.fix(scop.context, sizes)
    found = polyhedra.witness(polyhedra.parameters_as_set(region, missing))
    values = found.instances[0][1] if found is not None else (1,) * len(missing)
    return {**sizes, **dict(zip(missing, values))}


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
    yield from ((write, True) for write in statement.writes)
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
