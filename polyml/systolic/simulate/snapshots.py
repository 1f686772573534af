"""Snapshots say what each PE of a systolic array does in each cycle, instance by instance, for pictures of small cases.

    t = i + j + k, x = i, y = j       in cycle 3 the PE (1, 2) runs S0[1, 2, 0] with A[1,0], B[0,2] and C[1,2]

An instance has an element from the one before it along a stream's direction, in the same fold; where there is none, it enters
from the buffer. Elements that take several cycles from PE to PE are between them meanwhile. What is stationary is shifted in along
the rows before a fold begins, and stationary results are shifted out after the last one.
"""

from __future__ import annotations

from itertools import islice
from math import prod

from polyml.errors import ConfigError
from polyml.systolic.folding.folds import fold_points
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.simulate.fold_frames import FoldFrames, lanes_of
from polyml.systolic.simulate.frames import CycleFrame, Frames

MOST_REGISTERS = 65_536  # PEs x cycles x lanes of one fold that is drawn
ROOM = 24_576  # PEs x cycles x lanes of several folds that are drawn
MOST_FOLDS = 64


def frames(plan: Plan, folds: int = 0) -> Frames:
    """Returns what each PE runs and holds in each cycle of a plan's first folds, for pictures.

    folds: how many folds are wanted; 0 for as many as a picture may show. Fewer are returned where these are too much data.
    Raises: ConfigError where even one fold is too much.
    """
    recurrence, shape = plan.recurrence, plan.folds.shape
    lanes = lanes_of(recurrence)
    cycles = max(each.cycles for each in plan.folds.classes)
    registers = prod(shape) * cycles * len(lanes)
    if registers > MOST_REGISTERS:
        units = " x ".join(map(str, shape))
        parts = f"{units} units with {len(lanes)} elements each in {cycles:,} cycles are {registers:,}"
        notes = ["expected smaller sizes of the arrays, or a smaller array of units"]
        raise ConfigError(f"{recurrence.nest.name} is too large to draw: {parts}, of {MOST_REGISTERS:,} at most", notes=notes)
    shown = min(folds or MOST_FOLDS, MOST_FOLDS, max(1, ROOM // registers), plan.folds.number)
    found: list[CycleFrame] = []
    before: set[str] = set()
    sources = list(recurrence.sources.values())
    for index, points in enumerate(islice(fold_points(plan.folds), shown)):
        fold = FoldFrames(plan, lanes, sources, points, before)
        found += fold.frames(len(found), index)
        before |= fold.written()
        if index + 1 == plan.folds.number:
            found += fold.drain(len(found), index)
    return Frames(plan, lanes, shown, tuple(found))
