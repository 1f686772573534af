"""The statements of one nest are embedded in one index space: { S[i] -> [c0, c1, ...] }, affine, an instance at each point.

    for k: for i > k: A[i, k] /= A[k, k]                          S[k, i]      at (k, i, k)
           for i > k: for j > k: A[i, j] -= A[i, k] * A[k, j]     T[k, i, j]   at (k, i, j)

The deepest statement gives the axes. Another statement lies where the deepest one would touch the same elements; along an axis that
this leaves open it lies where its values are made or first used, or a step from there. Statements that would share points are
interleaved along an axis: one is at (2t, i), the other at (2t + 1, i).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, product

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Access, Statement
from polyml.model.counting.brascamp_lieb import Space, space
from polyml.systolic.recurrences.spacetime import Vector, linear
from polyml.values import cached_property

MOST_EMBEDDINGS = 6  # that are tried for one statement
MOST_JOINT = 12  # joint embeddings that are tried, and as many interleaved ones
MOST_MATCHES = 32  # that are kept: ways to match the elements of two statements

Flows = Mapping[str, Mapping[int, Mapping[str, isl.Map]]]  # statement -> read -> T -> { T[j] -> S[i] : T[j] made what S[i] reads }
Row = tuple[Vector, int]  # an affine function: coefficients of the iterators, and a constant


@dataclass(frozen=True)
class Embedding:
    """An Embedding puts the instances of one statement at points of the nest's index space: c0 = rows[0] * iterators +
    constants[0], and so on.

    statement: the statement that is embedded.
    rows: for each axis of the index space, the coefficients of the statement's iterators.
    constants: for each axis, what is added.
    """

    statement: Statement = field(repr=False, compare=False)
    rows: tuple[Vector, ...]
    constants: Vector

    @cached_property
    def map(self) -> isl.Map:
        """Returns the embedding as a relation, { S[i] -> [c0, c1, ...] }, on the statement's domain."""
        loops = [f"i{k}" for k in range(len(self.statement.iterators))]
        there = (linear(row, loops, constant) for row, constant in zip(self.rows, self.constants))
        text = f"{{ {self.statement.name}[{', '.join(loops)}] -> [{', '.join(there)}] }}"
        return isl.Map(text).intersect_domain(self.statement.domain)

    def steps(self, vector: Vector) -> Vector:
        """Returns the step in the index space that corresponds to a step in the statement's iterators."""
        return tuple(sum(c * v for c, v in zip(row, vector)) for row in self.rows)

    def at(self, instance: Vector) -> Vector:
        """Returns the point of the index space at which the instance with these values of the iterators lies."""
        return tuple(step + constant for step, constant in zip(self.steps(instance), self.constants))

    def strided(self, axis: int, factor: int, start: int) -> Embedding:
        """Returns the embedding with the coordinate along `axis` multiplied by `factor` and moved by `start`."""
        rows = tuple(tuple(factor * c for c in row) if k == axis else row for k, row in enumerate(self.rows))
        constants = tuple(factor * c + start if k == axis else c for k, c in enumerate(self.constants))
        return Embedding(self.statement, rows, constants)


def identity(statement: Statement) -> Embedding:
    """Returns the embedding that puts each instance at the point whose coordinates are its iterators."""
    loops = range(len(statement.iterators))
    return Embedding(statement, tuple(tuple(int(k == other) for other in loops) for k in loops), (0,) * len(loops))


def joint_embeddings(statements: Sequence[Statement], flows: Flows) -> Iterator[tuple[Embedding, ...]]:
    """Yields ways to embed all statements into one index space, each as one embedding per statement, in their order. No two
    statements share a point.

    First come the ways of `candidate_embeddings` in which none do, then its other ways, changed so that the statements' points
    alternate along an axis.
    """
    overlapping = []
    for embeddings in candidate_embeddings(statements, flows):
        if any(overlap(a, b) for a, b in combinations(embeddings, 2)):
            overlapping.append(embeddings)
        else:
            yield embeddings
    turns = (_interleaved(embeddings, axis) for embeddings in overlapping for axis in range(len(embeddings[0].rows)))
    yield from islice(turns, MOST_JOINT)


def candidate_embeddings(statements: Sequence[Statement], flows: Flows) -> Iterator[tuple[Embedding, ...]]:
    """Yields ways to embed all statements into one index space, as one embedding per statement, in their order. Statements may
    share points.
    """
    deepest = max(statements, key=lambda s: len(s.iterators))
    others = sorted((s for s in statements if s is not deepest), key=lambda s: -len(s.iterators))
    for extended in islice(_extended({deepest.name: identity(deepest)}, others, deepest, flows), MOST_JOINT):
        yield tuple(extended[s.name] for s in statements)


def overlap(a: Embedding, b: Embedding) -> bool:
    """Returns whether two embedded statements have a point of the index space in common."""
    return not a.map.range().is_disjoint(b.map.range())


def _interleaved(embeddings: Sequence[Embedding], axis: int) -> tuple[Embedding, ...]:
    """Returns embeddings in which no two statements share a point. The coordinate along `axis` is multiplied by a number n, and
    each statement gets one of 0 ... n - 1 added; statements that had no point in common may get the same.
    """
    turns: list[int] = []
    for number, embedding in enumerate(embeddings):
        before = (turns[k] for k in range(number) if overlap(embeddings[k], embedding))
        turns.append(1 + max(before, default=-1))
    count = max(turns) + 1
    return tuple(embedding.strided(axis, count, turn) for embedding, turn in zip(embeddings, turns))


def _extended(
    known: Mapping[str, Embedding], rest: Sequence[Statement], deepest: Statement, flows: Flows
) -> Iterator[Mapping[str, Embedding]]:
    """Yields the embeddings in `known`, by the statement's name, with an injective embedding added for each statement in `rest`.

    deepest: the statement whose loops are the axes of the index space.
    """
    if not rest:
        yield known
        return
    embeddings = (embedding for embedding in _candidates(rest[0], deepest, known, flows) if embedding.map.is_injective())
    for embedding in islice(embeddings, MOST_EMBEDDINGS):
        yield from _extended({**known, rest[0].name: embedding}, rest[1:], deepest, flows)


def _candidates(statement: Statement, deepest: Statement, known: Mapping[str, Embedding], flows: Flows) -> Iterator[Embedding]:
    """Yields embeddings of one statement into the index space: first the identity, where the statement has as many loops as the
    deepest one; then those that put its instances at points where the deepest statement touches the same elements, beginning with
    those for the most elements.

    deepest: the statement whose loops are the axes of the index space.
    known: the embeddings of other statements, by name.
    """
    seen = set()
    if len(statement.iterators) == len(deepest.iterators):
        seen.add(identity(statement))
        yield identity(statement)
    near: list[tuple[list[Row], tuple[int, ...]]] | None = None
    for rows in _aligned(statement, deepest):
        whole = [row for row in rows if row is not None]
        if len(whole) < len(rows) and near is None:
            near = list(_flow_neighbours(statement, known, flows))
        for completed in (whole,) if near is None or len(whole) == len(rows) else _completed(rows, near):
            embedding = Embedding(statement, *map(tuple, zip(*completed)))
            if embedding not in seen:
                seen.add(embedding)
                yield embedding


def _completed(rows: Sequence[Row | None], near: Sequence[tuple[Sequence[Row], Sequence[int]]]) -> Iterator[Sequence[Row]]:
    """Yields ways to fill in the axes that `rows` leaves open. `rows` has for each axis of the index space an affine function of a
    statement's iterators, or None. In place of None comes the function that one of the embeddings in `near` has for that axis, with
    a constant added that is tried for that embedding.

    near: for each embedding, (its affine function for each axis, the constants that are tried).
    """
    open_ = [k for k, row in enumerate(rows) if row is None]
    for there, steps in near:
        for shifts in product(steps, repeat=len(open_)):
            shift = dict(zip(open_, shifts))
            yield [(there[k][0], there[k][1] + shift[k]) if row is None else row for k, row in enumerate(rows)]


def _flow_neighbours(
    statement: Statement, known: Mapping[str, Embedding], flows: Flows
) -> Iterator[tuple[list[Row], tuple[int, ...]]]:
    """Yields (rows, steps) for each flow dependence between the statement and one in `known`.

    rows: for each axis, an affine function of the statement's iterators. Together they give, for an instance of the statement, the
        point where the value that it uses is made, or where the value that it makes is first used.
    steps: how far from that point the instance may lie along each axis, the preferred distance first.
    known: the embeddings of other statements, by name.
    """
    for flow in flows[statement.name].values():
        for name, pairs in flow.items():
            if name in known:
                yield from ((rows, (1, 0, -1)) for rows in _affine_rows(pairs.reverse().apply_range(known[name].map), statement))
    for name, embedding in known.items():
        for flow in flows[name].values():
            if statement.name in flow:
                first = flow[statement.name].apply_range(embedding.map).lexmin()
                yield from ((rows, (-1, 0, 1)) for rows in _affine_rows(first, statement))


def _affine_rows(relation: isl.Map, statement: Statement) -> Iterator[list[Row]]:
    """Yields { S[i] -> [c] } as one affine function of the iterators for each coordinate; yields nothing where a coordinate is not
    affine in the iterators alone.
    """
    loops = len(statement.iterators)
    rows = [_affine_row(value, loops) for value in polyhedra.subscripts_of(relation.coalesce())]
    whole = [row for row in rows if row is not None]
    if len(whole) == len(rows):
        yield whole


def _affine_row(value: isl.PwAff, loops: int) -> Row | None:
    """Returns a value as coefficients of the iterators and a constant; None where it is not affine in the iterators alone."""
    found = polyhedra.linear_row(value)
    if found is None or any(name not in range(loops) for name in found[0]):
        return None
    terms, constant = found
    return tuple(terms.get(k, 0) for k in range(loops)), constant


def _aligned(statement: Statement, deepest: Statement) -> list[list[Row | None]]:
    """Returns ways to put a statement's instances where the deepest statement touches the same elements, those with the most such
    elements first.

    A way has an affine function of the statement's iterators for each axis, None for an axis that the elements leave open. Each
    pair of accesses to one array that name the same element is a linear equation for each subscript.
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
    """Returns the linear equations, one for each subscript, under which two accesses to one array name the same element; None where
    a subscript is not affine.

    An equation has the coefficients of the axes (the iterators of `other`'s statement), then those of the iterators of `access`'s
    statement, then a constant; the terms in the axes equal the sum of the rest.
    access, other: the accesses, which are by two different statements.
    loops, axes: how many iterators the statement of `access` has, and that of `other`.
    """
    found = []
    for mine, theirs in zip(access.subscripts, other.subscripts):
        row, there = _affine_row(mine, loops), _affine_row(theirs, axes)
        if row is None or there is None:
            return None
        found.append((*there[0], *row[0], row[1] - there[1]))
    return found


def _solved(equations: Space, axes: int) -> list[Row | None] | None:
    """Returns, for each axis, the affine function of the iterators that the equations determine, and None for an axis that they
    leave open. Returns None in place of the list where a coordinate would be no integer.

    equations: those of `_equations`, as a matrix in reduced row echelon form.
    """
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
