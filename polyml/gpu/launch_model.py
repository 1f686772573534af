"""A nest on a GPU: what its launches take and move in one mapping, and the choice of a mapping.

Predicted times are the highest of the roofs, each an amount over a rate:

    operations    of all lanes that warps have, over the peak
    L1            lines that requests touch and passes through the banks of shared memory, at one of each in a cycle
    L2            sectors that blocks ask for; where the L1 holds what the blocks of a multiprocessor use in one iteration of
                  their outermost loop, those alone that no request of the block has asked for before
    memory        sectors that a launch uses, once; once for all launches where the L2 holds what one uses
    latency       sectors that blocks ask for, as many at a time as the warps that multiprocessors hold load before they wait for
                  L2 and memory (Little's law; Volkov, "Better performance at lower occupancy", GTC 2010)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic import line_runs
from polyml.codegen.ir.array_layout import Placed
from polyml.gpu import shared_memory
from polyml.gpu.coalescing import EXACT, MOST_WARPS, Piece, Requests, requests
from polyml.gpu.occupancy import Occupancy, occupancy
from polyml.gpu.register_estimate import AHEAD, registers
from polyml.gpu.shared_memory import Buffer
from polyml.gpu.thread_accesses import Use, Uses, points, uses
from polyml.gpu.thread_blocks import Threads
from polyml.machines.descriptions import Figure, Gpu
from polyml.machines.roofline import Roof, Roofline
from polyml.model.core.scop import Scop
from polyml.model.counting.cardinality import CannotCount
from polyml.model.counting.operation_counts import of_value
from polyml.schedule.gpu.mapping import AXES, Mapped, Nest, mapped

SHAPES = {1: ((256,), (128,), (512,), (64,), (1024,), (32,)),
          2: ((32, 8), (32, 4), (32, 16), (64, 4), (128, 2), (16, 16), (256, 1), (32, 32))}  # fmt: skip
SEVERAL = {1: ((128,), (256,)), 2: ((32, 8), (16, 16))}  # of blocks of threads with several iterations
ITEMS = (2, 4, 8)  # of a thread along each axis
TILES = (32, 16, 8)  # of a thread's outermost loop
ENOUGH = 0.5  # of the warps that a multiprocessor may hold: more hide little more
ALIKE = 1.02  # times that are as good
SAVED = 2  # times fewer sectors for which shared memory pays
_FEWER = 1 << 13  # warps that are looked at for a choice


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


def choose(kernel: Kernel, block: Sequence[int] = ()) -> Launches:
    """The mapping with the least predicted time, not counting on L1 to hold anything; among those about as fast, on most
    multiprocessors, with most warps up to half of what there may be, then the first.

    The loop along which most references move by one element is x, else the innermost one; then the loops further out. A thread
    has several iterations where that spares loads in a loop of its own. block: sizes in place of those that are tried, of threads
    with one iteration each.
    """
    order = _order(kernel)
    shapes = (tuple(block),) if block else SHAPES.get(min(len(order), 2), ((1,),))
    plain = [_Mapping.of(kernel, order, shape, (), _FEWER) for shape in shapes]
    several = [] if block else [_Mapping.of(kernel, order, *given, _FEWER) for given in _several(kernel, order)]
    tried = [each for mapping in (*plain, *several) for each in _tried(mapping)]
    if not tried:  # the block does not fit
        mapping = _Mapping.of(kernel, order, shapes[0], (), MOST_WARPS)
        return _launches(mapping, mapping.accesses, ())
    fastest = min(map(_cost, tried))
    alike = [each for each in tried if _cost(each) <= ALIKE * fastest]
    best = max(alike, key=lambda each: (_multiprocessors(each), min(ENOUGH, each.occupancy.share)))
    if all(access.requests.accuracy == EXACT for access in best.accesses):
        return best
    items = tuple(axis.items for axis in best.mapped.axes)
    mapping = _Mapping.of(kernel, order, best.threads.sizes, items, MOST_WARPS)
    accesses, copies = mapping.staged(best.copies[0].buffer.tile) if best.copies else (mapping.accesses, ())
    return _launches(mapping, accesses, copies)


def _several(kernel: Kernel, order: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Sizes of blocks and items of threads, where loads in a thread's own loop do not move along one of the first axes."""
    host, first = len(kernel.nest.host), order[:2]
    loads = [use for use in kernel.uses.uses if not use.is_write and len(use.loops) > kernel.depth]
    if any(use.step(host + loop) == 0 for use in loads for loop in first):
        for count in ITEMS:
            yield from ((shape, (count,) * len(first)) for shape in SEVERAL[len(first)])


def _tried(mapping: _Mapping) -> Iterator[Launches]:
    """With nothing copied to shared memory, and with what pays to be copied in tiles of each size, where a multiprocessor holds
    the block.
    """
    staged = (mapping.staged(tile) for tile in TILES)
    for accesses, copies in ((mapping.accesses, ()), *(pair for pair in staged if pair[1])):
        found = _launches(mapping, accesses, copies)
        if found.occupancy.blocks:
            yield found


def _multiprocessors(found: Launches) -> int:
    """That have something to do in a launch, in the mean."""
    return max(1, min(found.kernel.machine.parts, -(-found.blocks // found.kernel.launches)))


def _cost(found: Launches) -> float:
    rate = found.kernel.machine.read("L2")
    if found.roofline.seconds is None or rate is None:
        return found.requested
    return max(found.roofline.seconds, found.requested * found.kernel.machine.sector_bytes / rate.value)


def _order(kernel: Kernel) -> list[int]:
    """The grid's loops, x first."""
    grid, host = range(len(kernel.nest.grid)), len(kernel.nest.host)

    def neighbours(loop: int) -> int:
        steps = ((use.step(host + loop), use.element_bytes) for use in kernel.uses.uses)
        return sum(step is not None and abs(step) == size for step, size in steps)

    if not grid:
        return []
    x = max(grid, key=lambda loop: (neighbours(loop), loop))
    return [x, *(loop for loop in reversed(grid) if loop != x)]


def _launches(mapping: _Mapping, accesses: tuple[Access, ...], copies: tuple[Copy, ...]) -> Launches:
    kernel, machine, threads = mapping.kernel, mapping.kernel.machine, mapping.threads
    taken = registers(kernel.uses, kernel.depth, len(copies), machine, mapping.items)
    held = occupancy(machine, threads.count, taken, sum(copy.buffer.size_bytes for copy in copies))
    sectors, is_filtered = mapping.sectors(accesses, copies, held)
    warps, lanes, amounts = mapping.work
    share = lanes / (warps * threads.width) if warps else 1.0
    found = Launches(kernel, mapping.mapped, threads, mapping.grid, mapping.blocks, accesses, copies, taken, held, share, sectors,
                     is_filtered, Roofline(0, (), ()))  # fmt: skip
    return replace(found, roofline=_roofline(found, amounts))


def _is_for_all(use: Use, dim: int) -> bool:
    """Whether a load is the same in all iterations of a loop around a thread."""
    return not use.is_write and len(use.address) == 1 and use.step(dim) == 0


@dataclass(frozen=True)
class _Mapping:
    kernel: Kernel
    mapped: Mapped
    threads: Threads
    most: int

    @staticmethod
    def of(kernel: Kernel, order: Sequence[int], block: Sequence[int], items: Sequence[int], most: int) -> _Mapping:
        sizes = tuple(block[: min(len(order), AXES)]) or (1,)
        threads = Threads(sizes, kernel.machine.threads_per_warp)
        return _Mapping(kernel, mapped(kernel.nest, order, sizes, items[: len(order)]), threads, most)

    @cached_property
    def _dims(self) -> tuple[int, ...]:
        """Of the axes, the number of the loop around a thread."""
        names = [around.name for around in self.kernel.nest.grid]
        return tuple(len(self.kernel.nest.host) + names.index(axis.loop.name) for axis in self.mapped.axes)

    @property
    def _sizes(self) -> dict[int, int]:
        """Iterations of a block, by the number of the loop around."""
        return {dim: axis.extent for dim, axis in zip(self._dims, self.mapped.axes)}

    @property
    def _axes(self) -> dict[int, int]:
        return {dim: k for k, dim in enumerate(self._dims)}

    @property
    def items(self) -> dict[int, int]:
        """Iterations of a thread, by the number of the loop around, where there are several."""
        return {dim: axis.items for dim, axis in zip(self._dims, self.mapped.axes) if axis.items > 1}

    @cached_property
    def blocks(self) -> int:
        return polyhedra.count_tiles(self.kernel.around, self._sizes)

    @cached_property
    def grid(self) -> tuple[int, ...]:
        ends = {dim: polyhedra.extremes(polyhedra.along(self.kernel.around, dim)) for dim in self._sizes}
        return tuple(ends[dim][1] // size - ends[dim][0] // size + 1 for dim, size in self._sizes.items())

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        x = next(iter(self._axes), None)
        found: dict[int, Requests] = {}
        for group in self.kernel.groups:
            once = [tuple((dim, count) for dim, count in self.items.items() if _is_for_all(use, dim)) for use in group]
            for items in dict.fromkeys(once):
                alike = [use for use, own in zip(group, once) if own == items]
                made = self._requests(group[0].points, [use.address for use in alike], group[0].element_bytes, dict(items))
                found |= zip(map(id, alike), made)
        return tuple(Access(use, None if x is None else use.step(x), found[id(use)]) for use in self.kernel.uses.uses)

    def _requests(
        self, when: isl.Set, addresses: Sequence[Sequence[Piece]], element_bytes: int, items: Mapping[int, int]
    ) -> tuple[Requests, ...]:
        machine = self.kernel.machine
        grains = element_bytes, machine.sector_bytes, machine.line_bytes
        return requests(when, addresses, self._axes, self.threads, *grains, self.most, items)

    @cached_property
    def work(self) -> tuple[int, int, dict[str, int]]:
        """Warps that run statements, their threads that do, and operations by type."""
        warps = lanes = 0
        amounts: dict[str, int] = {}
        for when, operations in self.kernel.times:
            (made,) = self._requests(when, [((when, ({}, 0), 1),)], 1, {})
            warps, lanes = warps + made.requests, lanes + made.lanes
            for kind, count in operations.items():
                amounts[kind] = amounts.get(kind, 0) + count * made.lanes
        return warps, lanes, amounts

    def staged(self, tile: int) -> tuple[tuple[Access, ...], tuple[Copy, ...]]:
        """The accesses with those from shared memory, and the copies: of what then takes less than half of the sectors."""
        machine, kernel = self.kernel.machine, self.kernel
        by_use, copies = {id(access.use): access for access in self.accesses}, []
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
            copies.append(Copy(buffer, made, shared_memory.stores(buffer, machine), self._loads(buffer, buffer.uses), plain))
        return tuple(by_use.values()), tuple(copies)

    def _loads(self, buffer: Buffer, some: Sequence[Use]) -> float:
        return sum(shared_memory.loads(buffer, use, self.mapped, self.threads, self.kernel.machine) for use in some) / len(some)

    def sectors(self, accesses: Sequence[Access], copies: Sequence[Copy], held: Occupancy) -> tuple[int, bool]:
        """That the L2 is asked for, and whether L1 keeps some."""
        machine, kernel = self.kernel.machine, self.kernel
        direct = [access for access in accesses if access.copy is None]
        copied = sum(copy.requests.sectors for copy in copies)
        asked = sum(access.requests.sectors for access in direct)
        bounds = self._middle_block()
        loads = [access.use for access in direct if not access.use.is_write]
        iteration = kernel.sectors(loads, (*bounds, *self._one_iteration(loads)))
        once = kernel.sectors(loads, bounds)
        used = sum(copy.buffer.size_bytes for copy in copies)
        room = machine.l1_bytes - held.blocks * (used + machine.shared_reserved_bytes if used else 0)
        if once is None or iteration is None or held.blocks * iteration * machine.sector_bytes > room:
            return asked + copied, False
        stored = sum(access.requests.sectors for access in direct if access.use.is_write)
        return min(asked - stored, once * self.blocks) + stored + copied, True

    def _middle_block(self) -> tuple[tuple[int, int], ...]:
        sizes = self._sizes
        ends = []
        for dim, (value, _) in enumerate(self.kernel.middle):
            size = sizes.get(dim, 1)
            ends.append((value // size * size, value // size * size + size - 1))
        return tuple(ends)

    def _one_iteration(self, loads: Sequence[Use]) -> tuple[tuple[int, int], ...]:
        """The thread's outermost loop half way; () where there is none."""
        depth = self.kernel.depth
        ends = [polyhedra.extremes(polyhedra.along(use.points, depth)) for use in loads if len(use.loops) > depth]
        if not ends:
            return ()
        half = (min(low for low, _ in ends) + max(high for _, high in ends)) // 2
        return ((half, half),)


def _roofline(found: Launches, amounts: Mapping[str, int]) -> Roofline:
    machine = found.kernel.machine
    used = _multiprocessors(found)
    work = tuple(_work(found, amounts, machine, used))
    places = (("L1", _passes(found) * machine.line_bytes, machine.read("shared", used)),
              ("L2", found.sectors * machine.sector_bytes, machine.read("L2", used)),
              ("memory", found.kernel.memory_bytes, machine.read("memory", used)))  # fmt: skip
    traffic = tuple(Roof(place, amount or 0, rate, None if rate is None or amount is None else amount / rate.value)
                    for place, amount, rate in places)  # fmt: skip
    return Roofline(sum(amounts.values()), work, (*traffic, *_latency(found, used)))


def _latency(found: Launches, used: int) -> Iterator[Roof]:
    """What all warps wait for, where latencies are known and something is loaded."""
    kernel, machine = found.kernel, found.kernel.machine
    loads = [access for access in found.accesses if access.copy is None and not access.use.is_write]
    size = machine.sector_bytes * (sum(load.requests.sectors for load in loads) + sum(c.requests.sectors for c in found.copies))
    if machine.l2_latency_s is None or machine.memory_latency_s is None or not size or not found.occupancy.blocks:
        return
    warps = min(-(-found.blocks // kernel.launches) * found.threads.warps, used * found.occupancy.warps)
    items = prod(axis.items for axis in found.mapped.axes)
    waits = 0.0  # of all warps, one after the other, for everything that they load before they wait
    for is_inside in (False, True):
        some = [load for load in loads if (len(load.use.loops) > kernel.depth) == is_inside]
        waits += sum(load.requests.requests for load in some) / max(1, len(some) * max(items, AHEAD if is_inside else 1))
    for loop in {copy.buffer.loop for copy in found.copies}:
        copies = [copy.requests.requests for copy in found.copies if copy.buffer.loop == loop]
        each = [min(AHEAD, -(-c.buffer.elements // found.threads.count)) for c in found.copies if c.buffer.loop == loop]
        waits += sum(copies) / sum(each)
    moved = kernel.memory_bytes or 0
    far = min(1.0, moved / (found.sectors * machine.sector_bytes)) if found.sectors else 0.0
    latency = far * machine.memory_latency_s.value + (1 - far) * machine.l2_latency_s.value
    seconds = waits / warps * latency * min(1.0, found.sectors / found.requested)
    amount = min(size, found.sectors * machine.sector_bytes)
    source = f"{warps:,} warps hold loads in flight, latency {latency * 1e9:.0f} ns"
    yield Roof("latency", amount, Figure(amount / seconds, "estimate", source), seconds)


def _work(found: Launches, amounts: Mapping[str, int], machine: Gpu, used: int) -> Iterator[Roof]:
    for kind, count in amounts.items():
        rate = _peak(machine, kind, used)
        yield Roof(kind, count, rate, None if rate is None else count / found.lanes / rate.value, found.lanes)


def _peak(machine: Gpu, kind: str, used: int) -> Figure | None:
    known = machine.peak(kind, used)
    if known is not None:
        return known
    near = machine.peak({"i32": "f32", "u32": "f32"}.get(kind, "f64"), used)  # of integers nothing is known
    return near and near.times(1, "estimate")


def _passes(found: Launches) -> int:
    """Lines that requests touch, and wavefronts of shared memory."""
    direct = sum(access.requests.lines for access in found.accesses if access.copy is None)
    loads = sum(access.requests.requests * access.wavefronts for access in found.accesses if access.copy is not None)
    copies = sum(copy.requests.lines + copy.requests.requests * copy.stores for copy in found.copies)
    return round(direct + loads + copies)
