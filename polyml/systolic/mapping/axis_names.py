"""The names of a nest's coordinates. They are the loops of its deepest statement, but for those along which statements are
interleaved:

for t: for i: S[t, i]; for i: T[t, i]        S is at (2t, i), T at (2t + 1, i): the coordinates are t_turn, i
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.systolic.recurrences.spacetime import linear
from polyml.systolic.recurrences.systolic_nest import SystolicNest


def axis_names(nest: SystolicNest) -> tuple[str, ...]:
    """Returns the name of each axis of a nest's index space: a loop of the deepest statement, or `t_turn` for the loop t where
    statements take turns, such as one at even and one at odd points of the axis.
    """
    rows = nest.embedding(nest.statement.name).rows
    return tuple(loop if rows[k][k] == 1 else _free(f"{loop}_turn", nest.loops) for k, loop in enumerate(nest.loops))


def _free(name: str, taken: Sequence[str]) -> str:
    """Returns the name with as many underscores behind it as it needs to be none of those in `taken`."""
    return _free(f"{name}_", taken) if name in taken else name


def interleavings(nest: SystolicNest) -> Iterator[str]:
    """Yields, for each axis of the index space along which statements take turns, a text of which points each of them has, such as
    `t_turn = 2*t of S, 2*t + 1 of T`.
    """
    for axis, (name, loop) in enumerate(zip(axis_names(nest), nest.loops)):
        if name != loop:
            sums = ((linear(p.rows[axis], p.statement.iterators, p.constants[axis]), p.statement.name) for p in nest.embeddings)
            yield f"{name} = {', '.join(f'{value} of {statement}' for value, statement in sums)}"
