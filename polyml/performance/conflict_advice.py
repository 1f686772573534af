"""Advice about conflict misses: padding or packing, where lines fall into few sets of a cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyml.caches.analytic.set_conflicts import StridedWalk
from polyml.caches.simulator.trace import ArrayReference
from polyml.machines.cpu import CacheLevel


@dataclass(frozen=True)
class Advice:
    """An Advice tells how to avoid conflict misses of a reference whose lines along a loop would fit a level, but not its sets.

    lines: how many different lines the reference uses along the loop.
    sets: how many sets of the level these lines fall into.
    stride_bytes: the distance of the reference's addresses in one iteration and the next.
    padding_bytes: what to add to the stride so that the lines spread over more sets; 0 where no padding helps.
    """

    reference: ArrayReference
    loop: str
    level: CacheLevel
    lines: int
    sets: int
    stride_bytes: int
    padding_bytes: int

    def __str__(self) -> str:
        where = f"L{self.level.level} has room for {self.sets * self.level.ways} of them there"
        what = f"along {self.loop} {self.lines} lines, {self.stride_bytes} bytes apart, fall into {self.sets} sets: {where}"
        if not self.padding_bytes:
            return f"{what}; a copy of what is used again (pack) helps"
        return f"{what}; {self.padding_bytes} bytes more between them (padding), or a copy of what is used again (pack), helps"


def advice(walks: Sequence[StridedWalk]) -> Iterator[Advice]:
    """Yields advice for each walk that crowds a cache level: its lines would fit the level, but not the few sets that they fall
    into.

    Each walk says which lines one reference uses along one loop. The advice is about the nearest level that it crowds.
    """
    for walk in walks:
        crowded = next((k for k in range(len(walk.levels)) if walk.crowded(k)), None)
        if crowded is not None:
            level = walk.levels[crowded]
            padding = walk.padding_bytes(crowded)
            yield Advice(walk.reference, walk.loop, level, walk.lines, walk.sets[crowded], walk.stride_bytes, padding)
