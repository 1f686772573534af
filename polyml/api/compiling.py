"""One compilation at a time, without looks for garbage meanwhile."""

from __future__ import annotations

import functools
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_locks = [threading.RLock()]


def alone() -> threading.RLock:
    """isl's state is the process's."""
    return _locks[0]


@contextmanager
def without_collections() -> Iterator[None]:
    """Python looks for cycles to free in all that was ever imported once a compilation has made some objects, which takes as
    long as a stage does; it finds few there.
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
    """Behind the first compilation of a process, all objects there are count as old ones: else the next new object has Python look
    through all that was imported and made meanwhile. What later compilations leave is looked through as usual.
    """
    if gc.get_freeze_count() == 0:  # of objects that someone else keeps from being looked at
        gc.freeze()
        gc.unfreeze()


def _renew() -> None:
    """In the child of a fork: a lock that another thread of the parent held would never be free again."""
    _locks[0] = threading.RLock()


os.register_at_fork(after_in_child=_renew)
