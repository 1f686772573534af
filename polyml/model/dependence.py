"""Which instances must stay in order, exactly: flow, anti, output and input dependences.

    flow    { S[i] -> T[j] : S[i] writes what T[j] reads later }
    anti    { S[i] -> T[j] : S[i] reads what T[j] writes later }
    output  { S[i] -> T[j] : both write the same element }
    input   { S[i] -> T[j] : both read the same element }

They are memory-based: every pair in source order that touches the same element, so that any schedule that keeps them
computes the same. `value_flow` has only the last writer of each value read (Feautrier, "Dataflow analysis of array and
scalar references", 1991). A statement under a data-dependent condition is a select that writes its element always.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import islpy as isl

from polyml import polyhedra
from polyml.model.scop import Access, Scop, Statement

NONE = isl.UnionMap("{ }")
Accesses = Mapping[str, Mapping[str, isl.Map]]  # array -> statement -> { S[i] -> A[j] } on the statement's domain


@dataclass(frozen=True)
class Dependences:
    """All { S[i] -> T[j] }, source to sink."""

    flow: isl.UnionMap
    anti: isl.UnionMap
    output: isl.UnionMap
    _scop: Scop = field(repr=False, compare=False)

    @cached_property
    def validity(self) -> isl.UnionMap:
        """Every pair that a schedule must keep in order."""
        return self.flow.union(self.anti).union(self.output)

    @cached_property
    def _by_statements(self) -> dict[tuple[str, str], isl.UnionMap]:
        return {
            (polyhedra.domain_name(m), polyhedra.range_name(m)): isl.UnionMap.from_map(m) for m in polyhedra.pieces(self.validity)
        }

    def of(self, scop: Scop) -> Dependences:
        """The same pairs as those of a Scop that runs all of them in the same order."""
        return replace(self, _scop=scop)

    def among(self, names: Sequence[str], others: Sequence[str]) -> isl.UnionMap:
        """The pairs to keep in order of one of some statements and one of others, whichever comes first."""
        known = self._by_statements
        both = dict.fromkeys([(s, t) for s in names for t in others] + [(t, s) for s in names for t in others])
        return polyhedra.union([known[pair] for pair in both if pair in known], NONE)

    @cached_property
    def input(self) -> isl.UnionMap:
        """Pairs that read the same element: no order, but a reason to stand close."""
        reads = _reads(self._scop)
        return pairs(reads, reads, Order(self._scop.schedule))

    @cached_property
    def value_flow(self) -> isl.UnionMap:
        """{ S[i] -> T[j] : S[i] wrote the value that T[j] reads }"""
        return self._last_writers.get_must_dependence()

    @cached_property
    def live_in(self) -> isl.UnionMap:
        """{ S[i] -> A[j] : S[i] reads the value A[j] had before the kernel }"""
        return self._last_writers.get_must_no_source()

    @cached_property
    def _last_writers(self) -> isl.UnionFlow:
        scop = self._scop
        info = isl.UnionAccessInfo.from_sink(_union_of(_reads(scop)))
        return info.set_must_source(_union_of(_writes(scop))).set_schedule(scop.schedule).compute_flow()


def dependences(scop: Scop) -> Dependences:
    """The exact dependences of a Scop in its source order."""
    reads, writes, order = _reads(scop), _writes(scop), Order(scop.schedule)
    return Dependences(
        flow=pairs(writes, reads, order),
        anti=pairs(reads, writes, order),
        output=pairs(writes, writes, order),
        _scop=scop,
    )


def flow_into(scop: Scop, statement: Statement, access: Access) -> dict[str, isl.Map]:
    """{ T[j] -> S[i] : T[j] wrote the value that S[i] reads by this access }, by T."""
    return sources_of(scop, statement, access)[0]


def sources_of(scop: Scop, statement: Statement, access: Access) -> tuple[dict[str, isl.Map], isl.Map]:
    """({ T[j] -> S[i] : T[j] wrote the value that S[i] reads by this access }, by T; { S[i] -> A[e] } of values from the start)

    The times of the statements that matter take isl a fraction of what the whole schedule tree does.
    """
    read = access.relation.intersect_domain(statement.domain)
    writers = [s for s in scop.statements.values() if s.write.array == access.array]
    if not writers:
        return {}, read
    written = polyhedra.union([isl.UnionMap.from_map(s.write.relation.intersect_domain(s.domain)) for s in writers], NONE)
    times = [isl.UnionMap.from_map(scop.times[name]) for name in dict.fromkeys((statement.name, *(s.name for s in writers)))]
    info = isl.UnionAccessInfo.from_sink(isl.UnionMap.from_map(read)).set_must_source(written)
    flow = info.set_schedule_map(polyhedra.union(times, NONE)).compute_flow()
    left = polyhedra.pieces(flow.get_must_no_source())
    made = {polyhedra.domain_name(m): m for m in polyhedra.pieces(flow.get_must_dependence())}
    return made, left[0] if left else read.subtract(read)


class Order:
    """{ S[i] -> T[j] : S[i] runs before T[j] } for the pairs of statements that are asked for."""

    def __init__(self, schedule: isl.Schedule):
        self._times = {polyhedra.domain_name(m): m for m in polyhedra.pieces(schedule.get_map())}
        self._before: dict[tuple[str, str], isl.Map] = {}

    def before(self, source: str, sink: str) -> isl.Map:
        key = (source, sink)
        if key not in self._before:
            self._before[key] = self._times[source].lex_lt_map(self._times[sink])
        return self._before[key]


def pairs(sources: Accesses, sinks: Accesses, order: Order) -> isl.UnionMap:
    """{ S[i] -> T[j] : both touch the same element, S[i] first }

    Statement by statement, since most pairs share no array: several times faster than isl's union relations and than
    its flow analysis where every pair is wanted.
    """
    found: list[isl.UnionMap] = []
    for array, by_statement in sources.items():
        reversed_sinks = {name: m.reverse() for name, m in sinks.get(array, {}).items()}
        for source, touched in by_statement.items():
            for sink, touching in reversed_sinks.items():
                same = touched.apply_range(touching).intersect(order.before(source, sink))
                if not same.is_empty():
                    found.append(isl.UnionMap.from_map(same))
    return polyhedra.union(found, NONE)


def _reads(scop: Scop) -> Accesses:
    return _by_array((s.name, s.domain, a) for s in scop.statements.values() for a in s.reads)


def _writes(scop: Scop) -> Accesses:
    return _by_array((s.name, s.domain, s.write) for s in scop.statements.values())


def _by_array(accesses: Iterable[tuple[str, isl.Set, Access]]) -> Accesses:
    result: dict[str, dict[str, isl.Map]] = {}
    for name, domain, access in accesses:
        relation = access.relation.intersect_domain(domain)
        by_statement = result.setdefault(access.array, {})
        by_statement[name] = by_statement[name].union(relation) if name in by_statement else relation
    return result


def _union_of(accesses: Accesses) -> isl.UnionMap:
    """{ S[i] -> A[j] } of all statements and arrays."""
    maps = [isl.UnionMap.from_map(m) for by_statement in accesses.values() for m in by_statement.values()]
    return polyhedra.union(maps, NONE)
