"""Spans of cycles in which what comes in and goes out does so at the edge of the array alone.

Where every link takes one cycle, a value that moves has a place of its own, which the units pass one after another: what a unit
has, its neighbour along the link has in the next cycle. In such a span what comes in later can be put into its place before, and
what has gone out is still there afterwards. Of the cycles' order nothing is left then but that of each sum.

Links of several cycles, values that go from register to register, and wires, which take no cycle, have no such places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from polyml.systolic.program.events import Events, StridedEvents
from polyml.systolic.program.fold_program import FoldProgram, Register
from polyml.systolic.simulate.numpy_engine import in_place

Steps = tuple[int, int]  # rows and columns further
Span = tuple[int, int]  # the first cycle, and the one behind the last


@dataclass(frozen=True)
class Grid:
    """An array whose sums never leave their column. turned: what is a column here is a row of the array. moves: of each register,
    the steps of its values in a cycle. sums: the register of each statement in which its sum is.
    """

    rows: int
    columns: int
    turned: bool
    moves: tuple[tuple[Register, Steps], ...]
    sums: tuple[tuple[str, Register], ...]


def grid_of(fold: FoldProgram, shape: Sequence[int], names: Iterable[str]) -> Grid | None:
    """None where values have no places of their own, or sums move along rows and along columns. names: of the statements."""
    sums = {own[0]: own for own in in_place(fold)}
    if sums.keys() != set(names) or not _can_wait(fold, sums.values()):
        return None
    moves = {}
    for own, operand in fold.operands.items():
        link = operand.link
        if link is None or operand.transfers or operand.broadcasts or link.cycles != 1 or max(map(abs, link.steps)) > 1:
            return None
        if link.source != own and own != sums[own[0]]:
            return None
        moves[own] = two(link.steps, 0)
    for turned in (False, True):
        if not any(moves[own][not turned] for own in sums.values()):
            rows, columns = two(shape, 1)[:: -1 if turned else 1]
            steps = tuple((own, each[:: -1 if turned else 1]) for own, each in moves.items())
            return Grid(rows, columns, turned, steps, tuple(sums.items()))
    return None


def two(values: Sequence[int], missing: int) -> tuple[int, int]:
    """Of a row of units, which has one coordinate, with another one before it."""
    return tuple(values) if len(values) == 2 else (missing, *values)


def _can_wait(fold: FoldProgram, sums: Iterable[Register]) -> bool:
    """Whether no element that is stored in a span is loaded later in it: what is stored are sums, each once."""
    stores: dict[tuple[str, str], set[str]] = {}
    for name, events in fold.stores:
        stores.setdefault(events.memory, set()).add(name)
    for own, operand in fold.operands.items():
        for load in (load for load in operand.loads if isinstance(load, StridedEvents)):
            by = stores.get(load.memory, set())
            if by and (own not in sums or by != {own[0]} or not load.distinct or len(operand.loads) > 1):
                return False
    return True


def spans(fold: FoldProgram, shape: Sequence[int], least: int) -> list[Span]:
    """Of `least` cycles or more, of a fold that has a grid."""
    _, columns = two(shape, 1)
    used = two(fold.used, (0, 0))
    quiet = np.ones(fold.cycles, bool)
    for operand in fold.operands.values():
        x, y = two(operand.link.steps, 0)
        for load in operand.loads:
            quiet &= _at_edge(load, columns, used, (-x, -y))
    for own in in_place(fold):
        for _, store in (each for each in fold.stores if each[0] == own[0]):
            quiet &= _at_edge(store, columns, used, two(fold.operands[own].link.steps, 0))
    ends = np.flatnonzero(np.diff(np.concatenate([[0], quiet, [0]]).astype(np.int8))).tolist()
    return [(first, end) for first, end in zip(ends[::2], ends[1::2]) if end - first >= least]


def _at_edge(events: Events | StridedEvents, columns: int, used: Sequence[tuple[int, int]], steps: Steps) -> np.ndarray:
    """Cycles in which the units `steps` further than those of the events are outside of the used ones, beyond one edge."""
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
    """Row and column of the first and of the last unit of each cycle."""
    return np.divmod(runs.units, columns), np.divmod(runs.units + runs.unit_step * (runs.counts - 1), columns)


def run_steps(runs: StridedEvents, columns: int) -> Steps:
    """From one unit of a cycle to the next."""
    row = round(runs.unit_step / columns)
    return row, runs.unit_step - row * columns
