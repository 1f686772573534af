"""Nests are read as uniform recurrences: each value that instances use comes along fixed distances.

    C[i,j] = C[i,j] + A[i,k]*B[k,j]      A along j, B along i, the sum along k

An element that many instances read is not fetched by each: it is forwarded from one to the next along what the access does not
depend on (Quinton and Van Dongen, "The mapping of linear recurrence equations on regular arrays", 1989). A sum whose terms may come
in any order goes from each term's instance to the next. Any other value that the nest makes goes from the instance that makes it to
those that use it by steps that are the same everywhere (`routing`). Values move from PE to PE, so that none is overwritten and only
flow dependences count. Statements that need each other's values are one nest, in one index space (`embedding`). Where instances on
both sides of the one that makes a value use it, wires bring it to them (`phases`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from polyml.systolic.recurrences.embedding import Embedding, Flows, joint_embeddings
from polyml.systolic.recurrences.phases import PhasedStatements, phased
from polyml.systolic.recurrences.reversed_sums import ReductionOrder, orders
from polyml.systolic.recurrences.routing import forwarding, read_of, routes
from polyml.systolic.recurrences.spacetime import Vector
from polyml.systolic.recurrences.systolic_nest import ArrayUse, SystolicNest
from polyml.systolic.recurrences.value_sources import RESULT, ReadKey, RoutedRead, ValueSource, shifted


def nests(
    scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction], links: str = "manhattan"
) -> tuple[SystolicNest, ...]:
    """Returns a kernel's nests in the order of the source. A nest is one statement, or several that need each other's values.

    A statement that hands no values from instance to instance is no nest: it belongs to the `boundary` of the first nest that uses
    its values, or else of one whose values it uses.

    scop, dependences, reductions: the kernel's model.
    links: with "broadcast", statements that are no uniform recurrence may be split into phases, the parts of an iteration that run
        one after another.
    Raises: IllegalSchedule, with the dependence, for statements that are no uniform recurrence.
    """
    return _nests(scop, dependences, reductions, links, ())


def _nests(
    scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction], links: str, known: tuple[PhasedStatements, ...]
) -> tuple[SystolicNest, ...]:
    """Returns what `nests` does for a SCoP some of whose statements have been split into phases already, and splits others where it
    must.

    known: the statements that have been split so far.
    Raises: IllegalSchedule for statements that are no uniform recurrence.
    """
    flows = {name: _flows(scop, statement) for name, statement in scop.statements.items()}
    producers = {name: {s for flow in of.values() for s in flow} for name, of in flows.items()}
    found = []
    for names in _strongly_connected(producers, [tuple(each.origins) for each in known]):
        phases = next((each for each in known if names == tuple(each.origins)), None)
        if phases is not None:
            found.append(_phased_nest(scop, phases, flows, dependences))
            continue
        try:
            found.append(_nest(scop, names, flows, dependences, reductions))
        except IllegalSchedule as refused:
            phases = _phases_of(scop, names, flows)
            if phases is None:
                raise
            if links != "broadcast":
                notes = [*refused.notes, "on links with wires, broadcast, values reach the units on both sides at once"]
                raise IllegalSchedule(refused.message, loc=refused.loc, notes=notes) from None
            rest = {name: each for name, each in reductions.items() if name not in names}
            return _nests(phases.scop, dependences_of(phases.scop), rest, links, (*known, phases))
    inner = [nest for nest in found if _has_reuse(nest)]
    if not inner:
        every = ", ".join(scop.statements)
        loc = next(iter(scop.statements.values())).loc if scop.statements else None
        raise IllegalSchedule(f"no value of {every} is used twice: there is nothing for units to hand on", loc=loc)
    edges: dict[str, list[str]] = {nest.name: [] for nest in inner}
    for name in (nest.name for nest in found if nest.name not in edges):
        takers = [nest for nest in inner if any(name in producers[embedding.statement.name] for embedding in nest.embeddings)]
        givers = [nest for nest in inner if any(embedding.statement.name in producers[name] for embedding in nest.embeddings)]
        for nest in (takers or givers)[:1]:
            edges[nest.name].append(name)
    return tuple(replace(nest, boundary=tuple(edges[nest.name])) for nest in inner)


def _flows(scop: Scop, statement: Statement) -> dict[int, dict[str, isl.Map]]:
    """Returns the flow dependences of each read of a statement S: by the read's number, and by each statement T whose values it
    gets, { T[j] -> S[i] : T[j] made what S[i] reads }.
    """
    return {k: flow_into(scop, statement, access) for k, access in enumerate(statement.reads)}


def _phases_of(scop: Scop, names: Sequence[str], flows: Flows) -> PhasedStatements | None:
    """Returns the statements split into phases, the parts of an iteration of some loop that run one after another, such that all
    values can come along wires, each of which reaches a whole row or column of PEs in a cycle. Returns None where no split that is
    tried is such.
    """
    for found in phased(scop, [scop.statements[name] for name in names], flows):
        try:
            produced = {name: _flows(found.scop, found.scop.statements[name]) for name in found.origins}
            _phased_nest(found.scop, found, produced, dependences_of(found.scop))
            return found
        except IllegalSchedule:
            continue
    return None


def _phased_nest(scop: Scop, phases: PhasedStatements, flows: Flows, dependences: Dependences) -> SystolicNest:
    """Returns the nest of statements that have been split into phases, with values that go along wires.

    phases: the statements and their phases; flows: the flow dependences, by statement and read.
    Raises: IllegalSchedule where wires cannot bring all values.
    """
    embeddings = tuple(replace(embedding, statement=scop.statements[embedding.statement.name]) for embedding in phases.embeddings)
    nest = _assembled(scop, embeddings, ReductionOrder(flows, {}), dependences, None, wired=True)
    return replace(nest, origins=phases.origins)


def _strongly_connected(producers: Mapping[str, set[str]], known: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Returns the names of all statements in groups: the strongly connected components of the flow dependences, and the groups in
    `known` as they are.

    producers: by statement, the statements whose values it reads.
    known: groups of statements that belong together, whatever their dependences.
    """
    reached = {name: set(producers[name]) for name in producers}
    for middle in reached:
        for name in reached:
            if middle in reached[name]:
                reached[name] |= reached[middle]
    candidate_embeddings = {name: names for names in known for name in names}
    components = {n: tuple(o for o in producers if o == n or n in reached[o] and o in reached[n]) for n in producers}
    every = [candidate_embeddings.get(name, component) for name, component in components.items()]
    return list(dict.fromkeys(every))


def _has_reuse(nest: SystolicNest) -> bool:
    """Returns whether a nest has values to hand from instance to instance: an instance uses what another one made or has read, or
    several iterations use the same element, or there are several statements.
    """
    loops = range(len(nest.loops))
    used = (u for u in nest.uses if u.rows or u.kind != "operand")
    return len(nest.embeddings) > 1 or any(u.sources or not all(map(u.depends_on, loops)) for u in used)


def _nest(
    scop: Scop, names: Sequence[str], flows: Flows, dependences: Dependences, reductions: Mapping[str, Reduction]
) -> SystolicNest:
    """Returns the nest of the named statements, in the first embedding into one index space in which every value travels a fixed
    distance.

    The order of instances is the source's, or one with sums reversed. Raises IllegalSchedule, with the reason why the first
    embedding was refused.
    """
    statements = [scop.statements[name] for name in names]
    for statement in statements:
        if any(isinstance(value, Gather) for value in subvalues(statement.value)):
            raise IllegalSchedule(f"{statement.name} reads elements that data decide", loc=statement.loc)
    refused: list[IllegalSchedule] = []
    for order in orders(statements, flows, reductions):
        for embeddings in joint_embeddings(statements, order.flows):
            try:
                return _assembled(scop, embeddings, order, dependences, reductions.get(names[0]) if len(names) == 1 else None)
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


def _assembled(
    scop: Scop,
    embeddings: tuple[Embedding, ...],
    order: ReductionOrder,
    dependences: Dependences,
    reduction: Reduction | None,
    wired: bool = False,
) -> SystolicNest:
    """Returns the nest that consists of the embedded statements. Each read in it says whether it reads an operand, a value or a
    running sum, and by which steps that comes from other instances.

    order: the order in which the terms of sums are added, with the flow dependences in it.
    reduction: the reduction of a statement that is alone in its nest; else None.
    wired: whether values may also go along wires, each of which brings a value to a whole row or column of PEs within one cycle.
    Raises: IllegalSchedule where a value does not come along fixed distances.
    """
    flows = order.flows
    by_name = {embedding.statement.name: embedding for embedding in embeddings}
    uses: dict[ReadKey, ArrayUse] = {}
    for name, embedding in by_name.items():
        for number, access in enumerate(embedding.statement.reads):
            use = _use("operand", scop, embedding.statement, access, number)
            kind = "value" if any(other in by_name for other in flows[name][number]) else "operand"
            uses[name, number] = replace(use, kind=kind)
    reduction_read, starts_from_arrays = _reduction_read(uses, reduction), False
    if reduction_read is not None:
        uses[reduction_read] = replace(uses[reduction_read], kind="result")
        starts_from_arrays = _reads_arrays(scop, embeddings[0].statement, flows[reduction_read[0]][reduction_read[1]])
    reads = {key: read_of(scop, by_name, flows, key, use.text, use.rows) for key, use in uses.items() if key != reduction_read}
    for key, sources in routes(by_name, reads, wired).items():
        pairs = [users.apply_domain(by_name[other].map) for other, users in reads[key].produced.items()]
        uses[key] = replace(uses[key], sources=sources, flow=polyhedra.union(pairs))
    for key, use in uses.items():
        if use.kind == "operand":
            uses[key] = replace(use, rows=_with_overwrites(use.rows, reads[key], scop, by_name[key[0]]))
    for name, embedding in by_name.items():
        uses |= _with_neighbour_reuse(embedding, {key: use for key, use in uses.items() if key[0] == name}, reads)
    deepest = max((embedding.statement for embedding in embeddings), key=lambda s: len(s.iterators))
    results = tuple(_use("result", scop, p.statement, p.statement.write, RESULT) for p in embeddings)
    return SystolicNest(
        deepest,
        embeddings,
        tuple(uses.values()),
        results,
        _live_out(embeddings, order, dependences),
        order,
        starts_from_arrays,
        scop,
    )


def _reduction_read(uses: Mapping[ReadKey, ArrayUse], reduction: Reduction | None) -> ReadKey | None:
    """Returns the read of the running sum, (statement, number of the read), for a nest of one statement whose terms may come in any
    order; None for any other nest.
    """
    if reduction is None:
        return None
    key = reduction.statement, reduction.access
    return key if all(use.kind == "operand" for other, use in uses.items() if other != key) else None


def _live_out(embeddings: Sequence[Embedding], order: ReductionOrder, dependences: Dependences) -> isl.Set:
    """Returns the points of the index space whose instances make values that are needed after the nest: no other value overwrites
    them, so that their arrays have them at the end, or a statement outside the nest uses them.
    """
    names, found = {embedding.statement.name for embedding in embeddings}, []
    for embedding in embeddings:
        name, last = embedding.statement.name, embedding.statement.domain
        for pairs in polyhedra.pieces(dependences.output):
            if polyhedra.domain_name(pairs) == name:
                last = last.subtract(pairs.domain())
        last = last.apply(order.reversed_sums[name]) if name in order.reversed_sums else last
        others = (read for other, reads in order.flows.items() if other not in names for read in reads.values())
        outside = [read[name].domain() for read in others if name in read]
        found.append(polyhedra.union([last, *outside]).apply(embedding.map))
    return polyhedra.union(found).coalesce()


def _with_overwrites(rows: tuple[Vector, ...], read: RoutedRead, scop: Scop, embedding: Embedding) -> tuple[Vector, ...]:
    """Returns `rows`, the coefficients of an operand's subscripts, with rows added so that instances which read different values of
    one element differ in some row. A row is added for each direction in the iterators along which the subscripts stay the same,
    but the element is overwritten between two reads.
    """
    if not rows or not read.reuse_directions:
        return rows
    changed = []
    for vector in kernel(rows, len(embedding.statement.iterators)):
        steps = embedding.steps(vector)
        if not shifted(embedding.map.range(), steps).is_subset(forwarding(read, read, steps)):
            changed.append(vector)
    return (*rows, *changed)


def _with_neighbour_reuse(
    embedding: Embedding, uses: Mapping[ReadKey, ArrayUse], reads: Mapping[ReadKey, RoutedRead]
) -> dict[ReadKey, ArrayUse]:
    """Returns the uses of one statement, changed where a nearby instance has just read the same element by another access, as with
    A[i - 1] and A[i]: these operands get that read as their source, in place of memory.
    """
    groups: dict[tuple, list[ReadKey]] = {}
    rows = {key: _linear_rows(embedding.statement.reads[key[1]]) for key in uses}
    for key, use in uses.items():
        is_told_by_subscripts = len(use.rows) == len(rows[key])  # no row was added for overwriting
        if use.kind == "operand" and use.rows and is_told_by_subscripts and not kernel(use.rows, len(use.rows[0])):
            terms = tuple(frozenset(terms.items()) for terms, _ in rows[key])
            groups.setdefault((use.array, terms), []).append(key)
    linked = dict(uses)
    for group in (group for group in groups.values() if len(group) > 1):
        # element e is read by the access e = rows * p + offset at p, in the order of p
        solved = ((key, _solved(uses[key].rows, [-constant for _, constant in rows[key]])) for key in group)
        at = {key: found for key, found in solved if found is not None}
        if len(at) < len(group):
            continue
        ordered = sorted(group, key=lambda key: at[key])
        for before, key in pairwise(ordered):
            distance = tuple(a - b for a, b in zip(at[key], at[before]))
            if any(distance):
                steps = embedding.steps(distance)
                pairs = forwarding(reads[key], reads[before], steps)
                if shifted(embedding.map.range(), steps).is_subset(pairs):  # and it was not overwritten meanwhile
                    linked[key] = replace(uses[key], sources=(ValueSource("forwarded", *before, steps, False, pairs),))
    return linked


def _linear_rows(access: Access) -> list[polyhedra.LinearRow]:
    """Returns the subscripts of an access as (coefficients, constant) rows. They are all linear, because `_use` raises an error for
    any other access.
    """
    return [row for row in map(polyhedra.linear_row, access.subscripts) if row is not None]


def _solved(rows: Sequence[Vector], values: Sequence[int]) -> Vector | None:
    """Returns the integer vector v whose product with each of `rows` is the value at the same position in `values`; None where
    there is none. The rows have full column rank.
    """
    columns = len(rows[0])
    (found,) = kernel([(*row, -value) for row, value in zip(rows, values)], columns + 1) or (None,)
    if found is None or abs(found[-1]) != 1:
        return None
    return tuple(found[-1] * v for v in found[:-1])


def _reads_arrays(scop: Scop, statement: Statement, flow: Mapping[str, isl.Map]) -> bool:
    """Returns whether some sum of a statement starts from an element that no statement has written, or from a value computed from
    arrays, rather than from a number.

    flow: by statement, the flow dependences into the read of the running sum.
    """
    produced = [m.range() for m in flow.values()]
    if not produced or not statement.domain.is_subset(polyhedra.union(produced)):
        return True
    others = (scop.statements[name] for name in flow if name != statement.name)
    return any(scop.arrays[access.array].shape for other in others for access in other.reads)


def _use(kind: str, scop: Scop, statement: Statement, access: Access, number: int) -> ArrayUse:
    """Returns the `ArrayUse` that describes an access of a statement: its kind, array, text and subscripts. Its `sources` are still
    empty.

    kind: "operand", "value" or "result", as in `ArrayUse`.
    number: the number of the read; RESULT for the write.
    Raises: IllegalSchedule where a subscript is not linear in the iterators.
    """
    name = scop.arrays[access.array].source_name or access.array
    text = access_text(access).replace(access.array, name, 1)
    rows = []
    for subscript, pieces in zip(access.subscripts, access.coefficients):
        row = tuple(c for c in pieces[0] if isinstance(c, int))
        if len(pieces) != 1 or len(row) != len(pieces[0]) or not polyhedra.is_affine(subscript):
            message = f"a subscript of {text} is not linear in the loops of {statement.name}"
            raise IllegalSchedule(message, loc=access.loc or statement.loc)
        rows.append(row)
    return ArrayUse(kind, name, text, tuple(rows), statement.name, number)
