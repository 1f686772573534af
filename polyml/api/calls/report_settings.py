"""The settings of a report, besides its target and its machine."""

from __future__ import annotations

from dataclasses import dataclass, fields

from polyml.machines.cpu import CacheLevel


@dataclass(frozen=True)
class ReportSettings:
    """The settings of a report, each of which only some targets take; a setting that is left out has its default.

    caches: CacheLevels in place of the machine's, nearest first.
    tile: sizes of tiles of the source's loops, outermost first.
    threads: how many threads run polyml's schedule; 0: as many as the machine has.
    simulate: whether caches are simulated.
    measure: whether the times of calls are measured too.
    coherent: whether a line that one thread writes leaves the caches of the other threads.
    addresses: (array, byte at which it begins) pairs.
    block: sizes of a GPU's thread blocks along x, y and z.
    array: rows and columns of a systolic array.
    dataflow: which operands stay in the array's units, "os", "ws", "is" or "auto".
    links: which of the array's units are connected, "manhattan", "diagonal" or "broadcast".
    mapping: space-time mappings in place of those that are found, as texts.
    rank: the quantity by which the best mapping is chosen, such as "cycles".
    """

    caches: tuple[CacheLevel, ...] = ()
    tile: tuple[int, ...] = ()
    threads: int = 0
    simulate: bool = True
    measure: bool = False
    coherent: bool = False
    addresses: tuple[tuple[str, int], ...] = ()
    block: tuple[int, ...] = ()
    array: tuple[int, ...] = ()
    dataflow: str = "auto"
    links: str = "manhattan"
    mapping: tuple[str, ...] = ()
    rank: str = "cycles"

    def given(self) -> tuple[str, ...]:
        """Returns the names of the settings that do not have their defaults.

        >>> ReportSettings(tile=(32, 32), rank="energy").given()
        ('tile', 'rank')
        """
        return tuple(each.name for each in fields(self) if getattr(self, each.name) != each.default)
