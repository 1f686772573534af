"""Source locations in a text: `at 22:17+7` is line 22, column 17, 7 characters of the first source at the text's end.

at      = "at" [INTEGER "/"] INTEGER ":" INTEGER "+" INTEGER         the source's number in front, where it is not the first
source  = "source" STRING "from" INTEGER {STRING}                    a file, the number of its first line here, its lines
"""

from __future__ import annotations

from collections.abc import Iterator

from polyml.reading.text_scanner import INDENT, Line, Lines, string
from polyml.source import Loc, Source


class PlaceWriter:
    """A PlaceWriter writes source locations into a text, and collects their sources for its end."""

    def __init__(self) -> None:
        self._numbers: dict[Source, int] = {}

    def at(self, loc: Loc | None) -> str:
        """Returns the text of a location, such as " at 22:17+7" for 7 characters from line 22, column 17, on; "" for None."""
        if loc is None:
            return ""
        number = self._numbers.setdefault(loc.source, 1 + len(self._numbers))
        return f" at {f'{number}/' if number > 1 else ''}{loc.line}:{loc.column}+{loc.width}"

    def lines(self) -> Iterator[str]:
        """Yields the lines that go to the end of the text: the sources of all locations that were written so far."""
        for source in self._numbers:
            yield f"source {string(source.file)} from {source.first_line}"
            yield from (INDENT + string(line) for line in source.lines)


class PlaceReader:
    """A PlaceReader takes the sources from the end of a text, and reads source locations in it."""

    def __init__(self, lines: Lines):
        rest, self._sources = lines.split("source"), list[Source]()
        while not rest.is_done:
            self._sources.append(_source(rest, rest.next("source", 0)))

    def at(self, line: Line) -> Loc | None:
        """Returns the source location that is next on the line; None where there is none.

        Raises TextError for a source that the text does not have.
        """
        if not line.accepts("at"):
            return None
        token, number, row = line.token, 1, line.integer("the number of a line")
        if line.accepts("/"):
            number, row = row, line.integer("the number of a line")
        line.expect(":")
        column = line.integer("a column")
        line.expect("+")
        width = line.integer("a number of characters")
        if not 0 < number <= len(self._sources):
            notes = ("expected `source` with its lines at the end of the text",)
            raise line.refused(f"the text has no source {number}", notes, token)
        return Loc(self._sources[number - 1], row, column, width)


def _source(lines: Lines, line: Line) -> Source:
    line.expect("source")
    file = line.string("the name of a file")
    line.expect("from")
    first = line.integer("the number of a line")
    line.finish()
    return Source(file, first, tuple(_line(each) for each in lines.below(len(INDENT))))


def _line(line: Line) -> str:
    text = line.string("a line in double quotes")
    line.finish()
    return text
