"""The pool of threads that run parallel loops: one per process, made on first use, and new after a fork."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from functools import cache

from polyml.machines.cpu import usable_cores
from polyml.runtime.loading import embedded_ir, link

_SPIN_SECONDS = 1e-3  # waking a thread takes longer than most regions: libraries of this kind wait for 1 to 200 ms
_TIMED_SPINS = 2000
_PAUSE, _YIELD = "call void @llvm.x86.sse2.pause()", "call void @llvm.aarch64.hint(i32 1)"
_RELAX = {"x86-64": _PAUSE, "aarch64": _YIELD}
_ISA = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64"}


class Pool:
    """A Pool holds the threads that run parallel loops. It is native code, which compiled loops call at an address.

    parallel_address: the address of `void polyml_parallel(ptr fn, ptr env, i64 shares, i64 threads)`. This calls `void fn(ptr env,
        i64 share, i64 shares)` for each share from 0 to shares - 1, on up to `threads` threads, and waits for all of them.
    """

    def __init__(self):
        symbols = (link.PARALLEL, "polyml_pool_reset", "polyml_pool_spin", "polyml_pool_started")
        self._code = embedded_ir.loaded("threads", host_text(), *symbols)
        # Sleeping workers stay inside this code until the process ends, later than any Python object.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._code))
        self.parallel_address = self._code.address(link.PARALLEL)
        self._reset = self._function("polyml_pool_reset", None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32)
        self._started = self._function("polyml_pool_started", ctypes.c_int64)
        self._spins, self._cores = self._spins_before_sleep(), usable_cores()
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    @property
    def started(self) -> int:
        """Returns how many threads the pool has started, besides those that call it."""
        return self._started()

    def reset(self) -> None:
        """Forgets the threads, which do not exist in the child of a fork."""
        self._reset(self._spins, self._cores, signal.SIG_SETMASK)

    def run(self, fn_address: int, env_address: int, shares: int, threads: int) -> None:
        """Calls polyml_parallel from Python: calls a function once per share, on up to `threads` threads, and waits for them.

        fn_address, env_address: the function, and what it gets as its first argument
        """
        self._function(link.PARALLEL, None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
            fn_address, env_address, shares, threads
        )

    def _spins_before_sleep(self) -> int:
        """Measures how often a waiting thread can look for work in the short time (1 ms) after which it sleeps, and returns that
        number.
        """
        spin = self._function("polyml_pool_spin", None, ctypes.c_int64)
        seconds = min(_timed(spin, _TIMED_SPINS) for _ in range(3))
        return max(1, int(_SPIN_SECONDS * _TIMED_SPINS / seconds))

    def _function(self, symbol: str, result, *arguments):
        return ctypes.CFUNCTYPE(result, *arguments)(self._code.address(symbol))


@cache
def pool() -> Pool:
    """Returns the pool of threads of this process, which the first call makes."""
    return Pool()


def count(threads: int) -> int:
    """Returns how many threads the setting `threads` means: 0 means every core that this process may use."""
    return threads or usable_cores()


def host_text() -> str:
    """Returns the LLVM text of the pool for this computer."""
    return text(_ISA.get(os.uname().machine.lower(), ""), sys.platform == "linux")


def text(isa: str, is_linux: bool) -> str:
    """Returns the LLVM text of the pool.

    isa: "x86-64", "aarch64", or another, for which a waiting loop has no instruction of its own.
    is_linux: whether threads can be kept off a core.
    """
    placement = "placement_linux.ll" if is_linux else "placement_other.ll"
    return embedded_ir.text("threads.ll").replace("RELAX", _RELAX.get(isa, "")) + embedded_ir.text(placement)


def _timed(spin, turns: int) -> float:
    start = time.perf_counter()
    spin(turns)
    return time.perf_counter() - start
