"""FILE.py:FUNC, as written on the command line, as a kernel."""

from __future__ import annotations

import difflib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import cast

from polyml.api import Kernel, kernel
from polyml.errors import ConfigError, PolymlError
from polyml.reading.files import kind_of
from polyml.reading.input_limits import shown
from polyml.reading.userfiles import called, reason
from polyml.source import Loc, Source

_LONGEST = 100  # characters of a name that others are compared with
_MOST_BYTES = 16 << 20  # size of a kernel's file at most
_COMPANIONS = ("inputs", "reference")  # other functions that a kernel's file defines


@dataclass(frozen=True)
class KernelFile:
    """A kernel file is a user's Python file, imported, with one kernel chosen in it.

    file: the path as it was written.
    name: the kernel's name in the file.
    function: the Python function, without a decorator.
    decorated: what the name is bound to: the function itself, or what a decorator made of it.
    module: the whole file as a module.
    """

    file: Path
    name: str
    function: FunctionType
    decorated: object
    module: ModuleType

    def as_kernel(self) -> Kernel:
        """Returns the kernel as its file decorates it, or, if the file does not decorate it, with the settings in force."""
        return self.decorated if isinstance(self.decorated, Kernel) else kernel(self.function)

    @property
    def sizes(self) -> dict[str, dict[str, int]]:
        """Returns the file's SIZES, {preset: {size: value}}; {} where it has none."""
        return vars(self.module).get("SIZES", {})

    @property
    def has_inputs(self) -> bool:
        """Returns whether the file has SIZES, and a function inputs(size, rng) that returns {parameter: argument} for such
        sizes.
        """
        return self.sizes != {} and callable(vars(self.module).get("inputs"))


def load_kernel_file(spec: str) -> KernelFile:
    """Imports the file of a kernel, which runs the file's code, and returns the file with the kernel.

    spec: FILE.py:FUNC, or FILE.py where the file has one kernel.
    Raises ConfigError where the file does not exist or cannot be imported, or has no such function.
    """
    file_text, _, name = spec.partition(":") if not _has_drive(spec) else (spec, "", "")
    module = _import(_file(file_text))
    file = Path(file_text)
    kernels = _kernels(module)
    chosen = name or _only(file, kernels)
    if chosen not in kernels:
        raise ConfigError(f"{file} has no function {shown(chosen)}", notes=_function_hints(chosen, kernels))
    decorated = kernels[chosen]
    return KernelFile(file, chosen, _function(decorated), decorated, module)


def _function(decorated: object) -> FunctionType:
    """Returns the Python function of an object: the one that a decorator kept as `py_func`, or else the object itself."""
    return cast(FunctionType, getattr(decorated, "py_func", decorated))


def _has_drive(spec: str) -> bool:
    return len(spec) > 1 and spec[1] == ":" and _is(Path.is_file, spec)


def _is(kind: Callable[[Path], bool], path: str | Path) -> bool:
    """Returns whether a test such as Path.is_file holds for a path; False for what cannot be a path.

    kind: the test.
    """
    try:
        return kind(Path(path))
    except (OSError, ValueError):
        return False


def _file(text: str) -> Path:
    """Returns the path of a regular file. Raises ConfigError where there is no such file, or it is too large."""
    file = Path(text)
    try:
        with_kind = kind_of(file.stat())
    except (OSError, ValueError) as problem:
        why = "" if isinstance(problem, FileNotFoundError | NotADirectoryError) else f": {reason(problem)}"
        raise ConfigError(f"there is no file {called(text)}{why}", notes=_file_hints(file)) from None
    if with_kind != "a regular file":
        raise ConfigError(f"{called(text)} is {with_kind}, not a regular file", notes=["expected FILE.py:FUNC"])
    if file.stat().st_size > _MOST_BYTES:
        raise ConfigError(f"{called(text)} is larger than the {_MOST_BYTES:,} bytes that are read of a kernel's file")
    return file


def _import(file: Path) -> ModuleType:
    """Imports a file and returns its module. Raises ConfigError, which names the line, for whatever the file's code raises.

    The file's folder is added to sys.path.
    """
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    parts = importlib.util.spec_from_file_location(file.stem, file)
    if parts is None or parts.loader is None:
        raise ConfigError(f"{file} is no Python file", notes=["expected FILE.py:FUNC"])
    module = importlib.util.module_from_spec(parts)
    sys.modules.setdefault(file.stem, module)
    with reported(file, "cannot be imported"):
        parts.loader.exec_module(module)
    return module


@contextmanager
def reported(file: Path, what: str) -> Iterator[None]:
    """Turns what the user's code raises inside a `with` block into a ConfigError that names the line in the user's file; Ctrl-C and
    polyml's own errors pass as they are.

    file: the user's file.
    what: what the message says of the file, such as "cannot be imported".
    """
    try:
        yield
    except (PolymlError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ConfigError(f"{file} {what}: {_told(error)}", loc=_where(file, error)) from error


def raised(target: KernelFile, error: BaseException) -> PolymlError:
    """Returns the error that says what a kernel of a file raised, as plain Python, and on which line."""
    return PolymlError(f"{target.name} raised {_told(error)}", loc=_where(target.file, error))


def _told(error: BaseException) -> str:
    """Returns the class name of an exception with its text, or without it if making the text raises an exception."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _where(file: Path, error: BaseException) -> Loc | None:
    """Returns the place in the user's file at which its code raised an exception; None where it raised it elsewhere."""
    if isinstance(error, SyntaxError) and error.lineno:
        return Loc(_source(file), error.lineno, max(1, error.offset or 1))
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if os.path.realpath(frame.filename) == os.path.realpath(file)]
    if not own or own[-1].lineno is None:
        return None
    source, line = _source(file), own[-1].lineno
    text = source.line(line)
    indent = len(text) - len(text.lstrip())
    return Loc(source, line, indent + 1, max(1, len(text) - indent))


def _source(file: Path) -> Source:
    """Returns a file's lines, none where it cannot be read."""
    try:
        return Source(str(file), 1, tuple(file.read_text("utf-8", "replace").splitlines()))
    except OSError:
        return Source(str(file), 1, ())


def _kernels(module: ModuleType) -> dict[str, object]:
    """Returns {name: function or decorated kernel} for those that a module defines itself and whose names are public."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and _is_own(value, module) and (hasattr(value, "py_func") or _is_function(value))
    }


def _is_function(value: object) -> bool:
    return isinstance(value, FunctionType)


def _is_own(value: object, module: ModuleType) -> bool:
    return getattr(getattr(value, "py_func", value), "__module__", None) == vars(module).get("__name__")


def _only(file: Path, kernels: dict[str, object]) -> str:
    decorated = [name for name, value in kernels.items() if hasattr(value, "py_func")]
    decorated = decorated or [name for name in kernels if name not in _COMPANIONS]
    if len(decorated) == 1:
        return decorated[0]
    example = [f"for example {file}:{decorated[0]}"] if decorated else []
    raise ConfigError(f"which function of {file}?", notes=[_listed(kernels), *example])


def _function_hints(name: str, kernels: dict[str, object]) -> list[str]:
    near = difflib.get_close_matches(name[:_LONGEST], kernels, n=2)
    return [*([f"did you mean {' or '.join(near)}?"] if near else []), _listed(kernels)]


def _listed(kernels: dict[str, object]) -> str:
    return f"it has {', '.join(sorted(kernels))}" if kernels else "it defines no function"


def _file_hints(file: Path) -> list[str]:
    folder = file.parent if _is(Path.is_dir, file.parent) else Path(".")
    names = sorted(p.name for p in folder.glob("*.py"))
    near = difflib.get_close_matches((file.name if file.suffix else f"{file.name}.py")[:_LONGEST], names, n=2)
    if near:
        return [f"did you mean {' or '.join(str(folder / n) for n in near)}?"]
    return ["expected FILE.py:FUNC, as in kernels/gemm.py:gemm"]
