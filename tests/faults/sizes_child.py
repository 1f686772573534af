"""A child of `sizes`: FILE NUMBER=ARGUMENTS...: calls program{NUMBER} of the file as it is and compiled, and says what came of it."""

from __future__ import annotations

import ctypes
import faulthandler
import importlib.util
import mmap
import resource
import sys
import warnings

import numpy as np

import polyml
from polyml.errors import PolymlError
from polyml.runtime.loading import load, scratch_memory
from tests.faults.campaign import HANG_SECONDS

MEMORY_BYTES = 2 << 30  # of address space, so that a size that is too great fails at once
PAGE = mmap.PAGESIZE
CANARY = 0xC5
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Guarded:
    """Memory that ends where a page begins that nobody may touch, behind such a page and bytes that stay as they are."""

    def __init__(self):
        self._blocks: dict[int, tuple[int, int]] = {}
        self.acquire = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)(self._acquire)
        self.release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._release)

    def _acquire(self, size: int) -> int | None:
        inside = max(1, -(-size // PAGE)) * PAGE
        if inside > MEMORY_BYTES:
            return None
        start = _libc.mmap(None, inside + 2 * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        if start in (None, ctypes.c_void_p(-1).value):
            return None
        for edge in (start, start + PAGE + inside):
            _libc.mprotect(edge, PAGE, 0)
        at = start + PAGE + inside - -(-size // 64) * 64
        ctypes.memset(start + PAGE, CANARY, at - start - PAGE)
        self._blocks[at] = start, inside
        return at

    def _release(self, at: int) -> None:
        start, inside = self._blocks.pop(at)
        before = ctypes.string_at(start + PAGE, at - start - PAGE)
        _libc.munmap(start, inside + 2 * PAGE)
        if before.count(CANARY) != len(before):
            print("memory before a block was written", file=sys.stderr, flush=True)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            ctypes.CDLL(None).abort()

    def copy(self, array: np.ndarray) -> np.ndarray:
        """The array in such memory, which stays."""
        if not array.size or not array.flags.owndata:
            return array
        at = self._acquire(array.nbytes)
        data = (ctypes.c_char * array.nbytes).from_address(at + -array.nbytes % 64)
        fresh = np.frombuffer(data, array.dtype).reshape(array.shape)
        fresh[...] = array
        return fresh


def outcome(function, arguments: tuple) -> tuple[object, Exception | None]:
    try:
        return function(*arguments), None
    except Exception as problem:
        return None, problem


def compared(plain, kernel, given: tuple, guarded: Guarded) -> str:
    own = tuple(a.copy() if isinstance(a, np.ndarray) and a.flags.owndata else a for a in given)
    wanted, error = outcome(plain, own)
    mine = tuple(guarded.copy(a) if isinstance(a, np.ndarray) else a for a in given)
    found, problem = outcome(kernel, mine)
    if isinstance(problem, PolymlError):
        if "defect" in str(problem):
            return f"WRONG {str(problem)!r}"
        return "an error, as Python" if error is not None and isinstance(problem, type(error)) else "refused"
    if problem is not None:
        same = type(problem) is type(error)
        return "an error, as Python" if same else f"WRONG {problem!r}, not {error!r} or {wanted!r}"
    if error is not None:
        lacks_memory = isinstance(error, MemoryError)
        return "less memory than Python needs" if lacks_memory else f"WRONG {found!r}, not {error!r}"
    if _same(found, wanted) and all(a is b or _same(a, b) for a, b in zip(mine, own)):
        return "as Python, compiled" if kernel.compiled else "as Python, by Python"
    return f"WRONG {found!r} {mine!r}, not {wanted!r} {own!r}"


def _same(a: object, b: object) -> bool:
    if not isinstance(a, np.ndarray):
        return type(a) is type(b) and (a == b or a != a and b != b)
    return (
        isinstance(b, np.ndarray)
        and a.dtype == b.dtype
        and a.shape == b.shape
        and (a.size == 0 or np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    )


def main(file: str, *programs: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    guarded = Guarded()
    own = {"polyml_acquire": guarded.acquire, "polyml_release": guarded.release}
    scratch_memory.address = lambda symbol: ctypes.cast(own[symbol], ctypes.c_void_p).value
    assert load.resolve("polyml_acquire") == scratch_memory.address("polyml_acquire")
    spec = importlib.util.spec_from_file_location("programs", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for each in programs:
        number, _, given = each.partition("=")
        plain = getattr(module, f"program{number}")
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        try:
            arguments = eval(given, {"np": np})
        except (MemoryError, ValueError):
            arguments = (np.arange(5.0),)  # there are no such arguments
        said = compared(plain, polyml.kernel(plain), arguments, guarded)
        faulthandler.cancel_dump_traceback_later()
        print(f"program {number} {said}".replace("\n", " "), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
