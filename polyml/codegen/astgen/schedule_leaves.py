"""The statements at the leaves of a schedule tree, with domains and times as linear expressions (rows): what translation validation
compares loops with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.program import Loop
from polyml.codegen.presburger.constraint_rows import row_of_linear
from polyml.codegen.presburger.omega_test import Row
from polyml.polyhedra import Quotient
from polyml.schedule.tree.bands import NODE


class UnknownTree(Exception):
    """Raised for a schedule tree with nodes or values that linear expressions cannot state."""


@dataclass(frozen=True)
class Alternative:
    """A part of the domain at a leaf that is one conjunction, in which every band member is one expression.

    equal: linear expressions of iterators (numbers), quotients and parameters that are 0.
    least: linear expressions that are at least 0.
    times: by member of a band, from outside to inside, its value as a linear expression.
    """

    equal: tuple[Row, ...]
    least: tuple[Row, ...]
    times: tuple[Row, ...]


@dataclass(frozen=True)
class PathStep:
    """A step on the path from the root of a schedule tree to a leaf.

    kind: "member" of a band, child of a "sequence" or child of a "set".
    child: the child's number in its sequence or set; 0 for a member.
    """

    kind: str
    child: int = 0


_MEMBER = PathStep("member")


@dataclass(frozen=True)
class LoopMember:
    """A pair of a loop's variable and the number of the band member, counted from outside to inside, that the loop may stand
    for.
    """

    variable: str
    member: int


@dataclass(frozen=True, eq=False)
class LeafStatement:
    """A statement at a leaf of the schedule tree.

    statement: its name.
    dims: how many iterators it has.
    path: the steps from the root to the leaf.
    alternatives: the conjunctions whose union is its domain at the leaf.
    """

    statement: str
    dims: int
    path: tuple[PathStep, ...]
    alternatives: tuple[Alternative, ...]

    @property
    def depth(self) -> int:
        """The number of band members above the leaf."""
        return self.path.count(_MEMBER)

    def members_of(self, loops: Sequence[Loop]) -> Iterator[tuple[LoopMember, ...]]:
        """Yields up to two guesses of which band member above the leaf each loop makes: for each loop, its variable and the number
        of a member. A guess takes loops to have isl's names, c and a number: one takes the number as the member's position among
        the band members on the path to the leaf, the other as its position among all steps of the path. Nothing is yielded for
        other names.
        """
        names = [loop.var for loop in loops]
        if not all(name[0] == "c" and name[1:].isdecimal() for name in names):
            return
        bands = [at for at, step in enumerate(self.path) if step == _MEMBER]
        numbers = [int(name[1:]) for name in names]
        if numbers != sorted({*numbers}):
            return
        if all(number < len(bands) for number in numbers):
            yield tuple(LoopMember(name, number) for name, number in zip(names, numbers))
        if len(bands) < len(self.path) and all(number in bands for number in numbers):
            yield tuple(LoopMember(name, bands.index(number)) for name, number in zip(names, numbers))


def leaf_statements(schedule: isl.Schedule) -> Iterator[LeafStatement]:
    """Yields the statements at the leaves of a schedule tree. Raises UnknownTree for a tree that linear expressions cannot
    state.
    """
    domains = {piece.get_tuple_name(): piece for piece in polyhedra.pieces(schedule.get_domain())}
    return _below(schedule.get_root().child(0), domains, (), ())


def _below(
    node: isl.ScheduleNode, domains: dict[str, isl.Set], path: tuple[PathStep, ...], members: tuple[isl.UnionPwAff, ...]
) -> Iterator[LeafStatement]:
    """Yields the statements at the leaves below a node. Raises UnknownTree where linear expressions cannot state them.

    domains: by statement, the instances that reach the node.
    path: the steps from the root to the node.
    members: the band members above the node.
    """
    kind = node.get_type()
    if kind == NODE.leaf:
        expressions = [polyhedra.expressions(member) for member in members]
        for name, domain in domains.items():
            if any(name not in each for each in expressions):
                raise UnknownTree
            alternatives = tuple(_alternatives(domain, [each[name] for each in expressions]))
            yield LeafStatement(name, polyhedra.dimensions(domain), path, alternatives)
    elif kind in (NODE.sequence, NODE.set):
        for k in range(node.n_children()):
            step = PathStep("sequence" if kind == NODE.sequence else "set", k)
            yield from _below(node.child(k), domains, (*path, step), members)
    elif kind == NODE.filter:
        chosen = {piece.get_tuple_name(): piece for piece in polyhedra.pieces(node.filter_get_filter())}
        kept = {name: domain.intersect(chosen[name]) for name, domain in domains.items() if name in chosen}
        yield from _below(node.child(0), kept, path, members)
    elif kind == NODE.band:
        partial = node.band_get_partial_schedule()
        more = tuple(partial.get_at(k) for k in range(node.band_n_member()))
        yield from _below(node.child(0), domains, (*path, *[_MEMBER] * len(more)), (*members, *more))
    elif kind == NODE.mark:
        yield from _below(node.child(0), domains, path, members)
    else:
        raise UnknownTree


@dataclass(frozen=True)
class _TimedPart:
    """A part of a domain in which some band members have one expression each.

    times: these members' values as linear expressions.
    whole: linear expressions that are 0 because divisions in the values leave no remainder.
    """

    domain: isl.Set
    times: tuple[Row, ...] = ()
    whole: tuple[Row, ...] = ()


def _alternatives(domain: isl.Set, members: Sequence[isl.PwAff]) -> Iterator[Alternative]:
    """Yields the domain in parts that are conjunctions, in each of which every band member is one expression. Raises UnknownTree
    where constraints are not linear.
    """
    parts = [_TimedPart(domain)]
    for member in members:
        pieces = polyhedra.rows_by_piece(member)
        parts = [
            _with_time(part, where if len(pieces) > 1 else None, row_of_linear(row), divisor)
            for part in parts
            for where, row, divisor in pieces
        ]
    for part in parts:
        rows = polyhedra.integer_rows(part.domain)
        for each in [rows] if rows is not None else map(polyhedra.integer_rows, polyhedra.disjoint(part.domain)):
            if each is None:
                raise UnknownTree
            equal, least = (tuple(map(row_of_linear, side)) for side in each)
            yield Alternative((*equal, *part.whole), least, part.times)


def _with_time(part: _TimedPart, where: isl.Set | None, row: Row, divisor: int) -> _TimedPart:
    """Returns the part of a domain with the value of one more band member, row / divisor. This leaves no remainder: unless the
    divisor is 1, an equation that says so is added to `whole`.

    where: the set to which the part is restricted, None for no restriction.
    """
    domain = part.domain if where is None else part.domain.intersect(where)
    if divisor == 1:
        return _TimedPart(domain, (*part.times, row), part.whole)
    quotient = Quotient(frozenset(row[0].items()), row[1], divisor)
    exact: Row = {**row[0], quotient: -divisor}, row[1]
    return _TimedPart(domain, (*part.times, ({quotient: 1}, 0)), (*part.whole, exact))
