"""Partial results of reductions, one per lane: their first values, and how they become one value.

Loops that follow one another and reduce to the same element hand their partial results over, so that these are combined once:

    for i = 0 .. m by 8: v += A[i..i+7]; for i = m .. n: v[0] += A[i]      ->   s = s + (v[0] + ... + v[7]) after both
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from polyml.codegen.llvm.builder import BasicBlock
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.registers import Location
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.codegen.llvm.statements.expressions import ExpressionEmitter
from polyml.codegen.llvm.statements.loop_elements import LoopElements
from polyml.model.core.reductions import identity
from polyml.quasi_affine.affine import Affine


class Accumulator(NamedTuple):
    """An Accumulator is an element of an array for which each lane has a partial result of a reduction.

    array, subscripts: the element.
    operator: the reduction's, by its name in Python or NumPy.
    lanes: the number of partial results of a vector.
    """

    array: str
    subscripts: tuple[Affine, ...]
    operator: str
    lanes: int


@dataclass(frozen=True)
class PartialResult:
    """A PartialResult is what loops that follow one another have reduced so far.

    value: a vector with a partial result in each lane.
    ran: the SSA name of whether one of the loops had iterations.
    """

    value: SsaValue
    ran: str


@dataclass(frozen=True)
class RegisterPlan:
    """A RegisterPlan says what a loop keeps in registers.

    elements: what the loop accesses if it is innermost, or what the innermost loop of the perfect nest in it accesses; None if that
        loop has guards, there is no such loop, or array arguments may overlap.
    held: { location in a register -> the operator of the reduction of which it is a partial result, None for an element itself }.
    """

    elements: LoopElements | None
    held: Mapping[Location, str | None]


@dataclass(frozen=True)
class HandOver:
    """A HandOver is what a loop hands over to the next one, which runs right after it.

    begin: the SSA name of the next loop's first iteration, if it begins where this loop ends (`Loop.resumes`); else None.
    partial: the partial results that the next loop continues.
    plan: what the next loop keeps in registers, if that is known already; else None.
    """

    begin: str | None = None
    partial: Mapping[Accumulator, PartialResult] = field(default_factory=dict)
    plan: RegisterPlan | None = None


NOTHING = HandOver()


@dataclass(frozen=True)
class LoopExits:
    """A LoopExits holds the ways out of a loop.

    runs: the SSA name of whether it has iterations.
    skipped: the block from which it is skipped.
    left: the block that is reached after the last iteration.
    after: the block where both meet.
    """

    runs: str
    skipped: BasicBlock
    left: BasicBlock
    after: BasicBlock

    def phi(self, name: str, kind: str, skipped: str, left: str) -> None:
        """Adds a phi to the block after the loop.

        name, kind: its SSA name and LLVM type.
        skipped, left: SSA names of its values if the loop was skipped and if it ran.
        """
        self.after.phis.append(f"{name} = phi {kind} [ {skipped}, %{self.skipped.label} ], [ {left}, %{self.left.label} ]")


def accumulators(held: Mapping[Location, str | None]) -> dict[Accumulator, list[Location]]:
    """Returns the locations of partial results, grouped by the element that they belong to.

    held: { location -> the operator of the reduction of which it is a partial result, None for an element itself }.
    """
    found: dict[Accumulator, list[Location]] = {}
    for location, operator in held.items():
        if operator is not None:
            found.setdefault(Accumulator(location.array, location.subscripts, operator, location.lanes), []).append(location)
    return found


class PartialResults:
    """A PartialResults emits, in one function, the first values of partial results of reductions, and the code that combines them
    into one value.
    """

    def __init__(self, body: ElementAccess, expressions: ExpressionEmitter):
        self._body, self._expressions = body, expressions

    def start(self, location: Location, operator: str | None) -> SsaValue:
        """Returns the first value of a location: the operator's identity, or the element itself, which is loaded, if the
        operator is None.
        """
        body = self._body
        if operator is None:
            return body.math.splat(body.memory.load(location), location.lanes)
        element = body.scop.arrays[location.array].element
        return body.math.splat(self._expressions.constant(identity(operator, element), element), location.lanes)

    def total(self, key: Accumulator, parts: Sequence[SsaValue]) -> SsaValue:
        """Emits the combination of several vectors of partial results into one vector, lane by lane, and returns it."""
        total = parts[0]
        for part in parts[1:]:
            total = self._expressions.combine(key.operator, total, part)
        return total

    def join(self, key: Accumulator, total: SsaValue) -> None:
        """Emits the combination of the partial results of all lanes with the element in memory, which is stored.

        total: the vector of partial results.
        """
        memory = self._body.memory
        target, number = Location(key.array, key.subscripts), self._expressions.across_lanes(key.operator, total)
        memory.store(target, self._expressions.combine(key.operator, memory.load(target), number))

    def merge(self, key: Accumulator, total: SsaValue, before: PartialResult | None, exits: LoopExits) -> PartialResult:
        """Emits a phi after a loop that has the loop's partial results if it ran, and otherwise those from before it (the
        operator's identity if there are none). Returns it with whether this loop or one of those before it ran.

        total: the vector of partial results at the end of the loop.
        before: what the loops before have reduced; None if there are none.
        """
        fn = self._body.fn
        start = self.start(Location(key.array, key.subscripts, key.lanes), key.operator) if before is None else before.value
        value = replace(total, ssa=fn.name())
        exits.phi(value.ssa, value.type, start.ssa, total.ssa)
        ran = exits.runs if before is None else fn.emit(f"or i1 {before.ran}, {exits.runs}")
        return PartialResult(value, ran)

    def join_if_run(self, key: Accumulator, result: PartialResult) -> None:
        """Emits the combination of the partial results of several loops with the element in memory, which is stored, behind a
        branch on whether one of them ran; otherwise the element may not exist.
        """
        fn = self._body.fn
        join, done = fn.block("join"), fn.block("done")
        fn.branch(result.ran, join, done)
        fn.current = join
        self.join(key, result.value)
        fn.jump(done)
        fn.current = done
        self._body.math.forget()
