"""Files read within bounds, whatever is in their place: no wait for a writer, no device, no more bytes than were allowed for."""

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
    """What is there is not what may be read: not a regular file, too large, or not the reader's own. Its text is a sentence that
    names the file."""


def read_regular(path: str | os.PathLike, limit_bytes: int, *, follow_links: bool = True, is_own: bool = False) -> bytes:
    """The bytes of a regular file, of which there may be `limit_bytes`.

    follow_links=False: a symbolic link is refused as well. is_own: so is a file that `fault_of` finds fault with.
    UnsuitableFile for what is refused, other OSErrors as the system has them.
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
    """What is there, in words."""
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a regular file" if stat.S_ISREG(status.st_mode) else "no regular file")


def fault_of(status: os.stat_result) -> str:
    """Why others than this user and root decide what is in a file or folder: the end of a sentence; "" if they do not."""
    if status.st_uid not in (os.geteuid(), _ROOT):
        return f"belongs to another user ({status.st_uid})"
    if status.st_mode & _OTHERS_WRITE:
        return f"can be written by other users (its mode is {stat.S_IMODE(status.st_mode):04o})"
    return ""


def _all(descriptor: int, path: str | os.PathLike, expected_bytes: int, limit_bytes: int) -> bytes:
    """Up to the end, which is not where `expected_bytes` has it if the file changes meanwhile, or if the system makes it up."""
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
    """Links and sockets are refused when they are opened, with words that do not say what they are."""
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
