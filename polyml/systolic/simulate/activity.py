"""How many PEs of an array run an instance, cycle by cycle, through all folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby

import numpy as np

from polyml.model.counting.lattice_points import affine, lattice
from polyml.systolic.folding.folds import fold_points
from polyml.systolic.folding.preloading import preload_passes
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.simulate.frames import Frames

MOST_INSTANCES = 2_000_000  # that are enumerated; with more, isl counts the first fold
MOST_FOLDS = 300


@dataclass(frozen=True)
class Activity:
    """An Activity says how many PEs of an array work in each cycle.

    active: how many PEs run an instance, by cycle.
    phases: ("compute", "preload" or "drain", its first cycle, the one behind its last), in order.
    starts: the cycles in which folds begin.
    scope_text: which part of the run this is, as text; "" for a whole run of one fold.
    """

    active: np.ndarray = field(repr=False)
    phases: tuple[tuple[str, int, int], ...]
    starts: tuple[int, ...]
    scope_text: str


def activity(plan: Plan) -> Activity:
    """Returns how many PEs work in each cycle of all folds. Where there are too many instances or folds, it is of the first fold
    alone, without the cycles in which stationary operands are shifted in.
    """
    folds, recurrence = plan.folds, plan.recurrence
    if recurrence.instances > MOST_INSTANCES or folds.number > MOST_FOLDS:
        active = np.array(folds.active)
        of = f"the first of {folds.number:,} folds, from its first instance to its last" if folds.number > 1 else ""
        return Activity(active, (("compute", 0, len(active)),), (0,), of)
    stationary, outer = preload_passes(recurrence, plan.mapping), len(recurrence.outer)
    found: list[tuple[str, np.ndarray]] = []
    for _, _, points in fold_points(folds):
        axes = lattice(points)[:, outer:]
        times, rows = (affine(row, 0, axes) for row in plan.mapping.rows[:2])
        preload_cycles = stationary * (int(rows.max() - rows.min()) + 1)
        found += [("preload", np.zeros(preload_cycles, np.int64)), ("compute", np.bincount(times - times.min()))]
    found.append(("drain", np.zeros(folds.drain_cycles, np.int64)))
    phases = _phases([(phase, len(active)) for phase, active in found])
    starts = tuple(first for phase, first, _ in phases if phase == "preload")
    scope_text = f"{folds.number:,} folds" if folds.number > 1 else ""
    return Activity(np.concatenate([active for _, active in found]), phases, starts, scope_text)


def of_frames(frames: Frames) -> Activity:
    """Returns how many PEs work in each cycle that is drawn."""
    runs = [(phase, len(list(run))) for (_, phase), run in groupby(frames.frames, key=lambda f: (f.fold, f.phase))]
    starts = tuple(next(fold).cycle for _, fold in groupby(frames.frames, key=lambda f: f.fold))
    return Activity(np.array([f.active for f in frames.frames]), _phases(runs), starts, frames.scope_text)


def _phases(lengths: Sequence[tuple[str, int]]) -> tuple[tuple[str, int, int], ...]:
    """Returns (name, first cycle, the cycle behind the last) for phases that follow one another from cycle 0 on.

    lengths: (name, how many cycles it has) for each phase, in order.
    """
    ends = list(accumulate(length for _, length in lengths))
    return tuple((phase, end - length, end) for (phase, length), end in zip(lengths, ends))
