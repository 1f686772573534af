"""Schedule trees of rows: each domain one conjunction, each loop one expression for each statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from polyml import polyhedra
from polyml.codegen.presburger.constraint_rows import Depth, NotSimple, replaced, solved_for
from polyml.codegen.presburger.omega_test import Row, System
from polyml.polyhedra import Quotient
from polyml.schedule.tree.bands import NODE


@dataclass(frozen=True)
class Leaf:
    pass


@dataclass(frozen=True)
class Mark:
    text: str
    child: PlainTree


@dataclass(frozen=True)
class InOrder:
    children: tuple[PlainTree, ...]


@dataclass(frozen=True)
class Filter:
    """more: by statement that is left, what else is said of its instances: one of these."""

    more: dict[str, tuple[System, ...]]
    child: PlainTree


@dataclass(frozen=True)
class Band:
    """One loop. expressions: by statement its value, the offset and a multiple of the step."""

    expressions: dict[str, Row]
    step: int
    offset: int
    kind: isl.ast_loop_type
    child: PlainTree


PlainTree = Leaf | Mark | InOrder | Filter | Band


def read(node: isl.ScheduleNode, names: frozenset[str], same: dict, every: bool) -> PlainTree:
    """The tree below for statements of these names. every: also one with filters that have alternatives. Raises NotSimple."""
    kind = node.get_type()
    if kind == NODE.leaf:
        return Leaf()
    if kind == NODE.mark:
        return Mark(node.mark_get_id().get_name(), read(node.child(0), names, same, every))
    if kind == NODE.sequence:
        return InOrder(tuple(read(node.child(k), names, same, every) for k in range(node.n_children())))
    if kind == NODE.filter:
        pieces = polyhedra.pieces(node.filter_get_filter())
        more = {piece.get_tuple_name(): systems_of(piece, same, every) for piece in pieces}
        kept = names & more.keys()
        return Filter({name: more[name] for name in sorted(kept)}, read(node.child(0), kept, same, every))
    if kind != NODE.band or not node.band_get_ast_isolate_option().is_empty():
        raise NotSimple
    partial = node.band_get_partial_schedule()
    tree = read(node.child(0), names, same, every)
    for k in reversed(range(node.band_n_member())):
        rows = _rows(partial.get_at(k), names)
        tree = Band(rows, *_lattice(rows.values()), node.band_member_get_ast_loop_type(k), tree)
    return tree


def _rows(member: isl.UnionPwAff, names: frozenset[str]) -> dict[str, Row]:
    """The expression of each statement."""
    found = polyhedra.expressions(member)
    rows = {name: polyhedra.linear_row(found[name]) if name in found else None for name in names}
    if None in rows.values():
        raise NotSimple
    return rows


def _lattice(expressions: Iterable[Row]) -> tuple[int, int]:
    """(step, offset): all values of the loop are the offset and multiples of the step; the step is 1 where they are numbers."""
    rows = [*expressions]
    first = rows[0][1] if rows else 0
    step = gcd(*(c for terms, _ in rows for c in terms.values()), *(constant - first for _, constant in rows))
    return (step, first % step) if any(terms for terms, _ in rows) else (1, 0)


def same_parameters(equal: Iterable[Row], order: Sequence[str]) -> dict[str, Row]:
    """By parameter, what it is by the facts, in earlier ones."""
    found: dict[str, Row] = {}
    for row in equal:
        row = replaced(row, found)
        names = [name for name in row[0] if abs(row[0][name]) == 1 and name in order]
        if names:
            name = max(names, key=order.index)
            value = solved_for(row, name)
            found = {n: replaced(v, {name: value}) for n, v in found.items()} | {name: value}
    return found


def systems_of(domain: isl.Set, same: dict[str, Row], every: bool) -> tuple[System, ...]:
    """The rows of a domain, with parameters replaced by those that are the same. every: of each of its parts."""
    whole = polyhedra.integer_rows(domain)
    found = [polyhedra.integer_rows(part) for part in polyhedra.disjoint(domain)] if whole is None and every else [whole]
    if None in found:
        raise NotSimple
    return tuple(_system(*([replaced(row, same) for row in each] for each in rows)) for rows in found)


def _system(equal: list[Row], least: list[Row]) -> System:
    return System(tuple(equal), (*least, *between(name for terms, _ in (*equal, *least) for name in terms)))


def between(names: Iterable) -> list[Row]:
    """What quotients among the names are between, and those in them."""
    found = []
    todo = [name for name in dict.fromkeys(names) if isinstance(name, Quotient)]
    while todo:
        quotient = todo.pop()
        found += around(quotient)
        todo += [name for name, _ in quotient.terms if isinstance(name, Quotient)]
    return found


def around(quotient: Quotient) -> list[Row]:
    """That it is what it is called: 0 <= operand - divisor * quotient < divisor."""
    operand = dict(quotient.terms)
    below = {n: -c for n, c in operand.items()}
    return [
        ({**operand, quotient: -quotient.divisor}, quotient.constant),
        ({**below, quotient: quotient.divisor}, quotient.divisor - 1 - quotient.constant),
    ]


def bands(tree: PlainTree, name: str) -> Iterator[Band]:
    """The loops around the statement below, up to the next filter that says more of it."""
    while not isinstance(tree, Leaf):
        if isinstance(tree, InOrder):
            children = [child for child in tree.children if not isinstance(child, Filter) or name in child.more]
            if len(children) != 1:
                return
            tree = children[0]
            continue
        if isinstance(tree, Filter) and tree.more[name] != (System(),):
            return
        if isinstance(tree, Band):
            yield tree
        tree = tree.child


def defined(loop: Depth, band: Band, statement: str) -> System:
    """The loop's value, less the offset and divided by the step, named."""
    terms, constant = band.expressions[statement]
    row = {n: c // band.step for n, c in terms.items()}
    return System((({**row, loop: -1}, (constant - band.offset) // band.step),), tuple(between(terms)))
