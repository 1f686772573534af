"""A nest on a GPU as values: what all of its mappings have, and what the launches of one mapping are made of."""

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
from polyml.gpu.thread_accesses import Use, Uses, points, uses
from polyml.gpu.thread_blocks import Threads
from polyml.gpu.warp_requests import Requests
from polyml.machines.descriptions import Gpu
from polyml.machines.roofline import Roofline
from polyml.model.core.scop import Scop
from polyml.model.counting.cardinality import CannotCount
from polyml.model.counting.operation_counts import of_value
from polyml.schedule.gpu.mapping import Mapped, Nest


@dataclass(frozen=True)
class Kernel:
    """What all mappings of a nest have. times: when each statement runs, by run, and its operations."""

    nest: Nest
    uses: Uses
    times: tuple[tuple[isl.Set, Mapping[str, int]], ...] = field(repr=False)
    places: Mapping[str, Placed] = field(repr=False)
    machine: Gpu = field(repr=False)

    @staticmethod
    def of(nest: Nest, scop: Scop, sizes: Mapping[str, int], places: Mapping[str, Placed], machine: Gpu) -> Kernel:
        times = tuple((points(nest, run, sizes), dict(of_value(scop.statements[run.statement].value))) for run in nest.runs())
        return Kernel(nest, uses(nest, scop, sizes, places), times, places, machine)

    @property
    def depth(self) -> int:
        """Loops around a thread."""
        return len(self.nest.host) + len(self.nest.grid)

    @cached_property
    def around(self) -> isl.Set:
        """{ [host, grid] } of all threads."""
        return reduce(isl.Set.union, (polyhedra.outer(when, self.depth) for when, _ in self.times)).coalesce()

    @cached_property
    def launches(self) -> int:
        host = len(self.nest.host)
        return polyhedra.count_tiles(polyhedra.outer(self.around, host), {}) if host else 1

    @cached_property
    def groups(self) -> tuple[tuple[Use, ...], ...]:
        """Uses that are made at the same times."""
        found: list[list[Use]] = []
        for use in self.uses.uses:
            alike = (g for g in found if g[0].element_bytes == use.element_bytes and g[0].points.plain_is_equal(use.points))
            group = next(alike, None)
            if group is None:
                found.append([use])
            else:
                group.append(use)
        return tuple(map(tuple, found))

    @cached_property
    def middle(self) -> tuple[tuple[int, int], ...]:
        """Of each loop around a thread, a value half way, with values half way of the loops around it."""
        found, rest = [], self.around
        for dim in range(self.depth):
            first, last = polyhedra.extremes(polyhedra.along(rest, dim))
            later = polyhedra.bounded(rest, dim, (first + last) // 2, last)
            found.append((polyhedra.extremes(polyhedra.along(later, dim))[0],) * 2)
            rest = polyhedra.bounded(rest, dim, *found[-1])
        return tuple(found)

    @cached_property
    def memory_bytes(self) -> int | None:
        """Sectors loaded and stored, each launch's once, or that of all once. None where they are too many to count."""
        try:
            whole = self._sectors(self.uses.uses, ()) * self.machine.sector_bytes
            host = self.middle[: len(self.nest.host)]
            one = self._sectors(self.uses.uses, host) * self.machine.sector_bytes if host else whole
        except CannotCount:
            return None
        return whole if one <= self.machine.l2_bytes else one * self.launches

    def sectors(self, some: Sequence[Use], bounds: Sequence[tuple[int, int]]) -> int | None:
        """Different sectors of loads and of stores, of the first loops' values within bounds."""
        try:
            return self._sectors(some, bounds)
        except CannotCount:
            return None

    def _sectors(self, some: Sequence[Use], bounds: Sequence[tuple[int, int]]) -> int:
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
class Copy:
    """Of a buffer. requests: for global memory. stores, loads: wavefronts of one that stores to shared memory or loads from it,
    in the mean; unpadded: of loads, if rows had no padding.
    """

    buffer: Buffer
    requests: Requests
    stores: float
    loads: float
    unpadded: float


@dataclass(frozen=True)
class Access:
    """A use in a mapping. requests: for global memory, if it is not from shared memory. copy: which one it reads instead;
    wavefronts: passes through the banks of such a request, in the mean.
    """

    use: Use
    step: int | None
    requests: Requests
    copy: int | None = None
    wavefronts: float = 0.0


@dataclass(frozen=True)
class Launches:
    """grid: blocks along each axis, of the largest launch at most. blocks: of all launches, with something to do. lanes: share
    of the warps' threads that do something, in the mean. sectors: that L2 is asked for; is_filtered: whether L1 holds what
    blocks use again.
    """

    kernel: Kernel = field(repr=False)
    mapped: Mapped
    threads: Threads
    grid: tuple[int, ...]
    blocks: int
    accesses: tuple[Access, ...]
    copies: tuple[Copy, ...]
    registers: int
    occupancy: Occupancy
    lanes: float
    sectors: int
    is_filtered: bool
    roofline: Roofline

    @property
    def shared_bytes(self) -> int:
        """Of a block."""
        return sum(copy.buffer.size_bytes for copy in self.copies)

    @property
    def requested(self) -> int:
        """Sectors of all requests for global memory."""
        direct = sum(access.requests.sectors for access in self.accesses if access.copy is None)
        return direct + sum(copy.requests.sectors for copy in self.copies)
