"""The types of a library's function, as its user writes them: "f64[N,K], f64[K,M], f64[N,M]"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyml.dtypes import FIXED, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT
from polyml.errors import ConfigError
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.reading.input_limits import whole_number
from polyml.source import Loc, Source

_TYPES = {d.name: d for d in (*FIXED, PYINT, PYFLOAT, PYCOMPLEX, PYBOOL)}
_LONGEST, _MOST_DIMENSIONS = 5_000, 64
_MOST = 2**40 - 1  # a constant extent at most
_PIECE = re.compile(r"\s*([^\s\[\],]*)\s*(?:(\[)([^\[\]]*)(\]?))?\s*")
_EXTENT = re.compile(r"([A-Za-z_]\w*)\s*(?:([+-])\s*(\d+))?", re.ASCII)
_EXPECTED = "expected a type for each parameter, as in f64[N,K], f32[:,3], f64[N+1], i64, float"


@dataclass(frozen=True)
class SizeExtent:
    """A SizeExtent is the number of elements of an array in one dimension: a size and a constant, as in N + 1.

    name: of the size; "" where the extent is the constant alone.
    offset: the constant.
    """

    name: str
    offset: int = 0

    def __str__(self) -> str:
        if not self.name:
            return str(self.offset)
        return f"{self.name} {'-' if self.offset < 0 else '+'} {abs(self.offset)}" if self.offset else self.name


@dataclass(frozen=True)
class LibraryArgument:
    """A LibraryArgument is one parameter of a kernel with its type.

    extents: by dimension of an array; () for a number.
    """

    name: str
    type: ArgType
    extents: tuple[SizeExtent, ...] = ()

    def __str__(self) -> str:
        kind = self.type
        return f"{kind.element}[{', '.join(map(str, self.extents))}]" if isinstance(kind, ArrayType) else str(kind)


@dataclass(frozen=True)
class CallSignature:
    """A CallSignature is what a library's function takes.

    arguments: the kernel's parameters, in order.
    sizes: the names of sizes that are no parameters of the kernel, in the order in which they occur.
    """

    arguments: tuple[LibraryArgument, ...]
    sizes: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.arguments))


def parsed(text: str, params: Sequence[str]) -> CallSignature:
    """Returns the signature that a text describes.

    params: the names of the kernel's parameters, each of which needs a type. A size of that name is the parameter's value, which has
        to be an integer; `:` stands for a size of its own, named after the array: A_0.
    Raises ConfigError, with a caret under the fault, for any other text.

    >>> found = parsed("f64[N, K], f64[K + 1], i64", ["A", "x", "n"])
    >>> str(found), found.sizes
    ('f64[N, K], f64[K + 1], i64', ('N', 'K'))
    """
    if len(text) > _LONGEST:
        raise ConfigError(f"the signature has {len(text):,} characters", notes=[f"at most {_LONGEST:,} are read"])
    pieces = list(_pieces(text))
    if len(pieces) != len(params):
        start, width = (pieces[len(params)][0], len(text)) if len(pieces) > len(params) else (len(text.rstrip()), 1)
        described = ", ".join(params) or "none"
        problem = f"{len(pieces)} types for {len(params)} parameters"
        raise _fault(text, start, max(1, min(width, len(text) - start)), problem, f"the kernel's parameters are {described}")
    kinds = [_element(text, start, found) for start, found in pieces]
    scalars = {name for name, kind, (_, found) in zip(params, kinds, pieces) if not found[2] and kind.is_integer}
    made = tuple(
        _argument(text, name, kind, start, found, (frozenset(params), frozenset(scalars)))
        for name, kind, (start, found) in zip(params, kinds, pieces)
    )
    names = dict.fromkeys(e.name for a in made for e in a.extents if e.name and e.name not in scalars)
    return CallSignature(made, tuple(names))


def _pieces(text: str) -> Iterator[tuple[int, re.Match]]:
    """Yields (position, match) for each type of the text."""
    at = 0
    while at < len(text) and text.strip():
        found = _PIECE.match(text, at)
        if found is None or (found[2] and not found[4]):
            start = len(text) - len(text[at:].lstrip())
            raise _fault(text, start, len(text) - start, "a bracket is not closed", _EXPECTED)
        start = found.start(1)
        if not found[1]:
            raise _fault(text, min(start, len(text) - 1), 1, "a type is missing", _EXPECTED)
        yield start, found
        at = found.end()
        if at < len(text):
            if text[at] != ",":
                raise _fault(text, at, 1, f"`{text[at]}` is not expected here", _EXPECTED)
            at += 1
            if not text[at:].strip():
                raise _fault(text, at - 1, 1, "a type is missing", _EXPECTED)


def _element(text: str, start: int, found: re.Match):
    if found[1] not in _TYPES:
        raise _fault(text, start, len(found[1]), f"`{found[1]}` is not a type", f"types: {', '.join(_TYPES)}")
    kind = _TYPES[found[1]]
    if found[2] and kind.weak:
        fixed = {"int": "i64", "float": "f64", "complex": "c128", "pybool": "bool"}[kind.name]
        raise _fault(text, start, len(found[1]), f"arrays have no elements of Python's type `{kind}`", f"NumPy's is `{fixed}`")
    return kind


def _argument(
    text: str, name: str, kind, start: int, found: re.Match, known: tuple[frozenset[str], frozenset[str]]
) -> LibraryArgument:
    """Returns the parameter `name` with the type in the piece `found` of the text.

    known: the names of all parameters, and of those that are integers.
    """
    if not found[2]:
        return LibraryArgument(name, ScalarType(kind))
    inside, at = found[3], found.start(3)
    parts = inside.split(",") if inside.strip() else []
    if len(parts) > _MOST_DIMENSIONS:
        raise _fault(text, start, len(found[1]), f"an array of {len(parts)} dimensions", f"at most {_MOST_DIMENSIONS}")
    extents = []
    for dim, part in enumerate(parts):
        first = at + len(part) - len(part.lstrip())
        extents.append(_extent(text, first, part.strip(), f"{name}_{dim}", known))
        at += len(part) + 1
    sizes = frozenset((dim, e.offset) for dim, e in enumerate(extents) if not e.name)
    return LibraryArgument(name, ArrayType(kind, len(extents), sizes), tuple(extents))


def _extent(text: str, at: int, part: str, own: str, known: tuple[frozenset[str], frozenset[str]]) -> SizeExtent:
    """Returns an extent. own: the name of the size for which `:` stands. known: as for `_argument`."""
    if part == ":":
        return SizeExtent(own)
    constant = whole_number(part, 0, _MOST)
    if constant is not None:
        return SizeExtent("", constant)
    found = _EXTENT.fullmatch(part)
    offset = 0 if found is None or found[3] is None else whole_number(found[3], 0, _MOST)
    if found is None or offset is None:
        expected = f"expected a name, a number up to {_MOST:,}, NAME+NUMBER, NAME-NUMBER or `:`"
        raise _fault(text, at, max(1, len(part)), f"`{part}` is not a size", expected)
    name = found[1]
    if name in known[0] and name not in known[1]:
        raise _fault(text, at, len(name), f"the parameter `{name}` is no integer", "sizes have other names")
    return SizeExtent(name, -offset if found[2] == "-" else offset)


def _fault(text: str, at: int, width: int, problem: str, *notes: str) -> ConfigError:
    """Returns the error for `width` characters of the signature from position `at` on."""
    return ConfigError(problem, loc=Loc(Source("--signature", 1, (text,)), 1, at + 1, width), notes=notes)
