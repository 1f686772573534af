"""Bounds of a loop around several statements, as linear expressions (rows) of parameters and loops that are at least 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import lcm

import islpy as isl

from polyml.codegen.astgen.context import LoopContext
from polyml.codegen.presburger.constraint_rows import LoopName, NotSimple, both, maximum, opposite, row_key, solved_for, without
from polyml.codegen.presburger.omega_test import Row, System, combined, shadow


def common_rows(asked: Sequence[Sequence[Row]]) -> list[Row]:
    """Returns the linear expressions that are in all of the sequences."""
    others = [{row_key(row) for row in rows} for rows in asked[1:]]
    return [row for row in asked[0] if all(row_key(row) in rows for rows in others)] if asked else []


def bounding_rows(name: LoopName, rows: Iterable[Row], here: LoopContext) -> System:
    """Returns those of the constraints `rows` that bound a loop, without those that follow from others and from the loops around
    it. Constraints with many terms are dropped in favour of ones with few; two opposite ones become an equation.

    name: the loop's name in the constraints.
    rows: linear expressions that are at least 0.
    here: the context around the loop.
    """
    least = sorted((row for row in rows if name in row[0]), key=lambda row: len(row[0]))
    keys = {row_key(row) for row in least}
    equal = [row for row in least if row[0][name] > 0 and row_key(opposite(row)) in keys]
    ends = [*equal, *map(opposite, equal)]
    least = [row for row in least if row not in ends]
    for row in reversed(least[:]):
        others = [other for other in least if other is not row]
        if any(_follows(row, other, name, here) for other in (*ends, *others)):
            least = others
    return System(tuple(equal), tuple(least))


def _follows(row: Row, other: Row, name: LoopName, here: LoopContext) -> bool:
    """Returns whether a bound of a loop, the linear expression `row` that is at least 0, follows from the bound `other` on the same
    side in the context around the loop.

    name: the loop's.
    """
    factor, c = row[0][name], other[0][name]
    if (c > 0) != (factor > 0):
        return False
    terms, constant = without(row, abs(c), other, abs(factor))
    return here.proves((terms, constant + abs(c) - 1))  # c times an integer that is more than -1 is at least 1 - c


def same_value(name: LoopName, own: Sequence[System]) -> Row | None:
    """Returns an equation, as a linear expression that is 0, by which a loop has one single value, the same for all statements.
    None if some statement has no such equation, or another value.

    name: the loop's name in the constraints.
    own: by statement, the constraints that bound the loop.
    """
    found: list[Row] = []
    for rows in own:
        equation = next((row for row in rows.equal if row[0][name] in (1, -1)), None)
        if equation is None:
            return None
        found.append(equation)
    values = [solved_for(row, name) for row in found]
    return found[0] if all(v == values[0] for v in values) else None


def hull(name: LoopName, own: Sequence[System], here: LoopContext, systems: Sequence[System], kind: isl.ast_loop_type) -> list[Row]:
    """Returns bounds, as linear expressions that are at least 0, of a loop that runs the iterations of all of its statements.
    Raises NotSimple where isl is to cut the loop into several instead.

    name: the loop's name in linear expressions.
    own: by statement, the constraints that bound the loop.
    here: the context around the loop.
    systems: by statement, all that is known of its instances.
    kind: isl's option for the loop's code. NotSimple is raised for `unroll`, and for any option but `atomic` (one loop) if the
        statements have different bounds and `here.every` is not set.
    """
    if kind == isl.ast_loop_type.unroll:
        raise NotSimple
    found = [{row_key(row): row for row in both(rows)} for rows in own]
    if all(rows.keys() == found[0].keys() for rows in found):
        return [*found[0].values()]
    if kind != isl.ast_loop_type.atomic and not here.every:
        raise NotSimple
    weakest: dict[frozenset, Row] = {}
    for rows in found:
        for (key, constant), row in rows.items():
            if key not in weakest or weakest[key][1] < constant:
                weakest[key] = row
    kept: list[Row] = []
    for row in weakest.values():
        constants = [_constant(row, name, rows, system, here) for rows, system in zip(own, systems)]
        known = [constant for constant in constants if constant is not None]
        if len(known) == len(constants):
            kept.append((row[0], max(known)))
    for side in (1, -1):
        if not any(row[0][name] * side > 0 for row in kept) and sum(not rows.equal for rows in own) == 1:
            kept += _weakest_of_parameters(name, [[row for row in both(rows) if row[0][name] * side > 0] for rows in own])
    return [*both(bounding_rows(name, kept, here))]


def _weakest_of_parameters(name: LoopName, own: Sequence[Sequence[Row]]) -> list[Row]:
    """Returns the bound of a loop that each of its statements implies where none of their own bounds is implied by all: the
    greatest of them, in a list. The list is empty where a statement does not have one single bound, or has one that depends on a
    loop around: such loops might have many iterations more than they need. It is asked for where all statements but one run in one
    iteration each; nests of several ranges would be tested in every iteration, and could not be divided evenly among threads.

    -n >= 0 of one statement, N - 1 - 8n >= 0 of another          max(0, N - 1) - 8n >= 0

    name: the loop's name in the bounds.
    own: by statement, its bounds on one side of the loop, as linear expressions that are at least 0.
    """
    rows = [row for its in own for row in its]
    if any(len(its) != 1 for its in own) or not all(n == name or type(n) is str for terms, _ in rows for n in terms):
        return []
    factor = lcm(*(row[0][name] for row in rows))
    scaled = [combined(row, factor // abs(row[0][name]), ({}, 0), 0) for row in rows]
    greatest = maximum(({n: c for n, c in terms.items() if n != name}, constant) for terms, constant in scaled)
    return [({greatest: 1, name: scaled[0][0][name]}, 0)]


def _constant(row: Row, name: LoopName, rows: System, system: System, here: LoopContext) -> int | None:
    """Returns the least number which, in place of the bound's constant, makes the bound hold in all of a statement's iterations;
    None if none is found. If the bound follows from one of the statement's own bounds, its constant is returned as it is.

    row: the bound, a linear expression that is at least 0.
    name: the loop's name in linear expressions.
    rows: the statement's bounds of the loop.
    system: all that is known of the statement's instances.
    """
    if any(_follows(row, other, name, here) for other in both(rows)):
        return row[1]
    total = ("sum", 0)
    found = shadow(system & System(equal=(({**row[0], total: -1}, 0),)), frozenset([total]))
    if found is None or found.system is None:
        return None
    least = [-(constant // terms[total]) for terms, constant in found.system.least if terms[total] > 0]
    return -max(least) if least else None
