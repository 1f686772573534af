"""One compilation at a time: not in the midst of a fork or an interrupt, and without garbage collections."""

from __future__ import annotations

import functools
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import polyml.runtime.calling.entry  # noqa: F401  what it has before a fork comes after what this module has
from polyml import interrupts

_LOOK_SECONDS = 0.05  # between looks for Ctrl-C while another thread compiles
_FORK_SECONDS = 60.0  # a fork waits at most so long for a compilation

_locks = [threading.RLock()]
_holders: list[int | None] = [None]  # the thread that has the lock
_forking: list[threading.RLock] = []  # held through the fork


@contextmanager
def alone() -> Iterator[None]:
    """Holds the lock of isl and LLVM inside a `with` block, since their state is shared by the whole process.

    Meanwhile forks of other threads wait, and signals such as Ctrl-C are handled only where code in the block calls
    `interrupts.checkpoint`. A main thread that waits for the lock still handles them.
    """
    with interrupts.deferred():
        lock = _locks[0]
        while not lock.acquire(timeout=_LOOK_SECONDS):
            interrupts.checkpoint()
        outer, _holders[0] = _holders[0], threading.get_ident()
        try:
            yield
        finally:
            _holders[0] = outer
            lock.release()


def is_alone() -> bool:
    """Returns whether this thread holds the lock of isl and LLVM, inside a block of `alone`."""
    return _holders[0] == threading.get_ident()


@contextmanager
def without_collections() -> Iterator[None]:
    """Switches Python's garbage collector off inside a `with` block.

    A compilation makes so many objects that Python would look for cycles in all that was ever imported, which takes as long as one
    stage of the compiler and finds few.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _make_old()
            gc.enable()


@functools.cache
def _make_old() -> None:
    """Moves all existing objects to the garbage collector's oldest generation, once in a process, after its first compilation.

    Otherwise the next new object would make Python look through all that was imported and made meanwhile.
    """
    if gc.get_freeze_count() == 0:  # someone else may have frozen objects
        gc.freeze()
        gc.unfreeze()


# In the child of a fork there is the thread that forked alone: what another one had begun in isl, in LLVM or in the import of a
# module would stay half done there, and what it had locked, locked. So a fork waits until nobody compiles, and until what is made
# beside the first compilation is there (polyml/runtime/calling/entry.py, whose import comes first, so that its lock is taken last).


def _before_fork() -> None:
    interrupts.begin()
    lock = _locks[0]
    if lock.acquire(timeout=_FORK_SECONDS):
        _forking.append(lock)


def _after_fork_in_parent() -> None:
    if _forking:
        _forking.pop().release()
    if (ended := interrupts.end()) is not None:
        ended.deliver_soon()


def _after_fork_in_child() -> None:
    _forking.clear()
    _locks[0] = threading.RLock()
    if not is_alone():
        _holders[0] = None
    interrupts.end()  # signals that came meanwhile were for the parent


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
