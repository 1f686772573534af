"""What units of an array run, have and pass on in one cycle, as values that pictures draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from polyml import polyhedra
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.recurrence import DataStream
from polyml.systolic.recurrences.spacetime import Vector

MOST_AHEAD = 6  # cycles for which elements are outside the array, before and after
PEIndex = tuple[int, ...]
Point = tuple[int, ...]


@dataclass(frozen=True)
class StatementInstance:
    statement: str
    values: tuple[int, ...]

    def __str__(self) -> str:
        return polyhedra.instance_text((self.statement, self.values))


@dataclass(frozen=True)
class HeldElement:
    """An element of a lane in a unit. enters: from the buffer, in this cycle. leaves: to the buffer, after it. used: by the
    instance that the unit runs.
    """

    lane: int
    element: str
    enters: bool = False
    leaves: bool = False
    used: bool = False


@dataclass(frozen=True)
class PEState:
    """What a unit runs and has in a cycle."""

    instance: StatementInstance | None
    registers: tuple[HeldElement, ...]


@dataclass(frozen=True)
class Transit:
    """An element that is `step` of `cycles` on its way from one unit to another; along a wire it takes none."""

    lane: int
    element: str
    source: PEIndex
    target: PEIndex
    step: int
    cycles: int


@dataclass(frozen=True)
class BoundaryElement:
    """An element that enters a unit in -cycles, or left it so many cycles ago. way: the signs of its moves along each coordinate."""

    lane: int
    element: str
    unit: PEIndex
    way: Vector
    cycles: int


@dataclass(frozen=True)
class CycleFrame:
    """One cycle. cycle: from 0, of all folds one after another. fold: from 0. number: the outer loops' values and the blocks.
    t: the mapping's time, counted on over what comes before and after the instances. phase: "preload", "compute" or "drain".
    cells: of units that run or have something.
    """

    cycle: int
    fold: int
    number: tuple[int, ...]
    t: int
    phase: str
    cells: dict[PEIndex, PEState] = field(repr=False)
    moves: tuple[Transit, ...] = field(repr=False)
    outside: tuple[BoundaryElement, ...] = field(repr=False)

    @property
    def active(self) -> int:
        return sum(cell.instance is not None for cell in self.cells.values())


@dataclass(frozen=True)
class Frames:
    """lanes: what a unit has a register of: the streams, and the elements that are written where no stream has them.
    folds: how many of the plan's are here, the first ones.
    """

    plan: Plan
    lanes: tuple[DataStream, ...]
    folds: int
    frames: tuple[CycleFrame, ...] = field(repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.plan.folds.shape

    @property
    def is_whole(self) -> bool:
        return self.folds == self.plan.folds.number

    @property
    def said(self) -> str:
        """Which folds these are, "" where there is one alone."""
        every = self.plan.folds.number
        if every == 1 or self.is_whole:
            return "" if every == 1 else f"{every} folds"
        return f"the first {self.folds} of {every:,} folds" if self.folds > 1 else f"the first of {every:,} folds"

    def units(self) -> list[PEIndex]:
        return list(product(*map(range, self.shape)))
