"""What a nest's coordinates are called: as the loops of its deepest statement, but for those along which statements take turns.

for t: for i: S[t, i]; for i: T[t, i]        S at (2t, i), T at (2t + 1, i): the coordinates t_turn, i
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.systolic.recurrences.nests import Nest
from polyml.systolic.recurrences.spacetime import linear


def axis_names(nest: Nest) -> tuple[str, ...]:
    rows = nest.place(nest.statement.name).rows
    return tuple(loop if rows[k][k] == 1 else _free(f"{loop}_turn", nest.loops) for k, loop in enumerate(nest.loops))


def _free(name: str, taken: Sequence[str]) -> str:
    return _free(f"{name}_", taken) if name in taken else name


def turns(nest: Nest) -> Iterator[str]:
    """`t_turn = 2*t of S, 2*t + 1 of T`, of each coordinate that has a name of its own."""
    for axis, (name, loop) in enumerate(zip(axis_names(nest), nest.loops)):
        if name != loop:
            sums = ((linear(p.rows[axis], p.statement.iterators, p.constants[axis]), p.statement.name) for p in nest.places)
            yield f"{name} = {', '.join(f'{value} of {statement}' for value, statement in sums)}"
