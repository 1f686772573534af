"""Memory for the local arrays of kernels, kept from call to call: at most eight blocks of KEPT_BYTES per process."""

from __future__ import annotations

from functools import cache

from polyml.runtime.loading import embedded_ir, link

KEPT_BYTES = 64 << 20


@cache
def _code() -> link.Code:
    return embedded_ir.loaded("memory", text(), *link.MEMORY)


def address(symbol: str) -> int:
    """Returns the address of one of two functions that compiled code calls for scratch memory, by its name.

    They are `ptr polyml_acquire(i64 bytes)` and `void polyml_release(ptr)`.
    """
    return _code().address(symbol)


def text() -> str:
    """Returns the LLVM text of these two functions."""
    return embedded_ir.text("memory.ll").replace("KEPT_BYTES", str(KEPT_BYTES))
