"""An estimate of the registers of a thread, which the assembler decides."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from polyml.gpu.thread_accesses import ThreadAccess, ThreadAccesses
from polyml.machines.descriptions import Gpu

_FRAME = 6  # the thread's index, the stack, what conditions need
_ADDRESS, _COUNTER = 2, 2  # an address; a loop's counter and end
_COPY = 6  # of a copy to shared memory
LOADED_TOGETHER = 4  # iterations of a loop whose loads are issued together
_WORD = 4  # bytes of a register
RULE = (
    "an estimate, mostly within 8 of what nvcc takes: 6, 2 for each array and each of a thread's loops, 6 for each copy to "
    "shared memory, the elements held, and those that are loaded together, in loops for 4 iterations"
)


def registers(uses: ThreadAccesses, depth: int, copies: int, machine: Gpu, items: Mapping[int, int] = MappingProxyType({})) -> int:
    """Returns an estimate of the registers of a thread, in the units in which a warp gets them.

    depth: how many loops of the host and the grid are around a thread; those further inside are its own.
    copies: how many buffers are in shared memory.
    items: position of a loop -> how many of its iterations a thread runs together, with registers for the elements of each.
    """
    arrays = {use.array for use in uses.uses}
    loops = {name for use in uses.uses for name in (*use.loops[depth:], *use.held)}
    at_once = 1 if any(count > 1 for count in items.values()) else LOADED_TOGETHER
    loads = [use for use in uses.uses if not use.is_write and use.array not in uses.throughout]
    loaded = sum(_words(use.element_bytes) * _different(use, items) * (at_once if len(use.loops) > depth else 1) for use in loads)
    times = {use.array: _different(use, items) for use in uses.uses}
    held = sum(_words(size) * times.get(array, prod(items.values())) for array, size in uses.throughout.items())
    total = _FRAME + _ADDRESS * len(arrays) + _COUNTER * len(loops) + _COPY * copies + held + loaded
    unit = machine.register_unit // machine.threads_per_warp
    return -(-total // unit) * unit


def _different(use: ThreadAccess, items: Mapping[int, int]) -> int:
    """Returns how many different elements a load or store accesses in the iterations that a thread runs together.

    items: position of a loop -> how many of its iterations a thread runs together.
    """
    return prod(count for dim, count in items.items() if use.step(dim) != 0)


def _words(size_bytes: int) -> int:
    """Returns how many registers hold so many bytes."""
    return -(-size_bytes // _WORD)
