"""TOML tables that know their file: every value is tested as it is read, and an error names its line."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TypeVar

from polyml.errors import ConfigError
from polyml.machines import units
from polyml.machines.units import Quantity
from polyml.reading.input_limits import excess, shown
from polyml.reading.userfiles import called, read_text
from polyml.source import Loc, Source

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table", list: "an array"}
_HEADER = re.compile(r"\s*\[(\[?)\s*([\w.\-\"' ]+?)\s*\]")
_KEY = re.compile(r"\s*([\w\-.]+|\"[^\"]*\"|'[^']*')\s*=")
_LARGEST = 2**50  # bytes
_MOST_BYTES, _LONGEST_LINE, _DEEPEST = 1 << 20, 10_000, 20  # bytes of a file, characters of a line, and levels of nesting at most
_PLACE = re.compile(r"\s*\(at line (\d+), column (\d+)\)$")


Kind = TypeVar("Kind")


@dataclass(frozen=True)
class TomlTable:
    """A TomlTable is a table of a TOML file that knows its place; its methods check values, and their errors name the line.

    data: its keys and values.
    source: the text of the file.
    places: by path of a key or table, where it stands in the text.
    path: the keys, and numbers of arrays' items, that lead to the table.
    """

    data: Mapping[str, object]
    source: Source
    places: Mapping[tuple, Loc]
    path: tuple = ()

    def check_keys(self, known: Sequence[str]) -> None:
        """Raises ConfigError where the table has a key that is not among the known ones."""
        for key in self.data:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = [f"did you mean `{near[0]}`?"] if near else [f"known here: {', '.join(known)}"]
                raise self.error(key, f"there is no `{key}`{self._where()}", *hint)

    def error(self, key: str | None, message: str, *notes: str) -> ConfigError:
        """Returns an error with the place of a key, or of the table where `key` is None."""
        loc = self.places.get((*self.path, key)) if key else None
        loc = loc or self._own_place() or Loc(self.source, 1, 1, 1)
        return ConfigError(message, loc=loc, notes=notes)

    def _own_place(self) -> Loc | None:
        """Returns where the table stands in the file, or else the nearest table around it that has a line; None where none has."""
        return next((self.places[self.path[:n]] for n in range(len(self.path), 0, -1) if self.path[:n] in self.places), None)

    def _where(self) -> str:
        return f" in [{'.'.join(str(k) for k in self.path if isinstance(k, str))}]" if self.path else ""

    def _value(self, key: str, kind: type[Kind]) -> Kind:
        """Returns the value of a key. Raises ConfigError where the key is missing or has a value of another type."""
        if key not in self.data:
            raise self.error(None, f"`{key}` is missing{self._where()}", f"expected {_KINDS[kind]}")
        value = self.data[key]
        if type(value) is not kind:
            raise self.error(key, f"`{key}` is {_KINDS.get(type(value), 'a date')}", f"expected {_KINDS[kind]}")
        return value

    def has(self, key: str) -> bool:
        """Returns whether the table has a key."""
        return key in self.data

    def text(self, key: str, default: str | None = None) -> str:
        """Returns the text of a key, or the default where it is missing. Raises ConfigError for anything but a text."""
        return default if default is not None and key not in self.data else self._value(key, str)

    def flag(self, key: str, default: bool) -> bool:
        """Returns the truth value of a key, or the default where it is missing. Raises ConfigError for anything else."""
        return self._value(key, bool) if key in self.data else default

    def count(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """Returns the whole number of a key, or the default where it is missing.

        Raises ConfigError for anything else, and for a number less than `least`.
        """
        if default is not None and key not in self.data:
            return default
        value = self._value(key, int)
        if not least <= value <= 2**31:
            raise self.error(key, f"`{key}` is {shown(value)}", f"expected a whole number of at least {least}")
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str | None = None) -> str:
        """Returns the text of a key, or the default where it is missing. Raises ConfigError for all but the allowed words."""
        value = self.text(key, default)
        if value not in allowed:
            raise self.error(key, f'`{key}` does not take "{value}"', "expected " + ", ".join(f'"{a}"' for a in allowed))
        return value

    def quantity(self, key: str, kind: str) -> Quantity:
        """Returns the number with a unit of a key, which is written as text. Raises ConfigError for anything else.

        kind: what is measured, a key of `units.UNITS` such as "bandwidth".
        """
        if type(self.data.get(key)) in (int, float):
            raise self.error(key, f"`{key}` has no unit", f"expected a text such as {units.EXAMPLES[kind]}")
        try:
            return units.quantity(self._value(key, str), kind)
        except ConfigError as problem:
            if problem.loc:
                raise
            raise self.error(key, problem.message, *problem.notes) from None

    def size(self, key: str, default: int | None = None) -> int:
        """Returns the size of a key in bytes, or the default where it is missing. Raises ConfigError for all but whole bytes."""
        if default is not None and key not in self.data:
            return default
        value = self.quantity(key, "size").value
        if value > _LARGEST or value != int(value):
            raise self.error(key, f"`{key}` is {self.data[key]}", "expected whole bytes, at most 1024 TiB")
        return int(value)

    def table(self, key: str) -> TomlTable:
        """Returns the table that is the value of a key. Raises ConfigError for anything else."""
        return self._inside(self._value(key, dict), key)

    def tables(self, key: str) -> tuple[TomlTable, ...]:
        """Returns the items of the array of tables that is the value of a key. Raises ConfigError for anything else."""
        items = self._value(key, list)
        if not all(isinstance(item, dict) for item in items):
            raise self.error(key, f"`{key}` is an array of other things than tables", f"expected [[{key}]]")
        return tuple(self._inside(item, key, number) for number, item in enumerate(items))

    def _inside(self, data: Mapping[str, object], *path: str | int) -> TomlTable:
        return TomlTable(data, self.source, self.places, (*self.path, *path))


def read(file: str | PathLike) -> TomlTable:
    """Returns the table of a whole TOML file. Raises ConfigError where the file cannot be read or is no TOML."""
    text = read_text(file, _MOST_BYTES)
    source = Source(called(file), 1, tuple(text.split("\n")))
    try:
        data = _loaded(text, source)
    except tomllib.TOMLDecodeError as problem:
        found = _PLACE.search(str(problem))
        line, column = (int(found[1]), int(found[2])) if found else (max(1, len(source.lines)), 1)
        message = _PLACE.sub("", str(problem)).removesuffix(" (at end of document)")
        raise ConfigError(f"this is no TOML: {message}", loc=Loc(source, line, column)) from None
    return TomlTable(data, source, _places(source))


def _loaded(text: str, source: Source) -> dict[str, object]:
    """Returns the tables of a TOML text. Raises ConfigError where it is nested too deeply or has too long lines or numbers.

    Lines are checked before they are parsed, since the parser and the readers of its result call themselves for each level.
    """
    for number, line in enumerate(source.lines, 1):
        keys = line.partition("=")[0].count(".")
        problem = excess(line, _LONGEST_LINE, _DEEPEST) or (f"has {keys + 1} keys in one" if keys >= _DEEPEST else "")
        if problem:
            raise ConfigError(f"the line {problem}", loc=Loc(source, number, 1))
    try:
        return tomllib.loads(text)
    except RecursionError:  # arrays in arrays, a line each
        raise ConfigError(f"{source.file} is nested too deeply", notes=["a machine has tables in tables, no more"]) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as problem:  # Python refuses numbers with too many digits
        raise ConfigError(f"{source.file} cannot be read: {problem}") from None


def _places(source: Source) -> dict[tuple, Loc]:
    """Returns path of a table or key -> where it stands in the file. Keys inside an inline table are left out.

    A path is made of keys and, for arrays of tables, of the items' numbers.
    """
    found: dict[tuple, Loc] = {}
    counts: dict[tuple, int] = {}
    path: tuple = ()
    for number, line in enumerate(source.lines, 1):
        if header := _HEADER.match(line):
            path = tuple(part.strip().strip("\"'") for part in header[2].split("."))
            if header[1]:
                counts[path] = counts.get(path, -1) + 1
                path = (*path, counts[path])
            found.setdefault(path, Loc(source, number, header.start(2) + 1, len(header[2])))
        elif key := _KEY.match(line):
            keys = tuple(part.strip("\"'") for part in key[1].split("."))
            found.setdefault((*path, *keys), Loc(source, number, key.start(1) + 1, len(key[1])))
    return found
