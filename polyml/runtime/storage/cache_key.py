"""The name of a compiled kernel in the disk cache: a digest of everything that its code depends on.

The function's bytecode is part of it as well as its text: files change while programs run, and what another process made of the
text as it is now is not what this one imported.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import astuple, dataclass
from functools import cache
from importlib.util import find_spec
from types import FunctionType

import numpy as np

from polyml.config import Options
from polyml.frontend.syntax import ArgType
from polyml.machines import cpu
from polyml.reading.function_source import code_text, definition_of
from polyml.runtime.storage.size_classes import Sizes

KIND = "kernel"
_SUFFIXES = (".py", ".ll")


@dataclass(frozen=True)
class CodeInputs:
    """A CodeInputs holds what the code of a function depends on, besides the function's own text.

    captured: the values of the names that the function takes from outside, as text.
    types: of the arguments.
    layouts: of the array arguments, each "C", "F" or "A".
    options: the settings; those that do not change code do not count.
    aliased: whether arguments may share memory.
    schedule: the text of a given schedule; "" where the compiler looks for one.
    language: the language of GPUs that the code is in; "" for machine code.
    general: whether the code is for all values of arguments for which it would be faster if it were for one.
    expects: whether the code may be for index arrays that are row pointers alone.
    """

    captured: str
    types: tuple[ArgType, ...]
    layouts: tuple[str, ...]
    options: Options
    aliased: bool
    schedule: str = ""
    language: str = ""
    general: bool = False
    expects: bool = False


def content_key(function: FunctionType, inputs: CodeInputs) -> str | None:
    """Returns the name under which the code of a function is kept: a digest of all that it depends on.

    These are the function's text, its bytecode and its place in its file, which messages name; the `inputs`; the versions of polyml
    and its libraries; and the processor. Returns None where the text cannot be found, or is nested too deeply to be parsed.
    """
    try:
        text = definition_of(function)
    except (OSError, TypeError, RecursionError):
        return None
    parts = (
        function.__code__.co_filename, str(text.first), "".join(text.lines), code_text(function.__code__), inputs.captured,
        " ".join(map(str, inputs.types)), " ".join(inputs.layouts), repr(astuple(inputs.options.compile_key())),
        str(inputs.aliased), inputs.schedule, inputs.language, str(inputs.general), str(inputs.expects), toolchain(),
    )  # fmt: skip
    return _digest(parts)


def sized_key(name: str, sizes: Sizes | None) -> str:
    """Returns the name under which the cache keeps the code for some sizes; `name` itself for code that serves all sizes.

    Calls whose sizes have the same limits (`Sizes.limits`) share a name, since code made for one of them may serve all of them.

    name: that of `content_key`
    sizes: None for code that serves all sizes
    """
    return name if sizes is None else _digest((name, f"{sizes.extents is None} {sizes.limits} {'; '.join(map(str, sizes.others))}"))


def names(name: str, sizes: Sizes | None) -> tuple[str, ...]:
    """Returns the names under which the cache may have code for these sizes, the one to look for first in front.

    name: that of `content_key`
    sizes: None for code that serves all sizes
    """
    return (name,) if sizes is None else (sized_key(name, sizes), name)


def _digest(parts: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)} {part}\n".encode(errors="surrogatepass"))
    return f"{KIND}-{digest.hexdigest()}"


@cache
def toolchain() -> str:
    """Returns the versions of polyml, its libraries and Python, and the processor, as text."""
    facts = (
        f"polyml {_sources_digest()}", f"islpy {_version('islpy')}", f"llvmlite {_version('llvmlite')}",
        f"numpy {np.__version__.split('.')[0]}", f"ml_dtypes {_version('ml_dtypes')}",
        f"python {sys.implementation.cache_tag}", sys.platform,
        repr(cpu.host()), " ".join(sorted(cpu.cpu_flags())),
    )  # fmt: skip
    return "\n".join(facts)


def _sources_digest() -> str:
    """Returns a digest of the text of every .py and .ll file of polyml."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(_files(root)):
        digest.update(os.path.relpath(path, root).encode())
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def _files(folder: str) -> list[str]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                found += _files(entry.path)
            elif entry.name.endswith(_SUFFIXES):
                found.append(entry.path)
    return found


def _version(package: str) -> str:
    """Returns the version of an installed package, as the name of its .dist-info folder; "missing" for a package that is not there.

    (importlib.metadata takes 20 ms to import.)
    """
    spec = find_spec(package)
    if spec is None or not spec.origin:
        return "missing"
    site = os.path.dirname(os.path.dirname(spec.origin))
    names = [n for n in os.listdir(site) if n.startswith(f"{package}-") and n.endswith(".dist-info")]
    if names:
        return " ".join(sorted(names))
    from importlib import metadata

    return metadata.version(package)
