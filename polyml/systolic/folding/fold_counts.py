"""What is counted of folds: classes of equal folds, the traffic of each stream, and how far folds overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polyml.systolic.folding.stalls import FoldStep, RepeatedSteps, stalled
from polyml.systolic.recurrences.recurrence import DataStream, UniformRecurrence
from polyml.systolic.recurrences.spacetime import SpaceTime
from polyml.values import cached_property


@dataclass(frozen=True)
class FoldClass:
    """A FoldClass stands for all folds that have the same counts.

    number: how many folds these are.
    instances: the instances of one fold.
    units: the PEs that have an instance.
    compute_cycles: the cycles from the first instance to the last.
    preload_cycles: the cycles before these, in which stationary operands are brought in.
    """

    number: int
    instances: int
    units: int
    compute_cycles: int
    preload_cycles: int

    @property
    def cycles(self) -> int:
        """Returns the cycles of one fold, with those in which its stationary operands are brought in."""
        return self.compute_cycles + self.preload_cycles


@dataclass(frozen=True)
class StreamTraffic:
    """StreamTraffic holds how many elements of one stream go between the array and the memory next to it.

    stream: an access of the nest, with the directions in which its values go from PE to PE.
    reads: elements that come in; for a result, what sums start from, and partial sums that come back.
    writes: elements that leave.
    """

    stream: DataStream
    reads: int
    writes: int


@dataclass(frozen=True)
class Overlap:
    """An Overlap is a sequence of folds that each begin as soon as their PEs are free.

    While a fold runs, the stationary operands of the next one come into a second register of each PE, and the stationary results of
    the one before go out from a second register, too.
    """

    steps: tuple[FoldStep | RepeatedSteps, ...]

    @cached_property
    def cycles(self) -> int:
        """Returns the cycles from the beginning of the first fold to the end of the last, if stationary operands are always there
        in time.
        """
        return int(stalled(self.steps, 0, 1).cycles)


def is_stationary(mapping: SpaceTime, stream: DataStream) -> bool:
    """Returns whether a stream's values stay in one PE, from instance to instance, under a mapping."""
    return bool(stream.directions) and not any(d.line or any(mapping.steps(d.vector)[1:]) for d in stream.directions)


def preloaded(recurrence: UniformRecurrence, mapping: SpaceTime) -> list[DataStream]:
    """Returns the streams of operands that are in their PEs before a fold begins.

    These are the stationary ones and, on an array of two dimensions, those of which each instance uses an element of its own.
    """
    operands = [s for s in recurrence.streams if s.use.kind == "operand"]
    return [s for s in operands if is_stationary(mapping, s) or not s.directions and len(mapping.space) > 1]


def traffic(
    recurrence: UniformRecurrence, entering: Callable[[DataStream], int], leaving: Callable[[], int]
) -> Iterator[StreamTraffic]:
    """Yields how many elements each stream moves between the array and memory, with the results last.

    entering: gives how many elements of a stream come from memory. For a stream of sums it gives how many elements a fold adds to,
        added up over all folds.
    leaving: gives how many results leave, where the nest adds nothing up.
    """
    chain = next((s for s in recurrence.streams if s.use.kind == "result"), None)
    yield from (StreamTraffic(stream, entering(stream), 0) for stream in recurrence.streams if stream.use.kind != "result")
    if chain is None:
        yield StreamTraffic(recurrence.result, 0, leaving())
    else:
        sums = entering(chain)
        yield StreamTraffic(chain, sums - (0 if recurrence.nest.starts_from_arrays else recurrence.elements), sums)
