"""The disk cache: one file with a checksum per name, safe with several processes, bounded in size.

    DIR/v2/ef/kernel-abcd....ef.bin

A name says what kind of entry it is and what it depends on: kernel-..., schedule-..., code-..., rates-.... A file appears as a
whole or not at all (written beside its place, then renamed) and has its name inside; what is damaged, another entry or no file is
removed and counts as absent; the least recently used go first. A folder that cannot be written costs one warning and caching,
nothing else.

Entries hold machine code, which runs. So folders are made for this user alone, and where another user but root owns the folder, a
folder in it or an entry, or may write there, nothing is read or written, with one warning. This is tested at each use.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from polyml.config import Options
from polyml.errors import PolymlPerformanceWarning
from polyml.reading.files import UnsuitableFile, fault_of, kind_of, read_regular
from polyml.runtime.storage.checksum import Damaged, seal, unseal

ENTRY_BYTES = 1 << 26  # no kernel's code is as long
_LAYOUT, _LAYOUTS = "v2", re.compile(r"v\d+")
_SUFFIX = ".bin"
_TEMPORARY = ".tmp"
_STALE_TEMPORARY_SECONDS = 3600
_ATTEMPTS = 5  # attempts to write an entry while others remove what they find
_MB = 1_000_000
_FOR_THIS_USER = 0o700


@dataclass(frozen=True)
class Info:
    """An Info is what `polyml cache info` prints of a cache.

    folder: the cache's folder.
    entries, size_bytes: how many entries there are, and their size.
    limit_bytes: the size at most.
    oldest_use_seconds: how long ago the entry that was not used for longest was used; None for an empty cache.
    """

    folder: str
    entries: int
    size_bytes: int
    limit_bytes: int
    oldest_use_seconds: float | None


@dataclass(frozen=True)
class Removed:
    """A Removed says how many entries `clear` removed, and their size in bytes."""

    entries: int
    size_bytes: int


@dataclass(frozen=True)
class Verified:
    """A Verified says how many entries `verify` read; `damaged` has the paths of the files that it removed."""

    entries: int
    damaged: tuple[str, ...]


@dataclass(frozen=True)
class _File:
    """A _File is a file of the cache that stands where an entry may be.

    size_bytes: as the file system has it.
    used: the time of its last use.
    is_entry: whether it is an entry, as far as one sees without reading it.
    """

    path: str
    size_bytes: int
    used: float
    is_entry: bool  # as far as one sees without reading it


class Cache:
    """A Cache is a folder of entries on disk, each a content under a name.

    folder: its path; it is made when something is first written.
    limit_bytes: the size of all entries at most.
    """

    def __init__(self, folder: str, limit_bytes: int):
        self.folder, self.limit_bytes = folder, limit_bytes
        self._written_bytes: int | None = None  # since this process last looked at the whole folder

    def get(self, name: str) -> bytes | None:
        """Returns the content under a name, and marks it as used now; None where there is none. A damaged file is removed."""
        path = self._path(name)
        if self._distrusted(path):
            return None
        try:
            content = unseal(name, _read(path))
        except (UnsuitableFile, Damaged):
            _remove(path)
            return None
        except OSError:
            return None
        _touch(path)
        return content

    def put(self, name: str, content: bytes) -> None:
        """Writes a content under a name. It never fails: what cannot be written is not kept, after one warning for each reason."""
        path, sealed = self._path(name), seal(name, content)
        if self._distrusted(path):
            return
        if len(sealed) > ENTRY_BYTES:
            _warn_once(f"the compile cache {self.folder} does not keep entries of more than {ENTRY_BYTES:,} bytes")
            return
        try:
            _written(path, sealed)
        except OSError as problem:
            reason = problem.strerror or str(problem)
            _warn_once(f"the compile cache {self.folder} cannot be written, so what is compiled is not kept: {reason}")
            return
        self._keep_limit(len(sealed))

    def remove(self, name: str) -> None:
        """Removes the entry under a name, if there is one."""
        path = self._path(name)
        if not self._distrusted(path):
            _remove(path)

    def fault(self) -> str:
        """Returns why the cache's folder is not used, as a sentence; "" where it is used, or does not exist yet."""
        return _fault((self.folder, os.path.join(self.folder, _LAYOUT)))

    def made(self) -> bool:
        """Makes the cache's folder, and returns whether it is trusted: whether only this user or root may write into it.

        It is for callers that keep files other than entries there. Raises OSError where the folder cannot be made.
        """
        _make(self.folder)
        return not self.fault()

    def info(self) -> Info:
        """Returns how many entries the cache has, how large they are, and when the least recently used one was used."""
        files = list(self._files())
        oldest = min((file.used for file in files), default=None)
        age = None if oldest is None else max(0.0, time.time() - oldest)
        return Info(self.folder, len(files), sum(file.size_bytes for file in files), self.limit_bytes, age)

    def clear(self) -> Removed:
        """Removes every entry, and returns how many there were, with their size."""
        removed = [file.size_bytes for file in self._files() if _remove(file.path)]
        for file in self._files(_TEMPORARY):
            _remove(file.path)
        return Removed(len(removed), sum(removed))

    def verify(self) -> Verified:
        """Reads every entry, removes those that are damaged or cannot be read, and returns which they were."""
        count, damaged = 0, []
        for file in self._files(layout=_LAYOUT):
            count += 1
            if not self._is_intact(file.path):
                _remove(file.path)
                damaged.append(file.path)
        return Verified(count, tuple(damaged))

    def evict(self) -> None:
        """Removes files that are no entries, temporary files of killed processes, and, where the cache exceeds its limit, entries.

        The least recently used entries go first, until the cache has at most nine tenths of its limit. Processes that do this at
        the same time remove the same files.
        """
        total, entries = 0, []
        for file in self._files(_TEMPORARY):
            if time.time() - file.used >= _STALE_TEMPORARY_SECONDS:
                _remove(file.path)
            else:
                total += file.size_bytes
        for file in self._files():
            if file.is_entry:
                total += file.size_bytes
                entries.append(file)
            else:
                _remove(file.path)
        if total <= self.limit_bytes:
            return
        for file in sorted(entries, key=lambda each: each.used):
            if total <= self.limit_bytes * 9 // 10:
                break
            total -= file.size_bytes
            _remove(file.path)

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, _LAYOUT, name[-2:], name + _SUFFIX)

    def _distrusted(self, path: str) -> bool:
        """Returns whether other users may write into the folders around the entry at this path; if so, it also warns once."""
        within = os.path.dirname(path)
        fault = _fault((self.folder, os.path.dirname(within), within))
        if fault:
            extent = "not used" if self.fault() else "used in part"
            _warn_once(f"the compile cache {self.folder} is {extent}: {fault}; folders of one's own with mode 0700 are used")
        return bool(fault)

    def _is_intact(self, path: str) -> bool:
        """Returns whether the entry at this path is readable, undamaged and rightly named, or else was removed meanwhile."""
        name = os.path.basename(path).removesuffix(_SUFFIX)
        try:
            unseal(name, _read(path))
        except FileNotFoundError:  # another process removed it meanwhile
            return True
        except (OSError, Damaged):
            return False
        return path == self._path(name)

    def _keep_limit(self, added_bytes: int) -> None:
        """Runs `evict` at this process's first write, and then each time that it has written a sixteenth of the cache's limit."""
        if self._written_bytes is not None and self._written_bytes + added_bytes < self.limit_bytes // 16:
            self._written_bytes += added_bytes
            return
        self._written_bytes = 0
        self.evict()

    def _files(self, suffix: str = _SUFFIX, layout: str = "") -> Iterator[_File]:
        """Yields the files of the cache whose names end as `suffix`.

        layout: the version of the cache's folder structure, such as "v2", whose files are yielded; "": those of all versions.
        """
        for each in _folders(self.folder):
            if each.name != layout if layout else not _LAYOUTS.fullmatch(each.name):
                continue
            for folder in _folders(each.path):
                for entry in _scan(folder.path):
                    if not entry.name.endswith(suffix):
                        continue
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:  # another process removed it meanwhile
                        continue
                    is_entry = stat.S_ISREG(status.st_mode) and status.st_size <= ENTRY_BYTES
                    yield _File(entry.path, status.st_size, status.st_mtime, is_entry)


def open_cache(options: Options) -> Cache | None:
    """Returns the cache that the options ask for; None if they switch it off, or, with one warning, if there is no place for it."""
    if not options.cache:
        return None
    folder = options.cache_dir or _default_folder()
    if not os.path.isabs(folder):
        _warn_once("there is no compile cache: HOME names no folder; POLYML_CACHE_DIR=/path/of/a/folder does")
        return None
    return _cache_at(folder, options.cache_size_mb * _MB)


@cache
def _cache_at(folder: str, limit_bytes: int) -> Cache:
    return Cache(os.path.normpath(folder), limit_bytes)


@cache
def _default_folder() -> str:
    if sys.platform == "linux":  # the folder that platformdirs has, without the 10 ms of importing it
        home = os.environ.get("XDG_CACHE_HOME", "").strip()
        return os.path.join(home if os.path.isabs(home) else os.path.expanduser("~/.cache"), "polyml")
    from platformdirs import user_cache_dir

    return user_cache_dir("polyml", appauthor=False)


@cache
def _warn_once(text: str) -> None:
    warnings.warn(text, PolymlPerformanceWarning, stacklevel=2)


def _fault(folders: tuple[str, ...]) -> str:
    """Returns, as a sentence, why one of the folders is not trusted; "" where all are, or one does not exist.

    folders: each one is inside the one before.
    """
    for number, folder in enumerate(folders):
        try:
            status = os.stat(folder, follow_symlinks=number == 0)  # the user's own folder may be a link
        except OSError:
            return ""
        if number and not stat.S_ISDIR(status.st_mode):
            return f"{folder} is {kind_of(status)}, not a folder"
        found = fault_of(status)
        if found:
            return f"{folder} {found}, who could put code there that this process would run"
    return ""


def _read(path: str) -> bytes:
    return read_regular(path, ENTRY_BYTES, follow_links=False, is_own=True)


def _written(path: str, sealed: bytes) -> None:
    """Writes an entry's file as a whole, never half of it; tries again where other processes remove its folder meanwhile.

    sealed: the content with its checksum.
    Raises OSError where the file cannot be written.
    """
    for attempt in range(_ATTEMPTS):
        try:
            _write(path, sealed)
            return
        except (FileNotFoundError, FileExistsError):
            if attempt == _ATTEMPTS - 1:
                raise
        except IsADirectoryError:
            if attempt == _ATTEMPTS - 1 or os.path.isdir(path) and not _remove(path):
                raise


def _write(path: str, sealed: bytes) -> None:
    _make(os.path.dirname(path))
    temporary = f"{path}.{os.urandom(8).hex()}{_TEMPORARY}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(sealed)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def _make(folder: str) -> None:
    """Makes a folder, and those around it that are missing, for this user alone."""
    try:
        os.mkdir(folder, _FOR_THIS_USER)
    except FileExistsError:
        return
    except FileNotFoundError:
        parent = os.path.dirname(folder)
        if parent == folder:
            raise
        _make(parent)
        try:
            os.mkdir(folder, _FOR_THIS_USER)
        except FileExistsError:
            return


def _folders(folder: str) -> list[os.DirEntry]:
    """Returns the folders inside a folder that are trusted: this user's or root's, and not writable by others."""
    return [entry for entry in _scan(folder) if _is_own_folder(entry)]


def _is_own_folder(entry: os.DirEntry) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and not fault_of(entry.stat(follow_symlinks=False))
    except OSError:  # another process removed it meanwhile
        return False


def _scan(folder: str) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _touch(path: str) -> None:
    """Marks an entry as used now, where that is allowed."""
    try:
        os.utime(path, follow_symlinks=False)
    except OSError:
        return


def _remove(path: str) -> bool:
    """Removes a file or a folder, and returns whether it is gone."""
    try:
        os.unlink(path)
        return True
    except IsADirectoryError:
        pass
    except OSError:
        return False
    import shutil

    try:
        shutil.rmtree(path)
    except OSError:
        return False
    return True
