"""Schedule trees as rows (linear expressions with integer coefficients): each domain is one conjunction, each loop one expression
for each statement.

tree = RowLeaf | RowMark | RowSequence | RowFilter | RowLoop
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from polyml import polyhedra
from polyml.codegen.presburger.constraint_rows import (
    LoopName,
    Maximum,
    NotSimple,
    both,
    maximum,
    negated,
    replaced,
    row_of_linear,
    solved_for,
    without,
)
from polyml.codegen.presburger.omega_test import Name, Row, System, is_empty
from polyml.polyhedra import LinearRow, Quotient
from polyml.schedule.tree.bands import NODE


@dataclass(frozen=True)
class RowLeaf:
    """A leaf of the schedule tree."""


@dataclass(frozen=True)
class RowMark:
    """A mark above a subtree, whose text says what its loops are and which directives they have."""

    text: str
    child: RowTree


@dataclass(frozen=True)
class RowSequence:
    """A sequence of subtrees that run one after the other."""

    children: tuple[RowTree, ...]


@dataclass(frozen=True)
class RowFilter:
    """A filter: the statements that it keeps, and the constraints that it adds to theirs.

    more: by name of a statement that is kept, conjunctions, one of which holds for each instance that is kept.
    """

    more: dict[str, tuple[System, ...]]
    child: RowTree


@dataclass(frozen=True)
class RowLoop:
    """A loop, which is one member of a band.

    expressions: by name of a statement, the member's value, which is the offset plus a multiple of the step.
    step: the greatest distance that divides all differences of values.
    offset: the remainder of all values by the step.
    kind: isl's option for the loop's code, such as `atomic` (one loop) or `separate` (loops without tests for parts of it).
    """

    expressions: dict[str, Row]
    step: int
    offset: int
    kind: isl.ast_loop_type
    child: RowTree


RowTree = RowLeaf | RowMark | RowSequence | RowFilter | RowLoop


def read(node: isl.ScheduleNode, names: frozenset[str], same: Mapping[Name, Row], every: bool) -> RowTree:
    """Returns the tree below a node of isl's schedule tree. Raises NotSimple for what linear expressions cannot state.

    names: the names of the statements that are kept by the filters above the node.
    same: by parameter that equals an expression of other parameters, that expression.
    every: whether a filter may add a union of constraints to a statement's; if not, NotSimple is raised for one.
    """
    kind = node.get_type()
    if kind == NODE.leaf:
        return RowLeaf()
    if kind == NODE.mark:
        return RowMark(node.mark_get_id().get_name(), read(node.child(0), names, same, every))
    if kind == NODE.sequence:
        return RowSequence(tuple(read(node.child(k), names, same, every) for k in range(node.n_children())))
    if kind == NODE.filter:
        pieces = polyhedra.pieces(node.filter_get_filter())
        more = {piece.get_tuple_name(): systems_of(piece, same, every) for piece in pieces}
        kept = names & more.keys()
        return RowFilter({name: more[name] for name in sorted(kept)}, read(node.child(0), kept, same, every))
    if kind != NODE.band or not node.band_get_ast_isolate_option().is_empty():
        raise NotSimple
    partial = node.band_get_partial_schedule()
    tree = read(node.child(0), names, same, every)
    for k in reversed(range(node.band_n_member())):
        rows = _rows(partial.get_at(k), names, same)
        step, offset = _lattice(rows.values())
        tree = RowLoop(rows, step, offset, node.band_member_get_ast_loop_type(k), tree)
    return tree


def _rows(member: isl.UnionPwAff, names: frozenset[str], same: Mapping[Name, Row]) -> dict[str, Row]:
    """Returns, by statement, the value of a band's member as a linear expression. Raises NotSimple where it is not linear.

    same: by parameter that equals an expression of other parameters, that expression.
    """
    found = polyhedra.expressions(member)
    rows: dict[str, Row] = {}
    for name in names:
        if name not in found:
            raise NotSimple
        row = polyhedra.linear_row(found[name])
        rows[name] = _greatest(found[name], same) if row is None else row_of_linear(row)
    return rows


def _greatest(value: isl.PwAff, same: Mapping[Name, Row]) -> Row:
    """Returns as a linear expression a value that is defined by cases: the greatest of some linear expressions of parameters, or
    the multiple of a number that is next below it. Raises NotSimple where it is neither.

    { S[i] -> [0] : N <= 0;  S[i] -> [8*floor((N - 1)/8)] : N > 0 }  is  8*floor(max(0, N - 1)/8)

    same: by parameter that equals an expression of other parameters, that expression.
    """
    cases = [(polyhedra.integer_rows(where), row_of_linear(row), divisor) for where, row, divisor in polyhedra.rows_by_piece(value)]
    quotients = [name for _, row, _ in cases for name in row[0] if isinstance(name, Quotient)]
    factor = quotients[0].divisor if quotients else 1
    for where, row, divisor in cases:
        if where is None or divisor != 1:
            raise NotSimple
        inside = System(*(tuple(map(row_of_linear, side)) for side in where))
        for _, other, _ in cases:
            less = inside & System((), (negated(without(row, 1, other, 1)),))
            if is_empty(less & System((), tuple(quotient_bounds(name for terms, _ in both(less) for name in terms)))) is not True:
                raise NotSimple
    greatest = maximum(replaced(_operand(row, factor), same) for _, row, _ in cases)
    return ({Quotient(frozenset([(greatest, 1)]), 0, factor): factor}, 0) if quotients else ({greatest: 1}, 0)


def _operand(row: Row, factor: int) -> Row:
    """Returns a linear expression of parameters such that factor * floor(it / factor) is the given row. Raises NotSimple if the row
    is not of this kind.
    """
    terms, constant = row
    if factor == 1:
        found = row
    elif constant % factor:
        raise NotSimple
    elif not terms:
        found = ({}, constant)
    else:
        ((name, c), *more) = terms.items()
        if more or not isinstance(name, Quotient) or (name.divisor, c) != (factor, factor):
            raise NotSimple
        found = (dict(name.terms), name.constant + constant)
    if not all(isinstance(name, str) for name in found[0]):
        raise NotSimple
    return found


def maxima_in(tree: RowTree) -> Iterator[Maximum]:
    """Yields the maxima in the values of the loops at or below a node of the tree; one may come several times."""
    if isinstance(tree, RowLoop):
        names = [name for terms, _ in tree.expressions.values() for name in terms]
        inner = [name for quotient in names if isinstance(quotient, Quotient) for name, _ in quotient.terms]
        yield from (name for name in (*names, *inner) if isinstance(name, Maximum))
    for child in tree.children if isinstance(tree, RowSequence) else () if isinstance(tree, RowLeaf) else (tree.child,):
        yield from maxima_in(child)


def _lattice(expressions: Iterable[Row]) -> tuple[int, int]:
    """Returns (step, offset) of a loop: all values of its expressions are the offset plus multiples of the step, which is as large
    as possible. If all expressions are constants, the result is (1, 0).
    """
    rows = [*expressions]
    first = rows[0][1] if rows else 0
    step = gcd(*(c for terms, _ in rows for c in terms.values()), *(constant - first for _, constant in rows))
    return (step, first % step) if any(terms for terms, _ in rows) else (1, 0)


def same_parameters(equal: Iterable[Row], order: Sequence[str]) -> dict[Name, Row]:
    """Returns, for parameters that the equations give, their values in terms of parameters that are earlier in the order.

    equal: linear expressions that are 0.
    """
    found: dict[Name, Row] = {}
    for row in equal:
        row = replaced(row, found)
        names = [name for name, c in row[0].items() if isinstance(name, str) and abs(c) == 1 and name in order]
        if names:
            name = max(names, key=order.index)
            value = solved_for(row, name)
            found = {n: replaced(v, {name: value}) for n, v in found.items()} | {name: value}
    return found


def systems_of(domain: isl.Set, same: Mapping[Name, Row], every: bool) -> tuple[System, ...]:
    """Returns the constraints of a domain, one system for each part of it. Raises NotSimple for a union, unless `every` is set.

    same: by parameter that equals an expression of other parameters, that expression, which replaces it.
    every: whether a union is taken, as a system for each of its disjoint parts.
    """
    whole = polyhedra.integer_rows(domain)
    found = [polyhedra.integer_rows(part) for part in polyhedra.disjoint(domain)] if whole is None and every else [whole]
    return tuple(_system(rows, same) for rows in found)


def _system(rows: tuple[list[LinearRow], list[LinearRow]] | None, same: Mapping[Name, Row]) -> System:
    """Returns equations and inequalities as a system with parameters replaced by their values in `same`, and with the bounds of its
    quotients. Raises NotSimple if `rows` is None: they are no conjunction.
    """
    if rows is None:
        raise NotSimple
    equal, least = ([replaced(row_of_linear(row), same) for row in side] for side in rows)
    return System(tuple(equal), (*least, *quotient_bounds(name for terms, _ in (*equal, *least) for name in terms)))


def quotient_bounds(names: Iterable[Name]) -> list[Row]:
    """Returns the constraints, as linear expressions that are at least 0, that define the quotients among the names, and the
    quotients inside those.
    """
    found: list[Row] = []
    todo = [name for name in dict.fromkeys(names) if isinstance(name, Quotient)]
    while todo:
        quotient = todo.pop()
        found += around(quotient)
        todo += [name for name, _ in quotient.terms if isinstance(name, Quotient)]
    return found


def around(quotient: Quotient) -> list[Row]:
    """Returns the two linear expressions whose being at least 0 defines a quotient: 0 <= operand - divisor * quotient < divisor."""
    operand: dict[Name, int] = dict(quotient.terms)
    below = {n: -c for n, c in operand.items()}
    return [
        ({**operand, quotient: -quotient.divisor}, quotient.constant),
        ({**below, quotient: quotient.divisor}, quotient.divisor - 1 - quotient.constant),
    ]


def loops_to(tree: RowTree, name: str) -> Iterator[RowLoop]:
    """Yields the loops at or below a node of the tree that are around a statement, outermost first. It stops at a filter that adds
    constraints to the statement, and at a sequence that has the statement in several children.
    """
    while not isinstance(tree, RowLeaf):
        if isinstance(tree, RowSequence):
            children = [child for child in tree.children if not isinstance(child, RowFilter) or name in child.more]
            if len(children) != 1:
                return
            tree = children[0]
            continue
        if isinstance(tree, RowFilter) and tree.more[name] != (System(),):
            return
        if isinstance(tree, RowLoop):
            yield tree
        tree = tree.child


def defined(name: LoopName, loop: RowLoop, statement: str) -> System:
    """Returns constraints by which `name` is the number of a loop's iteration in a statement, (the loop's value - offset) / step.
    Those that define the quotients in the value are included.
    """
    terms, constant = loop.expressions[statement]
    row = {n: c // loop.step for n, c in terms.items()}
    return System((({**row, name: -1}, (constant - loop.offset) // loop.step),), tuple(quotient_bounds(terms)))
