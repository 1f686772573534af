"""A nest on a GPU as values: a kernel, with all that its mappings have in common, and the launches of one mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic import line_runs
from polyml.codegen.ir.array_layout import Placed
from polyml.gpu.occupancy import Occupancy
from polyml.gpu.shared_memory import Buffer
from polyml.gpu.thread_accesses import ThreadAccess, ThreadAccesses, points, uses, value_range
from polyml.gpu.thread_blocks import Threads
from polyml.gpu.warp_requests import Requests
from polyml.machines.descriptions import Gpu
from polyml.machines.roofline import Roofline
from polyml.model.core.scop import Scop
from polyml.model.counting.cardinality import CannotCount
from polyml.model.counting.operation_counts import of_value
from polyml.schedule.gpu.mapping import LaunchNest, Mapped


@dataclass(frozen=True)
class CudaKernel:
    """A CudaKernel is a nest of loops at given sizes, with what does not depend on how its loops are mapped to blocks and threads.

    uses: the loads and stores of a thread.
    times: for each statement, the values { T[host, grid, inside] } that the host's, the grid's and a thread's own loops have where
        it runs, and its operations by type.
    places: the arrays' addresses and strides.
    """

    nest: LaunchNest
    uses: ThreadAccesses
    times: tuple[tuple[isl.Set, Mapping[str, int]], ...] = field(repr=False)
    places: Mapping[str, Placed] = field(repr=False)
    machine: Gpu = field(repr=False)

    @staticmethod
    def of(nest: LaunchNest, scop: Scop, sizes: Mapping[str, int], places: Mapping[str, Placed], machine: Gpu) -> CudaKernel:
        """Returns the CudaKernel of a nest of loops for given sizes.

        sizes: the values of all parameters of the SCoP, by name.
        places: the arrays' addresses and strides.
        """
        times = tuple((points(nest, run, sizes), dict(of_value(scop.statements[run.statement].value))) for run in nest.runs())
        return CudaKernel(nest, uses(nest, scop, sizes, places), times, places, machine)

    @property
    def depth(self) -> int:
        """Returns the number of loops around a thread: those of the host and of the grid."""
        return len(self.nest.host) + len(self.nest.grid)

    @cached_property
    def around(self) -> isl.Set:
        """Returns { T[host, grid] }, the values that the loops of the host and the grid have in all threads."""
        return reduce(isl.Set.union, (polyhedra.outer(when, self.depth) for when, _ in self.times)).coalesce()

    @cached_property
    def launches(self) -> int:
        """Returns how many launches there are."""
        host = len(self.nest.host)
        return polyhedra.count_tiles(polyhedra.outer(self.around, host), {}) if host else 1

    @cached_property
    def groups(self) -> tuple[tuple[ThreadAccess, ...], ...]:
        """Returns the loads and stores in groups: those of a group are made at the same values of loops, and their elements have
        one size.
        """
        found: list[list[ThreadAccess]] = []
        for use in self.uses.uses:
            same = (g for g in found if g[0].element_bytes == use.element_bytes and g[0].points.plain_is_equal(use.points))
            group = next(same, None)
            if group is None:
                found.append([use])
            else:
                group.append(use)
        return tuple(map(tuple, found))

    @cached_property
    def middle(self) -> tuple[tuple[int, int], ...]:
        """Returns (v, v) for each loop of the host and the grid, v being the value in the middle of those that the loop has.

        Where an inner loop's bounds depend on outer loops, these have their middle values.
        """
        found: list[tuple[int, int]] = []
        rest = self.around
        for dim in range(self.depth):
            first, last = value_range(rest, dim)
            later = polyhedra.bounded(rest, dim, (first + last) // 2, last)
            found.append((value_range(later, dim)[0],) * 2)
            rest = polyhedra.bounded(rest, dim, *found[-1])
        return tuple(found)

    @cached_property
    def memory_bytes(self) -> int | None:
        """Returns the bytes of memory that all launches move; None where there are too many sectors to count.

        Each sector is counted once in every launch, or once in all launches where the L2 holds those of one launch.
        """
        try:
            whole = self._sectors(self.uses.uses, ()) * self.machine.sector_bytes
            host = self.middle[: len(self.nest.host)]
            one = self._sectors(self.uses.uses, host) * self.machine.sector_bytes if host else whole
        except CannotCount:
            return None
        return whole if one <= self.machine.l2_bytes else one * self.launches

    def sectors(self, some: Sequence[ThreadAccess], bounds: Sequence[tuple[int, int]]) -> int | None:
        """Returns how many sectors some loads and stores access, each counted once; None where there are too many to count.

        bounds: first and last value of each of the outermost loops, from the outside; loops further inside have all their values.
        """
        try:
            return self._sectors(some, bounds)
        except CannotCount:
            return None

    def _sectors(self, some: Sequence[ThreadAccess], bounds: Sequence[tuple[int, int]]) -> int:
        """Returns what `sectors` does. Raises CannotCount where there are too many sectors to count."""
        found: dict[tuple[str, bool], isl.Set] = {}
        for use in some:
            when = use.points
            for dim, (first, last) in enumerate(bounds[: len(use.loops)]):
                when = polyhedra.bounded(when, dim, first, last)
            elements = use.elements.intersect_domain(when).range()
            key = use.array, use.is_write
            found[key] = found[key].union(elements) if key in found else elements
        return sum(
            line_runs.lines([(polyhedra.joined(e), self.places[a])], self.machine.sector_bytes) for (a, _), e in found.items()
        )


@dataclass(frozen=True)
class StagedCopy:
    """A StagedCopy is the copy of a part of an array to shared memory.

    buffer: where in shared memory the part is copied to.
    requests: the requests for global memory that the copy makes.
    stores: wavefronts (passes through the banks) of a request that stores to shared memory, in the mean.
    loads: wavefronts of a request that loads from shared memory, in the mean.
    unpadded: what `loads` would be if rows had no padding.
    """

    buffer: Buffer
    requests: Requests
    stores: float
    loads: float
    unpadded: float


@dataclass(frozen=True)
class MappedAccess:
    """A MappedAccess is a load or store of a thread in a mapping.

    step: bytes from the element of one thread to that of the next along axis x; None where that varies.
    requests: the requests that it makes for global memory if it reads no copy.
    copy: which of the launch's copies in shared memory it reads in place of global memory, by position; None where it reads none.
    wavefronts: how many passes through the banks a request that reads the copy takes, in the mean.
    """

    use: ThreadAccess
    step: int | None
    requests: Requests
    copy: int | None = None
    wavefronts: float = 0.0


@dataclass(frozen=True)
class Launches:
    """The launches of a kernel in one mapping: the resources that they take, the data that they move, and their predicted time.

    grid: how many blocks the largest launch has along each axis.
    blocks: how many blocks of all launches have something to do.
    registers: how many registers a thread takes.
    lanes: the share of the warps' threads that do something, in the mean.
    sectors: how many sectors are requested of the L2.
    is_filtered: whether the L1 is assumed to keep what a block's threads access again, so that the L2 is asked for it once.
    """

    kernel: CudaKernel = field(repr=False)
    mapped: Mapped
    threads: Threads
    grid: tuple[int, ...]
    blocks: int
    accesses: tuple[MappedAccess, ...]
    copies: tuple[StagedCopy, ...]
    registers: int
    occupancy: Occupancy
    lanes: float
    sectors: int
    is_filtered: bool
    roofline: Roofline

    @property
    def shared_bytes(self) -> int:
        """Returns the bytes of shared memory that a block takes."""
        return sum(copy.buffer.size_bytes for copy in self.copies)

    @property
    def requested(self) -> int:
        """Returns the number of sectors of all requests for global memory."""
        direct = sum(access.requests.sectors for access in self.accesses if access.copy is None)
        return direct + sum(copy.requests.sectors for copy in self.copies)
