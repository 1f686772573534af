"""The iterations that run together, one vector or number at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from polyml.codegen.ir.linexpr import Lin
from polyml.codegen.ir.program import Jam


@dataclass(frozen=True)
class Copy:
    """One of the iterations that run together: a value per jammed variable; the lane variable's is its first lane."""

    values: dict[str, Lin]
    lane_var: str | None
    lanes: int
    last: Lin | None  # index of the last lane that happens, None: all
    part: int  # which vector of the lane variable this is
    scans: bool = False


def copies(jams: Sequence[Jam]) -> Iterator[Copy]:
    """Every combination of the jams' iterations, one Copy per vector."""
    lane = next((j for j in jams if j.lanes > 1), None)
    for chosen in product(*(range(j.count) for j in jams)):
        values = {j.var: j.base + c * j.lanes for j, c in zip(jams, chosen)}
        if lane is None:
            yield Copy(values, None, 1, None, 0)
            continue
        last = None if lane.limit is None else lane.limit.substitute(values) - values[lane.var]
        yield Copy(values, lane.var, lane.lanes, last, chosen[jams.index(lane)], lane.scans)
