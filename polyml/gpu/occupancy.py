"""Occupancy: how many blocks a multiprocessor holds at a time, by the rules of NVIDIA's calculator."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.machines.descriptions import Gpu


@dataclass(frozen=True)
class Occupancy:
    """The blocks and warps that one multiprocessor holds at a time.

    most_warps: how many warps it may hold.
    limits: how many blocks each resource allows; None where none of it is used.
    """

    blocks: int
    warps: int
    most_warps: int
    limits: dict[str, int | None]

    @property
    def share(self) -> float:
        """Returns the warps that a multiprocessor holds as a share of those that it may hold."""
        return self.warps / self.most_warps

    @property
    def limiters(self) -> tuple[str, ...]:
        """Returns the names of the resources that keep a multiprocessor from holding more blocks: those whose limit is `blocks`."""
        return tuple(name for name, limit in self.limits.items() if limit == self.blocks)


def occupancy(machine: Gpu, threads: int, registers: int, shared_bytes: int = 0) -> Occupancy:
    """Returns the occupancy for blocks of so many threads and bytes of shared memory, and so many registers for each thread.

    The limits are those of the compute capability (NVIDIA, CUDA C++ Programming Guide, "Technical Specifications per Compute
    Capability"), the units in which registers and shared memory are given out those of cuda_occupancy.h in the CUDA toolkit:
    a warp gets registers in multiples of `register_unit`, from the part of the file that its scheduler has; a block gets shared
    memory in multiples of `shared_unit_bytes`, with `shared_reserved_bytes` more.

    >>> from polyml.measure.lookup import find
    >>> occupancy(find("h100"), 256, 40).limits
    {'threads': 8, 'blocks': 32, 'registers': 6, 'shared memory': 228}
    """
    warps = -(-threads // machine.threads_per_warp)
    limits: dict[str, int | None] = {
        "threads": machine.warps_per_multiprocessor // warps if threads <= machine.threads_per_block else 0,
        "blocks": machine.blocks_per_multiprocessor,
        "registers": _by_registers(machine, warps, registers),
        "shared memory": _by_shared(machine, shared_bytes),
    }
    blocks = min(limit for limit in limits.values() if limit is not None)
    return Occupancy(blocks, blocks * warps, machine.warps_per_multiprocessor, limits)


def registers_of_warp(machine: Gpu, registers: int) -> int:
    """Returns how many registers a warp gets whose threads have `registers` each."""
    return _rounded(registers * machine.threads_per_warp, machine.register_unit)


def _by_registers(machine: Gpu, warps: int, registers: int) -> int | None:
    """Returns how many blocks of so many warps the registers allow; None where a thread uses none.

    registers: of a thread.
    """
    if registers == 0:
        return None
    own = registers_of_warp(machine, registers)
    rounded = _rounded(warps, machine.warp_unit)  # a launch is checked as if its warps were spread evenly over all schedulers
    if registers > machine.registers_per_thread or own * rounded > machine.registers_per_multiprocessor:
        return 0
    of_scheduler = machine.registers_per_multiprocessor // machine.warp_unit
    return of_scheduler // own * machine.warp_unit // warps


def _by_shared(machine: Gpu, size_bytes: int) -> int | None:
    """Returns how many blocks with `size_bytes` each the shared memory allows; None where none is used."""
    if size_bytes > machine.shared_bytes_per_block:
        return 0
    own = _rounded(size_bytes + machine.shared_reserved_bytes, machine.shared_unit_bytes)
    return machine.shared_bytes_per_multiprocessor // own if own else None


def _rounded(number: int, unit: int) -> int:
    return -(-number // unit) * unit
