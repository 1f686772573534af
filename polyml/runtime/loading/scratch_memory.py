"""Memory for the arrays that kernels make, local ones and results: what was given back is kept for the next, up to a limit."""

from __future__ import annotations

import sys
from functools import cache

from polyml.runtime.loading import embedded_ir, link

KEPT_BYTES = 256 << 20  # of a library built ahead of time, and of kernels until `kept_memory_mb` says otherwise
_WHOLE_PAGES_FROM = 4 << 20  # as NumPy asks for huge pages
ARRAYS = (
    "polyml_arrays_use", "polyml_array_malloc", "polyml_array_calloc", "polyml_array_realloc", "polyml_array_free", "polyml_array_empty",
    "polyml_arrays_forked", "polyml_arrays_kept", "polyml_arrays_keep_at_most", "polyml_give_back",
)  # fmt: skip


@cache
def code() -> link.Code:
    """Returns the code of this memory in this process, with the functions of array_memory.ll by which NumPy uses it."""
    both = text() + embedded_ir.text("array_memory.ll")
    return embedded_ir.loaded("memory", both, *link.MEMORY, *ARRAYS)


def address(symbol: str) -> int:
    """Returns the address of one of two functions that compiled code calls for scratch memory, by its name.

    They are `ptr polyml_acquire(i64 bytes)` and `void polyml_release(ptr)`.
    """
    return code().address(symbol)


def text() -> str:
    """Returns the LLVM text of these two functions."""
    pages = embedded_ir.text("pages_linux.ll" if sys.platform == "linux" else "pages_other.ll")
    memory = embedded_ir.text("memory.ll").replace("WHOLE_PAGES_FROM", str(_WHOLE_PAGES_FROM))
    return memory.replace("KEPT_BYTES", str(KEPT_BYTES)) + pages
