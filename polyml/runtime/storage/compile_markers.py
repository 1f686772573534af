"""Markers on disk that a kernel is being compiled. A marker stays where isl or LLVM ends the process.

    DIR/v2/ef/marker0-abcd....ef.bin        written before form 0 of the kernel kernel-abcd....ef is made, removed after

The next process that compiles the kernel finds it and goes on with a simpler form than that one. Whatever else ends a process, a
signal or a power cut, leaves it too; so the form is tried again after a day, and once the marker is removed (`polyml cache
clear`).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from polyml.runtime.storage.disk_cache import Cache

LASTS_SECONDS = 86_400


@contextmanager
def working(cache: Cache | None, kernel: str | None, form: int) -> Iterator[None]:
    """Keeps a file on disk, while a `with` block runs, that says that this process is compiling a kernel.

    cache: where the file is kept; None: there is none.
    kernel: the name of the kernel's entry in the cache; None: there is no file.
    form: which form of the kernel is being made, from 0, the best one; each later one is simpler to compile.
    """
    if cache is None or kernel is None:
        yield
        return
    name = _name(kernel, form)
    cache.put(name, json.dumps({"process": os.getpid(), "began": _began(os.getpid()), "at": time.time()}).encode())
    try:
        yield
    finally:
        cache.remove(name)


def ended_in(cache: Cache | None, kernel: str | None) -> int:
    """Returns the last of the kernel's forms 0, 1, ... each of which ended the process that compiled it; -1 where form 0 did not.

    A form is a way to compile a kernel; form 0 is the best, and each later one is simpler. A process was ended where its marker is
    still in the cache although the process is gone.

    cache: where the markers of `working` are kept.
    kernel: the name of the kernel's entry in the cache.
    """
    last = -1
    if cache is not None and kernel is not None:
        while _has_ended(cache, _name(kernel, last + 1)):
            last += 1
    return last


def _name(kernel: str, form: int) -> str:
    return f"marker{form}-{kernel.partition('-')[2]}"


def _has_ended(cache: Cache, name: str) -> bool:
    """Returns whether a marker (a file that a process writes while it compiles) is in the cache though that process is gone.

    A marker older than a day is removed and does not count.

    name: the marker's name in the cache.
    """
    content = cache.get(name)
    if content is None:
        return False
    try:
        found = json.loads(content)
        process, began, at = int(found["process"]), str(found["began"]), float(found["at"])
    except (ValueError, KeyError, TypeError):
        return False
    if not 0 <= time.time() - at <= LASTS_SECONDS:
        cache.remove(name)
        return False
    return began != _began(process)


def _began(process: int) -> str:
    """Returns the time at which a process began, as the text that the system has for it; "" for a process that is gone.

    On a system without /proc, "there" is returned for every running process.

    process: its number.
    """
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        pass
    if os.path.isdir("/proc/self"):
        return ""
    try:
        os.kill(process, 0)
    except PermissionError:
        return "there"
    except (OSError, OverflowError):
        return ""
    return "there"
