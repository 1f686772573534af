"""Tiles, threads and wavefronts on the bands of a schedule tree.

    band [i, j, k]      ->      parallel: it; tile: jt, kt; point: i, j, k
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polyml.machine import CpuMachine
from polyml.model.scop import Scop
from polyml.schedule.strides import accesses, iterators_of, moves, runs_along_rows
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
ROW_STRIP = 256  # the same where they are neighbours in memory
PANEL = 32  # neighbouring elements that a register tile holds


def map_bands(
    schedule: isl.Schedule,
    scop: Scop,
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
        strip = ROW_STRIP if runs_along_rows(self.scop, names, band.members[0]) else STRIP
        self.notes.append(f"{label}: strips of {strip} for threads")
        return self._strips(band, strip)

    def _has_reuse(self, band: Band, names: list[str]) -> bool:
        """Whether some element is touched again along a member: the work grows faster than the data."""
        return any(
            a.subscripts and not moves(a, iterators_of(member, name))
            for name in names
            if len(self.scop.statements[name].iterators) >= len(band.members)
            for a in accesses(self.scop.statements[name])
            for member in band.members
        )

    def _tile_sizes(self, band: Band, names: list[str]) -> list[int]:
        """Iterations per tile and member, so that what a register tile streams stays in the first cache and what is
        used again in the second (the block sizes of Low et al., "Analytical modeling is enough for high-performance
        BLIS", ACM TOMS 2016, without packing).

        depth: along a reduction, a panel of PANEL neighbours and `depth` rows fills half the first cache. rows: the
        other operand's block fills three quarters of it. columns: the panels together fill a quarter of the second.
        """
        statements = [self.scop.statements[n] for n in names]
        size_bytes = max(self.scop.arrays[a.array].element.size_bytes for s in statements for a in accesses(s))
        first, second = (self.machine.cache(level).size_bytes for level in (1, 2))
        depth = _multiple(first // 2 // (PANEL * size_bytes), 16)
        rows = _multiple(first * 3 // 4 // (depth * size_bytes), 24)
        columns = _multiple(second // 4 // (depth * size_bytes), PANEL)
        sizes = []
        for i, member in enumerate(band.members):
            if not any(moves(s.write, iterators_of(member, s.name)) for s in statements):
                sizes.append(depth)
            elif runs_along_rows(self.scop, names, member):
                sizes.append(2 * rows if i == 0 else columns)
            else:
                sizes.append(rows)
        return sizes

    def _strips(self, band: Band, size: int) -> isl.ScheduleNode:
        """for i: ...      ->      parallel it by size: for i in the strip: ..."""
        first = Band(band.members[:1], (True,), True)
        strip = _scaled_floor(first, [size])
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


def _multiple(value: int, factor: int) -> int:
    """The largest multiple of factor up to value, at least factor."""
    return max(value // factor, 1) * factor


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
