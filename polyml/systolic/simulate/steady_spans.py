"""Steady spans are cycles in which elements come in and go out at the boundary of the array alone.

Where every link takes one cycle, a value that moves has a place of its own, which the PEs pass one after another: what a PE
has, its neighbour along the link has in the next cycle. In such a span what comes in later can be put into its place before, and
what has gone out is still there afterwards. Of the cycles' order nothing is left then but that of each sum.

Links of several cycles, values that go from register to register, and wires, which take no cycle, have no such places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from polyml.systolic.program.events import Events, StridedEvents
from polyml.systolic.program.fold_program import FoldProgram, Operand, Register
from polyml.systolic.simulate.numpy_engine import in_place

T = TypeVar("T")
Steps = tuple[int, int]  # from one PE to another: rows and columns
Span = tuple[int, int]  # the first cycle, and the one behind the last


@dataclass(frozen=True)
class Grid:
    """A Grid is the array of PEs as rows and columns such that sums never leave their column: where sums move along rows, the
    array's rows are the grid's columns.

    rows, columns: how many the grid has.
    transposed: whether the array's rows are the grid's columns.
    moves: for each register, the rows and columns by which its values move in a cycle.
    sums: for each statement, the register that has its sum.
    """

    rows: int
    columns: int
    transposed: bool
    moves: tuple[tuple[Register, Steps], ...]
    sums: tuple[tuple[str, Register], ...]


def grid_of(fold: FoldProgram, shape: Sequence[int], names: Iterable[str]) -> Grid | None:
    """Returns the array as a grid in which sums never leave their column. Returns None for a fold that has to run cycle by cycle:
    its values do not all go to the same or a neighbouring PE in each cycle, its sums move along both rows and columns, or its loads
    and stores must keep their cycles.

    shape: the rows and columns of the array.
    names: the names of the statements.
    """
    sums = {register[0]: register for register in in_place(fold)}
    if sums.keys() != set(names) or not _can_wait(fold, sums.values()):
        return None
    moves = {}
    for register, operand in fold.operands.items():
        link = operand.link
        if link is None or operand.transfers or operand.broadcasts or link.cycles != 1 or max(map(abs, link.steps)) > 1:
            return None
        if link.source != register and register != sums[register[0]]:
            return None
        moves[register] = as_pair(link.steps, 0)
    for transposed in (False, True):
        if not any(moves[register][not transposed] for register in sums.values()):
            rows, columns = _in_grid(as_pair(shape, 1), transposed)
            steps = tuple((register, _in_grid(each, transposed)) for register, each in moves.items())
            return Grid(rows, columns, transposed, steps, tuple(sums.items()))
    return None


def as_pair(values: Sequence[T], missing: T) -> tuple[T, T]:
    """Returns two values as they are, and (missing, value) for a single value: an array of one dimension counts as one row."""
    first, second = values if len(values) == 2 else (missing, *values)
    return first, second


def _in_grid(pair: tuple[T, T], transposed: bool) -> tuple[T, T]:
    """Returns the (rows, columns) of the array as (rows, columns) of the grid: exchanged if the grid is transposed, else as they
    are.
    """
    rows, columns = pair
    return (columns, rows) if transposed else pair


def _steps(operand: Operand) -> Steps:
    """Returns the rows and columns by which a register's values move in a cycle. Raises ValueError for a register without a link."""
    if operand.link is None:
        raise ValueError("a register of a grid has a link")
    return as_pair(operand.link.steps, 0)


def _can_wait(fold: FoldProgram, sums: Iterable[Register]) -> bool:
    """Returns whether loads and stores of a fold may be made in other cycles, with the same results: no array or other memory is
    both loaded from and stored to, except by one sum that loads each element once.

    sums: the registers that have sums.
    """
    stores: dict[tuple[str, str], set[str]] = {}
    for name, events in fold.stores:
        stores.setdefault(events.memory, set()).add(name)
    for register, operand in fold.operands.items():
        for load in (load for load in operand.loads if isinstance(load, StridedEvents)):
            by = stores.get(load.memory, set())
            if by and (register not in sums or by != {register[0]} or not load.distinct or len(operand.loads) > 1):
                return False
    return True


def spans(fold: FoldProgram, shape: Sequence[int], least: int) -> list[Span]:
    """Returns the longest spans of successive cycles in which elements are loaded only by PEs at the boundary where a register's
    values enter, and stored only at the boundary where they leave, each as (first cycle, the one behind the last).

    fold: one for which `grid_of` returns a grid.
    shape: the rows and columns of the array.
    least: the cycles that a span has to have at least.
    """
    _, columns = as_pair(shape, 1)
    used = as_pair(fold.used, (0, 0))
    quiet = np.ones(fold.cycles, bool)
    for operand in fold.operands.values():
        x, y = _steps(operand)
        for load in operand.loads:
            quiet &= _at_edge(load, columns, used, (-x, -y))
    for register in in_place(fold):
        for _, store in (each for each in fold.stores if each[0] == register[0]):
            quiet &= _at_edge(store, columns, used, _steps(fold.operands[register]))
    ends = np.flatnonzero(np.diff(np.concatenate([[0], quiet, [0]]).astype(np.int8))).tolist()
    return [(first, end) for first, end in zip(ends[::2], ends[1::2]) if end - first >= least]


def _at_edge(events: Events | StridedEvents, columns: int, used: Sequence[tuple[int, int]], steps: Steps) -> np.ndarray:
    """Returns, for each cycle, whether the PEs of its loads or stores lie side by side at that boundary of the used PEs which a
    move by `steps` crosses. It is True for a cycle without loads or stores, and False for one whose loads or stores are listed one
    by one.

    events: the loads or stores.
    columns: how many columns the array has.
    used: (first row, last row) and (first column, last column) of the used PEs.
    steps: a move, as a number of rows and a number of columns.
    """
    if not isinstance(events, StridedEvents):
        return np.diff(events.units_by_cycle.starts) == 0
    first, last = _ends(events, columns)
    straight = np.ones(len(events.counts), bool)
    outside = np.zeros(len(events.counts), bool)
    for begin, end, each, step, (low, high) in zip(first, last, run_steps(events, columns), steps, used):
        straight &= end - begin == each * (events.counts - 1)
        if step > 0:
            outside |= np.minimum(begin, end) + step > high
        elif step < 0:
            outside |= np.maximum(begin, end) + step < low
    return (events.counts == 0) | straight & outside


def _ends(runs: StridedEvents, columns: int) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Returns ((rows, columns) of the PEs of the first events, (rows, columns) of those of the last events), each with a number for
    every cycle.
    """
    return np.divmod(runs.units, columns), np.divmod(runs.units + runs.unit_step * (runs.counts - 1), columns)


def run_steps(runs: StridedEvents, columns: int) -> Steps:
    """Returns the rows and columns from the PE of one event of a cycle to that of the next.

    columns: how many columns the array has.
    """
    row = round(runs.unit_step / columns)
    return row, runs.unit_step - row * columns
