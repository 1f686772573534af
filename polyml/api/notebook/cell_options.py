"""The options of a line `%%polyml ...`.

--fp strict --types "f64[N,M], f64[M]" --show explain,deps   ->   settings {"fp": "strict"}, types, what is shown
"""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import dataclass, fields
from typing import NoReturn

import numpy as np

from polyml import config
from polyml.errors import ConfigError
from polyml.frontend.syntax import ArrayType
from polyml.reading.input_limits import shown, whole_number
from polyml.runtime.storage.records import parse_type

EXPLAIN, REPORT, PICTURE, NOTHING = "explain", "report", "picture", "nothing"
SHOWN = (EXPLAIN, *config.STAGES, REPORT, PICTURE, NOTHING)
_SUBJECTS = ("domain", "dependences", "schedule", "tiles")
_FLAGS = {f.name for f in fields(config.Options) if f.type in ("bool", bool)}
_MOST_BYTES = 2**30  # of an argument that is made for a report
_TYPE = re.compile(r"\s*(?:(?P<kernel>\w+)\s*:)?(?P<types>.*)", re.DOTALL)
_ARRAY = re.compile(r"(\w+)\[(.*)\]")


@dataclass(frozen=True)
class Given:
    """The type of one argument, and the sizes of an array where the text has numbers.

    type: a text such as "f64[:, :]".
    shape: None where the text has names for sizes, or the argument is no array.
    """

    type: str
    shape: tuple[int, ...] | None = None

    def argument(self) -> object:
        """Returns an argument of this type; an array has the shape. Raises ConfigError where sizes are missing."""
        found = parse_type(self.type)
        if not isinstance(found, ArrayType):
            return found
        if self.shape is None:
            notes = ['as in --types "f64[1000,1000], int"']
            raise ConfigError(f"a report needs the sizes of {self.type} as numbers", notes=notes)
        element = np.dtype(found.element.numpy_name)
        if element.itemsize * int(np.prod(self.shape, dtype=object)) > _MOST_BYTES:
            raise ConfigError(
                f"{found} of sizes {', '.join(map(str, self.shape))} is larger than the {_MOST_BYTES:,} bytes that are made"
            )
        return np.ones(self.shape, element)


@dataclass(frozen=True)
class CellOptions:
    """The options of one cell.

    settings: {setting: value} for the kernels of the cell.
    target: what they run on; None: the processor.
    types: {name of a kernel, or "" for the only one: the types to show it for}.
    shows: (what is shown, the picture's subject or "").
    """

    settings: dict[str, object]
    target: str | None
    types: dict[str, tuple[Given, ...]]
    shows: tuple[tuple[str, str], ...]


class _WrongOption(Exception):
    """An option is not as it should be, in argparse's words."""


class _Parser(argparse.ArgumentParser):
    """Raises an exception where argparse would end the program."""

    def error(self, message: str) -> NoReturn:
        raise _WrongOption(message)


def read(line: str) -> CellOptions:
    """Returns the options of a line. Raises ConfigError for an option that does not exist, or a value that it does not take."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError as problem:
        raise ConfigError(f"%%polyml: {problem}", notes=['quotes stand in pairs, as in --types "f64[:]"']) from None
    parser = _Parser(prog="%%polyml", add_help=False, allow_abbrev=False)
    parser.add_argument("--target")
    parser.add_argument("--types", action="append", default=[])
    parser.add_argument("--show", default=EXPLAIN)
    for name in config.NAMES:
        option = f"--{name.replace('_', '-')}"
        if name in _FLAGS:
            parser.add_argument(option, nargs="?", const="on")
        else:
            parser.add_argument(option)
    try:
        found = vars(parser.parse_args(words))
    except _WrongOption as problem:
        raise ConfigError(f"%%polyml: {problem}", notes=[_accepted()]) from None
    target, types, shows = found.pop("target"), found.pop("types"), found.pop("show")
    settings = {name: config.from_text(name, text, f"--{name}") for name, text in found.items() if text is not None}
    return CellOptions(config.check(settings), target, _types(types), tuple(map(_show, shows.split(","))))


def _accepted() -> str:
    settings = " ".join(f"--{name.replace('_', '-')}" for name in config.NAMES)
    return f"options: --types, --show, --target, and settings: {settings}"


def _show(text: str) -> tuple[str, str]:
    what, _, subject = text.strip().partition(":")
    if what not in SHOWN or subject and (what != PICTURE or subject not in _SUBJECTS):
        notes = [
            f"it takes some of {', '.join(SHOWN)}, with commas between them; a picture is of {', '.join(_SUBJECTS)}, as in picture:tiles"
        ]
        raise ConfigError(f"--show does not take {shown(text)}", notes=notes)
    return what, (subject or "dependences") if what == PICTURE else ""


def _types(texts: list[str]) -> dict[str, tuple[Given, ...]]:
    found: dict[str, tuple[Given, ...]] = {}
    for text in texts:
        matched = _TYPE.fullmatch(text)
        name, types = (matched["kernel"] or "", matched["types"]) if matched else ("", text)
        if name in found:
            raise ConfigError(f"--types is given twice for {name or 'one kernel'}", notes=['as in --types "NAME: f64[:], int"'])
        found[name] = tuple(_given(each) for each in _parts(types))
    return found


def _parts(text: str) -> list[str]:
    """Returns the parts of a text between commas that are outside brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text)]


def _given(text: str) -> Given:
    array = _ARRAY.fullmatch(text)
    extents = [each.strip() for each in array[2].split(",")] if array else []
    kind = f"{array[1]}[{', '.join(':' for _ in extents)}]" if array else text
    try:
        parse_type(kind)
    except ValueError as problem:
        notes = ['a type is as "f64[N,M]", "f64[:,:]", "f64[100,200]", "int" or "f64"']
        raise ConfigError(f"--types does not take {shown(text)}: {problem}", notes=notes) from None
    sizes = [whole_number(each, 0, 2**40) for each in extents]
    if not array or None in sizes:
        return Given(kind)
    return Given(kind, tuple(size for size in sizes if size is not None))
