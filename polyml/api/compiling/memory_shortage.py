"""Memory that a compilation needs, looked for before it begins, since LLVM ends the process where it gets none."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator

from polyml.errors import PolymlMemoryError

_LIBRARIES_BYTES = 200 << 20  # address space for LLVM's library, isl's and what goes with them
_WORK_BYTES = 128 << 20  # a compilation's memory; the kernels of PolyBench take 20 to 60 MiB, with two threads
_SIGNS = ("failed to map segment", "cannot allocate memory", "allocation failure")  # the loader's, the system's, isl's


def require_room(name: str) -> None:
    """Raises PolymlMemoryError where the limits of this process leave too little memory for the compilation of the kernel
    `name`.
    """
    for what, limit_bytes, used_bytes, needed_bytes in _limits():
        if limit_bytes - used_bytes < needed_bytes:
            needed, limit, used = (f"{size >> 20} MiB" for size in (needed_bytes, limit_bytes, used_bytes))
            raise PolymlMemoryError(
                f"there is no room to compile `{name}`: that takes up to {needed}, and of {limit} of {what} {used} are in use",
                notes=[f"expected a higher limit (ulimit {_FLAGS[what]}), or the kernel in the cache, which takes no compiler"],
            )


def of(problem: BaseException, name: str) -> PolymlMemoryError | None:
    """Returns a PolymlMemoryError where `problem`, or an error that caused it, came of too little memory; None where none did.

    name: the name of the kernel whose compilation failed.
    """
    seen: BaseException | None = problem
    first = None  # the error that caused the others
    while seen is not None:
        if isinstance(seen, MemoryError) or getattr(seen, "errno", None) == errno.ENOMEM or _says_so(str(seen)):
            first = seen
        seen = seen.__cause__ or seen.__context__
    if first is None:
        return None
    return PolymlMemoryError(f"there is not enough memory to compile `{name}`: {str(first) or 'Python found none'}")


def _says_so(text: str) -> bool:
    return any(sign in text.lower() for sign in _SIGNS)


_FLAGS = {"address space": "-v", "data": "-d"}


def _limits() -> Iterator[tuple[str, int, int, int]]:
    """Yields (name of a limit, the limit, memory in use, memory that a compilation needs) for each limit on memory that this
    process has; the last three are bytes.
    """
    import resource

    limits = {"address space": (resource.RLIMIT_AS, 0), "data": (resource.RLIMIT_DATA, 5)}
    for what, (number, column) in limits.items():
        limit = resource.getrlimit(number)[0]
        if limit != resource.RLIM_INFINITY and (used := _pages(column)) is not None:
            is_loaded = what == "data" or "llvmlite.binding" in sys.modules
            yield what, limit, used * os.sysconf("SC_PAGESIZE"), _WORK_BYTES + (0 if is_loaded else _LIBRARIES_BYTES)


def _pages(column: int) -> int | None:
    """Returns the number in a column of /proc/self/statm, which counts pages of memory; None on systems other than Linux.

    column: which one, counted from 0.
    """
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[column])
    except OSError:
        return None
