"""Finds the statements of a schedule tree that the loops of a program run: each iteration is proved to run a point of a domain, at
the time its variables say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from polyml.codegen.astgen.matched_loops import (
    LoopCase,
    LoopCases,
    MatchedBlock,
    MatchedInstance,
    MatchedNode,
    Occurrence,
    Progression,
    Unproved,
    leaves,
    occurrences_in,
)
from polyml.codegen.astgen.schedule_leaves import LeafStatement, LoopMember
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.codegen.presburger.case_split import Values, plus
from polyml.codegen.presburger.constraint_rows import without
from polyml.codegen.presburger.omega_test import Name, Row, System
from polyml.polyhedra import Quotient
from polyml.quasi_affine.affine import Affine, Atom, floor_div, linear, variable

MOST_GUESSES = 8  # of what a loop that is left out has as its value
_VALUE = "value"  # names in rows, alone and with a loop's variable


class LoopMatcher:
    """A matcher, which finds for each instance in a program's loops the statement at a leaf of the schedule tree that it runs."""

    def __init__(self, loop_cases: LoopCases, leaf_statements: Sequence[LeafStatement]):
        self._loop_cases, self._cases = loop_cases, loop_cases.cases
        self._leaf_statements = leaf_statements

    def matched(self, node: Node, around: Sequence[LoopCase], loops: tuple[Loop, ...] = ()) -> MatchedNode | None:
        """Returns a node with the schedule tree's statement that each instance in it runs, or None where the node runs nothing.
        Raises Unproved if a statement is not found.

        around: the cases (alternative sets of constraints) of which one holds wherever the node runs.
        loops: the loops around it.
        """
        if isinstance(node, Instance):
            return self._matched_instance(node, around, loops)
        if not isinstance(node, (Loop, Guard)):
            raise Unproved
        inside = tuple(each for case in around for each in self._loop_cases.inside(node, case))
        if isinstance(node, Loop):
            loops = (*loops, node)
        found = (self.matched(child, inside, loops) for child in node.body)
        body = tuple(child for child in found if child is not None)
        if not body:
            return None
        members = body[0].members[: len(loops)]
        if any(child.members[: len(loops)] != members for child in body):
            raise Unproved
        return MatchedBlock(node, occurrences_in(body), inside, members, body)

    def _matched_instance(self, node: Instance, around: Sequence[LoopCase], loops: tuple[Loop, ...]) -> MatchedInstance | None:
        """Returns an instance with the schedule tree's statement that it is proved to run, or None where it never runs. Raises
        Unproved if no statement is found.

        around: the cases (alternative sets of constraints) of which one holds wherever the instance runs.
        loops: the loops around it.
        """
        inside: list[tuple[LoopCase, tuple[Row, ...]]] = []
        for at in around:
            inside += [(LoopCase(case, at.values), tuple(point)) for case, point in self._cases.all(node.point, at.case, at.values)]
        if not inside:
            return None
        for occurrence, members in self._candidates(node, inside[0][0].values, loops):
            if all(self._is_of(point, at, members, occurrence) for at, point in inside):
                cases, points = tuple(at for at, _ in inside), tuple(point for _, point in inside)
                return MatchedInstance(node, occurrence, cases, members, points)
        raise Unproved

    def _candidates(
        self, node: Instance, values: Values, loops: tuple[Loop, ...]
    ) -> Iterator[tuple[Occurrence, tuple[LoopMember, ...]]]:
        """Yields the statements of the schedule tree's leaves that an instance may run, each with a guess of which band member each
        loop around the instance stands for. Guesses by which a loop's variable has to be scaled or shifted to give the member's
        value (see `Progression`) come last.

        values: by name of a loop's variable, its value where the instance stands.
        loops: the loops around it.
        """
        own = [
            (leaf, members)
            for leaf in self._leaf_statements
            if leaf.statement == node.statement
            for members in leaf.members_of(loops)
        ]
        yield from ((Occurrence(leaf), members) for leaf, members in own)
        for leaf, members in reversed(own):
            progressions = self._progressions(node, leaf, members, loops, values)
            if progressions:
                yield Occurrence(leaf, progressions), members

    def _progressions(
        self, node: Instance, leaf: LeafStatement, members: Sequence[LoopMember], loops: Sequence[Loop], values: Values
    ) -> tuple[tuple[int, Progression], ...]:
        """Returns guesses of how loops count the values of their band members (member = scale * variable + shift), as pairs of a
        member's number and a progression. Loops whose variable is the member itself have none. A guess comes from the member's
        values in the first and last iterations of the loops further inside.

        members: for each loop, the band member that it is taken for.
        values: by name of a loop's variable, its value where the instance stands.
        """
        found = []
        for k, each in enumerate(members):
            times = _first_times(loops[k + 1 :], node, leaf, each.member)
            rows = (self._cases.value(time, System(), values)[0][1] for time in times)
            said = (_progression(row, values[each.variable]) for row in rows)
            progression = next((one for one in said if one is not None), Progression())
            if progression != Progression():
                found.append((each.member, progression))
        return tuple(found)

    def _is_of(self, point: tuple[Row, ...], at: LoopCase, members: Sequence[LoopMember], occurrence: Occurrence) -> bool:
        """Returns whether a point is proved to be an instance of a statement of the schedule tree: wherever the case holds, it is
        in the statement's domain, and each band member has the value there that its loop's variable stands for.

        point: the values of the statement's iterators.
        at: the case, with the values of the loops' variables.
        members: the variables of the loops around, each with the number of the band member that it stands for.
        occurrence: the statement at its leaf of the tree.
        """
        left = [at.case]
        values = _with_iterators(at.values, point)
        for alternative in occurrence.leaf.alternatives:
            equal, least = self._loop_cases.rows(alternative, values)
            for each in members:
                progression = occurrence.progression(each.member)
                terms, constant = self._cases.row(alternative.times[each.member], values)
                equal.append(plus((terms, constant - progression.shift), at.values[each.variable], -progression.scale))
            left = [rest for case in left for rest in self._cases.both(case, equal, least)[1]]
        return not left

    def complete(self, node: MatchedNode, depth: int = 0) -> MatchedNode:
        """Returns a node with a loop of one iteration added for each band member that has no loop. Raises Unproved where the value
        of such a member is not found.

        depth: how many loops are around the node.
        """
        if isinstance(node, MatchedBlock) and isinstance(node.node, Guard):
            return replace(node, body=tuple(self.complete(child, depth) for child in node.body))
        found = node
        own = node.occurrences[0].leaf.depth
        if isinstance(node, MatchedBlock):
            own = node.members[-1].member
            found = replace(node, body=tuple(self.complete(child, own + 1) for child in node.body))
        for missing in reversed(range(depth, own)):
            value = self._time(node, missing)
            loop = Loop(f"time {missing}", (value,), (value,), 1, (found.node,))
            found = MatchedBlock(loop, node.occurrences, (), (LoopMember(loop.var, missing),), (found,))
        return found

    def _time(self, node: MatchedNode, member: int) -> Affine:
        """Returns the value of a band member that has no loop, as an expression of the variables of other loops that is right for
        all instances in the node. Raises Unproved where none is found.

        member: the number of the member.
        """
        inside = [*leaves(node)]
        guesses: dict[Affine, None] = {}
        for loops, instance in inside:
            around = [each for each in instance.members if each.member < member]
            guesses |= dict.fromkeys(self._combinations(instance.occurrence, around, member))
            guesses |= dict.fromkeys(_first_times(loops, instance.node, instance.occurrence.leaf, member))
        for value in sorted(guesses, key=lambda value: len(str(value)))[:MOST_GUESSES]:
            if all(self._has_time(instance, member, value) for _, instance in inside):
                return value
        raise Unproved

    def _combinations(self, occurrence: Occurrence, around: Sequence[LoopMember], member: int) -> Iterator[Affine]:
        """Yields expressions for the value of a band member: multiples of the variables of the loops `around` and of parameters,
        added up with a constant. There is one for each conjunction of the leaf's domain in which the members of these loops
        determine the value in this way.

        around: the variables of loops, each with the number of the band member that it stands for.
        member: the number of the member that has no loop.
        """
        for alternative in occurrence.leaf.alternatives:
            times = [self._cases.row(time, {}) for time in alternative.times]
            left = plus(times[member], ({_VALUE: -1}, 0), 1)
            known: list[Row] = []
            for each in around:
                progression = occurrence.progression(each.member)
                said: Row = {(_VALUE, each.variable): -progression.scale}, -progression.shift
                known.append(plus(times[each.member], said, 1))
            while known:
                row, *known = known
                pivot = next((name for name in row[0] if _is_unknown(name)), None)
                if pivot is not None:
                    left, *known = (without(other, row[0][pivot], row, other[0].get(pivot, 0)) for other in (left, *known))
            scale = -left[0].pop(_VALUE, 0)
            if scale and not any(map(_is_unknown, left[0])) and not any(c % scale for c in (*left[0].values(), left[1])):
                terms: list[tuple[Atom, int]] = [(_variable_of(name), c // scale) for name, c in left[0].items()]
                yield linear(terms, left[1] // scale)

    def _has_time(self, instance: MatchedInstance, member: int, value: Affine) -> bool:
        """Returns whether a band member is proved to have the value in all iterations in which the instance runs."""
        alternatives = instance.occurrence.leaf.alternatives
        for at, point in zip(instance.inside, instance.points):
            values = _with_iterators(at.values, point)
            for alternative in alternatives:
                case = at.case
                if len(alternatives) > 1:
                    equal, least = self._loop_cases.rows(alternative, values)
                    case = System((*case.equal, *equal), (*case.least, *least))
                time = self._cases.row(alternative.times[member], values)
                for each, row in self._cases.value(value, case, values):
                    if self._cases.zero(each, plus(time, row, -1))[1]:
                        return False
        return True


def _progression(row: Row, of_variable: Row) -> Progression | None:
    """Returns the scale and the shift with row = scale * variable + shift, or None where there are none.

    row: the value of a band member as a linear expression.
    of_variable: the variable's value as a linear expression.
    """
    name = next(iter(of_variable[0]), None)
    scale = 1 if name is None else row[0].get(name, 0) // of_variable[0][name]
    terms, shift = plus(row, of_variable, -scale)
    return Progression(scale, shift) if scale > 0 and not terms else None


def _with_iterators(values: Values, point: Sequence[Row]) -> Values:
    """Returns the values of loops' variables together with those of a statement's iterators, under the iterators' numbers as names.

    point: the iterators' values.
    """
    found: dict[Name, Row] = {**values}
    found.update(enumerate(point))
    return found


def _is_unknown(name: Name) -> bool:
    """Returns whether a name in linear expressions is neither a parameter nor a loop's variable."""
    return not isinstance(name, str) and not (isinstance(name, tuple) and name[0] == _VALUE)


def _variable_of(name: Name) -> str:
    """Returns the parameter or the loop's variable that a name in linear expressions stands for; the name is one of these."""
    return str(name[1] if isinstance(name, tuple) else name)


def _first_times(loops: Sequence[Loop], instance: Instance, leaf: LeafStatement, member: int) -> Iterator[Affine]:
    """Yields guesses of the value that a band member has in the first iteration of all of the loops, and then of that in their last
    iteration: its value at the instance, with a bound put for the variable of each loop. Where loops have several bounds, each
    combination of them is a guess.

    loops: nested loops around the instance, outermost first.
    member: the number of the band member.
    """
    points = dict(enumerate(instance.point))
    for alternative in leaf.alternatives:
        time = _expression(alternative.times[member], points)
        for at_begin in (True, False):
            values = [time]
            for loop in reversed(loops):
                bounds = loop.lower if at_begin else loop.upper
                values = [each for value in values for each in _at(value, loop.var, bounds)][:MOST_GUESSES]
            yield from values


def _at(value: Affine, name: str, bounds: Sequence[Affine]) -> list[Affine]:
    """Returns the expressions that result from `value` when each of the bounds is put for the variable `name`."""
    return [value.substitute({name: bound}) for bound in bounds] if name in value.names else [value]


def _expression(row: Row, points: Mapping[int, Affine]) -> Affine:
    """Returns a linear expression of iterators, quotients and parameters in terms of the program's variables.

    points: by number of an iterator, its value.
    """
    total = Affine(row[1])
    for name, c in row[0].items():
        if isinstance(name, Quotient):
            value = floor_div(_expression((dict(name.terms), name.constant), points), name.divisor)
        else:
            value = points[name] if isinstance(name, int) else variable(str(name))
        total = total + value * c
    return total
