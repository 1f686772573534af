"""How many registers a thread takes: an estimate, since the assembler decides."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from polyml.gpu.thread_accesses import ThreadAccess, ThreadAccesses
from polyml.machines.descriptions import Gpu

_FRAME = 6  # the thread's place, the stack, what conditions need
_ADDRESS, _COUNTER = 2, 2  # an address; a loop's counter and end
_COPY = 6  # of a copy to shared memory
AHEAD = 4  # iterations of a loop that are loaded for together
_WORD = 4  # bytes of a register
RULE = (
    "an estimate, mostly within 8 of what nvcc takes: 6, 2 for each array and each of a thread's loops, 6 for each copy to "
    "shared memory, the elements held, and those that are loaded together, in loops for 4 iterations"
)


def registers(uses: ThreadAccesses, depth: int, copies: int, machine: Gpu, items: Mapping[int, int] = MappingProxyType({})) -> int:
    """Of a thread, in the units in which a warp gets them. depth: loops around a thread. copies: arrays' parts in shared memory.
    items: iterations of a thread along these, for which elements are held and loaded together.
    """
    arrays = {use.array for use in uses.uses}
    loops = {name for use in uses.uses for name in (*use.loops[depth:], *use.held)}
    ahead = 1 if any(count > 1 for count in items.values()) else AHEAD
    loads = [use for use in uses.uses if not use.is_write and use.array not in uses.throughout]
    loaded = sum(_words(use.element_bytes) * _different(use, items) * (ahead if len(use.loops) > depth else 1) for use in loads)
    times = {use.array: _different(use, items) for use in uses.uses}
    held = sum(_words(size) * times.get(array, prod(items.values())) for array, size in uses.throughout.items())
    total = _FRAME + _ADDRESS * len(arrays) + _COUNTER * len(loops) + _COPY * copies + held + loaded
    unit = machine.register_unit // machine.threads_per_warp
    return -(-total // unit) * unit


def _different(use: ThreadAccess, items: Mapping[int, int]) -> int:
    """Elements of a thread's iterations together."""
    return prod(count for dim, count in items.items() if use.step(dim) != 0)


def _words(size_bytes: int) -> int:
    return -(-size_bytes // _WORD)
