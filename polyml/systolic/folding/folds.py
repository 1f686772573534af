"""The folds of a mapping on an array of given size: their cycles, the PEs in use, and what goes in and out.

A fold is one pass of the array over the instances whose coordinates lie in one block of its rows and columns. Folds run one after
another; values go from one fold to another through memory. Everything is counted exactly on the mapped domain

    { [o..., f, g, t, x, y] : f = x // rows, g = y // columns }

by formulas (`box_folds`), or by isl where there are none: a fold takes as many cycles as there are from its first to its last
instance. Padded folds, as SCALE-Sim's, take as many as if every PE had instances. Stationary operands are shifted in along the
rows before a fold begins, a row per cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.model.counting.cardinality import CannotCount, Count
from polyml.systolic.folding import box_folds
from polyml.systolic.folding.box_folds import BoxFolds
from polyml.systolic.folding.fold_counts import FoldClass, Overlap, StreamTraffic, is_stationary
from polyml.systolic.folding.folded_domain import FoldedDomain, FoldPoints
from polyml.systolic.recurrences.recurrence import UniformRecurrence
from polyml.systolic.recurrences.spacetime import SpaceTime
from polyml.values import cached_property

FORMULA_OPERATIONS = 500_000  # isl operations for one formula


@dataclass(frozen=True)
class Folds:
    """Folds is a space-time mapping divided into folds, the parts that an array runs one after another, with what is counted of
    them.

    recurrence, mapping: the recurrence and its space-time mapping.
    shape: how many rows and columns of the array are used; on an array of one dimension, how many PEs.
    units: the PEs of the whole array.
    padded: whether every fold counts the cycles of one that fills the whole array.
    classes: the folds, in classes of equal counts.
    """

    recurrence: UniformRecurrence
    mapping: SpaceTime
    shape: tuple[int, ...]
    units: int
    padded: bool
    classes: tuple[FoldClass, ...]

    @cached_property
    def traffic(self) -> tuple[StreamTraffic, ...]:
        """Returns how many elements each stream moves between the array and memory, with the results last."""
        return tuple(_counting(self.recurrence, self.mapping, self.shape).traffic())

    @property
    def number(self) -> int:
        """Returns how many folds there are."""
        return sum(each.number for each in self.classes)

    @property
    def cycles(self) -> int:
        """Returns the cycles of all folds, one after another."""
        return sum(each.number * each.cycles for each in self.classes)

    @cached_property
    def overlap(self) -> Overlap | None:
        """Returns the folds as a sequence in which each begins as soon as its PEs are free. Returns None where instances use values
        that others make, apart from sums, since folds then have to wait for memory.
        """
        if any(s.use.kind == "value" for s in self.recurrence.streams):
            return None
        return Overlap(_counting(self.recurrence, self.mapping, self.shape).steps(self.padded))

    @property
    def utilisation(self) -> float:
        """Returns the number of instances divided by (the number of all PEs, times the cycles of all folds), as a fraction from 0
        to 1.
        """
        return self.recurrence.instances / (self.units * self.cycles)

    @property
    def mapping_efficiency(self) -> float:
        """Returns the share of PEs that have instances, on average over the folds."""
        return sum(each.number * each.units for each in self.classes) / (self.number * self.units)

    @property
    def compute_utilisation(self) -> float:
        """Returns a fold's instances divided by (the number of all PEs times the fold's cycles), on average over the folds."""
        return sum(each.number * each.instances / each.cycles for each in self.classes) / (self.number * self.units)

    @property
    def reads(self) -> int:
        """Returns how many elements come into the array from memory."""
        return sum(each.reads for each in self.traffic)

    @property
    def writes(self) -> int:
        """Returns how many elements go out of the array to memory."""
        return sum(each.writes for each in self.traffic)

    @property
    def elements(self) -> int:
        """Returns how many elements come into the array from memory or go out to it."""
        return self.reads + self.writes

    @cached_property
    def active(self) -> tuple[int, ...]:
        """Returns how many PEs run an instance in each cycle of the first fold."""
        return FoldedDomain(self.recurrence, self.mapping, self.shape).active()

    @property
    def drain_cycles(self) -> int:
        """Returns the cycles to shift results out after the last fold, where results stay in their PEs; else 0.

        Results of earlier folds are shifted out while the next fold runs.
        """
        return self.shape[0] if is_stationary(self.mapping, self.recurrence.result) else 0


def obstacle(recurrence: UniformRecurrence, dims: int) -> str:
    """Returns the reason why an array of `dims` dimensions cannot feed the recurrence with values, as text; "" where it can.

    An array of two dimensions cannot where each instance has its own element of some operand or result: such an element can reach a
    PE inside the array only before a fold begins, so that a PE could run only one instance in each fold.
    """
    if dims == 1 or len(recurrence.axes) <= dims:
        return ""
    depth = len(recurrence.nest.loops)  # statements of fewer loops do not run on every PE
    deep = (s for s in recurrence.streams if len(recurrence.nest.embedding(s.use.statement).statement.iterators) == depth)
    alone = next((s for s in (*deep, recurrence.result) if not s.directions), None)
    return f"{alone.use.text} is another element in each instance: every unit would need a wire of its own" if alone else ""


def cycles(recurrence: UniformRecurrence, mapping: SpaceTime, shape: Sequence[int]) -> Count | None:
    """Returns the cycles of all folds, each as if every PE had instances, as a formula of the sizes.

    None where that takes too long, or where the first row or column that a mapping uses depends on the sizes.

    recurrence: one that was made without values for the sizes.
    shape: the rows and columns of the array.
    """
    try:
        with polyhedra.budget(FORMULA_OPERATIONS):
            return FoldedDomain(recurrence, mapping, tuple(shape)).formula()
    except (polyhedra.BudgetExceeded, CannotCount, polyhedra.NoNumber):
        return None


def fold(recurrence: UniformRecurrence, mapping: SpaceTime, shape: Sequence[int], *, units: int = 0, padded: bool = False) -> Folds:
    """Returns the folds of a mapping on an array.

    shape: the rows and columns that are used.
    units: the PEs of the whole array; 0 for those of `shape`.
    padded: whether every fold counts the cycles of one that fills the whole array.
    Raises: IllegalSchedule where values would have to go to a fold that runs earlier.
    """
    folded = _counting(recurrence, mapping, tuple(shape))
    if isinstance(folded, FoldedDomain):
        folded.check_order()
    return Folds(recurrence, mapping, tuple(shape), units or prod(shape), padded, tuple(folded.classes(padded)))


def fold_points(folds: Folds) -> Iterator[FoldPoints]:
    """Yields the points of each fold with its number and its first PE, in the order in which folds run."""
    return FoldedDomain(folds.recurrence, folds.mapping, folds.shape).points()


def elements_by_fold(folds: Folds, order: Sequence[int]) -> tuple[list[str], isl.Map]:
    """Returns the elements that each fold writes, { [o, f] -> A[e] }, after the names of the coordinates [o, f]: outer loops, and
    blocks of rows and columns.

    order: the coordinates of the array in the order in which their blocks stand in [o, f].
    """
    return FoldedDomain(folds.recurrence, folds.mapping, folds.shape).elements(order)


def ports(folds: Folds) -> tuple[tuple[int, int], ...]:
    """Returns (how many PEs elements come in through, how many they go out through) for each stream, in the order of the traffic."""
    return tuple(FoldedDomain(folds.recurrence, folds.mapping, folds.shape).ports())


def _counting(recurrence: UniformRecurrence, mapping: SpaceTime, shape: tuple[int, ...]) -> BoxFolds | FoldedDomain:
    """Returns what counts the folds of a mapping: `BoxFolds` where its formulas hold, else `FoldedDomain`, which counts with isl."""
    return (BoxFolds if box_folds.applies(recurrence, mapping) else FoldedDomain)(recurrence, mapping, shape)
