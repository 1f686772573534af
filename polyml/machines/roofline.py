"""The roofline of a kernel as a value: the roofs of operations and of bytes, and which of them bounds it.

Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore architectures", CACM
2009.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyml.machines.descriptions import Figure


@dataclass(frozen=True)
class Roof:
    """A Roof is a rate that a kernel cannot exceed, with the least time that this means.

    place: a type of operations such as "f64", or the level of memory whose bytes are meant: "L2", ..., "memory".
    amount: how many operations the kernel has, or how many bytes move from and to the place.
    rate: operations or bytes per second; None: not known.
    seconds: how long the amount takes at this rate; None where that is not known.
    lanes: the part of the vectors' lanes that the operations use, from 0 to 1.
    """

    place: str
    amount: int
    rate: Figure | None
    seconds: float | None
    lanes: float = 1.0


@dataclass(frozen=True)
class Roofline:
    """A Roofline holds all roofs of a kernel, the rates that it cannot exceed.

    operations: how many operations it has, of all types.
    work: the roofs of operations, by type.
    traffic: the roofs of bytes, nearest first.
    """

    operations: int
    work: tuple[Roof, ...]
    traffic: tuple[Roof, ...]

    @property
    def seconds(self) -> float | None:
        """Returns the least time that the roofs allow; None where a rate is not known."""
        times = self._times
        return None if times is None else max([times[0], *times[1]])

    @property
    def bound(self) -> str:
        """Returns what bounds the kernel: "operations", or the place, such as "L2", whose bytes take longest.

        It is "" where a rate is not known.
        """
        times = self._times
        if times is None:
            return ""
        work, moved = times
        slowest = max(moved, default=0.0)
        return self.traffic[moved.index(slowest)].place if moved and slowest > work else "operations"

    @property
    def _times(self) -> tuple[float, list[float]] | None:
        """Returns (the seconds of all operations together, for each roof of `traffic` the seconds in which its bytes move); None
        where a rate is not known.
        """
        work = [roof.seconds for roof in self.work if roof.seconds is not None]
        moved = [roof.seconds for roof in self.traffic if roof.seconds is not None]
        return (sum(work), moved) if len(work) == len(self.work) and len(moved) == len(self.traffic) else None

    def intensity(self, place: str) -> float | None:
        """Returns operations per byte that moves from and to a place such as "memory"; None where none moves."""
        moved = next((roof.amount for roof in self.traffic if roof.place == place), 0)
        return self.operations / moved if moved else None
