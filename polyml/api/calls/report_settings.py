"""The settings of a report, besides its target and its machine."""

from __future__ import annotations

from dataclasses import dataclass, fields

from polyml.machines.cpu import CacheLevel


@dataclass(frozen=True)
class ReportSettings:
    """The settings of a report are values that only some targets take; what is left out has its default.

    caches: levels in place of the machine's, nearest first.
    tile: sizes of tiles of the source's loops, outermost first.
    threads: how many threads run polyml's schedule; 0: as many as the machine has.
    simulate: whether caches are simulated.
    coherent: whether lines that one thread writes leave the caches of others.
    addresses: (array, byte at which it begins).
    block: sizes of a GPU's blocks along x, y and z.
    array: rows and columns of a systolic array.
    dataflow: which operands stay in its units.
    links: which of its units are connected.
    mapping: mappings in place of those that are found.
    rank: the quantity by which the best mapping is chosen.
    """

    caches: tuple[CacheLevel, ...] = ()
    tile: tuple[int, ...] = ()
    threads: int = 0
    simulate: bool = True
    coherent: bool = False
    addresses: tuple[tuple[str, int], ...] = ()
    block: tuple[int, ...] = ()
    array: tuple[int, ...] = ()
    dataflow: str = "auto"
    links: str = "manhattan"
    mapping: tuple[str, ...] = ()
    rank: str = "cycles"

    def given(self) -> tuple[str, ...]:
        """Returns the names of the settings that are not at their default.

        >>> ReportSettings(tile=(32, 32), rank="energy").given()
        ('tile', 'rank')
        """
        return tuple(each.name for each in fields(self) if getattr(self, each.name) != each.default)
