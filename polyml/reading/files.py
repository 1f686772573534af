"""Files, read within bounds: no wait for a writer, no device, and no more bytes than are allowed."""

from __future__ import annotations

import errno
import os
import stat

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip


class UnsuitableFile(OSError):
    """The exception that says that a file may not be read, in a sentence that names it.

    It is no regular file, too large, or not the reader's own.
    """


def read_regular(path: str | os.PathLike, limit_bytes: int, *, follow_links: bool = True, is_own: bool = False) -> bytes:
    """Returns the bytes of a regular file, without waiting for a writer.

    limit_bytes: how many bytes it may have.
    follow_links: whether a symbolic link is followed; else it is refused.
    is_own: whether a file that other users own or may write is refused.
    Raises UnsuitableFile for what is refused, and other OSErrors as the system has them.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as problem:
        raise _explained(problem, path) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsuitableFile(f"{_name(path)} is {kind_of(status)}, not a regular file")
        if status.st_size > limit_bytes:
            raise _too_large(path, limit_bytes)
        fault = fault_of(status) if is_own else ""
        if fault:
            raise UnsuitableFile(f"{_name(path)} {fault}")
        return _all(descriptor, path, status.st_size, limit_bytes)
    finally:
        os.close(descriptor)


def kind_of(status: os.stat_result) -> str:
    """Returns in words what a path with this status is, such as "a folder"."""
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a regular file" if stat.S_ISREG(status.st_mode) else "no regular file")


def fault_of(status: os.stat_result) -> str:
    """Returns why users other than this one and root can change a file or folder, as the end of a sentence; "" where they cannot.

    status: of the file or folder
    """
    if status.st_uid not in (os.geteuid(), _ROOT):
        return f"belongs to another user ({status.st_uid})"
    if status.st_mode & _OTHERS_WRITE:
        return f"can be written by other users (its mode is {stat.S_IMODE(status.st_mode):04o})"
    return ""


def _all(descriptor: int, path: str | os.PathLike, expected_bytes: int, limit_bytes: int) -> bytes:
    """Returns the bytes of an open file up to its end. Raises UnsuitableFile for more bytes than the limit.

    These may be more or fewer than its status says: it may be written meanwhile, or be one that the system makes up, as in /proc.

    path: the file's name, for the message
    expected_bytes: the size that the file's status has.
    """
    pieces: list[bytes] = []
    left = limit_bytes + 1
    while left > 0:
        piece = os.read(descriptor, min(left, max(expected_bytes + 1, 1 << 16)))
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        left -= len(piece)
        expected_bytes -= len(piece)
    raise _too_large(path, limit_bytes)


def _explained(problem: OSError, path: str | os.PathLike) -> OSError:
    """Returns the error for a file that cannot be opened: an UnsuitableFile that says what it is, or `problem`.

    Links and sockets are refused by the system in words that do not say what they are.
    """
    if problem.errno not in (errno.ELOOP, errno.ENXIO, errno.ENODEV):
        return problem
    try:
        status = os.lstat(path)
    except OSError:
        return problem
    return problem if stat.S_ISREG(status.st_mode) else UnsuitableFile(f"{_name(path)} is {kind_of(status)}, not a regular file")


def _too_large(path: str | os.PathLike, limit_bytes: int) -> UnsuitableFile:
    return UnsuitableFile(f"{_name(path)} is larger than the {limit_bytes:,} bytes that are read of such a file")


def _name(path: str | os.PathLike) -> str:
    return os.fsdecode(path)
