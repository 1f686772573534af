"""Nests as uniform recurrences: what their instances read, and from where it comes, along fixed distances.

    C[i,j] = C[i,j] + A[i,k]*B[k,j]      A along j, B along i, the sum along k

An element that many instances read is not read by each: it goes on from one to the next along what the access does not depend
on (routing; Quinton and Van Dongen, "The mapping of linear recurrence equations on regular arrays", 1989). A sum whose terms may
come in any order is a chain. Other values that instances of the nest make are uniform where they are used at one distance.
Elements are values that move, so that nothing is overwritten: only flow dependences count.

Arrays have two dimensions, or one, and time; nests have more loops. So `layouts` joins loops that move the same accesses to one
axis (of a convolution the rows and columns of a picture, of channels and filters), or leaves some outside, which run one after
another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.model.counting import count
from polyml.model.dependence import Dependences, flow_into
from polyml.model.exponents import kernel
from polyml.model.nest import subvalues
from polyml.model.reduction import Reduction
from polyml.model.scop import Access, Gather, Scop, Statement
from polyml.model.text import access_text
from polyml.schedule.spacetime import Direction, SpaceTime, Vector, linear

MOST_LOOPS = 5  # of nests whose loops are taken one by one


@dataclass(frozen=True)
class Use:
    """What each instance of a nest uses.

    kind: "operand" (elements that the nest does not make), "result" (a sum or other reduction, which the nest goes on with), or
    "value" (made by the instance `distance` before). rows: coefficients of the loops in each subscript. distance: of an operand,
    to the instance before that reads the same element by another access.
    """

    kind: str
    array: str
    text: str
    rows: tuple[Vector, ...]
    distance: Vector = ()

    def depends_on(self, loop: int) -> bool:
        return any(row[loop] for row in self.rows)


@dataclass(frozen=True)
class Nest:
    """The instances of one statement. written: the elements that it writes, as `rows` of a Use. starts: whether sums start from
    elements of arrays. edge: other statements whose instances make one of its values from another as they come and go.
    """

    statement: Statement = field(repr=False)
    uses: tuple[Use, ...]
    written: Use
    starts: bool
    edge: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.statement.name

    @property
    def loops(self) -> tuple[str, ...]:
        return self.statement.iterators


@dataclass(frozen=True)
class Axis:
    """One or more loops: a number for the iterations of all of them. coefficients: of the nest's loops."""

    loops: tuple[int, ...]
    coefficients: Vector


@dataclass(frozen=True)
class Stream:
    """A use, by the directions in which its values go on; () where each instance has its own."""

    use: Use
    directions: tuple[Direction, ...]


@dataclass(frozen=True)
class Recurrence:
    """A nest with `axes`, inside `outer` loops that run one after another, of given sizes, or of all where there are none.

    result: the elements that it writes; along its directions the last value counts.
    points: { [o0, ..., a0, a1, ...] }. embedding: { S[i] -> [o0, ..., a0, ...] }. lengths: of the loops, where each is as long whatever
    the others are.
    """

    nest: Nest
    sizes: tuple[tuple[str, int], ...]
    outer: tuple[int, ...]
    axes: tuple[Axis, ...]
    streams: tuple[Stream, ...]
    result: Stream
    points: isl.Set = field(repr=False)
    embedding: isl.Map = field(repr=False)
    lengths: Vector | None = None

    @cached_property
    def box(self) -> tuple[int, Vector] | None:
        """Iterations of the outer loops, and lengths of the axes: the points are all of these, whatever the others are."""
        if self.lengths is None:
            return None
        return prod(self.lengths[k] for k in self.outer), tuple(prod(self.lengths[k] for k in axis.loops) for axis in self.axes)

    @cached_property
    def is_injective(self) -> bool:
        """Whether no two instances share a point: an axis of a box has numbers in which each loop is a digit."""
        return self.box is not None or self.embedding.is_injective()

    @property
    def directions(self) -> list[Direction]:
        return list(dict.fromkeys(d for s in self.streams for d in s.directions))

    @cached_property
    def turned(self) -> list[int]:
        """Axes that the domain has whole, whatever the others are."""
        if self.box is not None:
            return list(range(len(self.axes)))
        first = len(self.outer)
        return [k for k in range(len(self.axes)) if polyhedra.is_product(self.points, [first + k])]

    @cached_property
    def instances(self) -> int:
        return count(self.points).evaluate({}) if self.lengths is None else prod(self.lengths)

    @cached_property
    def elements(self) -> int:
        """Elements that the nest writes."""
        loops = [[loop for loop, c in enumerate(row) if c] for row in self.nest.written.rows]
        if self.lengths is not None and all(len(row) == 1 for row in loops) and len({row[0] for row in loops}) == len(loops):
            return prod(self.lengths[row[0]] for row in loops)
        statement = self.nest.statement
        written = statement.write.relation.intersect_domain(statement.domain).range()
        return count(polyhedra.fix(written, dict(self.sizes)).project_out_all_params()).evaluate({})

    @property
    def statements(self) -> tuple[str, ...]:
        return (self.nest.name,)

    def coordinates(self, statement: str) -> list[tuple[Vector, int]]:
        """The axes as sums of a statement's loops and constants."""
        return [(axis.coefficients, 0) for axis in self.axes]

    def instances_at(self, statement: str, points: isl.Set) -> isl.Set:
        """Those of a statement that are at some of the points { [o0, ..., a0, ...] }."""
        return self.embedding.intersect_range(points).domain()

    def kind(self, statement: str, read: int) -> str:
        """Of the use that a read is."""
        return self.nest.uses[read].kind

    def loops_row(self, row: Sequence[int]) -> Vector:
        """Coefficients of the loops in a sum of axes."""
        return tuple(sum(c * a.coefficients[k] for c, a in zip(row, self.axes)) for k in range(len(self.nest.loops)))

    def text(self, mapping: SpaceTime) -> str:
        """`t = i + j + k, x = i, y = j`"""
        named = zip("txy", mapping.rows)
        return ", ".join(f"{name} = {linear(self.loops_row(row), self.nest.loops)}" for name, row in named)

    def made(self, stream: Stream) -> isl.Map:
        """{ p -> q : q uses the value that p made }, of a stream of values."""
        loops = [f"c{k}" for k in range(len(self.nest.loops))]
        there = [f"{loop} + {step}" for loop, step in zip(loops, stream.use.distance)]
        name = self.nest.name
        pairs = isl.Map(f"{{ {name}[{', '.join(loops)}] -> {name}[{', '.join(there)}] }}")
        return pairs.apply_domain(self.embedding).apply_range(self.embedding)


def shifted(points: isl.Set, vector: Sequence[int], outer: int = 0) -> isl.Map:
    """{ [o, a] -> [o, a + vector] }, of these points."""
    names = [*(f"o{k}" for k in range(outer)), *(f"a{k}" for k in range(len(vector)))]
    there = ", ".join(f"{name} + {step}" for name, step in zip(names, [*(0 for _ in range(outer)), *vector]))
    return isl.Map(f"{{ [{', '.join(names)}] -> [{there}] }}").intersect_domain(points).intersect_range(points)


def nests(scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction]) -> tuple[Nest, ...]:
    """Every statement that has loops and hands values on, in the source's order; those that only make one value from another
    belong to a nest that they give values to or take them from. Raises IllegalSchedule, with the dependence, for a nest that is
    no uniform recurrence.
    """
    flows = {name: _flows(scop, statement) for name, statement in scop.statements.items()}
    made_of = {name: {s for flow in of.values() for s in flow if s != name} for name, of in flows.items()}
    _refuse_circles(scop, made_of, dependences)
    found = {name: _nest(scop, scop.statements[name], flows[name], reductions.get(name)) for name in scop.statements}
    inner = {name for name, nest in found.items() if _hands_on(nest)}
    edges: dict[str, list[str]] = {name: [] for name in inner}
    for name in (n for n in scop.statements if n not in inner):
        takers = [n for n in inner if name in made_of[n]] or [n for n in made_of[name] if n in inner]
        if takers:
            edges[takers[0]].append(name)
    if not inner:
        names = ", ".join(scop.statements)
        loc = next(iter(scop.statements.values())).loc if scop.statements else scop.loc
        raise IllegalSchedule(f"no value of {names} is used twice: there is nothing for units to hand on", loc=loc)
    order = [name for name in scop.statements if name in inner]
    return tuple(replace(found[n], edge=tuple(edges[n])) for n in order)


def _flows(scop: Scop, statement: Statement) -> dict[int, dict[str, isl.Map]]:
    """By read: { T[j] -> S[i] : T[j] made what S[i] reads }, by T."""
    return {k: flow_into(scop, statement, access) for k, access in enumerate(statement.reads)}


def _refuse_circles(scop: Scop, made_of: Mapping[str, set[str]], dependences: Dependences) -> None:
    """Statements that need each other's values are no nest of one statement."""
    reached = {name: set(made_of[name]) for name in made_of}
    for middle in reached:
        for name in reached:
            if middle in reached[name]:
                reached[name] |= reached[middle]
    for name in reached:
        for other in made_of[name]:
            if name in reached[other]:
                pairs = [m for m in polyhedra.pieces(dependences.value_flow) if polyhedra.range_name(m) == name]
                between = next(m for m in pairs if polyhedra.domain_name(m) == other)
                shown = polyhedra.witness(between)
                loc = scop.statements[name].loc
                notes = [f"flow dependence {shown}", "expected one statement that uses its own values, at fixed distances"]
                raise IllegalSchedule(f"{other} and {name} need each other's values", loc=loc, notes=notes)


def _hands_on(nest: Nest) -> bool:
    loops = range(len(nest.loops))
    used = (u for u in nest.uses if u.rows or u.kind != "operand")
    return any(u.kind == "value" or u.distance or not all(map(u.depends_on, loops)) for u in used)


def _nest(scop: Scop, statement: Statement, flows: Mapping[int, Mapping[str, isl.Map]], reduction: Reduction | None) -> Nest:
    if any(isinstance(value, Gather) for value in subvalues(statement.value)):
        raise IllegalSchedule(f"{statement.name} reads elements that data decide", loc=statement.loc)
    uses, starts = [], False
    for number, access in enumerate(statement.reads):
        own = flows[number].get(statement.name)
        if reduction is not None and reduction.access == number:
            uses.append(_use("result", scop, statement, access))
            starts = _reads_arrays(scop, statement, flows[number])
        elif own is None:
            uses.append(_use("operand", scop, statement, access))
        else:
            uses.append(_value(scop, statement, access, own))
    written = _use("result", scop, statement, statement.write)
    return Nest(statement, tuple(_with_neighbours(statement, uses)), written, starts)


def _with_neighbours(statement: Statement, uses: Sequence[Use]) -> list[Use]:
    """Operands with the distance from the instance that reads the same element just before, by a subscript that differs by a
    number.
    """
    alike: dict[tuple, list[int]] = {}
    rows = [[polyhedra.linear_row(s) for s in access.subscripts] for access in statement.reads]
    for number, use in enumerate(uses):
        if use.kind == "operand" and use.rows and not kernel(use.rows, len(use.rows[0])):
            terms = tuple(frozenset(terms.items()) for terms, _ in rows[number])
            alike.setdefault((use.array, terms), []).append(number)
    found = list(uses)
    for group in (group for group in alike.values() if len(group) > 1):
        # element e is read by the access e = rows * p + offset at p, in the order of p
        at = {number: _solved(uses[number].rows, [-constant for _, constant in rows[number]]) for number in group}
        if None in at.values():
            continue
        ordered = sorted(group, key=lambda number: at[number])
        for before, number in zip(ordered, ordered[1:]):
            distance = tuple(a - b for a, b in zip(at[number], at[before]))
            if any(distance):
                found[number] = replace(uses[number], distance=distance)
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
    if not made or not statement.domain.is_subset(polyhedra.union(made, None)):
        return True
    others = (scop.statements[name] for name in flow if name != statement.name)
    return any(scop.arrays[access.array].shape for other in others for access in other.reads)


def _use(kind: str, scop: Scop, statement: Statement, access: Access) -> Use:
    name = scop.arrays[access.array].source_name or access.array
    text = access_text(access).replace(access.array, name, 1)
    rows = []
    for subscript, pieces in zip(access.subscripts, access.coefficients):
        if len(pieces) != 1 or any(not isinstance(c, int) for c in pieces[0]) or not polyhedra.is_affine(subscript):
            message = f"a subscript of {text} is not linear in the loops of {statement.name}"
            raise IllegalSchedule(message, loc=access.loc or statement.loc)
        rows.append(tuple(pieces[0]))
    return Use(kind, name, text, tuple(rows))


def _value(scop: Scop, statement: Statement, access: Access, own: isl.Map) -> Use:
    """What the statement made some instances before."""
    distance = polyhedra.constant_distance(own.reverse())
    use = _use("value", scop, statement, access)
    if distance is None:
        shown = polyhedra.text(isl.UnionMap.from_map(own)).replace("\n", "; ")
        expected = "expected values that are used at one distance from where they are made"
        message = f"{use.text} is used at distances that differ: {polyhedra.witness(own)}"
        notes = [f"flow dependence through {use.array}: {shown}", expected]
        raise IllegalSchedule(message, loc=access.loc or statement.loc, notes=notes)
    return Use("value", use.array, use.text, use.rows, distance)


def layouts(nest: Nest, sizes: Mapping[str, int] | None, dims: int) -> Iterator[Recurrence]:
    """The ways to see a nest as at most `dims` + 1 axes inside outer loops. sizes: None for all, without axes of several loops."""
    domain = nest.statement.domain if sizes is None else polyhedra.fix(nest.statement.domain, sizes).project_out_all_params()
    ranges = None if sizes is None else polyhedra.ranges(domain)
    lengths = None if ranges is None else _lengths(domain, ranges)
    loops = range(len(nest.loops))
    grouped: dict[tuple[bool, ...], list[int]] = {}
    for loop in loops:
        role = tuple(use.depends_on(loop) for use in (*nest.uses, nest.written))
        grouped.setdefault(role, []).append(loop)
    choices = [[(loop,) for loop in loops]] if len(loops) <= MOST_LOOPS else []
    if sizes is not None or len(grouped) == len(loops):
        choices.append([tuple(group) for group in grouped.values()])
    seen = set()
    for units in choices:
        for outside in combinations(units, max(0, len(units) - dims - 1)):
            inside = tuple(unit for unit in units if unit not in outside)
            outer = tuple(sorted(loop for unit in outside for loop in unit))
            if (outer, inside) in seen:
                continue
            seen.add((outer, inside))
            axes = tuple(_axis(unit, ranges, len(loops)) for unit in inside)
            streams = _streams(nest, outer, axes)
            if streams is not None:
                yield replace(_recurrence(nest, sizes or {}, domain, outer, axes, streams), lengths=lengths)


def _lengths(domain: isl.Set, ranges: Sequence[tuple[int, int]]) -> Vector | None:
    """Of the loops of a nest that has all points between their ends."""
    found = tuple(last - first + 1 for first, last in ranges)
    return found if count(domain).evaluate({}) == prod(found) else None


def _axis(unit: tuple[int, ...], ranges: Sequence[tuple[int, int]] | None, loops: int) -> Axis:
    factors = dict.fromkeys(unit, 1)
    for k, loop in enumerate(unit[:-1]):
        factors[loop] = prod(ranges[inner][1] - ranges[inner][0] + 1 for inner in unit[k + 1 :])
    return Axis(unit, tuple(factors.get(loop, 0) for loop in range(loops)))


def _streams(nest: Nest, outer: Sequence[int], axes: Sequence[Axis]) -> tuple[Stream, ...] | None:
    """None where a sum goes along several axes."""
    found = []
    for use in nest.uses:
        if not use.rows and use.kind == "operand":
            continue  # a number that every unit has
        if use.distance:
            steps = tuple(sum(a * d for a, d in zip(axis.coefficients, use.distance)) for axis in axes)
            inside = any(steps) and not any(use.distance[loop] for loop in outer)
            found.append(Stream(use, (Direction(steps, False),) if inside else ()))
            continue
        directions = _unused(use if use.kind == "operand" else nest.written, axes)
        if use.kind == "result" and len(directions) > 1:
            return None
        found.append(Stream(use, tuple(Direction(vector, True) for vector in directions)))
    return tuple(found)


def _unused(use: Use, axes: Sequence[Axis]) -> list[Vector]:
    """Directions along which the element stays the same."""
    mixed = [k for k, axis in enumerate(axes) if len(axis.loops) > 1 and any(map(use.depends_on, axis.loops))]
    kept = [k for k in range(len(axes)) if k not in mixed]
    rows = [[sum(row[loop] for loop in axes[k].loops) if len(axes[k].loops) == 1 else 0 for k in kept] for row in use.rows]
    found = kernel(rows, len(kept)) if kept else ()
    return [tuple(vector[kept.index(k)] if k in kept else 0 for k in range(len(axes))) for vector in found]


def _recurrence(
    nest: Nest,
    sizes: Mapping[str, int],
    domain: isl.Set,
    outer: tuple[int, ...],
    axes: tuple[Axis, ...],
    streams: tuple[Stream, ...],
) -> Recurrence:
    loops = [f"c{k}" for k in range(len(nest.loops))]
    values = [*(loops[k] for k in outer), *(linear(axis.coefficients, loops) for axis in axes)]
    embedding = isl.Map(f"{{ {nest.name}[{', '.join(loops)}] -> [{', '.join(values)}] }}").intersect_domain(domain)
    result = Stream(nest.written, tuple(Direction(vector, True) for vector in _unused(nest.written, axes)))
    return Recurrence(nest, tuple(sizes.items()), outer, axes, streams, result, embedding.range().coalesce(), embedding)
