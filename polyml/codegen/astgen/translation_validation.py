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
conjunctions of linear constraints with quotients hold no integers (`presburger.case_split`). What is not decided is not proved, so that
right loops may be refused, and wrong ones are not taken. isl is asked for what the tree says and, where elimination does not decide,
whether a conjunction is empty: what proofs of schedules rest on as well.

Necula: "Translation validation for an optimizing compiler", PLDI 2000.
Pnueli, Siegel, Singerman: "Translation validation", TACAS 1998.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import islpy as isl

from polyml import polyhedra
from polyml.codegen.astgen.loop_matching import LoopMatcher
from polyml.codegen.astgen.matched_loops import (
    LoopCase,
    LoopCases,
    MatchedBlock,
    MatchedInstance,
    MatchedNode,
    Occurrence,
    Unproved,
    occurrences_in,
)
from polyml.codegen.astgen.row_tree import same_parameters
from polyml.codegen.astgen.schedule_leaves import Alternative, UnknownTree, leaf_statements
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.codegen.presburger.case_split import Cases, TooMany, Values, plus
from polyml.codegen.presburger.constraint_rows import opposite, row_of_linear
from polyml.codegen.presburger.omega_test import Row, System


def is_proved(schedule: isl.Schedule, context: isl.Set, nodes: Sequence[Node]) -> bool:
    """Returns whether the loops `nodes` are proved to run the schedule's instances, each once, in the schedule's order.

    context: constraints on the parameters.
    """
    try:
        _prove(schedule, context, nodes)
    except (Unproved, UnknownTree, TooMany):
        return False
    return True


def _prove(schedule: isl.Schedule, context: isl.Set, nodes: Sequence[Node]) -> None:
    """Proves that the loops run the schedule's instances, each once, in its order. Raises Unproved, UnknownTree or TooMany where no
    proof is found.
    """
    equal, least = ([*map(row_of_linear, side)] for side in polyhedra.integer_rows(context) or ([], []))
    cases = Cases()
    same = same_parameters(equal, polyhedra.parameter_names(context))
    facts = System(tuple(cases.row(row, same) for row in equal), tuple(cases.row(row, same) for row in least))
    start = LoopCase(System(tuple(row for row in facts.equal if row[0]), tuple(row for row in facts.least if row[0])), same)
    leaves = tuple(leaf_statements(schedule))
    parameters = {*polyhedra.parameter_names(context), *polyhedra.parameter_names(schedule.get_domain())}
    if not parameters.isdisjoint(_variables(nodes)):
        raise Unproved
    loop_cases = LoopCases(cases)
    matcher = LoopMatcher(loop_cases, leaves)
    found = (matcher.matched(node, (start,)) for node in nodes)
    matched = tuple(matcher.complete(node) for node in found if node is not None)
    _OrderProof(loop_cases).prove(matched, (start,))
    for leaf in leaves:
        occurrences = [occurrence for occurrence in occurrences_in(matched) if occurrence.leaf is leaf]
        for alternative in leaf.alternatives:
            _CoverageProof(loop_cases, start, alternative).prove(matched, occurrences)


def _variables(nodes: Sequence[Node]) -> Iterator[str]:
    """Yields the variables of all loops among and below the nodes."""
    for node in nodes:
        if isinstance(node, Loop):
            yield node.var
        if not isinstance(node, Instance):
            yield from _variables(node.body)


class _OrderProof:
    """A proof that matched loops run instances in the schedule's order. Its methods raise Unproved where it fails."""

    def __init__(self, loop_cases: LoopCases):
        self._loop_cases, self._cases = loop_cases, loop_cases.cases

    def prove(self, nodes: Sequence[MatchedNode], around: Sequence[LoopCase], depth: int = 0) -> None:
        """Proves that the instances of each node precede those of the nodes after it, and that all instances in a loop are inside
        the same band member, which the loop stands for. Raises Unproved.

        around: the cases (alternative sets of constraints) of which one holds wherever the nodes run.
        depth: how many loops are around them.
        """
        for k, node in enumerate(nodes):
            for other in nodes[k + 1 :]:
                for case in around:
                    self._precedes(node, other, case, depth)
        for node in nodes:
            if isinstance(node, MatchedInstance):
                continue
            if isinstance(node.node, Guard):
                self.prove(node.body, node.inside, depth)
                continue
            for a, b in combinations(node.occurrences, 2):
                mine, its = a.progression(depth), b.progression(depth)
                is_shared = a.divergence(b).shared > depth and mine.scale == its.scale
                if not is_shared or abs(mine.shift - its.shift) >= mine.scale * node.node.step:
                    raise Unproved
            self.prove(node.body, node.inside or around, depth + 1)

    def _precedes(self, node: MatchedNode, other: MatchedNode, around: LoopCase, depth: int) -> None:
        """Proves that one node's instances precede another node's in the same iteration of the `depth` loops around both. Raises
        Unproved.
        """
        divergences = {a.divergence(b) for a in node.occurrences for b in other.occurrences}
        if all(each.shared <= depth and each.is_first for each in divergences):
            return
        if isinstance(node, MatchedBlock) and isinstance(node.node, Guard):
            for inside in self._loop_cases.inside(node.node, around):
                for child in node.body:
                    self._precedes(child, other, inside, depth)
            return
        if isinstance(other, MatchedBlock) and isinstance(other.node, Guard):
            for inside in self._loop_cases.inside(other.node, around):
                for child in other.body:
                    self._precedes(node, child, inside, depth)
            return
        if isinstance(node, MatchedBlock) and isinstance(other, MatchedBlock) and all(each.shared > depth for each in divergences):
            self._loop_precedes(node, other, around, depth)
        elif not self._cases.is_empty(around.case):
            raise Unproved

    def _loop_precedes(self, node: MatchedBlock, other: MatchedBlock, around: LoopCase, depth: int) -> None:
        """Proves that one loop's instances precede those of another loop for the same band member, within one iteration of the
        `depth` loops around both. Raises Unproved.
        """
        mine, its = ({occurrence.progression(depth) for occurrence in each.occurrences} for each in (node, other))
        for first in self._loop_cases.inside(node.node, around):
            for both in self._loop_cases.inside(other.node, LoopCase(first.case, around.values)):
                for a, b in product(mine, its):
                    ours = plus(({}, a.shift - b.shift), first.values[node.members[-1].variable], a.scale)
                    later = plus(ours, both.values[other.members[-1].variable], -b.scale)
                    for case in self._cases.at_least(both.case, later)[0]:  # the first loop's iteration is no lesser
                        after = System(case.equal, (*case.least, (later[0], later[1] - 1)))
                        self._never(node.body, other.body, LoopCase(after, first.values), both.values)
                        same = System((*case.equal, later), case.least)
                        if len(mine | its) > 1:
                            self._never(node.body, other.body, LoopCase(same, first.values), both.values)
                            continue
                        inside = LoopCase(same, {**first.values, **both.values})
                        for child, each in product(node.body, other.body):
                            self._precedes(child, each, inside, depth + 1)

    def _never(self, nodes: Sequence[MatchedNode], others: Sequence[MatchedNode], around: LoopCase, its: Values) -> None:
        """Proves that, in the case `around`, it cannot be that one of `nodes` and one of `others` both run an instance. Raises
        Unproved.

        around: the case, with the values of the variables of loops around `nodes`.
        its: the values, in the same case, of the variables of loops around `others`.
        """
        if self._cases.is_empty(around.case):
            return
        for node, other in product(nodes, others):
            if isinstance(node, MatchedBlock):
                for inside in self._loop_cases.inside(node.node, around):
                    self._never(node.body, [other], inside, its)
            elif isinstance(other, MatchedBlock):
                for inside in self._loop_cases.inside(other.node, LoopCase(around.case, its)):
                    self._never([node], other.body, LoopCase(inside.case, around.values), inside.values)
            else:
                raise Unproved


@dataclass(frozen=True)
class _Points:
    """A set of points of a domain that are still to be run.

    case: constraints on the points' iterators.
    values: by name of a loop's variable, its value for the points.
    """

    case: System
    values: Values


class _CoverageProof:
    """A proof that matched loops run each point of one conjunction of a leaf's domain."""

    def __init__(self, loop_cases: LoopCases, start: LoopCase, alternative: Alternative):
        self._loop_cases, self._cases = loop_cases, loop_cases.cases
        self._start, self._alternative = start, alternative
        self._times: list[Row] = [self._cases.row(row, start.values) for row in alternative.times]

    def prove(self, nodes: Sequence[MatchedNode], occurrences: Sequence[Occurrence]) -> None:
        """Proves that the nodes run each point of this proof's conjunction, which is one part of a leaf's domain: an instance that
        is matched to one of the occurrences runs it. Raises Unproved.
        """
        case = self._start.case
        equal, least = self._loop_cases.rows(self._alternative, self._start.values)
        left = [System((*case.equal, *equal), (*case.least, *least))]
        for occurrence in occurrences:
            left = self._left(nodes, left, self._start.values, occurrence)
        if not all(map(self._cases.is_empty, left)):
            raise Unproved

    def _left(self, nodes: Sequence[MatchedNode], left: list[System], values: Values, occurrence: Occurrence) -> list[System]:
        """Returns what remains of the points `left` without those that the nodes run by instances matched to the occurrence. Points
        are given and returned as systems of constraints, each point satisfying one of them.

        values: by name of a variable of a loop around the nodes, its value.
        """
        for node in nodes:
            if left and occurrence in node.occurrences:
                left = [each for case in left for each in self._not_run(node, _Points(case, values), occurrence)]
        return left

    def _not_run(self, node: MatchedNode, points: _Points, occurrence: Occurrence) -> list[System]:
        """Returns those of the points, as systems of constraints, that a node does not run as the occurrence."""
        cases, case, values = self._cases, points.case, points.values
        if isinstance(node, MatchedInstance):
            outside = []
            for each, point in cases.all(node.node.point, case, values):
                outside += cases.both(each, [plus(row, ({k: 1}, 0), -1) for k, row in enumerate(point)], ())[1]
            return outside
        if isinstance(node.node, Guard):
            inside, outside = cases.split(case, node.node.condition, values)
            return outside + self._left(node.body, inside, values, occurrence)
        return self._not_run_by_loop(node, node.node, points, occurrence)

    def _not_run_by_loop(self, matched: MatchedBlock, loop: Loop, points: _Points, occurrence: Occurrence) -> list[System]:
        """Returns those of the points, as systems of constraints, that a loop does not run: outside its bounds, between its steps,
        or not in its body.
        """
        cases, case, values = self._cases, points.case, points.values
        member = matched.members[-1].member
        progression = occurrence.progression(member)
        above = self._times[member][0], self._times[member][1] - progression.shift
        time = cases.quotient(above, progression.scale)
        starts, outside = cases.at_least(case, opposite(plus(above, time, -progression.scale)))
        inside = []
        for each, rows in (pair for start in starts for pair in cases.all((*loop.lower, *loop.upper), start, values)):
            lower, upper = rows[: len(loop.lower)], rows[len(loop.lower) :]
            ends = [*(plus(time, row, -1) for row in lower), *(plus(row, time, -1) for row in upper)]
            within, others = cases.both(each, (), ends)
            outside += others
            for part in within:
                for whole, first in self._loop_cases.starts(loop, part, lower, values):
                    gap = plus(time, first, -1)
                    rest = plus(gap, cases.quotient(gap, loop.step), -loop.step)  # from 0 to the step
                    on, off = cases.at_least(whole, opposite(rest))
                    inside += on
                    outside += off
        return outside + self._left(matched.body, inside, {**values, loop.var: time}, occurrence)
