"""Proof that loops run a schedule: translation validation of what isl's AST generator made.

    for c0: for c1: if g: S(p(c0, c1))       against       { S[i] : domain } and its times [t0(i), t1(i)]

For all parameters in the context it is proved that
1. an iteration of the loops around an instance runs a point of the statement's domain, and each loop's variable says what one
   of the point's times is: it is that time, or it is once multiplied by one number and added to another one, the same for all
   iterations; times that have no loop are what the loops further out say;
2. every point of the domain is run, in the iteration that its times name;
3. what is run in one iteration of a loop, or in one node, has lexicographically lesser times than what is run in the next one,
   positions in sequences included.
By 1 and 3 instances run in the schedule's order; by 1 no instance runs twice in one node, by 3 none runs in two. Each is that
conjunctions of linear constraints with quotients hold no integers (`cases`). What is not decided is not proved, so that right
loops may be refused, and wrong ones are not taken. isl is asked for what the tree says and, where elimination does not decide,
whether a conjunction is empty: what proofs of schedules rest on as well.

Necula: "Translation validation for an optimizing compiler", PLDI 2000.
Pnueli, Siegel, Singerman: "Translation validation", TACAS 1998.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count, product

import islpy as isl

from polyml import polyhedra
from polyml.codegen.astgen.row_tree import same_parameters
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.codegen.presburger.case_split import Cases, TooMany, plus
from polyml.codegen.presburger.constraint_rows import opposite, without
from polyml.codegen.presburger.omega_test import Name, Row, System
from polyml.polyhedra import Quotient
from polyml.quasi_affine.affine import Affine, floor_div, linear, variable
from polyml.schedule.tree.bands import NODE

MOST_GUESSES = 8  # of what a loop that is left out has as its value


class _Unproved(Exception):
    """The loops may be wrong."""


def is_proved(schedule: isl.Schedule, context: isl.Set, nodes: Sequence[Node]) -> bool:
    """Whether the loops are proved to run the schedule's instances, each once, in its order. context: facts about parameters."""
    try:
        _prove(schedule, context, nodes)
    except (_Unproved, TooMany):
        return False
    return True


@dataclass(frozen=True)
class _Alternative:
    """equal, least: rows of a part of a domain, of iterators (numbers), quotients and parameters. times: its bands' values."""

    equal: tuple[Row, ...]
    least: tuple[Row, ...]
    times: tuple[Row, ...]


@dataclass(frozen=True, eq=False)
class _Piece:
    """A statement at a leaf of the schedule tree. way: down to there, a sequence's child as its number, a set's as its text, a
    band's member as None. alternatives: the parts of its domain.
    """

    statement: str
    dims: int
    way: tuple[int | str | None, ...]
    alternatives: tuple[_Alternative, ...]

    @property
    def depth(self) -> int:
        return self.way.count(None)

    def depths_of(self, loops: Sequence[Loop]) -> Iterator[tuple[tuple[str, int], ...]]:
        """By loop's variable, which member of a band it may be, by the number in its name, which may count sequences as well."""
        names = [loop.var for loop in loops]
        if not all(name[0] == "c" and name[1:].isdecimal() for name in names):
            return
        bands = [at for at, child in enumerate(self.way) if child is None]
        numbers = [int(name[1:]) for name in names]
        if numbers != sorted({*numbers}):
            return
        if all(number < len(bands) for number in numbers):
            yield tuple(zip(names, numbers))
        if len(bands) < len(self.way) and all(number in bands for number in numbers):
            yield tuple((name, bands.index(number)) for name, number in zip(names, numbers))


@dataclass(frozen=True)
class _Run:
    """A piece in some loops. lines: of loops whose variable is not the member of the band itself, which member it is, and by
    what to multiply the variable and what to add to have its value: isl counts in steps, and shifts statements whose strides
    begin at different numbers on to each other.
    """

    piece: _Piece
    lines: tuple[tuple[int, tuple[int, int]], ...] = ()

    def line(self, depth: int) -> tuple[int, int]:
        return next((line for at, line in self.lines if at == depth), _SAME)

    def parting(self, other: _Run) -> tuple[int, bool]:
        """(how many loops both share, whether this one may then go first)"""
        depth = 0
        for own, its in zip(self.piece.way, other.piece.way):
            if own != its:
                return depth, isinstance(own, str) or own < its
            if own is None:
                (scale, shift), (by, number) = self.line(depth), other.line(depth)
                depth += 1
                if (scale, shift) != (by, number):
                    return depth, scale == by and shift < number
        return depth, self.piece is not other.piece


_SAME = (1, 0)


@dataclass(frozen=True)
class _Place:
    """Inside loops. case: what holds there; values: what the loops' variables are."""

    case: System
    values: Mapping[Name, Row]


@dataclass(frozen=True)
class _Spot:
    """A node, what is run in it, and what holds inside it, case by case. depths: of the loops around, and of
    the node if it is one, the variable and which member of a band it is. points: of an instance, what it is in each case.
    """

    node: Node
    runs: tuple[_Run, ...]
    inside: tuple[_Place, ...]
    depths: tuple[tuple[str, int], ...]
    body: tuple[_Spot, ...] = ()
    points: tuple[tuple[Row, ...], ...] = ()


def _prove(schedule: isl.Schedule, context: isl.Set, nodes: Sequence[Node]) -> None:
    equal, least = polyhedra.integer_rows(context) or ([], [])
    cases = Cases()
    same = same_parameters(equal, polyhedra.parameter_names(context))
    facts = System(tuple(cases.row(row, same) for row in equal), tuple(cases.row(row, same) for row in least))
    start = _Place(System(tuple(row for row in facts.equal if row[0]), tuple(row for row in facts.least if row[0])), same)
    pieces = tuple(_pieces(schedule))
    parameters = {*polyhedra.parameter_names(context), *polyhedra.parameter_names(schedule.get_domain())}
    if not parameters.isdisjoint(_variables(nodes)):
        raise _Unproved
    proof = _Proof(cases)
    matched = (proof.matched(node, (start,), (), pieces) for node in nodes)
    spots = tuple(proof.complete(spot, 0) for spot in matched if spot is not None)
    proof.ordered(spots, (start,), 0)
    for piece in pieces:
        runs = [run for run in dict.fromkeys(run for spot in spots for run in spot.runs) if run.piece is piece]
        for alternative in piece.alternatives:
            proof.covered(spots, start, runs, alternative)


class _Proof:
    def __init__(self, cases: Cases):
        self._cases = cases
        self._numbers = count()

    def matched(self, node: Node, places: Sequence[_Place], loops: tuple[Loop, ...], pieces: Sequence[_Piece]) -> _Spot | None:
        """The node with the pieces of which its instances are; None: nothing is run in it. loops: those around."""
        if isinstance(node, Instance):
            return self._matched_instance(node, places, loops, pieces)
        inside = tuple(each for place in places for each in self._inside(node, place))
        if isinstance(node, Loop):
            loops = (*loops, node)
        found = (self.matched(child, inside, loops, pieces) for child in node.body)
        body = tuple(spot for spot in found if spot is not None)
        if not body:
            return None
        depths = body[0].depths[: len(loops)]
        if any(spot.depths[: len(loops)] != depths for spot in body):
            raise _Unproved
        return _Spot(node, tuple(dict.fromkeys(run for spot in body for run in spot.runs)), inside, depths, body)

    def _matched_instance(
        self, node: Instance, places: Sequence[_Place], loops: tuple[Loop, ...], pieces: Sequence[_Piece]
    ) -> _Spot | None:
        inside: list[tuple[_Place, tuple[Row, ...]]] = []
        for at in places:
            inside += [(_Place(case, at.values), tuple(point)) for case, point in self._cases.all(node.point, at.case, at.values)]
        if not inside:
            return None
        for run, depths in self._candidates(node, inside[0][0].values, loops, pieces):
            if all(self._is_of(point, at, depths, run) for at, point in inside):
                return _Spot(node, (run,), tuple(at for at, _ in inside), depths, points=tuple(point for _, point in inside))
        raise _Unproved

    def _candidates(
        self, node: Instance, values: Mapping[Name, Row], loops: tuple[Loop, ...], pieces: Sequence[_Piece]
    ) -> Iterator[tuple[_Run, tuple[tuple[str, int], ...]]]:
        """What the instance may be of, and which members of bands the loops may be. isl counts one more where it shifted."""
        own = [(piece, depths) for piece in pieces if piece.statement == node.statement for depths in piece.depths_of(loops)]
        yield from ((_Run(piece), depths) for piece, depths in own)
        for piece, depths in reversed(own):
            lines = self._lines(node, piece, depths, loops, values)
            if lines:
                yield _Run(piece, lines), depths

    def _lines(
        self, node: Instance, piece: _Piece, depths: Sequence[tuple[str, int]], loops: Sequence[Loop], values: Mapping[Name, Row]
    ) -> tuple[tuple[int, tuple[int, int]], ...]:
        """What loops' variables are multiplied by, and what is added, to have the values of bands' members where loops begin."""
        found = []
        for k, (name, depth) in enumerate(depths):
            times = _first_times(loops[k + 1 :], node, piece, depth)
            rows = (self._cases.value(time, System(), values)[0][1] for time in times)
            line = next((line for row in rows if (line := _line(row, values[name])) is not None), _SAME)
            if line != _SAME:
                found.append((depth, line))
        return tuple(found)

    def _is_of(self, point: tuple[Row, ...], place: _Place, depths: Sequence[tuple[str, int]], run: _Run) -> bool:
        """Whether each iteration's instance is of the piece, and its times are what the loops' variables say."""
        left = [place.case]
        values = {**place.values, **dict(enumerate(point))}
        for alternative in run.piece.alternatives:
            equal, least = self._rows(alternative, values)
            for name, depth in depths:
                scale, shift = run.line(depth)
                time = self._cases.row(alternative.times[depth], values)
                equal.append(plus((time[0], time[1] - shift), place.values[name], -scale))
            left = [each for case in left for each in self._cases.both(case, equal, least)[1]]
        return not left

    def complete(self, spot: _Spot, depth: int) -> _Spot:
        """With a loop of one iteration for each member of a band that has none. depth: of loops around."""
        node = spot.node
        if isinstance(node, Guard):
            return replace(spot, body=tuple(self.complete(child, depth) for child in spot.body))
        own = spot.depths[-1][1] if isinstance(node, Loop) else spot.runs[0].piece.depth
        below = own + isinstance(node, Loop)
        found = replace(spot, body=tuple(self.complete(child, below) for child in spot.body))
        for missing in reversed(range(depth, own)):
            value = self._time(spot, missing)
            loop = Loop(f"time {missing}", (value,), (value,), 1, (found.node,))
            found = _Spot(loop, spot.runs, (), ((loop.var, missing),), (found,))
        return found

    def _time(self, spot: _Spot, depth: int) -> Affine:
        """The value of a band's member, the same for all instances in the node, of the loops around alone."""
        leaves = [*_leaves(spot, ())]
        guesses: dict[Affine, None] = {}
        for loops, leaf in leaves:
            around = [(name, at) for name, at in leaf.depths if at < depth]
            guesses |= dict.fromkeys(self._combinations(leaf.runs[0], around, depth))
            guesses |= dict.fromkeys(_first_times(loops, leaf.node, leaf.runs[0].piece, depth))
        for value in sorted(guesses, key=lambda value: len(str(value)))[:MOST_GUESSES]:
            if all(self._has_time(leaf, depth, value) for _, leaf in leaves):
                return value
        raise _Unproved

    def _combinations(self, run: _Run, around: Sequence[tuple[str, int]], depth: int) -> Iterator[Affine]:
        """The value of a band's member as a sum of multiples of the loops around, where it is one for all points."""
        for alternative in run.piece.alternatives:
            times = [self._cases.row(time, {}) for time in alternative.times]
            left = plus(times[depth], ({_VALUE: -1}, 0), 1)
            lines = ((name, at, *run.line(at)) for name, at in around)
            known = [plus(times[at], ({(_VALUE, name): -scale}, -shift), 1) for name, at, scale, shift in lines]
            while known:
                row, *known = known
                pivot = next((name for name in row[0] if _is_unknown(name)), None)
                if pivot is not None:
                    left, *known = (without(other, row[0][pivot], row, other[0].get(pivot, 0)) for other in (left, *known))
            scale = -left[0].pop(_VALUE, 0)
            if scale and not any(map(_is_unknown, left[0])) and not any(c % scale for c in (*left[0].values(), left[1])):
                terms = [(name if isinstance(name, str) else name[1], c // scale) for name, c in left[0].items()]
                yield linear(terms, left[1] // scale)

    def _has_time(self, leaf: _Spot, depth: int, value: Affine) -> bool:
        """Whether a band's member has the value in all iterations."""
        for place, point in zip(leaf.inside, leaf.points):
            values = {**place.values, **dict(enumerate(point))}
            for alternative in leaf.runs[0].piece.alternatives:
                case = place.case
                if len(leaf.runs[0].piece.alternatives) > 1:
                    equal, least = self._rows(alternative, values)
                    case = System((*case.equal, *equal), (*case.least, *least))
                time = self._cases.row(alternative.times[depth], values)
                for each, row in self._cases.value(value, case, values):
                    if self._cases.zero(each, plus(time, row, -1))[1]:
                        return False
        return True

    def _rows(self, alternative: _Alternative, values: Mapping[Name, Row]) -> tuple[list[Row], list[Row]]:
        cases = self._cases
        return [cases.row(row, values) for row in alternative.equal], [cases.row(row, values) for row in alternative.least]

    def _inside(self, node: Loop | Guard, place: _Place) -> Iterator[_Place]:
        """What holds in the node's body."""
        cases = self._cases
        if isinstance(node, Guard):
            for case in cases.split(place.case, node.condition, place.values)[0]:
                yield _Place(case, place.values)
            return
        for case, rows in cases.all((*node.lower, *node.upper), place.case, place.values):
            lower, upper = rows[: len(node.lower)], rows[len(node.lower) :]
            name = ("loop", next(self._numbers))
            for each, first in self._starts(node, case, lower, place.values):
                if len(lower) == len(upper) == 1 and lower == upper:
                    value, ends = first, []
                else:
                    value = plus(({name: 1}, 0) if node.step == 1 else first, ({name: node.step}, 0), node.step != 1)
                    ends = [*(plus(value, row, -1) for row in lower), *(plus(row, value, -1) for row in upper)]
                inside = System(each.equal, (*each.least, *ends))
                yield _Place(inside, {**place.values, node.var: value})

    def _starts(self, node: Loop, case: System, lower: list[Row], values: Mapping[Name, Row]) -> list[tuple[System, Row]]:
        """Where the steps of the loop count from, case by case: one of its lower bounds."""
        gaps = (plus(row, lower[0], -1) for row in lower[1:])
        if all(c % node.step == 0 for terms, constant in gaps for c in (*terms.values(), constant)):
            return [(case, lower[0])]
        return self._cases.extreme("max", node.lower, case, values)

    def ordered(self, spots: Sequence[_Spot], places: Sequence[_Place], depth: int) -> None:
        """That what is run in one node precedes what is run in the next ones, and that instances in a loop share its band."""
        for k, spot in enumerate(spots):
            for other in spots[k + 1 :]:
                for place in places:
                    self._precedes(spot, other, place, depth)
        for spot in spots:
            if isinstance(spot.node, Guard):
                self.ordered(spot.body, spot.inside, depth)
            elif isinstance(spot.node, Loop):
                for a, b in combinations(spot.runs, 2):
                    (scale, shift), (by, number) = a.line(depth), b.line(depth)
                    if a.parting(b)[0] <= depth or scale != by or abs(shift - number) >= scale * spot.node.step:
                        raise _Unproved
                self.ordered(spot.body, spot.inside or places, depth + 1)

    def _precedes(self, spot: _Spot, other: _Spot, place: _Place, depth: int) -> None:
        """The same for two nodes in the same iteration of so many loops."""
        partings = {a.parting(b) for a in spot.runs for b in other.runs}
        if all(shared <= depth and is_first for shared, is_first in partings):
            return
        if isinstance(spot.node, Guard):
            for inside in self._inside(spot.node, place):
                for child in spot.body:
                    self._precedes(child, other, inside, depth)
        elif isinstance(other.node, Guard):
            for inside in self._inside(other.node, place):
                for child in other.body:
                    self._precedes(spot, child, inside, depth)
        elif isinstance(spot.node, Loop) and isinstance(other.node, Loop) and all(shared > depth for shared, _ in partings):
            self._loop_precedes(spot, other, place, depth)
        elif not self._cases.is_empty(place.case):
            raise _Unproved

    def _loop_precedes(self, spot: _Spot, other: _Spot, place: _Place, depth: int) -> None:
        var, its = spot.node.var, other.node.var
        lines = {run.line(depth) for run in spot.runs}, {run.line(depth) for run in other.runs}
        for first in self._inside(spot.node, place):
            for both in self._inside(other.node, _Place(first.case, place.values)):
                for (scale, shift), (by, number) in product(*lines):
                    ahead = plus(plus(({}, shift - number), first.values[var], scale), both.values[its], -by)
                    for case in self._cases.at_least(both.case, ahead)[0]:  # the first loop's iteration is no lesser
                        later = System(case.equal, (*case.least, (ahead[0], ahead[1] - 1)))
                        self._never(spot.body, other.body, later, first.values, both.values)
                        same = System((*case.equal, ahead), case.least)
                        if len({*lines[0], *lines[1]}) > 1:
                            self._never(spot.body, other.body, same, first.values, both.values)
                            continue
                        inside = _Place(same, {**first.values, **both.values})
                        for child, each in product(spot.body, other.body):
                            self._precedes(child, each, inside, depth + 1)

    def _never(
        self, spots: Sequence[_Spot], others: Sequence[_Spot], case: System, values: Mapping[Name, Row], its: Mapping[Name, Row]
    ) -> None:
        """That these and the others do not both run something. values, its: of variables of loops around these, and the others."""
        if self._cases.is_empty(case):
            return
        for spot, other in product(spots, others):
            if not isinstance(spot.node, Instance):
                for inside in self._inside(spot.node, _Place(case, values)):
                    self._never(spot.body, [other], inside.case, inside.values, its)
            elif not isinstance(other.node, Instance):
                for inside in self._inside(other.node, _Place(case, its)):
                    self._never([spot], other.body, inside.case, values, inside.values)
            else:
                raise _Unproved

    def covered(self, spots: Sequence[_Spot], start: _Place, runs: Sequence[_Run], alternative: _Alternative) -> None:
        """That each point is run."""
        times = [self._cases.row(row, start.values) for row in alternative.times]
        equal, least = self._rows(alternative, start.values)
        left = [System((*start.case.equal, *equal), (*start.case.least, *least))]
        for run in runs:
            left = self._left(spots, left, start.values, times, run)
        if not all(map(self._cases.is_empty, left)):
            raise _Unproved

    def _left(
        self, spots: Sequence[_Spot], left: list[System], values: Mapping[Name, Row], times: Sequence[Row], run: _Run
    ) -> list[System]:
        """Which points the nodes do not run. values: of loops' variables. times: of bands' members."""
        for spot in spots:
            if left and run in spot.runs:
                left = [each for case in left for each in self._not_run(spot, case, values, times, run)]
        return left

    def _not_run(self, spot: _Spot, case: System, values: Mapping[Name, Row], times: Sequence[Row], run: _Run) -> list[System]:
        node, cases = spot.node, self._cases
        if isinstance(node, Instance):
            outside = []
            for each, point in cases.all(node.point, case, values):
                outside += cases.both(each, [plus(row, ({k: 1}, 0), -1) for k, row in enumerate(point)], ())[1]
            return outside
        if isinstance(node, Guard):
            inside, outside = cases.split(case, node.condition, values)
            return outside + self._left(spot.body, inside, values, times, run)
        depth = spot.depths[-1][1]
        scale, shift = run.line(depth)
        above = times[depth][0], times[depth][1] - shift
        time = cases.quotient(above, scale)
        starts, outside = cases.at_least(case, opposite(plus(above, time, -scale)))
        inside = []
        for each, rows in (pair for start in starts for pair in cases.all((*node.lower, *node.upper), start, values)):
            lower, upper = rows[: len(node.lower)], rows[len(node.lower) :]
            ends = [*(plus(time, row, -1) for row in lower), *(plus(row, time, -1) for row in upper)]
            within, others = cases.both(each, (), ends)
            outside += others
            for part in within:
                for whole, first in self._starts(node, part, lower, values):
                    gap = plus(time, first, -1)
                    rest = plus(gap, cases.quotient(gap, node.step), -node.step)  # from 0 to the step
                    on, off = cases.at_least(whole, opposite(rest))
                    inside += on
                    outside += off
        return outside + self._left(spot.body, inside, {**values, node.var: time}, times, run)


def _line(row: Row, variable: Row) -> tuple[int, int] | None:
    """By what to multiply the variable and what to add to have the row."""
    name = next(iter(variable[0]), None)
    scale = 1 if name is None else row[0].get(name, 0) // variable[0][name]
    terms, shift = plus(row, variable, -scale)
    return (scale, shift) if scale > 0 and not terms else None


_VALUE = "value"  # names in rows, alone and with a loop's variable


def _is_unknown(name: Name) -> bool:
    """Whether a name in rows is no parameter and no loop's variable."""
    return not isinstance(name, str) and not (isinstance(name, tuple) and name[0] == _VALUE)


def _variables(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Loop):
            yield node.var
        if not isinstance(node, Instance):
            yield from _variables(node.body)


def _leaves(spot: _Spot, loops: tuple[Loop, ...]) -> Iterator[tuple[tuple[Loop, ...], _Spot]]:
    """The instances in a node, each with the loops around it in there."""
    if isinstance(spot.node, Instance):
        yield loops, spot
    inner = (*loops, spot.node) if isinstance(spot.node, Loop) else loops
    for child in spot.body:
        yield from _leaves(child, inner)


def _first_times(loops: Sequence[Loop], instance: Instance, piece: _Piece, depth: int) -> Iterator[Affine]:
    """The value of a band's member where these loops begin or end, by each of their bounds."""
    points = dict(enumerate(instance.point))
    for alternative in piece.alternatives:
        time = _expression(alternative.times[depth], points)
        for bounds_of in (lambda loop: loop.lower, lambda loop: loop.upper):
            values = [time]
            for loop in reversed(loops):
                values = [each for value in values for each in _at(value, loop.var, bounds_of(loop))][:MOST_GUESSES]
            yield from values


def _at(value: Affine, name: str, bounds: Sequence[Affine]) -> list[Affine]:
    return [value.substitute({name: bound}) for bound in bounds] if name in value.names else [value]


def _expression(row: Row, points: Mapping[int, Affine]) -> Affine:
    total = Affine(row[1])
    for name, c in row[0].items():
        if isinstance(name, Quotient):
            value = floor_div(_expression((dict(name.terms), name.constant), points), name.divisor)
        else:
            value = points[name] if isinstance(name, int) else variable(name)
        total = total + value * c
    return total


def _pieces(schedule: isl.Schedule) -> Iterator[_Piece]:
    domains = {piece.get_tuple_name(): piece for piece in polyhedra.pieces(schedule.get_domain())}
    return _below(schedule.get_root().child(0), domains, (), ())


def _below(
    node: isl.ScheduleNode, domains: dict[str, isl.Set], way: tuple[int | str | None, ...], members: tuple[isl.UnionPwAff, ...]
) -> Iterator[_Piece]:
    """The statements of these domains at the leaves below."""
    kind = node.get_type()
    if kind == NODE.leaf:
        expressions = [polyhedra.expressions(member) for member in members]
        for name, domain in domains.items():
            if any(name not in each for each in expressions):
                raise _Unproved
            alternatives = tuple(_alternatives(domain, [each[name] for each in expressions]))
            yield _Piece(name, polyhedra.dimensions(domain), way, alternatives)
    elif kind in (NODE.sequence, NODE.set):
        for k in range(node.n_children()):
            yield from _below(node.child(k), domains, (*way, k if kind == NODE.sequence else str(k)), members)
    elif kind == NODE.filter:
        chosen = {piece.get_tuple_name(): piece for piece in polyhedra.pieces(node.filter_get_filter())}
        kept = {name: domain.intersect(chosen[name]) for name, domain in domains.items() if name in chosen}
        yield from _below(node.child(0), kept, way, members)
    elif kind == NODE.band:
        partial = node.band_get_partial_schedule()
        more = tuple(partial.get_at(k) for k in range(node.band_n_member()))
        yield from _below(node.child(0), domains, (*way, *(None for _ in more)), (*members, *more))
    elif kind == NODE.mark:
        yield from _below(node.child(0), domains, way, members)
    else:
        raise _Unproved


def _alternatives(domain: isl.Set, members: Sequence[isl.PwAff]) -> Iterator[_Alternative]:
    """The domain in parts that are conjunctions, in each of which every member is one expression."""
    parts: list[tuple[isl.Set, tuple[Row, ...], tuple[Row, ...]]] = [(domain, (), ())]
    for member in members:
        pieces = polyhedra.rows_by_piece(member)
        parts = [
            (part if len(pieces) == 1 else part.intersect(where), (*times, time), (*whole, *exact))
            for part, times, whole in parts
            for where, row, divisor in pieces
            for time, exact in [_divided(row, divisor)]
        ]
    for part, times, whole in parts:
        rows = polyhedra.integer_rows(part)
        found = [rows] if rows is not None else [polyhedra.integer_rows(each) for each in polyhedra.disjoint(part)]
        for each in found:
            if each is None:
                raise _Unproved
            yield _Alternative((*each[0], *whole), tuple(each[1]), times)


def _divided(row: Row, divisor: int) -> tuple[Row, tuple[Row, ...]]:
    """(a quotient as a row, what is 0 where it is a whole number, which times are)"""
    if divisor == 1:
        return row, ()
    quotient = Quotient(frozenset(row[0].items()), row[1], divisor)
    return ({quotient: 1}, 0), (({**row[0], quotient: -divisor}, row[1]),)
