"""From an artifact to what Python calls."""

from __future__ import annotations

import contextlib
import os
import threading

from polyml import interrupts
from polyml.runtime.calling import native_entry
from polyml.runtime.calling.binding import CaptureGuard, Entry
from polyml.runtime.calling.python_entry import python_entry
from polyml.runtime.calling.results import with_results
from polyml.runtime.loading import thread_pool as pools
from polyml.runtime.loading.link import Code
from polyml.runtime.storage.artifact import Artifact


def bind(
    artifact: Artifact, code: Code, *, threads: int, guards: tuple[CaptureGuard, ...] = (), check_overlap: bool = True
) -> Entry:
    """Returns a Python callable that runs a loaded artifact, and keeps `code` alive.

    It returns what the kernel returns, or an Outcome: MISS where the code is not for the arguments, else the status of a failed
    run.

    threads: at least 1.
    guards: captured names that make a call a MISS when they change.
    check_overlap: whether a call is a MISS where a written array shares memory with another argument. It is False for an artifact
        that is made for such arguments, and where the caller knows that there are none.
    """
    finish_preparation()
    make = native_entry.native_entry if native_entry.works_for(artifact.types) else python_entry
    return with_results(artifact, make(artifact, code, threads, guards, check_overlap))


_lock = threading.Lock()  # guards what follows
_preparing: list[threading.Thread] = []


def begin_preparation() -> None:
    """Starts a thread, once per process, that makes what all kernels' calls need: code that checks arguments, and a thread pool.

    Where the system gives no thread, they are made by whoever needs them first.
    """
    if _preparing:
        return
    with interrupts.deferred(), _lock:
        if not _preparing:
            thread = threading.Thread(target=_prepare, name="polyml-runtime", daemon=True)
            with contextlib.suppress(RuntimeError):
                thread.start()
                _preparing.append(thread)


def finish_preparation() -> None:
    """Waits until what `begin_preparation` makes is there: the code that checks arguments, and the thread pool."""
    begin_preparation()
    _join()


def _join() -> None:
    for thread in _preparing:
        thread.join()


def _prepare() -> None:
    with contextlib.suppress(Exception):  # whoever needs what could not be made tries again, and gets the error
        pools.pool()
        if native_entry.works():
            native_entry.prepare()


def _before_fork() -> None:
    """Waits for the preparing thread, which the child of a fork would not have, and takes the lock until the fork is over."""
    _lock.acquire()
    _join()


os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)
