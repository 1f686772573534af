"""The dependences that are drawn: those that no third access to the element lies between. All others follow from them.

A[0] = ...; A[0] = ...; ... = A[0]   ->   output from the first write to the second one, flow from that to the read
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import NONE, Dependences
from polyml.model.core.scop import Access, Scop, Statement

KINDS = ("flow", "anti", "output")


def direct_dependences(scop: Scop, dependences: Dependences) -> dict[str, isl.UnionMap]:
    """Returns { S[i] -> T[j] } by kind.

    flow: S[i] wrote the value that T[j] reads. output: T[j] is the next to write the element that S[i] writes. anti: T[j] is the next to write
    the element that S[i] reads, and another instance than S[i].
    """
    return {"flow": dependences.value_flow, "anti": _anti(scop), "output": _output(scop)}


def _output(scop: Scop) -> isl.UnionMap:
    writes = _union(_relation(s, s.write) for s in scop.statements.values())
    info = isl.UnionAccessInfo.from_sink(writes).set_must_source(writes).set_schedule(scop.schedule)
    return info.compute_flow().get_must_dependence()


def _anti(scop: Scop) -> isl.UnionMap:
    """Returns the anti dependences: reads are instances of their own here, just before the writes of theirs."""
    names = {name: f"{name}_reads" for name in scop.statements}
    writes = _union(_relation(s, s.write) for s in scop.statements.values())
    reads = _union(_renamed(_relation(s, access), names[s.name]) for s in scop.statements.values() for access in s.reads)
    times = _union(each for name, time in scop.times.items() for each in (_at(time, 1), _at(time, 0, names[name])))
    info = isl.UnionAccessInfo.from_sink(writes).set_must_source(writes).set_may_source(reads).set_schedule_map(times)
    found = info.compute_flow().get_may_dependence()
    original = {new: name for name, new in names.items()}
    kept = [
        _renamed(each, original[polyhedra.domain_name(each)])
        for each in polyhedra.pieces(found)
        if polyhedra.domain_name(each) in original
    ]
    pairs = _union(kept)
    return pairs if pairs.is_empty() else pairs.subtract(pairs.domain().identity())


def _at(time: isl.Map, last: int, name: str = "") -> isl.Map:
    """Returns the times of a statement with one more dimension. name: in place of the statement's; "": the statement's."""
    more = isl.Map.from_domain_and_range(time.domain(), isl.Set(f"{{ [{last}] }}"))
    found = time.flat_range_product(more)
    return _renamed(found, name) if name else found


def _renamed(relation: isl.Map, name: str) -> isl.Map:
    """Returns a relation { S[i] -> T[j] } with another name in place of S."""
    return relation.apply_domain(isl.Map.from_pw_multi_aff(polyhedra.renamed(relation.domain(), name)))


def _relation(statement: Statement, access: Access) -> isl.Map:
    return access.relation.intersect_domain(statement.domain)


def _union(maps: Iterable[isl.Map]) -> isl.UnionMap:
    return polyhedra.union([isl.UnionMap.from_map(each) for each in maps], NONE)
