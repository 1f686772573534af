"""The cycles of one step of a loop, by what they are spent on, and the latencies that they are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LATENCY_CYCLES = 4  # from the operands of a multiply-add to its result
LOOP_CYCLES = 0.4  # what counting and branching add to an iteration, most of it hidden behind the body
FORWARD_STALL = 20.0  # cycles that a vector waits for memory if several stores, just made, have parts of it
FORWARDED_LOAD = 2.5  # cycles in which a vector is loaded that a store, just made, has as a whole
FORWARDED = 256  # elements behind a store from which it has surely reached the cache
SHARED_CYCLES = 0.05  # the share of a less busy unit's cycles that does not overlap with those of the busiest unit


class CycleTerms(NamedTuple):
    """The cycles of one step of the innermost loop, by what they are spent on.

    arithmetic, loads, stores: cycles of units that work side by side.
    slow: cycles of a unit that runs one operation after the other.
    jumps: cycles of waiting for cache lines that do not follow one another.
    issue: cycles in which the instructions are issued, as a lower bound.
    waits: cycles in which the step waits for results of the step before, as a lower bound.
    loop: cycles of counting and branching.
    instances: how many iterations of the perfect nest run in a step.
    used: the share of these iterations that the program needs; the others are masked out or left over.
    divisions: cycles of the divider, which runs one operation after the other, beside the units above.
    """

    arithmetic: float
    loads: float
    stores: float
    slow: float
    jumps: float
    issue: float
    waits: float
    loop: float
    instances: int
    used: float
    divisions: float = 0.0

    @property
    def per_iteration(self) -> float:
        """The cycles of each iteration of the perfect nest."""
        units = (self.arithmetic, self.loads, self.stores, self.divisions)
        busiest = max(units)
        busy = busiest + SHARED_CYCLES * (sum(units) - busiest) + self.slow + self.jumps
        return (max(busy, self.issue, self.waits) + self.loop) / self.instances / self.used

    def __str__(self) -> str:
        named = ("arithmetic", "loads", "stores", "divisions", "slow", "jumps", "issue", "waits", "loop")
        parts = ", ".join(f"{name} {getattr(self, name):.3g}" for name in named if getattr(self, name))
        return f"{self.per_iteration:.3g} cycles each ({parts}; {self.instances} at a time, {self.used:.0%} of them used)"


@dataclass
class StepAccesses:
    """The accesses of one step of the innermost loop, counted in instructions.

    loads: all loads that are not counted in `lined` or `broadcasts`.
    lined: loads of vectors that begin on cache lines.
    broadcasts: loads of one element into all lanes.
    stores: stores.
    jumps: cycles of waiting for cache lines that do not follow one another.
    accumulators: how many registers hold accumulators throughout the loop.
    """

    loads: float = 0.0
    lined: float = 0.0
    broadcasts: float = 0.0
    stores: float = 0.0
    jumps: float = 0.0
    accumulators: float = 0


def stalls(block: int, vectors: int, distances: Sequence[int]) -> float:
    """Returns the cycles in which a step that runs `block` consecutive iterations together, in vectors, waits for memory to have
    what steps a little before have stored: in other pieces than it loads, or as whole vectors.

    vectors: how many the block has.
    distances: how many iterations before it an iteration reads what was written. What the step before has written is in registers,
        and waits for nothing.
    """
    near = [d for d in distances if d < FORWARDED]
    in_pieces = max((FORWARD_STALL * block / d for d in near if d % block), default=0.0)
    return max(in_pieces, FORWARDED_LOAD * vectors * sum(d % block == 0 and d != block for d in near))
