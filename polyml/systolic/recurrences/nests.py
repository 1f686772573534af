"""Nests whose instances are uniform recurrences: what they read, and from where it comes, along fixed distances.

    C[i,j] = C[i,j] + A[i,k]*B[k,j]      A along j, B along i, the sum along k

An element that many instances read is not read by each: it goes on from one to the next along what the access does not depend
on (routing; Quinton and Van Dongen, "The mapping of linear recurrence equations on regular arrays", 1989). A sum whose terms may
come in any order is a chain. Other values that instances of the nest make are uniform where they are used at one distance, or go
on from there by equal steps (`routing`). Elements are values that move, so that nothing is overwritten: only flow dependences
count. Statements that need each other's values are one nest, among the same points (`embedding`). Where values are used on both
sides of where they are made, wires bring them, phase by phase (`phases`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.model.core.dependence import Dependences, flow_into
from polyml.model.core.dependence import dependences as dependences_of
from polyml.model.core.nest import subvalues
from polyml.model.core.printer import access_text
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Access, Gather, Scop, Statement
from polyml.model.counting.brascamp_lieb import kernel
from polyml.systolic.recurrences.embedding import Flows, Place, arrangements
from polyml.systolic.recurrences.phases import Parted, parted
from polyml.systolic.recurrences.reversed_sums import Order, orders
from polyml.systolic.recurrences.routing import Key, Read, Source, hops, read_of, routes, shifted
from polyml.systolic.recurrences.spacetime import Vector


@dataclass(frozen=True)
class Use:
    """What each instance of a statement uses: `read` says which of its reads, None what it writes.

    kind: "operand" (elements that the nest does not make), "result" (a sum or other reduction, which the nest goes on with), or
    "value" (made by other instances). rows: coefficients of the statement's loops in each subscript. sources: where values come
    from, and elements that another access reads before, by steps among the nest's points. flow: { p -> q : q uses what p made }.
    """

    kind: str
    array: str
    text: str
    rows: tuple[Vector, ...]
    statement: str
    read: int | None
    sources: tuple[Source, ...] = ()
    flow: isl.Map | None = field(default=None, repr=False, compare=False)

    def depends_on(self, loop: int) -> bool:
        return any(row[loop] for row in self.rows)

    @property
    def distance(self) -> Vector:
        """The step of what comes from one distance; () of anything else."""
        return self.sources[0].vector if len(self.sources) == 1 else ()


@dataclass(frozen=True)
class Nest:
    """The instances of one statement, or of several that need each other's values: the deepest is `statement`.

    places: of all of them among the points of its loops. uses: statement by statement. results: the elements that each of them
    writes. kept: { p } whose values are there at the end, or used by other statements. starts: whether sums start from elements of
    arrays. order: of sums. scop: whose statements they are, the kernel's or one with some of these in parts; origins: by part,
    its statement. edge: other statements whose instances make one of its values from another as they come and go.
    """

    statement: Statement = field(repr=False)
    places: tuple[Place, ...] = field(repr=False)
    uses: tuple[Use, ...]
    results: tuple[Use, ...]
    kept: isl.Set = field(repr=False, compare=False)
    order: Order = field(repr=False, compare=False)
    starts: bool
    scop: Scop = field(repr=False, compare=False)
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    edge: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return ", ".join(place.statement.name for place in self.places)

    @property
    def written(self) -> Use:
        """The elements that `statement` writes."""
        return next(use for use in self.results if use.statement == self.statement.name)

    @property
    def is_wired(self) -> bool:
        """Whether values go along wires."""
        return any(source.line for use in self.uses for source in use.sources)

    @property
    def parts(self) -> dict[str, str]:
        """The instances of each part of a statement: `S0[k, i, j] : i <= k and j <= k`."""
        domains = {place.statement.name: place.statement.domain for place in self.places}
        found = {}
        for part, name in self.origins.items():
            alike = [domains[other].set_tuple_name(name) for other, origin in self.origins.items() if origin == name]
            if len(alike) > 1:
                whole = polyhedra.union(alike).coalesce()
                found[part] = polyhedra.text(domains[part].set_tuple_name(name).gist(whole))
        return found

    @property
    def heading(self) -> str:
        """`S0[i, j], S1[i]`"""
        return ", ".join(f"{place.statement.name}[{', '.join(place.statement.iterators)}]" for place in self.places)

    @property
    def loops(self) -> tuple[str, ...]:
        """Of the deepest statement."""
        return self.statement.iterators

    @cached_property
    def domain(self) -> isl.Set:
        """{ p }"""
        return polyhedra.union([place.map.range() for place in self.places]).coalesce()

    def place(self, name: str) -> Place:
        return next(place for place in self.places if place.statement.name == name)


def nests(scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction], links: str = "manhattan") -> tuple[Nest, ...]:
    """Statements that have loops and hand values on, those together that need each other's values, in the source's order; those
    that only make one value from another belong to a nest that they give values to or take them from. links: with broadcast ones,
    statements that are no uniform recurrence may come in parts. Raises IllegalSchedule, with the dependence, for what is none.
    """
    return _nests(scop, dependences, reductions, links, ())


def _nests(
    scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction], links: str, known: tuple[Parted, ...]
) -> tuple[Nest, ...]:
    """known: the statements that are in parts."""
    flows = {name: _flows(scop, statement) for name, statement in scop.statements.items()}
    made_of = {name: {s for flow in of.values() for s in flow} for name, of in flows.items()}
    found = []
    for names in _circles(made_of, [tuple(each.origins) for each in known]):
        cut = next((each for each in known if names == tuple(each.origins)), None)
        if cut is not None:
            found.append(_wired(scop, cut, flows, dependences))
            continue
        try:
            found.append(_nest(scop, names, flows, dependences, reductions))
        except IllegalSchedule as refused:
            cut = _parted(scop, names, flows)
            if cut is None:
                raise
            if links != "broadcast":
                notes = [*refused.notes, "on links with wires, broadcast, values reach the units on both sides at once"]
                raise IllegalSchedule(refused.message, loc=refused.loc, notes=notes) from None
            rest = {name: each for name, each in reductions.items() if name not in names}
            return _nests(cut.scop, dependences_of(cut.scop), rest, links, (*known, cut))
    inner = [nest for nest in found if _hands_on(nest)]
    if not inner:
        names = ", ".join(scop.statements)
        loc = next(iter(scop.statements.values())).loc if scop.statements else None
        raise IllegalSchedule(f"no value of {names} is used twice: there is nothing for units to hand on", loc=loc)
    edges: dict[str, list[str]] = {nest.name: [] for nest in inner}
    for name in (nest.name for nest in found if nest.name not in edges):
        takers = [nest for nest in inner if any(name in made_of[place.statement.name] for place in nest.places)]
        givers = [nest for nest in inner if any(place.statement.name in made_of[name] for place in nest.places)]
        for nest in (takers or givers)[:1]:
            edges[nest.name].append(name)
    return tuple(replace(nest, edge=tuple(edges[nest.name])) for nest in inner)


def _flows(scop: Scop, statement: Statement) -> dict[int, dict[str, isl.Map]]:
    """By read: { T[j] -> S[i] : T[j] made what S[i] reads }, by T."""
    return {k: flow_into(scop, statement, access) for k, access in enumerate(statement.reads)}


def _parted(scop: Scop, names: Sequence[str], flows: Flows) -> Parted | None:
    """The statements in parts whose values wires bring; None where there are none."""
    for found in parted(scop, [scop.statements[name] for name in names], flows):
        try:
            made = {name: _flows(found.scop, found.scop.statements[name]) for name in found.origins}
            _wired(found.scop, found, made, dependences_of(found.scop))
            return found
        except IllegalSchedule:
            continue
    return None


def _wired(scop: Scop, cut: Parted, flows: Flows, dependences: Dependences) -> Nest:
    places = tuple(replace(place, statement=scop.statements[place.statement.name]) for place in cut.places)
    nest = _placed(scop, places, Order(flows, {}), dependences, None, wired=True)
    return replace(nest, origins=cut.origins)


def _circles(made_of: Mapping[str, set[str]], known: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The statements, those together that need each other's values, or are known to be."""
    reached = {name: set(made_of[name]) for name in made_of}
    for middle in reached:
        for name in reached:
            if middle in reached[name]:
                reached[name] |= reached[middle]
    together = {name: names for names in known for name in names}
    circles = {n: tuple(o for o in made_of if o == n or n in reached[o] and o in reached[n]) for n in made_of}
    every = [together.get(name, circle) for name, circle in circles.items()]
    return list(dict.fromkeys(every))


def _hands_on(nest: Nest) -> bool:
    loops = range(len(nest.loops))
    used = (u for u in nest.uses if u.rows or u.kind != "operand")
    return len(nest.places) > 1 or any(u.sources or not all(map(u.depends_on, loops)) for u in used)


def _nest(scop: Scop, names: Sequence[str], flows: Flows, dependences: Dependences, reductions: Mapping[str, Reduction]) -> Nest:
    """Where all of them have places from which values come along fixed distances, in the source's order or with sums the other way
    round. Raises what the first places are refused for.
    """
    statements = [scop.statements[name] for name in names]
    for statement in statements:
        if any(isinstance(value, Gather) for value in subvalues(statement.value)):
            raise IllegalSchedule(f"{statement.name} reads elements that data decide", loc=statement.loc)
    refused: list[IllegalSchedule] = []
    for order in orders(statements, flows, reductions):
        for places in arrangements(statements, order.flows):
            try:
                return _placed(scop, places, order, dependences, reductions.get(names[0]) if len(names) == 1 else None)
            except IllegalSchedule as problem:
                refused.append(problem)
    if refused:
        raise refused[0]
    first, *others = names
    pairs = next(pairs for read in flows[first].values() for other, pairs in read.items() if other in others)
    notes = [
        f"flow dependence {polyhedra.witness(pairs)}",
        "expected statements that have places among the instances of one of them, by their loops",
    ]
    raise IllegalSchedule(f"{' and '.join(names)} need each other's values", loc=statements[0].loc, notes=notes)


def _placed(
    scop: Scop,
    places: tuple[Place, ...],
    order: Order,
    dependences: Dependences,
    reduction: Reduction | None,
    wired: bool = False,
) -> Nest:
    """reduction: of a statement alone. wired: values go along wires, too."""
    flows = order.flows
    by_name = {place.statement.name: place for place in places}
    uses: dict[Key, Use] = {}
    for name, place in by_name.items():
        for number, access in enumerate(place.statement.reads):
            use = _use("operand", scop, place.statement, access, number)
            kind = "value" if any(other in by_name for other in flows[name][number]) else "operand"
            uses[name, number] = replace(use, kind=kind)
    summed, starts = _summed(uses, reduction), False
    if summed is not None:
        uses[summed] = replace(uses[summed], kind="result")
        starts = _reads_arrays(scop, places[0].statement, flows[summed[0]][summed[1]])
    reads = {key: read_of(scop, by_name, flows, key, use.text, use.rows) for key, use in uses.items() if key != summed}
    for key, sources in routes(by_name, reads, wired).items():
        pairs = [users.apply_domain(by_name[other].map) for other, users in reads[key].made.items()]
        uses[key] = replace(uses[key], sources=sources, flow=polyhedra.union(pairs))
    for key, use in uses.items():
        if use.kind == "operand":
            uses[key] = replace(use, rows=_telling(use.rows, reads[key], scop, by_name[key[0]]))
    for name, place in by_name.items():
        uses |= _with_neighbours(place, {key: use for key, use in uses.items() if key[0] == name}, reads)
    deepest = max((place.statement for place in places), key=lambda s: len(s.iterators))
    results = tuple(_use("result", scop, p.statement, p.statement.write, None) for p in places)
    return Nest(deepest, places, tuple(uses.values()), results, _kept(places, order, dependences), order, starts, scop)


def _summed(uses: Mapping[Key, Use], reduction: Reduction | None) -> Key | None:
    """The read of a sum whose terms may come in any order: they are no values of the statement itself."""
    if reduction is None:
        return None
    key = reduction.statement, reduction.access
    return key if all(use.kind == "operand" for other, use in uses.items() if other != key) else None


def _kept(places: Sequence[Place], order: Order, dependences: Dependences) -> isl.Set:
    """{ p } whose values are there at the end, or used by other statements."""
    names, found = {place.statement.name for place in places}, []
    for place in places:
        name, last = place.statement.name, place.statement.domain
        for pairs in polyhedra.pieces(dependences.output):
            if polyhedra.domain_name(pairs) == name:
                last = last.subtract(pairs.domain())
        last = last.apply(order.turned[name]) if name in order.turned else last
        others = (read for other, reads in order.flows.items() if other not in names for read in reads.values())
        outside = [read[name].domain() for read in others if name in read]
        found.append(polyhedra.union([last, *outside]).apply(place.map))
    return polyhedra.union(found).coalesce()


def _telling(rows: tuple[Vector, ...], read: Read, scop: Scop, place: Place) -> tuple[Vector, ...]:
    """With a row for each way along which an element is overwritten: it is another value then."""
    if not rows or not read.ways:
        return rows
    changed = []
    for vector in kernel(rows, len(place.statement.iterators)):
        steps = place.steps(vector)
        if not shifted(place.map.range(), steps).is_subset(hops(read, read, steps)):
            changed.append(vector)
    return (*rows, *changed)


def _with_neighbours(place: Place, uses: Mapping[Key, Use], reads: Mapping[Key, Read]) -> dict[Key, Use]:
    """Operands with the distance from the instance that reads the same element just before, by a subscript that differs by a
    number.
    """
    alike: dict[tuple, list[Key]] = {}
    rows = {key: [polyhedra.linear_row(s) for s in place.statement.reads[key[1]].subscripts] for key in uses}
    for key, use in uses.items():
        told = len(use.rows) == len(rows[key])  # by its subscripts alone
        if use.kind == "operand" and use.rows and told and not kernel(use.rows, len(use.rows[0])):
            terms = tuple(frozenset(terms.items()) for terms, _ in rows[key])
            alike.setdefault((use.array, terms), []).append(key)
    found = dict(uses)
    for group in (group for group in alike.values() if len(group) > 1):
        # element e is read by the access e = rows * p + offset at p, in the order of p
        at = {key: _solved(uses[key].rows, [-constant for _, constant in rows[key]]) for key in group}
        if None in at.values():
            continue
        ordered = sorted(group, key=lambda key: at[key])
        for before, key in pairwise(ordered):
            distance = tuple(a - b for a, b in zip(at[key], at[before]))
            if any(distance):
                steps = place.steps(distance)
                pairs = hops(reads[key], reads[before], steps)
                if shifted(place.map.range(), steps).is_subset(pairs):  # and it was not overwritten meanwhile
                    found[key] = replace(uses[key], sources=(Source("hop", *before, steps, False, pairs),))
    return found


def _solved(rows: Sequence[Vector], values: Sequence[int]) -> Vector | None:
    """The whole numbers with which each row makes its value, of rows that no others make 0; None where there are none."""
    columns = len(rows[0])
    (found,) = kernel([(*row, -value) for row, value in zip(rows, values)], columns + 1) or (None,)
    if found is None or abs(found[-1]) != 1:
        return None
    return tuple(found[-1] * v for v in found[:-1])


def _reads_arrays(scop: Scop, statement: Statement, flow: Mapping[str, isl.Map]) -> bool:
    """Whether some instance takes a sum on from an element that is there at the start, or that another statement made of one."""
    made = [m.range() for m in flow.values()]
    if not made or not statement.domain.is_subset(polyhedra.union(made)):
        return True
    others = (scop.statements[name] for name in flow if name != statement.name)
    return any(scop.arrays[access.array].shape for other in others for access in other.reads)


def _use(kind: str, scop: Scop, statement: Statement, access: Access, number: int | None) -> Use:
    name = scop.arrays[access.array].source_name or access.array
    text = access_text(access).replace(access.array, name, 1)
    rows = []
    for subscript, pieces in zip(access.subscripts, access.coefficients):
        if len(pieces) != 1 or any(not isinstance(c, int) for c in pieces[0]) or not polyhedra.is_affine(subscript):
            message = f"a subscript of {text} is not linear in the loops of {statement.name}"
            raise IllegalSchedule(message, loc=access.loc or statement.loc)
        rows.append(tuple(pieces[0]))
    return Use(kind, name, text, tuple(rows), statement.name, number)
