"""Texts of stages, read line by line: tokens with their places, so that an error shows its line with carets.

    text  = line {line}                      "#" begins a comment, which ends with the line; empty lines say nothing
    line  = indentation {token}              what belongs to a line is indented by four more
    token = NAME | NUMBER | STRING | sign    a name may end in numbers with dots, `x.1`; others stand in backticks, `z.imag`

What isl reads stands in braces, `[N] -> { S[i] : i < N }`, and is one piece to this reader, as is a string, which is JSON's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import TypeVar

from polyml.errors import TextError
from polyml.reading.input_limits import excess
from polyml.source import Loc, Source

INDENT = "    "
_LONGEST, _DEEPEST = 50_000, 60  # characters of a line, and brackets in one another: what isl's reader can take
_LARGEST = 400  # digits of a number
_TOKEN = re.compile(
    r'(?P<name>[^\W\d]\w*(?:\.\d+)*)|(?P<number>\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d+)|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<quoted>`[^`]*`)|(?P<comment>#.*)|(?P<sign>\*\*|//|<<|>>|<=|>=|==|!=|->|\.\.\.|\.\.|\S)"
)
_PLAIN = re.compile(r"[^\W\d]\w*(?:\.\d+)*")

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Token:
    """A Token is one word or sign of a line.

    kind: "name", "number", "string", "sign", or "end" after the last one.
    text: its characters; for a name in backticks, those between them.
    start, stop: the columns where it begins and ends, from 0.
    """

    kind: str
    text: str
    start: int
    stop: int

    def is_one_of(self, *words: str) -> bool:
        """Returns whether the token is one of some signs or words. A name in backticks is none of them."""
        return self.text in words and self.kind in ("name", "sign") and self.stop - self.start == len(self.text)


def quoted(name: str, reserved: frozenset[str] = frozenset()) -> str:
    """Returns a name as it stands in a text: in backticks where it is reserved or has other characters than plain names have."""
    return name if name not in reserved and _PLAIN.fullmatch(name) else f"`{name}`"


def string(text: str) -> str:
    """Returns a string in JSON's double quotes, as it stands in a text."""
    return json.dumps(text, ensure_ascii=False)


@dataclass
class Line:
    """A Line is the tokens of a line of a text, and reads them one after the other.

    number: its number in the file, from 1.
    indent: how many spaces stand before its first token.
    tokens: its tokens, the last one of kind "end".
    """

    source: Source
    number: int
    indent: int
    tokens: list[Token]
    _next: int = field(default=0)

    @property
    def token(self) -> Token:
        """Returns the token that is read next, without reading it."""
        return self.tokens[self._next]

    def peek(self, count: int) -> Token:
        """Returns the token that is read after `count` more, or the end of the line where there are fewer, without reading it."""
        return self.tokens[min(self._next + count, len(self.tokens) - 1)]

    @property
    def is_done(self) -> bool:
        """Returns whether all tokens of the line have been read."""
        return self.token.kind == "end"

    @property
    def text(self) -> str:
        """Returns the line as it stands in the file."""
        return self.source.line(self.number)

    def is_at(self, *words: str) -> bool:
        """Returns whether the next token is one of some signs or words."""
        return self.token.is_one_of(*words)

    def take(self) -> Token:
        """Reads the next token and returns it."""
        token = self.token
        self._next += token.kind != "end"
        return token

    def accepts(self, *words: str) -> str:
        """Reads the next token if it is one of some signs or words, and returns its text; else returns ""."""
        return self.take().text if self.is_at(*words) else ""

    def expect(self, *words: str) -> str:
        """Reads the next token, which has to be one of some signs or words, and returns its text. Raises TextError for others."""
        if not self.is_at(*words):
            raise self.wrong(" or ".join(f"`{word}`" for word in words))
        return self.take().text

    def name(self, what: str = "a name") -> str:
        """Reads a name and returns it. Raises TextError for any other token.

        what: what the error says is expected
        """
        if self.token.kind != "name":
            raise self.wrong(what)
        return self.take().text

    def integer(self, what: str = "an integer") -> int:
        """Reads a whole number, perhaps with a minus sign, and returns it. Raises TextError for any other token.

        what: what the error says is expected
        """
        sign = -1 if self.accepts("-") else 1
        if self.token.kind != "number" or not self.token.text.isdecimal():
            raise self.wrong(what)
        return sign * int(self.take().text)

    def string(self, what: str = "a text in double quotes") -> str:
        """Reads a string in double quotes and returns it. Raises TextError for any other token.

        what: what the error says is expected
        """
        if self.token.kind != "string":
            raise self.wrong(what)
        try:
            return json.loads(self.token.text)
        except ValueError:
            raise self.wrong(what) from None
        finally:
            self.take()

    def braces(self, what: str) -> str:
        """Reads a set or relation of isl, `[N] -> { S[i] : i < N }`, up to its closing brace, and returns it as text.

        what: what the error says is expected. Raises TextError for anything else.
        """
        if not self.is_at("[", "{"):
            raise self.wrong(what)
        start, depth = self.token.start, 0
        while not self.is_done:
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if token.text == "}" and depth == 0:
                return self.text[start : token.stop]
        raise self.wrong("`}`")

    def listed(self, item: Callable[[], _Made], end: str) -> tuple[_Made, ...]:
        """Reads items with commas between them, one perhaps after the last too, up to the sign `end`, and returns them.

        item: reads one item.
        end: the sign, which is read too; "": the end of the line.
        """
        found: list[_Made] = []
        while not self._ends(end):
            if found:
                if not self.accepts(","):
                    raise self.wrong(f"`,` or `{end}`" if end else "`,` or the end of the line")
                if self._ends(end):
                    break
            found.append(item())
        return tuple(found)

    def _ends(self, end: str) -> bool:
        return bool(self.accepts(end)) if end else self.is_done

    def finish(self) -> None:
        """Raises TextError if anything more stands on the line."""
        if not self.is_done:
            raise self.wrong("the end of the line")

    def loc(self, token: Token | None = None) -> Loc:
        """Returns the place of a token in the file; of the next token if none is given."""
        token = token or self.token
        return Loc(self.source, self.number, token.start + 1, max(1, token.stop - token.start))

    def wrong(self, accepted: str, token: Token | None = None) -> TextError:
        """Returns the error that a token cannot stand where it does.

        accepted: what the error says is expected
        token: the next one if none is given
        """
        token = token or self.token
        found = "the line ends too early" if token.kind == "end" else f"`{self.text[token.start : token.stop]}` cannot stand here"
        return TextError(found, loc=self.loc(token), notes=[f"expected {accepted}"])

    def refused(self, message: str, notes: tuple[str, ...] = (), token: Token | None = None) -> TextError:
        """Returns an error with this message at the place of a token.

        notes: further lines of the message
        token: the next one if none is given
        """
        return TextError(message, loc=self.loc(token), notes=notes)


class Lines:
    """A Lines is the lines of a text, without those that have no tokens, and reads them one after the other.

    TextError is raised where a character begins no token, and where a line or number is too long or nested too deeply.

    file: the name of the text in messages.
    """

    def __init__(self, text: str, file: str):
        self.source = Source(file, 1, tuple(text.splitlines()))
        self._lines = [line for number in range(1, len(self.source.lines) + 1) if (line := self._read(number)) is not None]
        self._next = 0

    @property
    def is_done(self) -> bool:
        """Returns whether all lines have been read."""
        return self._next == len(self._lines)

    @property
    def indent(self) -> int:
        """Returns the number of spaces by which the next line is indented; -1 where there is none."""
        return -1 if self.is_done else self._lines[self._next].indent

    def next(self, what: str, indent: int | None = None) -> Line:
        """Reads the next line and returns it. Raises TextError at the end of the text, and for a line that is indented otherwise.

        what: what the error says is expected.
        indent: how many spaces have to stand before it; None for any number
        """
        if self.is_done:
            last = max(1, len(self.source.lines))
            place = Loc(self.source, last, len(self.source.line(last)) + 1)
            raise TextError("the text ends too early", loc=place, notes=[f"expected {what}", "was it written to its end?"])
        line = self._lines[self._next]
        if indent is not None and line.indent != indent:
            raise line.refused(f"the line is indented by {line.indent} spaces", (f"expected {what}, indented by {indent}",))
        self._next += 1
        return line

    def is_at(self, *words: str) -> bool:
        """Returns whether the next line begins with one of some words."""
        return not self.is_done and self._lines[self._next].is_at(*words)

    def below(self, indent: int) -> Iterator[Line]:
        """Yields the next lines, each of which has to be indented by `indent`, up to a line that is indented less.

        A line that is indented more belongs to the one before it: the caller has to read it first, else TextError is raised.
        """
        while not self.is_done and self._lines[self._next].indent >= indent:
            yield self.next("a line", indent)

    def split(self, word: str) -> Lines:
        """Finds the first line that begins with `word` and is not indented, removes it and all lines after it, and returns the
        removed ones.
        """
        place = next((n for n, line in enumerate(self._lines) if not line.indent and line.is_at(word)), len(self._lines))
        rest = copy(self)
        self._lines, rest._lines, rest._next = self._lines[:place], self._lines[place:], 0
        return rest

    def block(self, indent: int) -> str:
        """Reads the next lines that are indented by `indent` or more, and returns them as text without that many spaces."""
        found = []
        while not self.is_done and self._lines[self._next].indent >= indent:
            found.append(self.next("a line").text[indent:])
        return "\n".join(found)

    def _read(self, number: int) -> Line | None:
        """Returns a line with its tokens; None where it has none. Raises TextError for one that is too long or nested too deeply.

        number: the line's, from 1
        """
        text = self.source.line(number)
        if problem := excess(text, _LONGEST, _DEEPEST):
            raise TextError(f"the line {problem}", loc=Loc(self.source, number, 1))
        tokens = [t for found in _TOKEN.finditer(text) if (t := self._token(found, number)).kind != "comment"]
        if not tokens:
            return None
        tokens.append(Token("end", "", tokens[-1].stop, tokens[-1].stop))
        return Line(self.source, number, tokens[0].start, tokens)

    def _token(self, found: re.Match[str], number: int) -> Token:
        kind, text = found.lastgroup or "sign", found.group()
        if kind == "number" and len(text) > _LARGEST:
            place = Loc(self.source, number, found.start() + 1, len(text))
            raise TextError(f"the number has more than {_LARGEST} digits", loc=place)
        if kind == "quoted":
            kind, text = "name", text[1:-1]
        return Token(kind, text, found.start(), found.end())


def head(kind: str, number: int) -> str:
    """Returns the first line of a text that polyml writes: "polyml kernel, format 2" for the kind "kernel" and the format 2."""
    return f"polyml {kind}, format {number}"


def kind_of(text: str) -> str:
    """Returns what polyml wrote in a text, as its first line says: "kernel", "scop", "program" or "schedule"; "" for any other
    text.
    """
    found = re.match(r"polyml (\w+), format ", text)
    return found.group(1) if found else ""


def opened(text: str, file: str, kind: str, number: int) -> Lines:
    """Returns the lines after the first one of a text that polyml wrote. Raises TextError for one of another kind or format.

    file: the name of the text in messages
    kind, number: the kind that it has to be, such as "kernel", and the number of its format
    """
    lines, wanted = Lines(text, file), head(kind, number)
    if lines.is_done or lines.source.lines[0].rstrip() != wanted:
        found = kind_of(text)
        message = f"this is no {kind} of polyml" if found != kind else f"this version of polyml reads format {number} only"
        raise TextError(
            message, loc=Loc(lines.source, 1, 1, max(1, len(lines.source.line(1)))), notes=[f"the first line of one is `{wanted}`"]
        )
    lines.next(f"`{wanted}`")
    return lines
