"""From an artifact to what Python calls."""

from __future__ import annotations

import threading
from functools import cache

from polyml.runtime import native
from polyml.runtime import threads as pools
from polyml.runtime.artifact import Artifact
from polyml.runtime.binding import Entry, Guard
from polyml.runtime.load import Code
from polyml.runtime.results import with_results
from polyml.runtime.slots import python_entry


def bind(
    artifact: Artifact, code: Code, *, threads: int, guards: tuple[Guard, ...] = (), check_overlap: bool = True
) -> Entry:
    """The callable of a loaded artifact; it keeps `code` alive.

    threads: at least 1. guards: captured variables that make a MISS when they change. check_overlap=False: written
    arrays may share memory, because the artifact is made for it or the caller knows better.
    """
    preparation().join()
    make = native.native_entry if native.works_for(artifact.types) else python_entry
    return with_results(artifact, make(artifact, code, threads, guards, check_overlap))


@cache
def preparation() -> threading.Thread:
    """A thread, one per process, that makes what every kernel's calls need and its compiler does not: the native entry
    and the thread pool. Join it before the first use of either.
    """
    thread = threading.Thread(target=_prepare, name="polyml-runtime", daemon=True)
    thread.start()
    return thread


def _prepare() -> None:
    pools.pool()
    if native.works():
        native.prepare()
