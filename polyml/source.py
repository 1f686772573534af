"""Places in the text of a program."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from os.path import basename

_LONGEST = 300  # characters of a line that an excerpt shows
_PART = re.compile(r" \(lines \d+ to \d+\)$")  # behind the file's name, of a part of a function that is compiled by itself


def whole_file(file: str) -> str:
    """Returns the file of a source that may be a part of a function, without what says which part."""
    return _PART.sub("", file)


def reader_name(file: str) -> str:
    """Returns the name by which a reader knows a file: "Cell In[2]" for a cell of a notebook, which is kept in a temporary file, and
    the path as it is for any other.

    Every text that names a place in the source, and is read where the kernel runs, calls its file so.
    """
    try:
        kind, name = sys.modules["IPython"].get_ipython().compile.format_code_name(whole_file(file))
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ):  # no IPython, one that says nothing, or a file of which it knows nothing
        return file
    return f"{kind} {name}" if kind == "Cell" else file


def short_name(file: str) -> str:
    """Returns a file's name without its folder, and the names of cells and of what is no file, such as a doctest, as they are."""
    name = reader_name(file)
    return name if name != file or file.startswith("<") else basename(file)


@dataclass(frozen=True)
class Source:
    """A source is the text of a kernel's function, with its place in a file.

    file: the path, as Python reports it.
    first_line: the line of the file, from 1, on which `lines[0]` stands.
    lines: the file's own lines, with their indentation, so that an excerpt shows what the user sees.
    """

    file: str
    first_line: int
    lines: tuple[str, ...]

    def line(self, number: int) -> str:
        """Returns the text of a line of the file; "" for a line that is not part of the kernel.

        number: the line's number in the file, from 1.
        """
        index = number - self.first_line
        return self.lines[index] if 0 <= index < len(self.lines) else ""


@dataclass(frozen=True)
class Loc:
    """A location is a range of characters in one line of a source.

    line, column: where it begins, both counted from 1; columns count characters, not bytes.
    width: the number of characters.
    """

    source: Source
    line: int
    column: int
    width: int = 1

    def __str__(self) -> str:
        return f"{reader_name(self.source.file)}:{self.line}:{self.column}"

    @property
    def file(self) -> str:
        """Returns the path of the source's file."""
        return self.source.file

    @property
    def text(self) -> str:
        """Returns the characters of the location."""
        return self.source.line(self.line)[self.column - 1 : self.column - 1 + self.width]

    def excerpt(self) -> str:
        """Returns the source line, or 300 characters of a longer one, and below it a line with a caret under every character of the
        location.

            A[i * i] = B[i]
              ^^^^^
        """
        line = self.source.line(self.line).rstrip("\n")
        start = 0 if len(line) <= _LONGEST else max(0, self.column - 1 - _LONGEST // 2)  # a line may be longer than anyone can read
        line, before = line[start : start + _LONGEST], self.column - 1 - start
        pad = "".join("\t" if c == "\t" else " " for c in line[:before])
        return f"      {line}\n      {pad}{'^' * max(1, min(self.width, len(line) - before))}"
