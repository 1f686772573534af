"""The launches of one kernel as values: the resources that they take, the data that they move, and their predicted time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from polyml.codegen.gpu.axes import LaunchAxis
from polyml.codegen.gpu.program import Launch
from polyml.gpu.occupancy import Occupancy
from polyml.gpu.thread_accesses import ThreadAccess
from polyml.gpu.warps.requests import GlobalRequests, SharedRequests
from polyml.gpu.warps.thread_blocks import Threads
from polyml.machines.descriptions import Gpu
from polyml.machines.roofline import Roofline
from polyml.schedule.gpu.mapping import Mapped


@dataclass(frozen=True)
class CountedAccess:
    """A CountedAccess is a load or store in the text of a thread, with what its requests move.

    access: the load or store; of one in a loop in chunks, that of whole chunks.
    step: bytes from the element of one thread to that of the next along axis x; None where that varies.
    requests: those for shared memory where it is of a tile, else those for global memory.
    """

    access: ThreadAccess
    step: int | None
    requests: GlobalRequests | SharedRequests


@dataclass(frozen=True)
class Launches:
    """The launches of one kernel in a program for a GPU.

    launch: the kernel, of which `name` is the name and `axes` are the axes of its grid.
    mapped: which loops are divided among blocks and threads.
    launches: how many launches there are.
    threads: those of a block.
    grid: how many blocks the largest launch has along each axis.
    blocks: how many blocks all launches have.
    shared_bytes: the shared memory of a block.
    registers: how many registers a thread takes.
    lanes: the share of the warps' threads that do something, in the mean.
    sectors: how many sectors are requested of the L2.
    is_filtered: whether the L1 is assumed to keep what a block's threads access again, so that the L2 is asked for it once.
    memory_bytes: what the launches move from and to memory; None where there is too much to count.
    gathers: arrays that are read at indices which are data themselves; these loads are not among `accesses`.
    """

    launch: Launch = field(repr=False)
    machine: Gpu = field(repr=False)
    mapped: Mapped
    launches: int
    threads: Threads
    grid: tuple[int, ...]
    blocks: int
    shared_bytes: int
    accesses: tuple[CountedAccess, ...]
    registers: int
    occupancy: Occupancy
    lanes: float
    sectors: int
    is_filtered: bool
    memory_bytes: int | None
    roofline: Roofline
    gathers: tuple[str, ...]

    @property
    def name(self) -> str:
        """Returns the kernel's name."""
        return self.launch.name

    @property
    def axes(self) -> tuple[LaunchAxis, ...]:
        """Returns the axes of the kernel's grid."""
        return self.launch.axes

    def of_global(self) -> Iterator[tuple[ThreadAccess, GlobalRequests]]:
        """Yields the loads and stores of global memory, with their requests."""
        for each in self.accesses:
            if isinstance(each.requests, GlobalRequests):
                yield each.access, each.requests

    def of_shared(self) -> Iterator[tuple[ThreadAccess, SharedRequests]]:
        """Yields the loads and stores of shared memory, with their requests."""
        for each in self.accesses:
            if isinstance(each.requests, SharedRequests):
                yield each.access, each.requests

    @property
    def requested(self) -> int:
        """Returns the number of sectors of all requests for global memory."""
        return sum(requests.sectors for _, requests in self.of_global())

    @property
    def wavefronts(self) -> int:
        """Returns the number of passes through the banks of shared memory."""
        return sum(requests.wavefronts for _, requests in self.of_shared())

    @property
    def conflicts(self) -> int:
        """Returns how many of these there are because of bank conflicts."""
        return sum(requests.conflicts for _, requests in self.of_shared())
