"""Where and when instances run: the PE and the cycle of each one, and the elements that it accesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.model.core.scop import Access, Scop
from polyml.model.counting.lattice_points import affine, lattice
from polyml.systolic.folding.folded_domain import FoldPoints
from polyml.systolic.folding.folds import Folds
from polyml.systolic.program.events import Events, Memory, Row, StridedEvents, UnitsByCycle, by_cycle, strided_events
from polyml.systolic.program.fold_program import element
from polyml.systolic.recurrences.recurrence import UniformRecurrence
from polyml.systolic.recurrences.spacetime import SpaceTime


class FoldExtent:
    """A FoldExtent says how far a fold reaches in time and on the array.

    number: which fold this is: the values of the outer loops, then the positions of its block of rows and of its block of columns.
    corner: the coordinates that the space-time mapping gives to the fold's first PE.
    instances: by statement, the instances that the fold runs.
    start: the time that the mapping gives to the first instance.
    cycles: how many cycles there are from the first instance to the last.
    used: for each coordinate, the least and the greatest PE with instances, counted from the corner.
    rows: how many rows have instances.
    """

    def __init__(self, fold: FoldPoints, recurrence: UniformRecurrence, mapping: SpaceTime):
        self.number, self.corner, points = fold
        corner = self.corner
        self.instances = {name: recurrence.embedding_of(name).intersect_range(points).domain() for name in recurrence.statements}
        ranges = polyhedra.ranges(points.apply(mapping.relation(len(recurrence.outer))))
        (self.start, last), *places = ranges[-1 - len(corner) :]
        self.cycles = last - self.start + 1
        self.used = tuple((low - first, high - first) for (low, high), first in zip(places, corner))
        self.rows = places[0][1] - places[0][0] + 1


class Placement:
    """A Placement says at what time and in which PE each instance of a nest runs, and where in memory the elements that it accesses
    lie. All of these are affine functions of the iterators of the instance's statement.

    times: by statement, the function that gives the time.
    coordinates: by statement, the functions that give the coordinates of the PE.
    steps: for each coordinate, how much greater the number of the next PE along it is.
    """

    def __init__(self, scop: Scop, folds: Folds, sizes: Mapping[str, int]):
        self._scop, self._recurrence, self._sizes = scop, folds.recurrence, sizes
        self.steps = (folds.shape[-1], 1) if len(folds.shape) == 2 else (1,)
        names = self._recurrence.statements
        self.times = {name: self.row(name, folds.mapping.time) for name in names}
        self.coordinates = {name: [self.row(name, row) for row in folds.mapping.space] for name in names}
        self._elements: dict[int, Row] = {}  # by the access's id

    def events(self, name: str, instances: isl.Set, fold: FoldExtent, memory: Memory, element: Row) -> Events | StridedEvents:
        """Returns the loads or stores of one access by some instances of a statement: which element of a memory each of them reads
        or writes, at which PE and in which cycle of the fold.

        name: the statement's name.
        element: the element's position, as an affine function of the iterators.
        """
        if polyhedra.is_whole_box(instances):
            time, start = self.times[name]
            row, first = self.unit(name, fold)
            found = strided_events(
                memory, polyhedra.ranges(instances), (time, start - fold.start), (row, first), element, fold.cycles
            )
            if found is not None:
                return found
        points = lattice(instances)
        places, order = self.units_by_cycle(name, points, fold)
        return Events(memory, places, affine(*element, points)[order])

    def count_by_cycle(self, name: str, instances: isl.Set, fold: FoldExtent) -> np.ndarray:
        """Returns how many of these instances of a statement run in each cycle of the fold."""
        row, start = self.times[name]
        if not polyhedra.is_whole_box(instances):
            return np.bincount(affine(row, start, lattice(instances)) - fold.start, minlength=fold.cycles)
        box = polyhedra.ranges(instances)
        found = np.zeros(fold.cycles, np.int64)
        found[start - fold.start + sum(min(c * low, c * high) for c, (low, high) in zip(row, box))] = 1
        for c, length in ((abs(c), high - low + 1) for c, (low, high) in zip(row, box)):
            if c == 0:
                found *= length
                continue
            before = found[: max(0, len(found) - c * length)].copy()
            found[len(found) - len(before) :] -= before  # each instance comes `length` times, every c cycles
            for phase in range(c):
                np.cumsum(found[phase::c], out=found[phase::c])
        return found

    def unit(self, name: str, fold: FoldExtent) -> Row:
        """Returns the number of the PE on which an instance runs in a fold, as an affine function of the iterators of the statement
        of this name.
        """
        parts = list(zip(self.steps, self.coordinates[name], fold.corner))
        loops = range(len(self.times[name][0]))
        return tuple(sum(s * row[k] for s, (row, _), _ in parts) for k in loops), sum(
            s * (c - corner) for s, (_, c), corner in parts
        )

    def units_by_cycle(self, name: str, points: np.ndarray, fold: FoldExtent) -> tuple[UnitsByCycle, np.ndarray]:
        """Returns the PEs at which these instances of a statement run, by cycle, and the order that sorts the instances by cycle.

        points: the values of the iterators, a row for each instance.
        """
        cycles = affine(*self.times[name], points) - fold.start
        return by_cycle(cycles, affine(*self.unit(name, fold), points), fold.cycles)

    def row(self, name: str, axes: Sequence[int]) -> Row:
        """Returns a linear function of the axes, the dimensions that the mapping turns into time and PEs, as an affine function of
        the iterators of the statement of this name.

        axes: the coefficients of the axes.
        """
        rows = self._recurrence.coordinates(name)
        loops = range(len(rows[0][0]))
        return tuple(sum(c * row[k] for c, (row, _) in zip(axes, rows)) for k in loops), sum(c * k for c, (_, k) in zip(axes, rows))

    def element(self, access: Access) -> Row:
        """Returns the position of an accessed element in its array, row by row, as an affine function of the iterators."""
        if id(access) not in self._elements:
            self._elements[id(access)] = element(self._scop, access, self._sizes)
        return self._elements[id(access)]
