"""From an artifact to what Python calls."""

from __future__ import annotations

from polyml.runtime import native
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
    make = native.native_entry if native.works() else python_entry
    return with_results(artifact, make(artifact, code, threads, guards, check_overlap))
