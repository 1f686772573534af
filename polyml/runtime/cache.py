"""The disk cache: one sealed file per key, safe with several processes, bounded in size.

    DIR/v1/ab/abcdef....bin

A file appears whole or not at all (written beside its place, then renamed); a damaged one is removed and counts as
absent; the least recently used go first. A folder that cannot be written costs one warning and caching, nothing else.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from polyml.config import Options
from polyml.errors import PolymlPerformanceWarning
from polyml.runtime.seal import Damaged, unseal

_LAYOUT = "v1"
_SUFFIX = ".bin"
_TEMPORARY = ".tmp"
_STALE_TEMPORARY_SECONDS = 3600
_MB = 1_000_000


@dataclass(frozen=True)
class Info:
    """What `polyml cache info` prints. age in seconds since the oldest entry was last used, None when empty."""

    folder: str
    entries: int
    size_bytes: int
    limit_bytes: int
    oldest_use_seconds: float | None


@dataclass(frozen=True)
class Removed:
    """What `clear` took away."""

    entries: int
    size_bytes: int


@dataclass(frozen=True)
class Verified:
    """What `verify` found; the damaged files (paths) are gone."""

    entries: int
    damaged: tuple[str, ...]


class Cache:
    """A folder of sealed byte strings. folder: made on the first write. limit_bytes: of all entries together."""

    def __init__(self, folder: str, limit_bytes: int):
        self.folder, self.limit_bytes = folder, limit_bytes
        self._written_bytes: int | None = None  # since this process last looked at the whole folder
        self._usable = True

    def get(self, key: str) -> bytes | None:
        """The sealed bytes under `key`, or None. Marks it as used now; a damaged entry is removed."""
        path = self._path(key)
        try:
            with open(path, "rb") as file:
                sealed = file.read()
        except OSError:
            return None
        try:
            unseal(sealed)
        except Damaged:
            self.remove(key)
            return None
        _touch(path)
        return sealed

    def put(self, key: str, sealed: bytes) -> None:
        """Store what `seal` made. Never fails: a folder that cannot be written is left alone after one warning."""
        if not self._usable:
            return
        try:
            self._write(self._path(key), sealed)
            self._keep_limit(len(sealed))
        except OSError as problem:
            self._usable = False
            _warn_once(self.folder, f"the compile cache {self.folder} cannot be written and is not used: {problem}")

    def remove(self, key: str) -> None:
        _unlink(self._path(key))

    def info(self) -> Info:
        files = list(self._files())
        oldest = min((used for _, _, used in files), default=None)
        age = None if oldest is None else max(0.0, time.time() - oldest)
        return Info(self.folder, len(files), sum(size for _, size, _ in files), self.limit_bytes, age)

    def clear(self) -> Removed:
        """Remove every entry."""
        removed = [size for path, size, _ in self._files() if _unlink(path)]
        self._sweep(0)
        return Removed(len(removed), sum(removed))

    def verify(self) -> Verified:
        """Read every entry and remove the damaged ones."""
        count, damaged = 0, []
        for path, _, _ in self._files():
            count += 1
            if not _intact(path):
                _unlink(path)
                damaged.append(path)
        return Verified(count, tuple(damaged))

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, _LAYOUT, key[:2], key + _SUFFIX)

    def _write(self, path: str, sealed: bytes) -> None:
        folder = os.path.dirname(path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        temporary = f"{path}.{os.getpid()}.{threading.get_ident()}{_TEMPORARY}"
        try:
            with open(temporary, "wb") as file:
                file.write(sealed)
            os.replace(temporary, path)
        except OSError:
            _unlink(temporary)
            raise

    def _keep_limit(self, added_bytes: int) -> None:
        """Look at the whole folder on the first write and whenever this process has added a sixteenth of the limit."""
        if self._written_bytes is not None and self._written_bytes + added_bytes < self.limit_bytes // 16:
            self._written_bytes += added_bytes
            return
        self._written_bytes = 0
        self.evict()

    def evict(self) -> None:
        """Remove the least recently used entries until nine tenths of the limit are left, if the limit is exceeded.

        One process at a time does this; another one leaves it to the first.
        """
        files = sorted(self._files(), key=lambda f: f[2])
        total = sum(size for _, size, _ in files)
        if total <= self.limit_bytes:
            return
        from filelock import FileLock, Timeout

        try:
            with FileLock(os.path.join(self.folder, _LAYOUT, "evict.lock"), timeout=0):
                for path, size, _ in files:
                    if total <= self.limit_bytes * 9 // 10:
                        break
                    total -= size
                    _unlink(path)
                self._sweep(_STALE_TEMPORARY_SECONDS)
        except Timeout:
            return

    def _sweep(self, age_seconds: float) -> None:
        """Remove temporary files that a killed process left."""
        for path, _, written in self._files(_TEMPORARY):
            if time.time() - written >= age_seconds:
                _unlink(path)

    def _files(self, suffix: str = _SUFFIX) -> Iterator[tuple[str, int, float]]:
        """(path, size in bytes, time of last use) of every entry."""
        for folder in _scan(os.path.join(self.folder, _LAYOUT), lambda e: e.is_dir()):
            for entry in _scan(folder.path, lambda e: e.name.endswith(suffix)):
                try:
                    status = entry.stat()
                except OSError:  # another process removed it meanwhile
                    continue
                yield entry.path, status.st_size, status.st_mtime


def open_cache(options: Options) -> Cache | None:
    """The cache these options ask for; None if they switch it off."""
    if not options.cache:
        return None
    return _cache_at(options.cache_dir or _default_folder(), options.cache_size_mb * _MB)


@cache
def _cache_at(folder: str, limit_bytes: int) -> Cache:
    return Cache(os.path.abspath(folder), limit_bytes)


@cache
def _default_folder() -> str:
    if sys.platform == "linux":  # as platformdirs has it, without the 10 ms of importing that
        home = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        return os.path.join(home, "polyml")
    from platformdirs import user_cache_dir

    return user_cache_dir("polyml", appauthor=False)


@cache
def _warn_once(folder: str, text: str) -> None:
    warnings.warn(text, PolymlPerformanceWarning, stacklevel=2)


def _scan(folder: str, wanted: Callable[[os.DirEntry], bool]) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if wanted(entry)]
    except OSError:
        return []


def _intact(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            unseal(file.read())
    except FileNotFoundError:  # another process removed it meanwhile
        return True
    except (OSError, Damaged):
        return False
    return True


def _touch(path: str) -> None:
    """Mark as used now, where we may."""
    try:
        os.utime(path)
    except OSError:
        return


def _unlink(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
