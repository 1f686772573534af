"""Exact dependences: flow, anti, output and input.

    flow    { S[i] -> T[j] : S[i] writes what T[j] reads later }
    anti    { S[i] -> T[j] : S[i] reads what T[j] writes later }
    output  { S[i] -> T[j] : both write the same element }
    input   { S[i] -> T[j] : both read the same element }

They are memory-based: every pair in source order that touches the same element, so that any schedule that keeps them computes the
same. `value_flow` is value-based: it has only the last writer of each value that is read (Feautrier, "Dataflow analysis of array
and scalar references", 1991). A statement under a data-dependent condition is a select, which always writes its element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Access, Scop, Statement
from polyml.model.index_arrays.origins import Traced
from polyml.values import cached_property

NONE = isl.UnionMap("{ }")
Accesses = Mapping[str, Mapping[str, isl.Map]]  # array -> statement -> { S[i] -> A[j] } on the statement's domain


@dataclass(frozen=True)
class Dependences:
    """A Dependences has the dependences { S[i] -> T[j] }, from source to sink, of a SCoP.

    _known: flow, anti and output where they are known already; else they are computed on first use
    """

    _scop: Scop = field(repr=False, compare=False)
    _known: tuple[isl.UnionMap, isl.UnionMap, isl.UnionMap] | None = None

    @cached_property
    def _all(self) -> tuple[isl.UnionMap, isl.UnionMap, isl.UnionMap]:
        if self._known is not None:
            return self._known
        reads, writes, order = self._reads, self._writes, SourceOrder(self._scop)
        return pairs(writes, reads, order), pairs(reads, writes, order), pairs(writes, writes, order)

    @property
    def flow(self) -> isl.UnionMap:
        """Returns { S[i] -> T[j] : S[i] writes an element that T[j] reads later }."""
        return self._all[0]

    @property
    def anti(self) -> isl.UnionMap:
        """Returns { S[i] -> T[j] : S[i] reads an element that T[j] writes later }."""
        return self._all[1]

    @property
    def output(self) -> isl.UnionMap:
        """Returns { S[i] -> T[j] : both write the same element, S[i] first }."""
        return self._all[2]

    @cached_property
    def validity(self) -> isl.UnionMap:
        """Returns the pairs of instances that a schedule must keep in order: the union of flow, anti and output dependences."""
        return self.flow.union(self.anti).union(self.output)

    @cached_property
    def _by_statements(self) -> dict[str, dict[str, isl.UnionMap]]:
        return _by_names(self.validity)

    @cached_property
    def _kinds(self) -> tuple[dict[str, dict[str, isl.UnionMap]], ...]:
        return tuple(map(_by_names, self._all))

    def of(self, scop: Scop) -> Dependences:
        """Returns these dependences as those of another SCoP, in which the instances that they mention run in the same order."""
        return replace(self, _scop=scop, _known=self._all)

    def among(self, names: Sequence[str], others: Sequence[str]) -> isl.UnionMap:
        """Returns the flow, anti and output dependences between statements in `names` and in `others`, in either direction."""
        known = self._by_statements
        both = dict.fromkeys([(s, t) for s in names for t in others] + [(t, s) for s in names for t in others])
        return polyhedra.union([known[s][t] for s, t in both if t in known.get(s, ())], NONE)

    def within(self, instances: isl.UnionSet, scop: Scop) -> Dependences:
        """Returns the dependences whose source and sink are both among the instances.

        It is fast if few statements have such instances, since it looks at the dependences of these statements alone.

        scop: the SCoP that has just these instances
        """
        names = {*polyhedra.set_names(instances)}

        def inside(known: Mapping[str, Mapping[str, isl.UnionMap]]) -> isl.UnionMap:
            own = [pairs for s in known.keys() & names for t, pairs in known[s].items() if t in names]
            return polyhedra.union(own, NONE).intersect_domain(instances).intersect_range(instances)

        flow, anti, output = map(inside, self._kinds)
        return Dependences(scop, (flow, anti, output))

    def at_once(self, times: isl.UnionPwAff) -> Dependences:
        """Returns the dependences between instances with the same time { S[i] -> [(e)] }."""
        band = isl.MultiUnionPwAff.from_union_pw_aff(times)
        flow, anti, output = (found.eq_at_multi_union_pw_aff(band) for found in self._all)
        return replace(self, _known=(flow, anti, output))

    def besides(self, arrays: Collection[str]) -> Dependences:
        """Returns the dependences through all arrays but these."""
        order = SourceOrder(self._scop)
        reads, writes = ({a: found for a, found in each.items() if a not in arrays} for each in (self._reads, self._writes))
        return replace(self, _known=(pairs(writes, reads, order), pairs(reads, writes, order), pairs(writes, writes, order)))

    @cached_property
    def input(self) -> isl.UnionMap:
        """Returns the pairs of instances that read the same element; they ask for no order, but should run close together."""
        return pairs(self._reads, self._reads, SourceOrder(self._scop))

    @cached_property
    def value_flow(self) -> isl.UnionMap:
        """Returns { S[i] -> T[j] : S[i] wrote the value that T[j] reads }."""
        return polyhedra.union([self.value_flow_through(array) for array in self._reads], NONE)

    def value_flow_through(self, array: str) -> isl.UnionMap:
        """Returns { S[i] -> T[j] : S[i] wrote the value of an element of the array that T[j] reads }."""
        return self._last_writers(array).get_must_dependence()

    def reads_before(self, array: str) -> isl.UnionMap:
        """Returns { S[i] -> A[j] : S[i] reads the value that A[j] had before the kernel } of one array."""
        return self._last_writers(array).get_must_no_source()

    @cached_property
    def live_in(self) -> isl.UnionMap:
        """Returns { S[i] -> A[j] : S[i] reads the value that A[j] had before the kernel }."""
        return polyhedra.union([self.reads_before(array) for array in self._reads], NONE)

    @cached_property
    def _reads(self) -> Accesses:
        return _reads(self._scop)

    @cached_property
    def _writes(self) -> Accesses:
        return _writes(self._scop)

    @cached_property
    def _flows(self) -> dict[str, isl.UnionFlow]:
        return {}  # what `_last_writers` has found, by array

    def _last_writers(self, array: str) -> isl.UnionFlow:
        """Returns the writers of the values that statements read from the array, and the reads of its initial values."""
        if array not in self._flows:
            reads, writes = ({array: accesses.get(array, {})} for accesses in (self._reads, self._writes))
            times = [self._scop.times[name] for name in dict.fromkeys((*reads[array], *writes[array]))]
            order = polyhedra.union(list(map(isl.UnionMap.from_map, times)), NONE)
            info = isl.UnionAccessInfo.from_sink(_union_of(reads)).set_must_source(_union_of(writes))
            self._flows[array] = info.set_schedule_map(order).compute_flow()
        return self._flows[array]


def dependences(scop: Scop) -> Dependences:
    """Returns the exact dependences of a SCoP in its source order; flow, anti and output are computed right away."""
    found = Dependences(scop)
    found._all  # noqa: B018 (now, and not where somebody asks first)
    return found


def pairs_to_compare(scop: Scop) -> int:
    """Returns the number of pairs of statements in one outermost nest that share an array which one of them writes.

    The time to find dependences, and to compute all that follows from them, grows with this number.
    """
    order = SourceOrder(scop)
    accessing: dict[tuple[int | None, str], Counter[bool]] = {}
    for statement in scop.statements.values():
        read, written = ({access.array for access in accesses} for accesses in (statement.reads, statement.writes))
        for array in read | written:
            nest = order.nest(statement.name)
            accessing.setdefault((nest, array), Counter())[array in written] += 1
    return sum(count[True] * count.total() for count in accessing.values())


def flow_into(scop: Scop, statement: Statement, access: Access) -> dict[str, isl.Map]:
    """Returns, by the name of the writer T, { T[j] -> S[i] : T[j] wrote the value that S[i] reads by `access` }."""
    return sources_of(scop, statement, access)[0]


def sources_of(scop: Scop, statement: Statement, access: Access) -> tuple[dict[str, isl.Map], isl.Map]:
    """Returns the writers of the values that an access of a statement reads, and the elements whose initial values it reads.

    The writers are relations { T[j] -> S[i] : T[j] wrote the value that S[i] reads } by the name of the writing statement T, the
    elements a relation { S[i] -> A[e] }.
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


def accesses(scop: Scop) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Returns the reads and the writes { S[i] -> A[j] } of all statements."""
    return _union_of(_reads(scop)), _union_of(_writes(scop))


class SourceOrder:
    """A SourceOrder tells for two statements which of their instances run before which in the source."""

    def __init__(self, scop: Scop) -> None:
        self._times = scop.times
        self._nests = {name: polyhedra.first_if_fixed(times.range()) for name, times in self._times.items()}
        self._before: dict[tuple[str, str], isl.Map] = {}

    def nest(self, name: str) -> int | None:
        """Returns the position of the outermost nest that holds the statement; None where there is only one nest."""
        return self._nests[name]

    def is_behind(self, source: str, sink: str) -> bool:
        """Returns whether `source` is in a later outermost nest than `sink`, so that all its instances run after all of `sink`."""
        return self._in_order(sink, source)

    def among(self, pairs: isl.Map, source: str, sink: str) -> isl.Map:
        """Returns those of the pairs { S[i] -> T[j] } in which S[i] runs before T[j].

        source, sink: the names of S and T
        """
        if self._in_order(source, sink):
            return pairs
        key = (source, sink)
        if key not in self._before:
            self._before[key] = self._times[source].lex_lt_map(self._times[sink])
        return pairs.intersect(self._before[key])

    def _in_order(self, one: str, other: str) -> bool:
        """Returns whether the outermost nest that holds `one` comes before the one that holds `other`."""
        first, last = self._nests[one], self._nests[other]
        return first is not None and last is not None and first < last


def pairs(sources: Accesses, sinks: Accesses, order: SourceOrder) -> isl.UnionMap:
    """Returns { S[i] -> T[j] : both touch the same element, S[i] runs first } for accesses of S in `sources` and of T in `sinks`.

    Two statements are compared at a time, since most of them share no array: this is several times faster than isl's relations on
    unions, and than its flow analysis where every pair is wanted.
    """
    found: list[isl.UnionMap] = []
    for array, by_statement in sources.items():
        reversed_sinks = {name: m.reverse() for name, m in sinks.get(array, {}).items()}
        for source, touched in by_statement.items():
            for sink, touching in reversed_sinks.items():
                if order.is_behind(source, sink):
                    continue
                same = order.among(touched.apply_range(touching), source, sink)
                if not same.is_empty():
                    found.append(isl.UnionMap.from_map(same))
    return polyhedra.union(found, NONE)


def _by_names(pairs: isl.UnionMap) -> dict[str, dict[str, isl.UnionMap]]:
    """Returns the relations of a union by the name of the source statement, and then by that of the sink."""
    found: dict[str, dict[str, isl.UnionMap]] = {}
    for each in polyhedra.pieces(pairs):
        found.setdefault(polyhedra.domain_name(each), {})[polyhedra.range_name(each)] = isl.UnionMap.from_map(each)
    return found


def _reads(scop: Scop) -> Accesses:
    return _by_array(((s.name, s.domain, a) for s in scop.statements.values() for a in s.reads), _origins(scop))


def _writes(scop: Scop) -> Accesses:
    return _by_array(((s.name, s.domain, a) for s in scop.statements.values() for a in s.writes), _origins(scop))


def _origins(scop: Scop) -> dict[str, list[Traced]]:
    """Returns by array the origins of indices that follow from the indices, each kind of origin once."""
    found: dict[str, dict[object, Traced]] = {}
    for access in (access for s in scop.statements.values() for access in (*s.reads, *s.writes)):
        for each in access.traced:
            if each.holds(scop.facts):
                found.setdefault(access.array, {}).setdefault(each.key, each)
    return {array: [*kinds.values()] for array, kinds in found.items()}


def _with_origins(access: Access, kinds: Sequence[Traced]) -> isl.Map:
    """Returns { S[i] -> A[j, r] }, an access relation with the places r that an index j comes from, which may be any where they are not
    known.
    """
    relation, own = access.relation, {each.key: each.places for each in access.traced}
    for kind in kinds:
        places = own.get(kind.key)
        if places is None:
            spaces = relation.get_space().domain(), kind.places.get_space().range()
            places = isl.Map.from_domain_and_range(*map(isl.Set.universe, spaces))
        relation = relation.flat_range_product(places)
    return relation


def _by_array(accesses: Iterable[tuple[str, isl.Set, Access]], origins: Mapping[str, Sequence[Traced]]) -> Accesses:
    """Returns the access relations { S[i] -> A[j] } by array and then by statement, restricted to the statements' domains.

    accesses: triples (statement's name, its domain, access)
    origins: by array, those by which accesses to it are told apart
    """
    result: dict[str, dict[str, isl.Map]] = {}
    for name, domain, access in accesses:
        relation = _with_origins(access, origins.get(access.array, ())).intersect_domain(domain)
        by_statement = result.setdefault(access.array, {})
        by_statement[name] = by_statement[name].union(relation) if name in by_statement else relation
    return result


def _union_of(accesses: Accesses) -> isl.UnionMap:
    """Returns the access relations { S[i] -> A[j] } of all statements and arrays as one union."""
    maps = [isl.UnionMap.from_map(m) for by_statement in accesses.values() for m in by_statement.values()]
    return polyhedra.union(maps, NONE)
