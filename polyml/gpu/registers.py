"""How many registers a thread takes: an estimate, since the assembler decides."""

from __future__ import annotations

from polyml.gpu.uses import Uses
from polyml.hardware import Gpu

_FRAME = 6  # the thread's place, the stack, what conditions need
_ADDRESS, _COUNTER = 2, 2  # an address; a loop's counter and end
_COPY = 6  # of a copy to shared memory
_AHEAD = 4  # iterations of a loop that are loaded for together
_WORD = 4  # bytes of a register
RULE = (
    "an estimate, mostly within 8 of what nvcc takes: 6, 2 for each array and each of a thread's loops, 6 for each copy to "
    "shared memory, the elements held, and those that are loaded together, in loops for 4 iterations"
)


def registers(uses: Uses, depth: int, copies: int, machine: Gpu) -> int:
    """Of a thread, in the units in which a warp gets them. depth: loops around a thread. copies: arrays' parts in shared memory.
    """
    arrays = {use.array for use in uses.uses}
    loops = {name for use in uses.uses for name in (*use.loops[depth:], *use.held)}
    loads = [use for use in uses.uses if not use.is_write and use.array not in uses.throughout]
    loaded = sum(_words(use.element_bytes) * (_AHEAD if len(use.loops) > depth else 1) for use in loads)
    held = sum(map(_words, uses.throughout.values()))
    total = _FRAME + _ADDRESS * len(arrays) + _COUNTER * len(loops) + _COPY * copies + held + loaded
    unit = machine.register_unit // machine.threads_per_warp
    return min(machine.registers_per_thread, -(-total // unit) * unit)


def _words(size_bytes: int) -> int:
    return -(-size_bytes // _WORD)
