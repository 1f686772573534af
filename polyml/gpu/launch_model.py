"""The model of the launches of one mapping: requests, copies in shared memory, registers, sectors of L2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import islpy as isl

from polyml import polyhedra
from polyml.gpu import shared_memory
from polyml.gpu.coalescing import requests
from polyml.gpu.launch_roofline import roofline
from polyml.gpu.launches import CudaKernel, Launches, MappedAccess, StagedCopy
from polyml.gpu.occupancy import Occupancy, occupancy
from polyml.gpu.register_estimate import registers
from polyml.gpu.shared_memory import Buffer
from polyml.gpu.thread_accesses import Piece, ThreadAccess, value_range
from polyml.gpu.thread_blocks import Threads
from polyml.gpu.warp_requests import AccessBlock, Requests
from polyml.machines.roofline import Roofline
from polyml.schedule.gpu.mapping import AXES, Mapped, mapped

SAVED = 2  # by what factor there are fewer sectors where shared memory pays


def launches_of(mapping: MappedKernel, accesses: tuple[MappedAccess, ...], copies: tuple[StagedCopy, ...]) -> Launches:
    """Returns the launches of a mapping, with the registers, occupancy, sectors and predicted time that follow from its accesses.

    accesses: the loads and stores of a thread, from and to global or shared memory.
    copies: the copies of parts of arrays to shared memory, from which some accesses read.
    """
    kernel, machine, threads = mapping.kernel, mapping.kernel.machine, mapping.threads
    taken = registers(kernel.uses, kernel.depth, len(copies), machine, mapping.items)
    held = occupancy(machine, threads.count, taken, sum(copy.buffer.size_bytes for copy in copies))
    sectors, is_filtered = mapping.sectors(accesses, copies, held)
    warps, lanes, amounts = mapping.work
    share = lanes / (warps * threads.width) if warps else 1.0
    found = Launches(kernel, mapping.mapped, threads, mapping.grid, mapping.blocks, accesses, copies, taken, held, share, sectors,
                     is_filtered, Roofline(0, (), ()))  # fmt: skip
    return replace(found, roofline=roofline(found, amounts))


def _is_for_all(use: ThreadAccess, dim: int) -> bool:
    """Returns whether the access is a load of the same element in all iterations of the loop at position `dim` around a thread."""
    return not use.is_write and len(use.address) == 1 and use.step(dim) == 0


@dataclass(frozen=True)
class MappedKernel:
    """A MappedKernel is a CUDA kernel with its loops mapped to blocks of threads; it counts what their warps request of memory.

    mapped: the loops divided among blocks and threads.
    threads: the threads of one block.
    most: how many warps are examined one by one for each access; of more, a sample is taken.
    """

    kernel: CudaKernel
    mapped: Mapped
    threads: Threads
    most: int

    @staticmethod
    def of(kernel: CudaKernel, order: Sequence[int], block: Sequence[int], items: Sequence[int], most: int) -> MappedKernel:
        """Returns the kernel mapped with this order of the grid's loops, threads of a block, and iterations of a thread.

        order: positions of the grid's loops, that of axis x first.
        block: threads along each axis.
        items: iterations of a thread along each axis; 1 where none is given.
        most: how many warps are examined for each access.
        """
        sizes = tuple(block[: min(len(order), AXES)]) or (1,)
        threads = Threads(sizes, kernel.machine.threads_per_warp)
        return MappedKernel(kernel, mapped(kernel.nest, order, sizes, items[: len(order)]), threads, most)

    @cached_property
    def _dims(self) -> tuple[int, ...]:
        """Returns, for each axis of the blocks, the position of its loop. Positions count the loops of the host, then those of the
        grid.
        """
        names = [around.name for around in self.kernel.nest.grid]
        return tuple(len(self.kernel.nest.host) + names.index(axis.loop.name) for axis in self.mapped.axes)

    @property
    def _sizes(self) -> dict[int, int]:
        """Returns position of a loop among those of the host and the grid -> how many of its iterations one block has."""
        return {dim: axis.extent for dim, axis in zip(self._dims, self.mapped.axes)}

    @property
    def _axes(self) -> dict[int, int]:
        return {dim: k for k, dim in enumerate(self._dims)}

    @property
    def items(self) -> dict[int, int]:
        """Returns position of a loop among those of the host and the grid -> how many of its iterations one thread runs.

        Loops of which a thread runs one iteration are left out.
        """
        return {dim: axis.items for dim, axis in zip(self._dims, self.mapped.axes) if axis.items > 1}

    @cached_property
    def blocks(self) -> int:
        """Returns the number of blocks that have something to do, of all launches."""
        return polyhedra.count_tiles(self.kernel.around, self._sizes)

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Returns the number of blocks along each axis."""
        ends = {dim: value_range(self.kernel.around, dim) for dim in self._sizes}
        return tuple(ends[dim][1] // size - ends[dim][0] // size + 1 for dim, size in self._sizes.items())

    @cached_property
    def accesses(self) -> tuple[MappedAccess, ...]:
        """Returns the loads and stores of a thread with their requests, all for global memory."""
        x = next(iter(self._axes), None)
        found: dict[int, Requests] = {}
        for group in self.kernel.groups:
            once = [tuple((dim, count) for dim, count in self.items.items() if _is_for_all(use, dim)) for use in group]
            for items in dict.fromkeys(once):
                same = [use for use, own in zip(group, once) if own == items]
                made = self._requests(group[0].points, [use.address for use in same], group[0].element_bytes, dict(items))
                found |= zip(map(id, same), made)
        return tuple(MappedAccess(use, None if x is None else use.step(x), found[id(use)]) for use in self.kernel.uses.uses)

    def _requests(
        self, when: isl.Set, addresses: Sequence[Sequence[Piece]], element_bytes: int, items: Mapping[int, int]
    ) -> tuple[Requests, ...]:
        machine = self.kernel.machine
        grains = element_bytes, machine.sector_bytes, machine.line_bytes
        return requests(when, addresses, AccessBlock(self._axes, self.threads, grains, items), self.most)

    @cached_property
    def work(self) -> tuple[int, int, dict[str, int]]:
        """Returns how many warps run statements, how many of their threads do, and how many operations they run, by type.

        Warps and threads are counted anew for every statement, and for every iteration of a thread's own loops.
        """
        warps = lanes = 0
        amounts: dict[str, int] = {}
        for when, operations in self.kernel.times:
            (made,) = self._requests(when, [((when, ({}, 0), 1),)], 1, {})
            warps, lanes = warps + made.requests, lanes + made.lanes
            for kind, count in operations.items():
                amounts[kind] = amounts.get(kind, 0) + count * made.lanes
        return warps, lanes, amounts

    def staged(self, tile: int) -> tuple[tuple[MappedAccess, ...], tuple[StagedCopy, ...]]:
        """Returns the loads and stores of a thread, where some loads read copies in shared memory, and these copies.

        A part of an array is copied where that at least halves the sectors that its loads request and a block's memory has room for
        it.

        tile: for how many iterations of a thread's outermost loop one copy has the elements.
        """
        machine, kernel = self.kernel.machine, self.kernel
        by_use = {id(access.use): access for access in self.accesses}
        copies: list[StagedCopy] = []
        for buffer in shared_memory.buffers(self.mapped, kernel.uses.uses, tile):
            if buffer.size_bytes > machine.shared_bytes_per_block:
                continue
            when = polyhedra.outer(buffer.uses[0].points, kernel.depth + 1)
            count = polyhedra.count_tiles(when, {**self._sizes, kernel.depth: tile})
            made = shared_memory.copied(buffer, self.mapped, self.threads, kernel.places[buffer.array], count, machine)
            if SAVED * made.sectors > sum(by_use[id(use)].requests.sectors for use in buffer.uses):
                continue
            plain = self._loads(buffer, buffer.uses)
            buffer = shared_memory.padded(buffer, self.mapped, self.threads, machine)
            for use in buffer.uses:
                wavefronts = shared_memory.loads(buffer, use, self.mapped, self.threads, machine)
                by_use[id(use)] = replace(by_use[id(use)], copy=len(copies), wavefronts=wavefronts)
            copies.append(StagedCopy(buffer, made, shared_memory.stores(buffer, machine), self._loads(buffer, buffer.uses), plain))
        return tuple(by_use.values()), tuple(copies)

    def _loads(self, buffer: Buffer, some: Sequence[ThreadAccess]) -> float:
        """Returns how many wavefronts (passes through the banks) a request that reads the buffer takes.

        some: the loads that read it, over which the result is the mean.
        """
        return sum(shared_memory.loads(buffer, use, self.mapped, self.threads, self.kernel.machine) for use in some) / len(some)

    def sectors(self, accesses: Sequence[MappedAccess], copies: Sequence[StagedCopy], held: Occupancy) -> tuple[int, bool]:
        """Returns how many sectors are requested of the L2, and whether the L1 is assumed to keep what a block loads again.

        It is assumed to keep it if the L1 has room for what all blocks on a multiprocessor load in one iteration of the outermost
        loop inside a thread.

        accesses, copies: the loads and stores of a thread, and the copies in shared memory that some loads read.
        held: the blocks that a multiprocessor holds.
        """
        machine, kernel = self.kernel.machine, self.kernel
        direct = [access for access in accesses if access.copy is None]
        copied = sum(copy.requests.sectors for copy in copies)
        requested = sum(access.requests.sectors for access in direct)
        bounds = self._middle_block()
        loads = [access.use for access in direct if not access.use.is_write]
        iteration = kernel.sectors(loads, (*bounds, *self._one_iteration(loads)))
        once = kernel.sectors(loads, bounds)
        used = sum(copy.buffer.size_bytes for copy in copies)
        room = machine.l1_bytes - held.blocks * (used + machine.shared_reserved_bytes if used else 0)
        if once is None or iteration is None or held.blocks * iteration * machine.sector_bytes > room:
            return requested + copied, False
        stored = sum(access.requests.sectors for access in direct if access.use.is_write)
        return min(requested - stored, once * self.blocks) + stored + copied, True

    def _middle_block(self) -> tuple[tuple[int, int], ...]:
        """Returns, for each loop of the host and the grid, its first and last value in the block in the middle of the grid."""
        sizes = self._sizes
        ends = []
        for dim, (value, _) in enumerate(self.kernel.middle):
            size = sizes.get(dim, 1)
            ends.append((value // size * size, value // size * size + size - 1))
        return tuple(ends)

    def _one_iteration(self, loads: Sequence[ThreadAccess]) -> tuple[tuple[int, int], ...]:
        """Returns bounds that allow the outermost loop inside a thread a single iteration, in the middle of its range.

        They are ((v, v),): the loop's first and its last value are both v. Where none of the loads is in such a loop, they are ().

        loads: v is halfway between the least and the greatest value that the loop has for any of these.
        """
        depth = self.kernel.depth
        ends = [value_range(use.points, depth) for use in loads if len(use.loops) > depth]
        if not ends:
            return ()
        half = (min(low for low, _ in ends) + max(high for _, high in ends)) // 2
        return ((half, half),)
