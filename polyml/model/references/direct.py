"""Direct dependences, one for each pair of references: those that no third access to the element lies between. All others follow
from them.

    A[0] = ...; A[0] = ...; ... = A[0]   ->   output from the first write to the second one, flow from that to the read

flow    { S[i] -> T[j] : S[i] wrote the value that T[j] reads }
anti    { S[i] -> T[j] : T[j] is the next to write the element that S[i] reads, and another instance than S[i] }
output  { S[i] -> T[j] : T[j] is the next to write the element that S[i] writes }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import NONE
from polyml.model.core.scop import Access, Scop, Statement
from polyml.schedule.tree import loop_tree
from polyml.source import Loc
from polyml.values import cached_property

NO_SIZES: Mapping[str, int] = MappingProxyType({})
KINDS = ("flow", "anti", "output")
_DIFFERENCES = {"<": "{ [d] : d > 0 }", "=": "{ [0] }", ">": "{ [d] : d < 0 }"}


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A reference is one place in the source at which a statement reads or writes an array.

    statement: its name, such as "S0".
    is_write: whether the statement writes the element.
    relation: { S[i] -> A[i] } on the statement's domain.
    text: the reference with the statement's iterators, such as "A[i - 1]".
    loc: the place in the source; None where the compiler made the reference.
    """

    statement: str
    array: str
    is_write: bool
    relation: isl.Map
    text: str
    loc: Loc | None


@dataclass(frozen=True, kw_only=True)
class ReferenceDependence:
    """A dependence of one reference, the sink, on another one, the source, which runs before it.

    kind: "flow", "anti" or "output".
    array: whose element both touch.
    relation: { S[i] -> T[j] }, the pairs of instances.
    loops: the names of the loops that both statements are in, outermost first.
    distance: for each of these loops by how many steps of its counter the sink is later, a descending loop counted downwards; None
        where that is not the same for all pairs.
    direction: for each of these loops "<" where the source is in an earlier iteration for all pairs, "=" in the same one, ">" in a
        later one, and "*" where pairs differ.
    """

    kind: str
    array: str
    source: Reference
    sink: Reference
    relation: isl.Map
    loops: tuple[str, ...]
    distance: tuple[int | None, ...]
    direction: tuple[str, ...]


class DirectDependences:
    """Finds the direct dependences of a SCoP, by kind, where they are asked for.

    scop: the SCoP.
    text: makes the text of a reference.
    sizes: values of parameters for which alone they are found, which takes less time; {}: for all.
    """

    def __init__(self, scop: Scop, text: Callable[[Access], str], sizes: Mapping[str, int] = NO_SIZES) -> None:
        self._scop, self._sizes = scop, sizes
        self._references = {f"{s.name}_at{k}": _reference(s, a, k == 0, text) for s in scop.statements.values() for k, a in _all(s)}

    def of(self, kind: str) -> tuple[ReferenceDependence, ...]:
        """Returns the dependences of a kind, one of KINDS, in the order of the sources' statements and then of the sinks'."""
        return tuple(self._made(kind, *each) for each in self._pairs(kind))

    def pairs(self, kind: str) -> isl.UnionMap:
        """Returns { S[i] -> T[j] }, the pairs of instances of all dependences of a kind."""
        return _union(relation for _, _, relation in self._pairs(kind))

    def _pairs(self, kind: str) -> Iterator[tuple[Reference, Reference, isl.Map]]:
        """Yields each pair of references that a dependence of a kind is between, with its pairs of instances."""
        found = {"flow": self._flow, "anti": self._anti, "output": self._output}[kind]()
        places = {name: k for k, name in enumerate(self._references)}
        ends = [(polyhedra.domain_name(pairs), polyhedra.range_name(pairs), pairs) for pairs in polyhedra.pieces(found)]
        ends = [each for each in ends if self._references[each[0]].is_write is (kind != "anti")]
        for source, sink, pairs in sorted(ends, key=lambda each: (places[each[0]], places[each[1]])):
            first, last = self._references[source], self._references[sink]
            relation = _renamed(_renamed(pairs, first.statement).reverse(), last.statement).reverse()
            if kind == "anti" and first.statement == last.statement:
                relation = relation.subtract(relation.domain().identity())
            if not relation.is_empty():
                yield first, last, relation.coalesce()

    def _made(self, kind: str, first: Reference, last: Reference, relation: isl.Map) -> ReferenceDependence:
        loops, differences = self._differences(relation, first.statement, last.statement)
        return ReferenceDependence(
            kind=kind,
            array=first.array,
            source=first,
            sink=last,
            relation=relation,
            loops=loops,
            distance=tuple(None if point is None else point[0] for point in map(polyhedra.only_point, differences)),
            direction=tuple(map(_sign, differences)),
        )

    def _flow(self) -> isl.UnionMap:
        info = isl.UnionAccessInfo.from_sink(self._tagged(False)).set_must_source(self._tagged(True))
        return self._computed(info).get_must_dependence()

    def _output(self) -> isl.UnionMap:
        writes = self._tagged(True)
        info = isl.UnionAccessInfo.from_sink(writes).set_must_source(writes)
        return self._computed(info).get_must_dependence()

    def _anti(self) -> isl.UnionMap:
        """Returns the reads that may reach a write, and the writes that do; a write ends the way of what is before it."""
        writes = self._tagged(True)
        info = isl.UnionAccessInfo.from_sink(writes).set_must_source(writes).set_may_source(self._tagged(False))
        return self._computed(info).get_may_dependence()

    def _computed(self, info: isl.UnionAccessInfo) -> isl.UnionFlow:
        """Returns the flow of values in the source's order. Raises BudgetExceeded also where isl fails, as it does on some divisions."""
        try:
            return info.set_schedule_map(self._times).compute_flow()
        except isl.Error as problem:
            raise polyhedra.BudgetExceeded(f"isl does not find the direct dependences ({problem})") from None

    def _tagged(self, is_write: bool) -> isl.UnionMap:
        """Returns the accesses { S_at1[i] -> A[i] }, where each reference has instances of its own."""
        own = ((name, each.relation) for name, each in self._references.items() if each.is_write is is_write)
        return _union(_renamed(polyhedra.fix(relation, self._sizes), name) for name, relation in own)

    @cached_property
    def _times(self) -> isl.UnionMap:
        """Returns the source's order { S_at1[i] -> [time, 0 or 1] } of the references: a statement reads before it writes."""
        return _union(
            _renamed(polyhedra.with_last(self._scop.times[each.statement], int(each.is_write)), name)
            for name, each in self._references.items()
        )

    @cached_property
    def _loops(self) -> dict[str, list[tuple[loop_tree.Path, loop_tree.Loop]]]:
        """Returns by statement the loops around it in the source, outermost first."""
        found: dict[str, list[tuple[loop_tree.Path, loop_tree.Loop]]] = {name: [] for name in self._scop.statements}
        for path, loop in loop_tree.loops(loop_tree.read(self._scop.schedule, self._scop.statements)):
            for name in loop_tree.statements(loop):
                found[name].append((path, loop))
        return found

    def _differences(self, pairs: isl.Map, source: str, sink: str) -> tuple[tuple[str, ...], list[isl.Set]]:
        """Returns the names of the loops that hold both statements, and the set { [later - earlier] } of each for these pairs."""
        others = {path for path, _ in self._loops[sink]}
        shared = [loop for path, loop in self._loops[source] if path in others]
        found = []
        for loop in shared:
            values = polyhedra.expressions(loop.member)
            before, after = (isl.Map.from_pw_aff(values[name]) for name in (source, sink))
            found.append(pairs.apply_domain(before).apply_range(after).deltas())
        return tuple(loop.name for loop in shared), found


def _sign(differences: isl.Set) -> str:
    return next((sign for sign, region in _DIFFERENCES.items() if differences.is_subset(isl.Set(region))), "*")


def _all(statement: Statement) -> Iterator[tuple[int, Access]]:
    return enumerate((*statement.writes, *statement.reads))


def _reference(statement: Statement, access: Access, is_write: bool, text: Callable[[Access], str]) -> Reference:
    relation = access.relation.intersect_domain(statement.domain)
    return Reference(
        statement=statement.name,
        array=access.array,
        is_write=is_write,
        relation=relation,
        text=text(access),
        loc=access.loc or statement.loc,
    )


def _renamed(relation: isl.Map, name: str) -> isl.Map:
    """Returns a relation { S[i] -> T[j] } with another name in place of S."""
    return relation.apply_domain(isl.Map.from_pw_multi_aff(polyhedra.renamed(relation.domain(), name)))


def _union(maps: Iterable[isl.Map]) -> isl.UnionMap:
    return polyhedra.union([isl.UnionMap.from_map(each) for each in maps], NONE)
