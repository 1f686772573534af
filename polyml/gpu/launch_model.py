"""The model of a program for a GPU at given sizes: what the threads of its launches request, registers, occupancy, predicted time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.codegen.gpu.program import GpuProgram, Launch
from polyml.gpu.footprints import Footprints
from polyml.gpu.launch_roofline import roofline
from polyml.gpu.launches import CountedAccess, Launches
from polyml.gpu.occupancy import Occupancy, occupancy
from polyml.gpu.places import block_dim, place_of, thread_dim
from polyml.gpu.register_estimate import registers
from polyml.gpu.thread_accesses import LaunchPoints, ThreadAccess, chosen
from polyml.gpu.thread_code import gathers, shared_bytes
from polyml.gpu.warps.coalescing import MOST_WARPS, requests, total
from polyml.gpu.warps.points_parts import Piece
from polyml.gpu.warps.requests import GlobalRequests, SharedRequests, banks, sectors
from polyml.gpu.warps.thread_blocks import Threads
from polyml.gpu.warps.warp_requests import AccessBlock, Measure, WarpCounts
from polyml.machines.descriptions import Gpu
from polyml.machines.roofline import Roofline
from polyml.model.counting.operation_counts import of_value
from polyml.schedule.gpu.mapping import Mapped, as_mapped
from polyml.values import cached_property


def modelled(
    program: GpuProgram,
    mapped: Sequence[Mapped],
    sizes: Mapping[str, int],
    machine: Gpu,
    most: int = MOST_WARPS,
    has_shuffles: bool = True,
) -> tuple[Launches, ...]:
    """Returns what each launch of a program does on a machine, for given sizes. Where the host chooses among several launches by the
    sizes, it is of those that it chooses.

    mapped: how the loops of each launch are divided among blocks and threads.
    sizes: the values of the SCoP's parameters.
    most: how many warps are examined one by one for each access; of more, a sample is taken.
    has_shuffles: whether threads of a warp read registers of one another: in CUDA.
    """
    found, pairs = [], [*zip(program.plain, mapped, strict=True)]
    rows = {one.name: as_mapped(each.rows) for plain, each in pairs if each.rows for one in program.rows[plain.name].variants}
    for plain, each in pairs:
        for launch, values, launched in chosen(program, plain, sizes):
            points = LaunchPoints(launch, program.scop, values, launched, has_shuffles)
            own = each if launch.name == plain.name or not each.smaller else each.with_smaller_blocks
            found.append(_LaunchModel(points, rows.get(launch.name, own), machine, most).launches())
    return tuple(found)


@dataclass(frozen=True)
class _LaunchModel:
    """A launch's kernel at given sizes on a machine.

    points: the launch.
    mapped: how its loops are divided among blocks and threads.
    most: how many warps are examined for each access.
    """

    points: LaunchPoints
    mapped: Mapped
    machine: Gpu
    most: int

    def launches(self) -> Launches:
        """Returns the launches, with the registers, occupancy, sectors and predicted time that follow from their accesses."""
        launch, machine = self._launch, self.machine
        accesses = self._accesses()
        shared = self._shared_bytes()
        taken = registers(launch, self.points.scop)
        held = occupancy(machine, self._threads.count, taken, shared)
        grid, blocks = self._blocks()
        footprints = Footprints(self.mapped, self.points.scop, self.points.sizes, machine.sector_bytes)
        count = self.points.launches_count
        found = Launches(
            launch, machine, self.mapped, count, self._threads, grid, blocks, shared, accesses, taken, held, 1.0, 0, False,
            self._memory_bytes(footprints, count), Roofline(0, (), ()), gathers(launch, self.points.scop),
        )  # fmt: skip
        warps, lanes, amounts = self._work()
        asked, is_filtered = self._sectors(found, footprints, held)
        found = replace(
            found, sectors=asked, is_filtered=is_filtered, lanes=lanes / (warps * self._threads.width) if warps else 1.0
        )
        return replace(found, roofline=roofline(found, amounts))

    @property
    def _launch(self) -> Launch:
        return self.points.launch

    @cached_property
    def _threads(self) -> Threads:
        return Threads(tuple(axis.threads for axis in self._launch.axes[:3]) or (1,), self.machine.threads_per_warp)

    def _accesses(self) -> tuple[CountedAccess, ...]:
        """Returns the loads and stores of a thread, with their requests."""
        accesses = list(self.points.accesses())
        together: dict[tuple[object, ...], list[ThreadAccess]] = {}
        for access in accesses:
            together.setdefault(
                (id(access.points), access.element_bytes, access.touch.is_shared, bool(access.touch.pattern)), []
            ).append(access)
        counts: dict[int, WarpCounts] = {}
        for group in together.values():
            counts |= zip(map(id, group), self._counts(group))
        parts: dict[tuple[object, ...], list[ThreadAccess]] = {}
        for access in accesses:
            parts.setdefault(access.key, []).append(access)
        found = ((same[0], total([counts[id(each)] for each in same])) for same in parts.values())
        return tuple(self._counted(access, made) for access, made in found if made.requests)

    def _counts(self, some: Sequence[ThreadAccess]) -> tuple[WarpCounts, ...]:
        """Returns what the requests of accesses at the same points, to memories and elements of one kind, are and move."""
        first, machine = some[0], self.machine
        if first.touch.pattern:
            return tuple(self._of_pattern(each) for each in some)
        if not first.touch.is_shared:
            measure, modulus = sectors(first.element_bytes, machine), machine.line_bytes
        else:
            measure, modulus = banks(first.element_bytes, machine), machine.shared_banks * machine.bank_bytes
        return self._requests(first.points, first.touch.place.dims, [each.address for each in some], measure, modulus)

    def _of_pattern(self, access: ThreadAccess) -> WarpCounts:
        """Returns what the requests of an access are and move whose addresses are listed for a block."""
        addresses = np.array(access.touch.pattern)
        measured = banks(access.element_bytes, self.machine)(addresses, addresses >= 0)
        times = polyhedra.count_tiles(access.points, {})
        sums = tuple(times * int(each.sum()) for each in measured)
        return WarpCounts(times * len(addresses), times * int((addresses >= 0).sum()), sums, int(measured[1].max()))

    def _counted(self, access: ThreadAccess, counts: WarpCounts) -> CountedAccess:
        """Returns an access with the requests that were counted."""
        if not access.touch.is_shared:
            made: GlobalRequests | SharedRequests = GlobalRequests.of(counts, access.element_bytes, self.machine)
        else:
            made = SharedRequests.of(counts)
        return CountedAccess(access, access.step(thread_dim(0)) if thread_dim(0) in access.touch.place.dims else None, made)

    def _requests(
        self, points: isl.Set, dims: Sequence[str], addresses: Sequence[Sequence[Piece]], measure: Measure, modulus: int
    ) -> tuple[WarpCounts, ...]:
        """Returns the requests for some addresses at the points { T[t] } whose dimensions have the names `dims`."""
        names = [(block_dim(axis), thread_dim(axis)) for axis in range(len(self._launch.axes))]
        pairs = tuple((dims.index(block), dims.index(thread) if thread in dims else None) for block, thread in names)
        return requests(points, addresses, AccessBlock(self._threads, pairs, measure, modulus), self.most)

    def _work(self) -> tuple[int, int, dict[str, int]]:
        """Returns how many warps run statements, how many of their threads do, and how many operations they run, by type.

        Warps and threads are counted anew for every statement, and for every iteration of a thread's own loops.
        """
        warps = lanes = 0
        amounts: dict[str, int] = {}
        for name, matrix, place, points in self.points.runs():
            if points.is_empty():
                continue
            (made,) = self._requests(
                points, place.dims, [[(points, ({}, 0), 1)]], sectors(1, self.machine), self.machine.line_bytes
            )
            warps, lanes = warps + made.requests, lanes + made.lanes
            for kind, count in of_value(self.points.scop.statements[name].value).items():
                unit = f"{matrix} tensor" if matrix else kind
                amounts[unit] = amounts.get(unit, 0) + count * made.lanes
        return warps, lanes, amounts

    def _shared_bytes(self) -> int:
        """Returns the bytes of shared memory of a block."""
        if self.points.team is not None:
            return self.points.team.shared_bytes()
        return sum(shared_bytes(version, self.points.scop) for version in self._launch.versions)

    def _blocks(self) -> tuple[tuple[int, ...], int]:
        """Returns how many blocks the largest launch has along each axis, and how many blocks all launches have together."""
        place = place_of(self._launch, self.points.scop, self.points.sizes)
        points = self.points.points(place)
        if points.is_empty():
            return (0,) * len(self._launch.axes), 0
        grid = []
        for number in range(len(self._launch.axes)):
            low, high = polyhedra.range_of_dimension(points, place.dims.index(block_dim(number)))
            grid.append(high - low + 1)
        own = {thread_dim(axis) for axis in range(len(self._launch.axes))}
        numbers = [k for k, name in enumerate(place.dims) if name not in own]
        return tuple(grid), polyhedra.count_tiles(polyhedra.onto(points, numbers, "T"), {})

    def _memory_bytes(self, footprints: Footprints, launches: int) -> int | None:
        """Returns the bytes of memory that all launches move; None where there are too many sectors to count.

        Each sector is counted once in every launch, or once in all launches where the L2 holds those of one launch.
        """
        whole = footprints.whole()
        one = footprints.one_launch() if self.mapped.nest.host else whole
        if whole is None or one is None:
            return None
        size = self.machine.sector_bytes
        return whole * size if one * size <= self.machine.l2_bytes else one * size * launches

    def _sectors(self, found: Launches, footprints: Footprints, held: Occupancy) -> tuple[int, bool]:
        """Returns how many sectors are requested of the L2, and whether the L1 is assumed to keep what a block loads again.

        It is assumed to keep it if the L1 has room for what all blocks on a multiprocessor load in one iteration of the outermost
        loop inside a thread.
        """
        machine = self.machine
        if self._launch.team is not None:
            return found.requested, False
        loads = {access.touch.array for access, _ in found.of_global() if not access.touch.is_write and access.touch.is_direct}
        direct = sum(made.sectors for access, made in found.of_global() if not access.touch.is_write and access.touch.is_direct)
        iteration, once = footprints.one_block(loads, is_iteration=True), footprints.one_block(loads)
        used = found.shared_bytes
        room = machine.l1_bytes - held.blocks * (used + machine.shared_reserved_bytes if used else 0)
        if once is None or iteration is None or held.blocks * iteration * machine.sector_bytes > room:
            return found.requested, False
        return found.requested - direct + min(direct, once * found.blocks), True
