"""What a mapping does on an array of given size: folds, cycles, units in use, and what goes in and out.

A fold is one pass of the array over the instances whose coordinates lie in one block of its rows and columns. Folds run one after
another; values go from one fold to another through memory. Everything is counted on the mapped domain

    { [o..., f, g, t, x, y] : f = x // rows, g = y // columns }

exactly, by isl where `boxes` has no formulas for it: a fold takes as many cycles as there are between its first and its last
instance. Padded folds, as SCALE-Sim's, take as many as if every unit had instances. Operands that stay are shifted in along the
rows before a fold begins, a row per cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.model.counting.cardinality import CannotCount, Count
from polyml.systolic.folding import box_folds
from polyml.systolic.folding.box_folds import Boxes
from polyml.systolic.folding.fold_counts import FoldClass, Overlap, Traffic, stays
from polyml.systolic.folding.folded_domain import FoldedDomain
from polyml.systolic.recurrences.recurrence import Recurrence
from polyml.systolic.recurrences.spacetime import SpaceTime

FORMULA_OPERATIONS = 500_000  # isl operations for one formula


@dataclass(frozen=True)
class Folds:
    """A mapping on `shape` of an array, rows and columns or a row's length. units: of the whole array."""

    recurrence: Recurrence
    mapping: SpaceTime
    shape: tuple[int, ...]
    units: int
    padded: bool
    classes: tuple[FoldClass, ...]

    @cached_property
    def traffic(self) -> tuple[Traffic, ...]:
        """By stream; the last one's is the results'."""
        return tuple(_counting(self.recurrence, self.mapping, self.shape).traffic())

    @property
    def number(self) -> int:
        return sum(each.number for each in self.classes)

    @property
    def cycles(self) -> int:
        return sum(each.number * each.cycles for each in self.classes)

    @cached_property
    def overlap(self) -> Overlap | None:
        """Where each fold begins as soon as its units are free. None where folds use each other's values, and wait for memory."""
        if any(s.use.kind == "value" for s in self.recurrence.streams):
            return None
        return Overlap(_counting(self.recurrence, self.mapping, self.shape).steps(self.padded))

    @property
    def utilisation(self) -> float:
        """Instances over what all units could run in these cycles."""
        return self.recurrence.instances / (self.units * self.cycles)

    @property
    def mapping_efficiency(self) -> float:
        """Units that have instances over all, on average over the folds."""
        return sum(each.number * each.units for each in self.classes) / (self.number * self.units)

    @property
    def compute_utilisation(self) -> float:
        """`utilisation` of each fold, on average over the folds."""
        return sum(each.number * each.instances / each.cycles for each in self.classes) / (self.number * self.units)

    @property
    def reads(self) -> int:
        return sum(each.reads for each in self.traffic)

    @property
    def writes(self) -> int:
        return sum(each.writes for each in self.traffic)

    @property
    def elements(self) -> int:
        """That go in or out."""
        return self.reads + self.writes

    @cached_property
    def active(self) -> tuple[int, ...]:
        """Units that run an instance, in each cycle of the first fold from its first instance to its last."""
        return FoldedDomain(self.recurrence, self.mapping, self.shape).active()

    @property
    def drain_cycles(self) -> int:
        """To shift results that stay out after the last fold; those of the others leave while the next one runs."""
        return self.shape[0] if stays(self.mapping, self.recurrence.result) else 0


def obstacle(recurrence: Recurrence, dims: int) -> str:
    """Why an array of `dims` dimensions without wires to every unit cannot feed the recurrence, "" where it can: values that are
    used once come to units inside one of two dimensions only before a fold, so that each unit has one instance.
    """
    if dims == 1 or len(recurrence.axes) <= dims:
        return ""
    depth = len(recurrence.nest.loops)  # statements of fewer loops are not in every unit
    deep = (s for s in recurrence.streams if len(recurrence.nest.place(s.use.statement).statement.iterators) == depth)
    alone = next((s for s in (*deep, recurrence.result) if not s.directions), None)
    return f"{alone.use.text} is another element in each instance: every unit would need a wire of its own" if alone else ""


def cycles(recurrence: Recurrence, mapping: SpaceTime, shape: Sequence[int]) -> Count | None:
    """Of padded folds, one after another, as a formula of the sizes, of a recurrence of all sizes. None where that takes too long,
    or where rows and columns do not begin at numbers.
    """
    try:
        with polyhedra.budget(FORMULA_OPERATIONS):
            return FoldedDomain(recurrence, mapping, tuple(shape)).formula()
    except (polyhedra.BudgetExceeded, CannotCount, polyhedra.NoNumber):
        return None


def fold(recurrence: Recurrence, mapping: SpaceTime, shape: Sequence[int], *, units: int = 0, padded: bool = False) -> Folds:
    """shape: rows and columns that are used, of `units`, 0: of the same. Raises IllegalSchedule where values would have to go to
    a fold that runs earlier.
    """
    folded = _counting(recurrence, mapping, tuple(shape))
    if isinstance(folded, FoldedDomain):
        folded.check_order()
    return Folds(recurrence, mapping, tuple(shape), units or prod(shape), padded, tuple(folded.classes(padded)))


def fold_points(folds: Folds) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], isl.Set]]:
    """The folds in their order: number [o, f], first row and column, and points { [o, a] }."""
    return FoldedDomain(folds.recurrence, folds.mapping, folds.shape).points()


def elements_by_fold(folds: Folds, order: Sequence[int]) -> tuple[list[str], isl.Map]:
    """{ [o, f] -> A[e] }: what each fold writes, and the names of its numbers, with the array's coordinates in this order."""
    return FoldedDomain(folds.recurrence, folds.mapping, folds.shape).elements(order)


def ports(folds: Folds) -> tuple[tuple[int, int], ...]:
    """(units where elements come in, where they go out), by stream in the order of the traffic."""
    return tuple(FoldedDomain(folds.recurrence, folds.mapping, folds.shape).ports())


def _counting(recurrence: Recurrence, mapping: SpaceTime, shape: tuple[int, ...]) -> Boxes | FoldedDomain:
    return (Boxes if box_folds.applies(recurrence, mapping) else FoldedDomain)(recurrence, mapping, shape)
