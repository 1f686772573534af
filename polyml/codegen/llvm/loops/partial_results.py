"""Sums whose lanes have partial results each: where they begin, and how they become one number.

Loops that follow one another and reduce to the same element hand their partial results on, so that they are joined once:

    for i = 0 .. m by 8: v += A[i..i+7]; for i = m .. n: v[0] += A[i]      ->   s = s + (v[0] + ... + v[7]) behind both
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
    """An element of which each lane has a partial result. operator: of the reduction, in Python's or NumPy's name."""

    array: str
    subscripts: tuple[Affine, ...]
    operator: str
    lanes: int


@dataclass(frozen=True)
class PartialResult:
    """What loops that follow one another have reduced so far. ran: the name of a truth value, whether one of them ran."""

    value: SsaValue
    ran: str


@dataclass(frozen=True)
class RegisterPlan:
    """What a loop keeps in registers.

    elements: of an innermost loop without guards, else None.
    held: { location -> the operator of the reduction of which it is a partial result, None for an element itself }.
    """

    elements: LoopElements | None
    held: Mapping[Location, str | None]


@dataclass(frozen=True)
class HandOver:
    """What a loop leaves to the one that runs right behind it.

    begin: the name of the iteration with which that loop begins, where it resumes this one; else None.
    partial: the results that it goes on with.
    plan: of that loop, if it has been made already.
    """

    begin: str | None = None
    partial: Mapping[Accumulator, PartialResult] = field(default_factory=dict)
    plan: RegisterPlan | None = None


NOTHING = HandOver()


@dataclass(frozen=True)
class LoopExits:
    """The ways out of a loop. runs: the name of a truth value, whether it has iterations.

    skipped: the block from which it is skipped. left: the one that an iteration leaves to. after: the one behind the loop.
    """

    runs: str
    skipped: BasicBlock
    left: BasicBlock
    after: BasicBlock

    def phi(self, name: str, kind: str, skipped: str, left: str) -> None:
        """Behind the loop, `name` is one value where it was skipped, the other where it ran."""
        self.after.phis.append(f"{name} = phi {kind} [ {skipped}, %{self.skipped.label} ], [ {left}, %{self.left.label} ]")


def accumulators(held: Mapping[Location, str | None]) -> dict[Accumulator, list[Location]]:
    """The locations of partial results, by what they are parts of."""
    found: dict[Accumulator, list[Location]] = {}
    for location, operator in held.items():
        if operator is not None:
            found.setdefault(Accumulator(location.array, location.subscripts, operator, location.lanes), []).append(location)
    return found


class PartialResults:
    """Emits the beginnings and ends of partial results in one function."""

    def __init__(self, body: ElementAccess, expressions: ExpressionEmitter):
        self._body, self._expressions = body, expressions

    def start(self, location: Location, operator: str | None) -> SsaValue:
        """What a location holds when a loop begins: the operator's identity, or for None the element itself."""
        body = self._body
        if operator is None:
            return body.math.splat(body.memory.load(location), location.lanes)
        element = body.scop.arrays[location.array].element
        return body.math.splat(self._expressions.constant(identity(operator, element), element), location.lanes)

    def total(self, key: Accumulator, parts: Sequence[SsaValue]) -> SsaValue:
        """The partial results of all vectors as one vector."""
        total = parts[0]
        for part in parts[1:]:
            total = self._expressions.combine(key.operator, total, part)
        return total

    def join(self, key: Accumulator, total: SsaValue) -> None:
        """Bring the partial results of all lanes to the element that they are for."""
        memory = self._body.memory
        target, number = Location(key.array, key.subscripts), self._expressions.across_lanes(key.operator, total)
        memory.store(target, self._expressions.combine(key.operator, memory.load(target), number))

    def merge(self, key: Accumulator, total: SsaValue, before: PartialResult | None, exits: LoopExits) -> PartialResult:
        """Behind a loop: what it and the loops before have reduced, also where it did not run."""
        fn = self._body.fn
        start = self.start(Location(key.array, key.subscripts, key.lanes), key.operator) if before is None else before.value
        value = replace(total, ssa=fn.name())
        exits.phi(value.ssa, value.type, start.ssa, total.ssa)
        ran = exits.runs if before is None else fn.emit(f"or i1 {before.ran}, {exits.runs}")
        return PartialResult(value, ran)

    def join_if_run(self, key: Accumulator, result: PartialResult) -> None:
        """Join what the last of several loops has merged, if one of them ran: else the element may not exist."""
        fn = self._body.fn
        join, done = fn.block("join"), fn.block("done")
        fn.branch(result.ran, join, done)
        fn.current = join
        self.join(key, result.value)
        fn.jump(done)
        fn.current = done
        self._body.math.forget()
