"""What is counted of folds: those that are alike, traffic, how far they overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from polyml.systolic.folding.stalls import Repeat, Step, stalled
from polyml.systolic.recurrences.recurrence import Recurrence, Stream
from polyml.systolic.recurrences.spacetime import SpaceTime


@dataclass(frozen=True)
class FoldClass:
    """Folds that are alike. number: how many. units: that have an instance. compute_cycles: from the first instance to the last.
    preload_cycles: before, to bring in what stays.
    """

    number: int
    instances: int
    units: int
    compute_cycles: int
    preload_cycles: int

    @property
    def cycles(self) -> int:
        return self.compute_cycles + self.preload_cycles


@dataclass(frozen=True)
class Traffic:
    """Elements between the array and the memory next to it. reads: of a result, of what sums start from, and of partial sums."""

    stream: Stream
    reads: int
    writes: int


@dataclass(frozen=True)
class Overlap:
    """Folds that begin as soon as their units are free: what stays comes in meanwhile, into a second register of each unit, and
    results that stay go out of one.
    """

    steps: tuple[Step | Repeat, ...]

    @cached_property
    def cycles(self) -> int:
        """Where what stays is there in time."""
        return int(stalled(self.steps, 0, 1).cycles)


def stays(mapping: SpaceTime, stream: Stream) -> bool:
    """Whether its values stay in the unit where they are."""
    return bool(stream.directions) and not any(d.line or any(mapping.steps(d.vector)[1:]) for d in stream.directions)


def preloaded(recurrence: Recurrence, mapping: SpaceTime) -> list[Stream]:
    """Operands that are in their units before a fold begins."""
    operands = [s for s in recurrence.streams if s.use.kind == "operand"]
    return [s for s in operands if stays(mapping, s) or not s.directions and len(mapping.space) > 1]


def traffic(recurrence: Recurrence, entering: Callable[[Stream], int], leaving: Callable[[], int]) -> Iterator[Traffic]:
    """By stream; the last one's is the results'. entering: elements that come from memory, of sums those that are there in some
    fold; leaving: results that are no sums.
    """
    chain = next((s for s in recurrence.streams if s.use.kind == "result"), None)
    yield from (Traffic(stream, entering(stream), 0) for stream in recurrence.streams if stream.use.kind != "result")
    if chain is None:
        yield Traffic(recurrence.result, 0, leaving())
    else:
        sums = entering(chain)
        yield Traffic(chain, sums - (0 if recurrence.nest.starts else recurrence.elements), sums)
