"""The statements of one nest among the same points: { S[i] -> [c0, c1, ...] }, affine, an instance at each point.

    for k: for i > k: A[i, k] /= A[k, k]                          S[k, i]      at (k, i, k)
           for i > k: for j > k: A[i, j] -= A[i, k] * A[k, j]     T[k, i, j]   at (k, i, j)

The deepest statement gives the axes. Another one is where the deepest would touch the same elements; along an axis that this
leaves open it is where its values are made or first used, or a step from there. Statements that would share points take turns
along an axis: (2t, i) and (2t + 1, i).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice, product

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Access, Statement
from polyml.model.counting.brascamp_lieb import Space, space
from polyml.systolic.recurrences.spacetime import Vector, linear

MOST_PLACES = 6  # of one statement that are tried
MOST_TOGETHER = 12  # of all of them, and as many in turns
MOST_MATCHES = 32  # ways to match the elements of two statements that are kept

Flows = Mapping[str, Mapping[int, Mapping[str, isl.Map]]]  # statement, read -> { T[j] -> S[i] : T[j] made what S[i] reads }, by T
Row = tuple[Vector, int]  # coefficients of loops, and a constant


@dataclass(frozen=True)
class Place:
    """c0 = rows[0] * loops + constants[0], and so on."""

    statement: Statement = field(repr=False, compare=False)
    rows: tuple[Vector, ...]
    constants: Vector

    @cached_property
    def map(self) -> isl.Map:
        """{ S[i] -> [c0, c1, ...] }"""
        loops = [f"i{k}" for k in range(len(self.statement.iterators))]
        there = (linear(row, loops, constant) for row, constant in zip(self.rows, self.constants))
        text = f"{{ {self.statement.name}[{', '.join(loops)}] -> [{', '.join(there)}] }}"
        return isl.Map(text).intersect_domain(self.statement.domain)

    def steps(self, vector: Vector) -> Vector:
        """What a step in the statement's loops is among the points."""
        return tuple(sum(c * v for c, v in zip(row, vector)) for row in self.rows)

    def at(self, instance: Vector) -> Vector:
        """The point of an instance."""
        return tuple(step + constant for step, constant in zip(self.steps(instance), self.constants))

    def spread(self, axis: int, factor: int, start: int) -> Place:
        """With every `factor`th point of an axis, from `start` on."""
        rows = tuple(tuple(factor * c for c in row) if k == axis else row for k, row in enumerate(self.rows))
        constants = tuple(factor * c + start if k == axis else c for k, c in enumerate(self.constants))
        return Place(self.statement, rows, constants)


def own(statement: Statement) -> Place:
    """A statement alone: its points are its instances."""
    loops = range(len(statement.iterators))
    return Place(statement, tuple(tuple(int(k == other) for other in loops) for k in loops), (0,) * len(loops))


def arrangements(statements: Sequence[Statement], flows: Flows) -> Iterator[tuple[Place, ...]]:
    """Ways to place all statements, each in the source's order; those in which they take turns last."""
    sharing = []
    for places in together(statements, flows):
        if any(share(a, b) for a, b in combinations(places, 2)):
            sharing.append(places)
        else:
            yield places
    turns = (_in_turns(places, axis) for places in sharing for axis in range(len(places[0].rows)))
    yield from islice(turns, MOST_TOGETHER)


def together(statements: Sequence[Statement], flows: Flows) -> Iterator[tuple[Place, ...]]:
    """Ways to place all statements, whether they share points or not."""
    deepest = max(statements, key=lambda s: len(s.iterators))
    others = sorted((s for s in statements if s is not deepest), key=lambda s: -len(s.iterators))
    for placed in islice(_placed({deepest.name: own(deepest)}, others, deepest, flows), MOST_TOGETHER):
        yield tuple(placed[s.name] for s in statements)


def share(a: Place, b: Place) -> bool:
    """Whether they have a point in common."""
    return not a.map.range().is_disjoint(b.map.range())


def _in_turns(places: Sequence[Place], axis: int) -> tuple[Place, ...]:
    turns: list[int] = []
    for number, place in enumerate(places):
        before = (turns[k] for k in range(number) if share(places[k], place))
        turns.append(1 + max(before, default=-1))
    count = max(turns) + 1
    return tuple(place.spread(axis, count, turn) for place, turn in zip(places, turns))


def _placed(
    known: Mapping[str, Place], rest: Sequence[Statement], deepest: Statement, flows: Flows
) -> Iterator[Mapping[str, Place]]:
    if not rest:
        yield known
        return
    places = (place for place in _places(rest[0], deepest, known, flows) if place.map.is_injective())
    for place in islice(places, MOST_PLACES):
        yield from _placed({**known, rest[0].name: place}, rest[1:], deepest, flows)


def _places(statement: Statement, deepest: Statement, known: Mapping[str, Place], flows: Flows) -> Iterator[Place]:
    """Of one statement, where more of its elements are the deepest one's first."""
    seen = set()
    if len(statement.iterators) == len(deepest.iterators):
        seen.add(own(statement))
        yield own(statement)
    near = None
    for rows in _aligned(statement, deepest):
        if None in rows and near is None:
            near = list(_near(statement, known, flows))
        for filled in _filled(rows, near) if None in rows else (rows,):
            place = Place(statement, *map(tuple, zip(*filled)))
            if place not in seen:
                seen.add(place)
                yield place


def _filled(rows: Sequence[Row | None], near: Sequence[tuple[Sequence[Row], Sequence[int]]]) -> Iterator[Sequence[Row]]:
    """With axes that are open as those of other places near the statement, and steps from there."""
    open_ = [k for k, row in enumerate(rows) if row is None]
    for there, steps in near:
        for shifts in product(steps, repeat=len(open_)):
            filled = list(rows)
            for k, shift in zip(open_, shifts):
                filled[k] = (there[k][0], there[k][1] + shift)
            yield filled


def _near(statement: Statement, known: Mapping[str, Place], flows: Flows) -> Iterator[tuple[list[Row], tuple[int, ...]]]:
    """Where the statement's values are made, and where its own are first used, by its loops; and the steps from there to try."""
    for flow in flows[statement.name].values():
        for name, pairs in flow.items():
            if name in known:
                yield from ((rows, (1, 0, -1)) for rows in _rows_of(pairs.reverse().apply_range(known[name].map), statement))
    for name, place in known.items():
        for flow in flows[name].values():
            if statement.name in flow:
                first = flow[statement.name].apply_range(place.map).lexmin()
                yield from ((rows, (-1, 0, 1)) for rows in _rows_of(first, statement))


def _rows_of(relation: isl.Map, statement: Statement) -> Iterator[list[Row]]:
    """{ S[i] -> [c] } by coordinate, where they are sums of loops and a number."""
    loops = len(statement.iterators)
    rows = [_row(value, loops) for value in polyhedra.subscripts_of(relation.coalesce())]
    if None not in rows:
        yield rows


def _row(value: isl.PwAff, loops: int) -> Row | None:
    terms, constant = polyhedra.linear_row(value) or ({None: 1}, 0)
    if any(name not in range(loops) for name in terms):
        return None
    return tuple(terms.get(k, 0) for k in range(loops)), constant


def _aligned(statement: Statement, deepest: Statement) -> list[list[Row | None]]:
    """Points at which the deepest statement touches the statement's elements, most of them first; None for what this leaves open.

    Each pair of accesses to one array that is to name one element is a linear equation for each subscript.
    """
    loops, axes = len(statement.iterators), len(deepest.iterators)
    mine, theirs = ([a for a in (s.write, *s.reads) if a.subscripts] for s in (statement, deepest))
    matches: dict[Space, int] = {(): 0}
    for access in mine:
        more = dict(matches)
        for known, score in matches.items():
            for other in (o for o in theirs if o.array == access.array):
                equations = _equations(access, other, loops, axes)
                both = None if equations is None else space([*known, *equations], axes + loops + 1)
                if both is not None and all(any(row[:axes]) for row in both):
                    more[both] = max(more.get(both, 0), score + 1)
        kept = sorted(more, key=lambda known: (-more[known], -len(known)))[:MOST_MATCHES]
        matches = {known: more[known] for known in kept}
    found = (_solved(known, axes) for known in matches)
    return [rows for rows in found if rows is not None]


def _equations(access: Access, other: Access, loops: int, axes: int) -> list[Vector] | None:
    """That both name one element: coefficients of the axes, then what they make of the loops and of 1."""
    found = []
    for mine, theirs in zip(access.subscripts, other.subscripts):
        row, there = _row(mine, loops), _row(theirs, axes)
        if row is None or there is None:
            return None
        found.append((*there[0], *row[0], row[1] - there[1]))
    return found


def _solved(equations: Space, axes: int) -> list[Row | None] | None:
    """None where an axis would not be whole."""
    rows: list[Row | None] = [None] * axes
    for equation in equations:
        used = [k for k in range(axes) if equation[k]]
        if len(used) == 1:
            factor = equation[used[0]]
            if any(value % factor for value in equation[axes:]):
                return None
            *row, constant = (value // factor for value in equation[axes:])
            rows[used[0]] = tuple(row), constant
    return rows
