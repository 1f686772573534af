"""What the PEs of an array run, have and pass on in one cycle, as values that pictures draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from polyml import polyhedra
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.recurrence import DataStream
from polyml.systolic.recurrences.spacetime import Vector

MOST_AHEAD = 6  # cycles before it enters and after it has left in which an element is shown outside
PEIndex = tuple[int, ...]
Point = tuple[int, ...]


@dataclass(frozen=True)
class StatementInstance:
    """A StatementInstance is an instance of a statement, known by the values of its iterators."""

    statement: str
    values: tuple[int, ...]

    def __str__(self) -> str:
        """Returns the instance as text: `S0[1, 2]`."""
        return polyhedra.instance_text((self.statement, self.values))


@dataclass(frozen=True)
class HeldElement:
    """A HeldElement is an element that a PE has in one of its registers.

    lane: the number of the register: each PE has one for every stream, and for results.
    element: its text, such as `A[1,2]`.
    enters: whether it comes from the buffer in this cycle.
    leaves: whether it goes to the buffer after this cycle.
    used: whether the instance that the PE runs in this cycle uses it.
    """

    lane: int
    element: str
    enters: bool = False
    leaves: bool = False
    used: bool = False


@dataclass(frozen=True)
class PEState:
    """A PEState is what a PE runs and has in one cycle: a statement instance, or None, and the elements in its registers."""

    instance: StatementInstance | None
    registers: tuple[HeldElement, ...]


@dataclass(frozen=True)
class Transit:
    """A Transit is an element on its way from one PE to another.

    lane: the number of the register that it goes to.
    element: its text, such as `A[1,2]`.
    step, cycles: which cycle of the way this is, from 0, and how many the way takes; 0 along a wire.
    """

    lane: int
    element: str
    source: PEIndex
    target: PEIndex
    step: int
    cycles: int


@dataclass(frozen=True)
class BoundaryElement:
    """A BoundaryElement is an element outside the array, before it enters a PE or after it has left one.

    lane: the number of the register that it enters or has left.
    element: its text, such as `A[1,2]`.
    unit: the PE.
    signs: the signs of its moves along each coordinate.
    cycles: how many cycles ago it left the PE; negative for how many are left before it enters.
    """

    lane: int
    element: str
    unit: PEIndex
    signs: Vector
    cycles: int


@dataclass(frozen=True)
class CycleFrame:
    """A CycleFrame is what the array runs and holds in one cycle, for a picture.

    cycle: its number, from 0, over all folds.
    fold: the number of the fold, from 0.
    number: which fold this is: the values of the outer loops, then the positions of its block of rows and of its block of columns.
    t: the time in the space-time mapping's count, which goes on in cycles before the first instance and after the last one.
    phase: "preload", "compute" or "drain".
    pe_states: the PEs that run or have something.
    moves: elements in transit.
    outside: elements outside the array.
    """

    cycle: int
    fold: int
    number: tuple[int, ...]
    t: int
    phase: str
    pe_states: dict[PEIndex, PEState] = field(repr=False)
    moves: tuple[Transit, ...] = field(repr=False)
    outside: tuple[BoundaryElement, ...] = field(repr=False)

    @property
    def active(self) -> int:
        """Returns how many PEs run an instance in this cycle."""
        return sum(state.instance is not None for state in self.pe_states.values())


@dataclass(frozen=True)
class Frames:
    """Frames holds the pictures' data for a plan's first folds, cycle by cycle.

    plan: the plan.
    lanes: what a PE has a register for: the streams, and the results where no stream has them.
    folds: how many folds the frames show.
    frames: the array in each cycle.
    """

    plan: Plan
    lanes: tuple[DataStream, ...]
    folds: int
    frames: tuple[CycleFrame, ...] = field(repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the numbers of rows and columns of the array, or the length of an array of one dimension."""
        return self.plan.folds.shape

    @property
    def is_whole(self) -> bool:
        """Returns whether the frames show all folds of the plan."""
        return self.folds == self.plan.folds.number

    @property
    def scope_text(self) -> str:
        """Returns which folds the frames show, as text such as `the first 2 of 8 folds`; "" where the plan has one fold alone."""
        every = self.plan.folds.number
        if every == 1 or self.is_whole:
            return "" if every == 1 else f"{every} folds"
        return f"the first {self.folds} of {every:,} folds" if self.folds > 1 else f"the first of {every:,} folds"

    def units(self) -> list[PEIndex]:
        """Returns the coordinates of all PEs of the array, row by row."""
        return list(product(*map(range, self.shape)))
