"""Files that users name, read within bounds, and written as a whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from polyml.errors import ConfigError, PolymlError
from polyml.reading.files import UnsuitableFile, read_regular
from polyml.reading.input_limits import shown


def read_text(path: str | os.PathLike, limit_bytes: int, error: type[PolymlError] = ConfigError) -> str:
    """Returns the text of a regular UTF-8 file. Raises `error` where it cannot be read, is of another kind, or is too large."""
    try:
        return read_regular(path, limit_bytes).decode("utf-8")
    except (OSError, ValueError, TypeError) as problem:
        raise error(unreadable(path, problem)) from None


def unreadable(path: object, problem: Exception) -> str:
    """Returns why a file cannot be read, as a sentence that names the file.

    problem: what was raised when it was read
    """
    if isinstance(problem, UnsuitableFile) and not _is_folder(path):
        return str(problem)
    return f"{called(path)} cannot be read: {'Is a directory' if _is_folder(path) else reason(problem)}"


def _is_folder(path: Any) -> bool:  # Any: what callers take for a path is asked, whatever it is
    try:
        return os.path.isdir(path)
    except (OSError, ValueError, TypeError):
        return False


def reason(problem: Exception) -> str:
    """Returns why a file could not be opened, read or written, in a few words without its name.

    problem: what was raised
    """
    if isinstance(problem, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(problem, OSError):
        return str(problem) if isinstance(problem, UnsuitableFile) else problem.strerror or type(problem).__name__
    return "this is no name of a file"


def called(path: Any) -> str:  # Any: as in `_is_folder`
    """Returns a file's name as messages have it; a long or unprintable one is shortened or escaped."""
    try:
        name = os.fsdecode(path)
    except Exception:  # a class that is not ours may raise anything
        return shown(path)
    return name if len(name) <= 200 and name.isprintable() else shown(name)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Makes `path` a file of this text, as a whole or not at all: a new file is written beside it and then gets its name.

    A path that leads to a device or a pipe, as /dev/stdout, is written to. Raises OSError, and ValueError for what is no name of a
    file.
    """
    place = Path(os.path.realpath(path))
    content = text.encode("utf-8", "surrogateescape")
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        mode = 0
    if mode and not stat.S_ISREG(mode):
        _write_to(os.fspath(path), content)
        return
    temporary = place.parent / f".polyml-{os.urandom(8).hex()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            if mode:
                os.fchmod(descriptor, stat.S_IMODE(mode))
            file.write(content)
        os.replace(temporary, place)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_to(path: str, content: bytes) -> None:
    """Writes bytes to a device or a pipe that someone reads. Raises OSError where nobody does, instead of waiting."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    with open(descriptor, "wb") as file:
        file.write(content)
