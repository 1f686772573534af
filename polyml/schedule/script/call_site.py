"""The line of a user's file in which a step of a schedule is written."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

from polyml.source import Loc, Source, reader_name


def call_site(step: str) -> Loc | None:
    """Returns the place in a user's file at which polyml was called, for messages; None where the caller is in no file and no cell.

    It inspects the stack for the innermost caller outside polyml.

    step: the name of the method called, which the excerpt of the message underlines where the line has it once.
    """
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] == "polyml":
        if frame.f_back is None:
            return None
        frame = frame.f_back
    name, number = frame.f_code.co_filename, frame.f_lineno
    linecache.checkcache(name)
    line = linecache.getline(name, number).rstrip()
    if not line or not (Path(name).is_file() or reader_name(name) != name):
        return None
    at, width = line.find(f".{step}(") + 1, len(step)
    if not at or line.count(f".{step}(") > 1:
        at = len(line) - len(line.lstrip())
        width = len(line) - at
    return Loc(Source(name, number, (line,)), number, at + 1, width)
