"""A bundle: one Python file that repeats a failure of the compiler, alone, without the caller's data.

    DIR/defects/product-3f2a91c0.py     python product-3f2a91c0.py

It has the function's source with what it captures, the types, sizes and layouts of the arguments, the settings, the versions, and what
the stages before the one that failed made. The values of the caller's arrays are not in it. Its source may be edited: what is read
is the file's own text.
"""

from __future__ import annotations

import ast
import hashlib
import json
import linecache
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import FunctionType
from typing import Any, cast

import numpy as np

from polyml.errors import ConfigError
from polyml.reading.userfiles import called, read_text

LIMIT_BYTES = 1 << 22
# code depends on these alone
SETTINGS = ("fp", "schedule", "fusion", "threads", "parallel", "vectorize", "tile", "compile_budget_s")
_PYTHON = {"int": int, "float": float, "complex": complex, "pybool": bool}
_DATA = "# bundle: "  # the line of what is not source
_MAIN = 'if __name__ == "__main__":\n    from polyml.defects.repeat import main\n\n    main(__file__)\n'
_LONGEST_STAGE = 20_000  # characters
_MOST_BYTES = 1 << 30  # size of an argument at most


@dataclass(frozen=True)
class BundledArgument:
    """A bundled argument describes one argument of the call for which the compiler failed; it does not hold the argument's values.

    element: NumPy's name of the element type, or "int", "float", "complex", "pybool" for Python's numbers.
    shape: the shape of an array; None for a number.
    layout: "C", "F", or "A", with gaps between elements.
    number: the value of a number on which code depends; None: any value will do.
    """

    name: str
    element: str
    shape: tuple[int, ...] | None
    layout: str = "C"
    number: int | None = None

    def make(self, rng: np.random.Generator) -> object:
        """Returns an argument with random values, the same for the same generator: floats below 1, integers and Python's numbers
        below 7.
        """
        if self.shape is None:
            one = int(rng.integers(1, 7)) if self.number is None else self.number
            return (_PYTHON.get(self.element) or dtype_of(self.element).type)(one)
        dtype = dtype_of(self.element)
        gaps = self.layout == "A" and self.shape != ()
        shape = (*self.shape[:-1], 2 * self.shape[-1]) if gaps else self.shape
        drawn = rng.integers(0, 7, shape) if dtype.kind in "iub" else rng.random(shape)
        values = np.asarray(drawn).astype(dtype, order="F" if self.layout == "F" else "C")
        return values[..., ::2] if gaps else values

    def with_lengths(self, lengths: Mapping[int, int]) -> BundledArgument:
        """Returns the argument with other lengths of its dimensions; dimensions of equal length stay equal.

        lengths: {old length: new length}; other lengths stay as they are.
        """
        return self if self.shape is None else replace(self, shape=tuple(lengths.get(length, length) for length in self.shape))


@dataclass(frozen=True)
class Bundle:
    """A bundle is a failure of the compiler, with all that is needed to repeat it.

    function: the name of the function.
    source: the text of a module that defines the function.
    values: the arguments of the call, without their values.
    settings: the settings that differ from their defaults.
    error: the class name of the error.
    message: the error's message.
    versions: the versions of polyml and its libraries, one line each.
    shared: whether array arguments of one type and shape are one array.
    stages: (name, text of what it made) of each stage before the failure; they become comments of the file.
    """

    function: str
    source: str
    values: tuple[BundledArgument, ...]
    settings: Mapping[str, object]
    error: str
    message: str
    versions: tuple[str, ...] = ()
    shared: bool = False
    stages: tuple[tuple[str, str], ...] = ()

    def arguments(self) -> list[object]:
        """Returns new arguments for the call that failed, with random values that are the same every time."""
        rng = np.random.default_rng(0)
        known: dict[tuple, object] = {}
        made: list[object] = []
        for value in self.values:
            argument = value.make(rng)
            is_first = value.shape is None or not self.shared
            made.append(argument if is_first else known.setdefault((value.element, value.shape), argument))
        return made

    def defined(self) -> FunctionType:
        """Runs the bundle's source and returns the function that it defines. Raises whatever the source raises.

        The function's text is put where tracebacks and the compiler look for it.
        """
        file = f"<bundle {self.digest}>"
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(keepends=True), file)
        scope: dict[str, object] = {"__name__": "bundle"}
        exec(compile(self.source, file, "exec"), scope)
        return cast(FunctionType, scope[self.function])

    @property
    def digest(self) -> str:
        """Returns eight hexadecimal digits, a hash of the bundle's content, which its file name contains."""
        facts = repr((self.function, self.source, self.values, sorted(self.settings.items()), self.shared, self.error))
        return hashlib.sha256(facts.encode(errors="surrogatepass")).hexdigest()[:8]

    @property
    def file(self) -> str:
        """Returns the name of the bundle's file, such as "product-3f2a91c0.py"."""
        return f"{self.function}-{self.digest}.py"

    def text(self) -> str:
        """Returns the text of the bundle's file, a Python program that repeats the failure."""
        head = [
            f"A defect of polyml in `{self.function}`: this file alone repeats it.",
            "",
            f"    {self.error}: {self.message}",
            "",
        ]
        head += [f"    {each}" for each in self.versions]
        known = asdict(self)
        del known["source"], known["stages"]
        stages = "".join(f"\n# What stage {name} made, the last time it ran:\n{_commented(text)}" for name, text in self.stages)
        docstring = "\n".join(head).replace("\\", "\\\\").replace('"""', "'''")
        return f'"""{docstring}\n"""\n\n{self.source.strip()}\n\n\n{_MAIN}{stages}\n{_DATA}{json.dumps(known)}\n'


def _commented(text: str) -> str:
    return "".join(f"#     {line}\n" for line in text[:_LONGEST_STAGE].splitlines())


def read(path: str | os.PathLike) -> Bundle:
    """Returns the bundle that a file holds. Raises ConfigError for a file that is no bundle. Nothing of the file is run."""
    text = read_text(path, LIMIT_BYTES)
    try:
        (line,) = (line for line in text.splitlines() if line.startswith(_DATA))
        known = json.loads(line.removeprefix(_DATA))
        values = tuple(_value(each) for each in known["values"])
        source = _source(text)
        found = Bundle(**{**known, "source": source, "values": values, "versions": tuple(known["versions"])})
        if {*found.settings} - {*SETTINGS} or not all(type(each) is str for each in (found.function, found.error, found.message)):
            raise ValueError
        if not any(isinstance(s, ast.FunctionDef) and s.name == found.function for s in ast.parse(source).body):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError, RecursionError, MemoryError):
        raise ConfigError(f"{called(path)} is no bundle", notes=["expected a file that `polyml doctor` lists"]) from None
    return found


def _value(known: Mapping[str, Any]) -> BundledArgument:  # JSON, whose values are tested below
    """Returns the argument that a bundle's JSON describes. Raises ValueError, KeyError or TypeError where it describes none."""
    shape = known["shape"] if known["shape"] is None else tuple(known["shape"])
    found = BundledArgument(**{**known, "shape": shape})
    if found.element not in _PYTHON:
        dtype_of(found.element)
    lengths = (*(shape or ()), *([] if found.number is None else [found.number]))
    if not all(type(each) is int for each in lengths) or found.layout not in ("C", "F", "A"):
        raise ValueError
    if any(length < 0 for length in shape or ()) or 32 * int(np.prod(shape or (), dtype=object)) > _MOST_BYTES:
        raise ValueError
    return found


def _source(text: str) -> str:
    """Returns the part of a bundle file's text that defines the function: what is between the docstring and the last statement."""
    body = ast.parse(text).body
    lines = text.splitlines(keepends=True)
    return "".join(lines[body[0].end_lineno : body[-1].lineno - 1]).strip() + "\n"


def first_line(path: str | os.PathLike) -> str:
    """Returns the line of a bundle's file that says what failed; "" for a file that cannot be read. Nothing of the file is run."""
    try:
        found = re.search(r"^    (.+)$", read_text(path, LIMIT_BYTES), re.MULTILINE)
    except ConfigError:
        return ""
    return found[1] if found else ""


def dtype_of(name: str) -> np.dtype:
    """Returns NumPy's dtype with a name. Raises TypeError for a name that NumPy and ml_dtypes do not know, or whose values are no
    numbers.
    """
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    dtype = np.dtype(name)
    if dtype.kind not in "biufc":
        raise TypeError(f"{name} is no type of numbers")
    return dtype
