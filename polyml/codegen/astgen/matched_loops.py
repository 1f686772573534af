"""Loops with the statements that each of their nodes runs, and the constraints that hold inside of them, case by case: the values
of translation validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Union

from polyml.codegen.astgen.schedule_leaves import Alternative, LeafStatement, LoopMember
from polyml.codegen.ir.program import Guard, Instance, Loop
from polyml.codegen.presburger.case_split import Cases, plus
from polyml.codegen.presburger.omega_test import Name, Row, System


class Unproved(Exception):
    """Raised where loops are not proved to run the schedule: they may be wrong."""


@dataclass(frozen=True)
class Progression:
    """A progression says how a loop's variable counts the values of a band member: member = scale * variable + shift.

    Variable and member differ where isl's loop counts the steps of a member, or where isl shifts the members of some statements so
    that statements whose strided values begin at different numbers share a loop.
    """

    scale: int = 1
    shift: int = 0


_SAME = Progression()


@dataclass(frozen=True)
class Divergence:
    """A divergence is the place in a schedule tree at which the paths from the root to two occurrences of statements part.

    shared: how many loops are around both.
    is_first: for `a.divergence(b)`, whether the schedule lets a run before b within one iteration of these loops.
    """

    shared: int
    is_first: bool


@dataclass(frozen=True)
class Occurrence:
    """An occurrence is a statement at a leaf of the schedule tree as some of the program's loops run it.

    progressions: pairs of a band member's number and how its loop counts it, where the loop's variable is not the member itself.
    """

    leaf: LeafStatement
    progressions: tuple[tuple[int, Progression], ...] = ()

    def progression(self, member: int) -> Progression:
        """Returns the way in which the loop of a band member, given by its number, counts the member's values."""
        return next((found for number, found in self.progressions if number == member), _SAME)

    def divergence(self, other: Occurrence) -> Divergence:
        """Returns the place at which the paths from the schedule tree's root to this occurrence and to another one part."""
        depth = 0
        for own, its in zip(self.leaf.path, other.leaf.path):
            if own != its:
                return Divergence(depth, own.kind == "set" or own.child < its.child)
            if own.kind == "member":
                mine, others = self.progression(depth), other.progression(depth)
                depth += 1
                if mine != others:
                    return Divergence(depth, mine.scale == others.scale and mine.shift < others.shift)
        return Divergence(depth, self.leaf is not other.leaf)


@dataclass(frozen=True)
class LoopCase:
    """A loop case is one of several sets of constraints, of which at least one holds in each iteration of some loops.

    case: constraints on parameters and iterations.
    values: by name of a loop's variable, its value as a linear expression.
    """

    case: System
    values: Mapping[Name, Row]


@dataclass(frozen=True)
class MatchedInstance:
    """An instance and the statement of the schedule tree that it runs.

    occurrence: that statement.
    inside: the cases of constraints in which the instance runs.
    members: the variables of the loops around it, each with the number of the band member that it stands for.
    points: in each case, the values of its iterators.
    """

    node: Instance
    occurrence: Occurrence
    inside: tuple[LoopCase, ...]
    members: tuple[LoopMember, ...]
    points: tuple[tuple[Row, ...], ...]

    @property
    def occurrences(self) -> tuple[Occurrence, ...]:
        """The instance's occurrence as a tuple, for a caller that does not tell instances from blocks, which may have several."""
        return (self.occurrence,)


@dataclass(frozen=True)
class MatchedBlock:
    """A loop or guard and the statements of the schedule tree that run in it.

    occurrences: the statements.
    inside: the cases (alternative sets of constraints) of which one holds in each run of its body.
    members: the variables of the loops around, and of the node itself if it is a loop, each with the number of the band member
        that it stands for.
    """

    node: Loop | Guard
    occurrences: tuple[Occurrence, ...]
    inside: tuple[LoopCase, ...]
    members: tuple[LoopMember, ...]
    body: tuple[MatchedNode, ...]


MatchedNode = Union[MatchedInstance, MatchedBlock]


class LoopCases:
    """A maker of the cases of constraints that hold inside loops; each loop it enters gets a name of its own for its iterations."""

    def __init__(self, cases: Cases):
        self.cases = cases
        self._numbers = count()

    def rows(self, alternative: Alternative, values: Mapping[Name, Row]) -> tuple[list[Row], list[Row]]:
        """Returns the linear expressions that are 0, and those that are at least 0, in an alternative (one conjunction of the
        domain at a leaf). In both, the names that `values` has are replaced by their values.
        """
        cases = self.cases
        return [cases.row(row, values) for row in alternative.equal], [cases.row(row, values) for row in alternative.least]

    def inside(self, node: Loop | Guard, around: LoopCase) -> Iterator[LoopCase]:
        """Yields the cases of what holds in the node's body, within the case that holds around the node."""
        cases = self.cases
        if isinstance(node, Guard):
            for case in cases.split(around.case, node.condition, around.values)[0]:
                yield LoopCase(case, around.values)
            return
        for case, rows in cases.all((*node.lower, *node.upper), around.case, around.values):
            lower, upper = rows[: len(node.lower)], rows[len(node.lower) :]
            name = ("loop", next(self._numbers))
            for each, first in self.starts(node, case, lower, around.values):
                ends: list[Row] = []
                if len(lower) == len(upper) == 1 and lower == upper:
                    value = first
                else:
                    value = plus(({name: 1}, 0) if node.step == 1 else first, ({name: node.step}, 0), node.step != 1)
                    ends = [*(plus(value, row, -1) for row in lower), *(plus(row, value, -1) for row in upper)]
                inside = System(each.equal, (*each.least, *ends))
                yield LoopCase(inside, {**around.values, node.var: value})

    def starts(self, node: Loop, case: System, lower: list[Row], values: Mapping[Name, Row]) -> list[tuple[System, Row]]:
        """Returns pairs (case, value), where the cases together are the given one, and the value is a lower bound from which the
        loop's steps can be counted in that case: the greatest one, or any of them if they differ by multiples of the step.

        lower: the lower bounds as linear expressions.
        values: by name of a variable around the loop, its value.
        """
        gaps = (plus(row, lower[0], -1) for row in lower[1:])
        if all(c % node.step == 0 for terms, constant in gaps for c in (*terms.values(), constant)):
            return [(case, lower[0])]
        return self.cases.extreme("max", node.lower, case, values)


def leaves(node: MatchedNode, loops: tuple[Loop, ...] = ()) -> Iterator[tuple[tuple[Loop, ...], MatchedInstance]]:
    """Yields pairs of the loops around an instance in a node, outermost first, and the instance.

    loops: loops around the node, which go before the others.
    """
    if isinstance(node, MatchedInstance):
        yield loops, node
        return
    inner = (*loops, node.node) if isinstance(node.node, Loop) else loops
    for child in node.body:
        yield from leaves(child, inner)


def occurrences_in(nodes: Sequence[MatchedNode]) -> tuple[Occurrence, ...]:
    """Returns the statements that the nodes run, each once."""
    return tuple(dict.fromkeys(occurrence for node in nodes for occurrence in node.occurrences))
