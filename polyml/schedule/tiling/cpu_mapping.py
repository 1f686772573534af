"""Tiles, threads and wavefronts on the bands of a schedule tree.

band [i, j, k]      ->      parallel: it; tile: jt, kt; point: i, j, k
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.loop_roles import LoopRole, has_reuse, leans, loop_role
from polyml.schedule.analysis.strides import accesses, runs_along_rows
from polyml.schedule.tree.bands import (
    NODE,
    PARALLEL,
    POINT,
    TILE,
    Band,
    band_of,
    floor,
    insert_band,
    mark,
    reorder,
    rewrite_bands,
    scaled_floor,
    statements_of,
)

STRIP = 32  # iterations a thread takes at a time where nothing else asks for tiles
ROW_STRIP = 1024  # the same where they are neighbours in memory
SLAB_STRIPS = 4  # that threads share where a loop has no more iterations than a slab
PANEL_VECTORS = 2  # registers of neighbouring elements that a register tile holds
PANELS = 16  # that a thread takes at a time where only their loop is parallel
UNEVEN_ROWS = 96  # of a tile where tiles differ in work, so that threads take them one by one
SHORT = 8  # iterations of further loops of one role in a tile, such as the ones over a convolution's filter
DEPTH_SHARE = 60  # percent of the first cache that one panel fills


def map_bands(
    schedule: isl.Schedule,
    scop: Scop,
    machine: CpuMachine,
    *,
    tile: bool,
    parallel: bool,
    slab: int = 0,
) -> tuple[isl.Schedule, tuple[str, ...]]:
    """Returns the schedule with its permutable bands tiled or cut into strips for threads, and notes on what was decided.

    The result is legal if the schedule is, since only permutable bands are tiled.

    tile, parallel: whether there may be tiles and threads.
    slab: iterations of the slab of a blocked factorization, where the schedule is that of a slab's part; else 0.
    """
    notes: list[str] = []

    def change(node: isl.ScheduleNode) -> isl.ScheduleNode | None:
        return _Mapping(node, scop, machine, tile, parallel, slab, notes).apply()

    return rewrite_bands(schedule.get_root().child(0), change).get_schedule(), tuple(notes)


@dataclass
class _Mapping:
    """The choice of tiles, strips or wavefronts for one band, and their insertion; the other fields are as in `map_bands`.

    node: the band.
    notes: the notes so far, to which what is decided is added.
    """

    node: isl.ScheduleNode
    scop: Scop
    machine: CpuMachine
    tile: bool
    parallel: bool
    slab: int
    notes: list[str]

    def apply(self) -> isl.ScheduleNode | None:
        """Returns the node with loops over tiles in place of the band, and adds notes; None where the band remains as it is."""
        band = band_of(self.node)
        names = statements_of(self.node)
        label = f"band of {', '.join(names)}"
        if not band.permutable or not (any(band.coincident) or len(band.members) >= 3):
            return None
        reuse = self.tile and len(band.members) >= 3 and has_reuse(band.members, self.scop, names)
        if not any(band.coincident):
            if not reuse:
                return None
            self.notes.append(f"{label}: tiled, tiles run by wavefronts")
            return self._wavefront(band, names)
        if reuse:
            roles = [loop_role(member, self.scop, names) for member in band.members]
            order = sorted(range(len(band.members)), key=lambda i: (not band.coincident[i], roles[i]))
            band, roles = reorder(band, order), [roles[i] for i in order]
            sizes = self._tile_sizes(roles, names)
            if sizes[0] > UNEVEN_ROWS and leans(band.members[0], self.scop, names):
                sizes[0] = UNEVEN_ROWS
            self.notes.append(f"{label}: tiles of {' x '.join(map(str, sizes))}")
            return self._tiled(band, sizes, roles)
        if len(band.members) == 1 and self.tile:
            shared = self._shared(band)
            if shared is not None:
                return shared
        if not self.parallel:
            return None
        order = sorted(range(len(band.members)), key=lambda i: not band.coincident[i])
        band = reorder(band, order)
        strip = self._strip(band.members[0], names)
        self.notes.append(f"{label}: strips of {strip} for threads")
        return self._strips(band, strip)

    def _strip(self, member: isl.UnionPwAff, names: list[str]) -> int:
        """Returns how many iterations of a parallel loop a thread takes at a time, for a loop without tiles."""
        if runs_along_rows(self.scop, names, member):
            return ROW_STRIP
        times = isl.UnionMap.from_union_pw_aff(member).intersect_domain(self.scop.domain).range()
        is_short = self.slab and all(polyhedra.is_within(piece, self.slab) for piece in polyhedra.pieces(times))
        return max(self.slab // SLAB_STRIPS, 1) if is_short else STRIP

    def _tile_sizes(self, roles: list[LoopRole], names: list[str]) -> list[int]:
        """Returns the iterations of a tile along each member of a band, chosen by the members' roles and the caches' sizes.

        The depth (the loops that add up) is such that what a tile reads, for a few vectors, of the operand that changes along the
        panel (the vectors' loop) fills most of the first cache; the rows are such that what it reads of the other operand fills
        half of the second cache (Low et al., "Analytical modeling is enough for high-performance BLIS", ACM TOMS 2016).

        roles: of the members, in their order.
        names: the statements below the band.
        """
        statements = [self.scop.statements[n] for n in names]
        size_bytes = max(self.scop.arrays[a.array].element.size_bytes for s in statements for a in accesses(s))
        first, second = (self.machine.cache(level).size_bytes for level in (1, 2))
        panel = PANEL_VECTORS * self.machine.lanes(size_bytes)
        depth = _multiple(first * DEPTH_SHARE // 100 // (panel * size_bytes), 16)
        rows = _multiple(second // 2 // (depth * size_bytes), 24)
        if LoopRole.DEPTH not in roles:  # the sums, if any, are loops inside the tile
            rows, panel = STRIP, ROW_STRIP
        whole = {LoopRole.BATCH: 1, LoopRole.ROWS: rows, LoopRole.DEPTH: depth, LoopRole.PANEL: panel}
        return [_divided(whole[role], roles.count(role), role not in roles[:i]) for i, role in enumerate(roles)]

    def _strips(self, band: Band, size: int) -> isl.ScheduleNode:
        """Returns the band inside a new parallel loop, whose iterations are strips of the band's outermost loop.

        for i: S(i)      ->      parallel it by size: for i in it ... it + size - 1: S(i)

        size: iterations of a strip, which a thread runs at a time.
        """
        first = Band(band.members[:1], (True,), True)
        strip = scaled_floor(first, [size])
        node = self.node.delete()
        node = insert_band(node, band)
        node = mark(node, POINT).parent()
        node = insert_band(node, strip)
        return node.insert_mark(isl.Id(PARALLEL))

    def _tiled(self, band: Band, sizes: list[int], roles: list[LoopRole]) -> isl.ScheduleNode:
        """Returns the band as loops over tiles, of which the outermost is for threads, around the band's own loops inside a tile.

        Where the outermost loop is the panel's (the vectors' loop), a thread takes several of its tiles at a time, else one.

        sizes, roles: iterations of a tile and role, by member.
        """
        outer_size = sizes[0] * PANELS if roles[0] is LoopRole.PANEL else sizes[0]
        node = self._tiles_inside(self.node.delete(), band, sizes, roles)
        return self._for_threads(node, Band(band.members[:1], band.coincident[:1], True), outer_size)

    def _tiles_inside(self, node: isl.ScheduleNode, band: Band, sizes: list[int], roles: list[LoopRole]) -> isl.ScheduleNode:
        """Returns the node inside the band's loops over single iterations, and these inside loops over tiles.

        The loops over tiles are in the order batch, rows, depth, panel (`LoopRole`). The first member gets none here, as the caller
        adds it; but where it is the panel, it gets one here, and the caller adds a loop over several of its tiles at a time.

        sizes, roles: iterations of a tile and role, by member.
        """
        rest = sorted(range(0 if roles[0] is LoopRole.PANEL else 1, len(sizes)), key=lambda i: roles[i])
        node = mark(insert_band(node, band), POINT).parent()
        if rest:
            node = mark(insert_band(node, reorder(scaled_floor(band, sizes), rest)), TILE).parent()
        return node

    def _for_threads(self, node: isl.ScheduleNode, outer: Band, size: int) -> isl.ScheduleNode:
        """Returns the mark of a new loop over tiles of `size` iterations above the node; it is for threads where it is parallel.

        outer: the band of the one member that is tiled.
        """
        node = insert_band(node, scaled_floor(outer, [size]))
        node = node.band_member_set_ast_loop_type(0, isl.ast_loop_type.atomic)
        return node.insert_mark(isl.Id(PARALLEL if self.parallel and outer.coincident[0] else TILE))

    def _shared(self, outer: Band) -> isl.ScheduleNode | None:
        """Returns a parallel loop around several nests as a loop over tiles that all share; None where no nest is to be tiled.

        for i: { S; for j, k: T }      ->      parallel it: { for i in the tile: S; tiles of T over i, j, k }

        No iteration of the loop depends on another one, so each nest may run all its iterations of a tile before the next nest.

        outer: the parallel loop.
        """
        node = self.node.child(0)
        if node.get_type() != NODE.sequence:
            return None
        plans = [self._plan(node.child(k).child(0), outer) for k in range(node.n_children())]
        wanted = [(sizes[0], roles[0]) for _, sizes, roles in filter(None, plans)]
        if not wanted:
            return None
        rows = [size for size, role in wanted if role is LoopRole.ROWS] or [size for size, _ in wanted]
        node = self.node.delete()
        for k, plan in enumerate(plans):
            below = node.child(k).child(0)
            if plan is None:
                own = _on(outer, below)
                below = mark(insert_band(below, own), POINT).parent()
            else:
                band, sizes, roles = plan
                below = self._tiles_inside(below.delete(), band, sizes, roles)
            node = below.parent().parent()
        self.notes.append(f"band of {', '.join(statements_of(self.node))}: shared tiles of {min(rows)} rows")
        return self._for_threads(node, outer, min(rows))

    def _plan(self, node: isl.ScheduleNode, outer: Band) -> tuple[Band, list[int], list[LoopRole]] | None:
        """Returns how a nest in a shared parallel loop is tiled; None where it gets no tiles.

        The result is the band of the shared loop and of the nest's loops, and for each member of it the tile size and the role.

        node: the nest's band below the shared loop.
        outer: the shared loop.
        """
        if node.get_type() != NODE.band:
            return None
        inner, names = band_of(node), statements_of(node)
        own = _on(outer, node)
        members = (*own.members, *inner.members)
        if not inner.permutable or len(members) < 3 or not has_reuse(members, self.scop, names):
            return None
        roles = [loop_role(member, self.scop, names) for member in members]
        if roles[0] > LoopRole.ROWS:
            return None
        order = [0, *sorted(range(1, len(members)), key=lambda i: (not inner.coincident[i - 1], roles[i]))]
        band = reorder(Band(members, (*own.coincident, *inner.coincident), True), order)
        roles = [roles[i] for i in order]
        return band, self._tile_sizes(roles, names), roles

    def _wavefront(self, band: Band, names: list[str]) -> isl.ScheduleNode:
        """Returns the band in tiles whose first two loops run as a wavefront.

        for it, jt, kt      ->      for w = it + jt: parallel jt: for kt

        No dependence has a negative component, so one between tiles of equal it + jt has equal it and equal jt: jt carries none.
        """
        count = len(band.members)
        sizes = [48] * count
        tiles = floor(band, sizes)
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


def _on(band: Band, node: isl.ScheduleNode) -> Band:
    """Returns the band with its members restricted to the statements below the node, and without its flags `separate`."""
    domain = node.get_universe_domain()
    return Band(tuple(m.intersect_domain(domain) for m in band.members), band.coincident, band.permutable)


def _multiple(value: int, factor: int) -> int:
    """Returns the largest multiple of the factor that is at most the value, but at least the factor."""
    return max(value // factor, 1) * factor


def _divided(size: int, members: int, is_first: bool) -> int:
    """Returns the tile size of one of several members that share a role: a small constant, but for the first one what is left.

    The sizes of all of them multiply to about `size`. A member that is the only one with its role gets all of `size`.

    size: iterations of a tile along all of them, multiplied.
    members: how many there are.
    is_first: whether the first one's size is wanted.
    """
    if members == 1:
        return size
    return max(4, size // SHORT ** (members - 1)) if is_first else SHORT
