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
        """Returns `S0[1, 2]`."""
        return polyhedra.instance_text((self.statement, self.values))


@dataclass(frozen=True)
class HeldElement:
    """A HeldElement is an element that a PE has in the register of a lane.

    enters: whether it comes from the buffer in this cycle.
    leaves: whether it goes to the buffer after this cycle.
    used: whether the instance uses it that the PE runs.
    """

    lane: int
    element: str
    enters: bool = False
    leaves: bool = False
    used: bool = False


@dataclass(frozen=True)
class PEState:
    """A PEState is what a PE runs and has in a cycle."""

    instance: StatementInstance | None
    registers: tuple[HeldElement, ...]


@dataclass(frozen=True)
class Transit:
    """A Transit is an element on its way from one PE to another, in step `step` of `cycles`; along a wire it takes no cycle."""

    lane: int
    element: str
    source: PEIndex
    target: PEIndex
    step: int
    cycles: int


@dataclass(frozen=True)
class BoundaryElement:
    """A BoundaryElement is an element outside the array, before it enters a PE or after it has left one.

    unit: the PE.
    signs: the signs of its moves along each coordinate.
    cycles: negative before it enters, positive since it has left.
    """

    lane: int
    element: str
    unit: PEIndex
    signs: Vector
    cycles: int


@dataclass(frozen=True)
class CycleFrame:
    """A CycleFrame is the array in one cycle.

    cycle: its number, from 0, over all folds.
    fold: the number of the fold, from 0; number: the values of the outer loops and the blocks.
    t: the mapping's time, counted on over what comes before and after the instances.
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
        """Returns how many PEs run an instance."""
        return sum(state.instance is not None for state in self.pe_states.values())


@dataclass(frozen=True)
class Frames:
    """Frames holds the frames of a plan's first folds.

    lanes: what a PE has a register for: the streams, and the results where no stream has them.
    folds: how many folds are here.
    frames: one for each cycle.
    """

    plan: Plan
    lanes: tuple[DataStream, ...]
    folds: int
    frames: tuple[CycleFrame, ...] = field(repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the shape of the array."""
        return self.plan.folds.shape

    @property
    def is_whole(self) -> bool:
        """Returns whether all folds are here."""
        return self.folds == self.plan.folds.number

    @property
    def scope_text(self) -> str:
        """Returns which folds these are; "" where there is one alone."""
        every = self.plan.folds.number
        if every == 1 or self.is_whole:
            return "" if every == 1 else f"{every} folds"
        return f"the first {self.folds} of {every:,} folds" if self.folds > 1 else f"the first of {every:,} folds"

    def units(self) -> list[PEIndex]:
        """Returns the coordinates of all PEs."""
        return list(product(*map(range, self.shape)))
