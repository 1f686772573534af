"""The iterations that jams run together, one vector or number at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from polyml.codegen.ir.program import Jam
from polyml.quasi_affine.affine import Affine
from polyml.values import cached_property


@dataclass(frozen=True, eq=False)
class Copy:
    """A copy is one of the runs of an instance that the Jams around it (loops whose iterations run together) make: for one
    iteration, or for the lanes of one vector.

    values: { variable of a Jam -> its value in the copy }; the lane variable's is that of the first lane.
    lane_var: the variable whose iterations share a vector register; None where all are plain numbers.
    lanes: how many of these iterations share one; 1 where all are plain numbers.
    last: the index of the last lane that runs if the Jam has a limit; lanes after it are masked out. None if all lanes run.
    part: the position of the copy's vector among those along the lane variable.
    scans: whether each lane continues a prefix sum from the lane before.
    """

    values: dict[str, Affine]
    lane_var: str | None
    lanes: int
    last: Affine | None
    part: int
    scans: bool = False

    def one_vector_later(self) -> dict[str, Affine]:
        """Returns the copy's values with the lane variable increased by the lanes of a vector."""
        if self.lane_var is None:
            return self.values
        return {**self.values, self.lane_var: self.values[self.lane_var] + self.lanes}


@dataclass(frozen=True, eq=False)
class JamStack:
    """The Jams (loops whose iterations run together) around a node, outermost first, with the copies of an instance that they make.

    The copies are the same objects each time, so that what is known of a copy can be kept by its identity.
    """

    jams: tuple[Jam, ...] = ()
    _inner: list[JamStack] = field(default_factory=list, repr=False)

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        """One Copy for each combination of the Jams' iterations; the iterations that are lanes of one vector share one."""
        return tuple(copies(self.jams))

    def inside(self, jam: Jam) -> JamStack:
        """Returns the stack with one more Jam inside; calls with the same Jam return the same object."""
        for known in self._inner:
            if known.jams[-1] is jam:
                return known
        self._inner.append(JamStack((*self.jams, jam)))
        return self._inner[-1]


def copies(jams: Sequence[Jam]) -> Iterator[Copy]:
    """Yields one Copy for each combination of the Jams' iterations; the iterations that are lanes of one vector share one."""
    lane = next((j for j in jams if j.lanes > 1), None)
    for chosen in product(*(range(j.count) for j in jams)):
        values = {j.var: j.base + c * j.lanes for j, c in zip(jams, chosen)}
        if lane is None:
            yield Copy(values, None, 1, None, 0)
            continue
        last = None if lane.limit is None else lane.limit.substitute(values) - values[lane.var]
        if last is not None and last.is_constant and last.constant >= lane.lanes - 1:
            last = None  # no lane of this vector is masked out
        yield Copy(values, lane.var, lane.lanes, last, chosen[jams.index(lane)], lane.scans)
