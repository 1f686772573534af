"""Tiles, threads and wavefronts on the bands of a schedule tree.

    band [i, j, k]      ->      parallel: it; tile: jt, kt; point: i, j, k
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polyml.machine import CpuMachine
from polyml.model.dependence import Dependences
from polyml.model.scop import Access, Scop
from polyml.schedule.tree import (
    PARALLEL,
    POINT,
    TILE,
    Band,
    band_of,
    insert_band,
    mark,
    reorder,
    replace_band,
    rewrite_bands,
    statements_of,
)

STRIP = 32  # iterations a thread takes at a time where nothing else asks for tiles


def map_bands(
    schedule: isl.Schedule,
    scop: Scop,
    dependences: Dependences,
    machine: CpuMachine,
    *,
    tile: bool,
    parallel: bool,
) -> tuple[isl.Schedule, tuple[str, ...]]:
    """The schedule with tile loops, and the loop for threads above them. Order stays legal: bands are permutable."""
    notes: list[str] = []

    def change(node: isl.ScheduleNode) -> isl.ScheduleNode | None:
        return _Mapping(node, scop, machine, tile, parallel, notes).apply()

    return rewrite_bands(schedule.get_root().child(0), change).get_schedule(), tuple(notes)


@dataclass
class _Mapping:
    node: isl.ScheduleNode
    scop: Scop
    machine: CpuMachine
    tile: bool
    parallel: bool
    notes: list[str]

    def apply(self) -> isl.ScheduleNode | None:
        band = band_of(self.node)
        names = statements_of(self.node)
        label = f"band of {', '.join(names)}"
        if not band.permutable or not (any(band.coincident) or len(band.members) >= 3):
            return None
        reuse = self.tile and len(band.members) >= 3 and self._has_reuse(band, names)
        if not any(band.coincident):
            if not reuse:
                return None
            self.notes.append(f"{label}: tiled, tiles run by wavefronts")
            return self._wavefront(band, names)
        order = sorted(range(len(band.members)), key=lambda i: not band.coincident[i])
        band = reorder(band, order)
        if reuse:
            sizes = self._tile_sizes(band, names)
            self.notes.append(f"{label}: tiles of {' x '.join(map(str, sizes))}")
            return self._tiled(band, sizes)
        if not self.parallel:
            return None
        self.notes.append(f"{label}: strips of {STRIP} for threads")
        return self._strips(band)

    def _has_reuse(self, band: Band, names: list[str]) -> bool:
        """Whether some element is touched again along a member: the work grows faster than the data."""
        count = len(band.members)
        return any(
            len(self.scop.statements[n].iterators) >= count and len(a.subscripts) < count
            for n in names
            for a in (*self.scop.statements[n].reads, self.scop.statements[n].write)
            if len(a.subscripts) > 0
        )

    def _tile_sizes(self, band: Band, names: list[str]) -> list[int]:
        return [48, 512, 64, 32, 32, 32][: len(band.members)]

    def _strips(self, band: Band) -> isl.ScheduleNode:
        """for i: ...      ->      parallel it by 32: for i in the strip: ..."""
        first = Band(band.members[:1], (True,), True)
        strip = _scaled_floor(first, [STRIP])
        node = self.node.delete()
        node = insert_band(node, band)
        node = mark(node, POINT).parent()
        node = insert_band(node, strip)
        return node.insert_mark(isl.Id(PARALLEL))

    def _tiled(self, band: Band, sizes: list[int]) -> isl.ScheduleNode:
        tiles = _scaled_floor(band, sizes)
        node = self.node.delete()
        node = insert_band(node, band)
        node = mark(node, POINT).parent()
        rest = Band(tiles.members[1:], tiles.coincident[1:], True)
        if rest.members:
            node = insert_band(node, rest)
            node = mark(node, TILE).parent()
        node = insert_band(node, Band(tiles.members[:1], tiles.coincident[:1], True))
        return node.insert_mark(isl.Id(PARALLEL if self.parallel and band.coincident[0] else TILE))

    def _wavefront(self, band: Band, names: list[str]) -> isl.ScheduleNode:
        """for it, jt, kt      ->      for w = it + jt: parallel jt: for kt

        Every dependence has no negative component, so one with it + jt equal has it and jt equal: jt carries nothing.
        """
        count = len(band.members)
        sizes = [48] * count
        tiles = _floor(band, sizes)
        node = self.node.delete()
        node = insert_band(node, band)
        for i in range(count):
            node = node.band_member_set_ast_loop_type(i, isl.ast_loop_type.separate)
        node = mark(node, POINT).parent()
        if count > 2:
            node = insert_band(node, Band(tiles.members[2:], (False,) * (count - 2), True))
            node = mark(node, TILE).parent()
        node = insert_band(node, Band(tiles.members[1:2], (True,), True))
        node = node.insert_mark(isl.Id(PARALLEL if self.parallel else TILE))
        front = tiles.members[0].add(tiles.members[1])
        node = insert_band(node, Band((front,), (False,), True))
        return node.insert_mark(isl.Id(TILE))


def _floor(band: Band, sizes: list[int]) -> Band:
    """Each member divided by its size: the tile's number."""
    ctx = band.members[0].get_ctx()
    members = []
    for member, size in zip(band.members, sizes):
        value = isl.Val.int_from_si(ctx, size)
        members.append(member.scale_down_val(value).floor())
    return Band(tuple(members), band.coincident, band.permutable)


def _scaled_floor(band: Band, sizes: list[int]) -> Band:
    """Each member rounded down to a multiple of its size: the tile's first iteration."""
    ctx = band.members[0].get_ctx()
    tiles = _floor(band, sizes)
    members = [m.scale_val(isl.Val.int_from_si(ctx, s)) for m, s in zip(tiles.members, sizes)]
    return Band(tuple(members), band.coincident, band.permutable)
