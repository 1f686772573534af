"""The machine code of kernels, from bytes to memory, linked with what it may call."""

from __future__ import annotations

from collections.abc import Sequence

from polyml.runtime.loading.link import MEMORY, PARALLEL, Code, link, of_libraries


def load(objects: Sequence[bytes], *symbols: str) -> Code:
    """Loads objects into memory, linked with one another and with the functions that `resolve` finds, and returns the code.

    symbols: those of which `Code.address` will be asked.
    Raises CompileError where an external symbol cannot be found.
    """
    return link(objects, symbols, resolve)


def resolve(symbol: str) -> int:
    """Returns the address of a function that compiled code may call: polyml's own threads and memory, Python's C API, libc, libm.

    Raises CompileError where there is no such function.
    """
    if symbol == PARALLEL:
        from polyml.runtime.loading import thread_pool

        return thread_pool.pool().parallel_address
    if symbol in MEMORY:
        from polyml.runtime.loading import scratch_memory

        return scratch_memory.address(symbol)
    return of_libraries(symbol)
