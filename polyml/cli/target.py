"""FILE.py:FUNC, as written on the command line, as a kernel."""

from __future__ import annotations

import difflib
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType

from polyml.errors import ConfigError


_COMPANIONS = ("inputs", "reference")  # what a kernel's file defines besides the kernel


@dataclass(frozen=True)
class Target:
    """A kernel of a user's file. function: what Python defined, without the decorator. module: the whole file."""

    file: Path
    name: str
    function: FunctionType
    decorated: object
    module: ModuleType

    @property
    def sizes(self) -> dict[str, dict[str, int]]:
        """The file's SIZES, preset -> name -> value, or {}."""
        return getattr(self.module, "SIZES", {})

    @property
    def has_inputs(self) -> bool:
        """Whether the file says which arguments fit its SIZES: inputs(size, rng) -> {parameter: value}."""
        return bool(self.sizes) and callable(getattr(self.module, "inputs", None))


def load_target(spec: str) -> Target:
    """The kernel that `spec` names: FILE.py:FUNC, or FILE.py where the file has one kernel.

    Raises ConfigError when the file does not exist or does not import, or when it has no such function.
    """
    file_text, _, name = spec.partition(":") if not _has_drive(spec) else (spec, "", "")
    file = Path(file_text)
    if not file.is_file():
        raise ConfigError(f"there is no file {file_text}", notes=_file_hints(file))
    module = _import(file)
    kernels = _kernels(module)
    chosen = name or _only(file, kernels)
    if chosen not in kernels:
        raise ConfigError(f"{file} has no function {chosen!r}", notes=_function_hints(chosen, kernels))
    decorated = kernels[chosen]
    return Target(file, chosen, getattr(decorated, "py_func", decorated), decorated, module)


def _has_drive(spec: str) -> bool:
    return len(spec) > 1 and spec[1] == ":" and Path(spec).is_file()


def _import(file: Path) -> ModuleType:
    """The module of a file; what is wrong with it becomes a ConfigError that names the line."""
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    parts = importlib.util.spec_from_file_location(file.stem, file)
    if parts is None or parts.loader is None:
        raise ConfigError(f"{file} is no Python file", notes=["expected FILE.py:FUNC"])
    module = importlib.util.module_from_spec(parts)
    sys.modules.setdefault(file.stem, module)
    try:
        parts.loader.exec_module(module)
    except Exception as error:  # whatever the user's file raises is reported, not ours to handle
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{file} cannot be imported: {problem}", notes=_where(file, error)) from error
    return module


def _where(file: Path, error: Exception) -> list[str]:
    if isinstance(error, SyntaxError) and error.lineno:
        return [f"{file}:{error.lineno}"]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == file.resolve()]
    return [f"{file}:{f.lineno}: {f.line}" for f in frames[-1:]]


def _kernels(module: ModuleType) -> dict[str, object]:
    """The file's own functions and decorated kernels, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and _is_own(value, module) and (hasattr(value, "py_func") or _is_function(value))
    }


def _is_function(value: object) -> bool:
    return isinstance(value, FunctionType)


def _is_own(value: object, module: ModuleType) -> bool:
    return getattr(getattr(value, "py_func", value), "__module__", None) == module.__name__


def _only(file: Path, kernels: dict[str, object]) -> str:
    decorated = [name for name, value in kernels.items() if hasattr(value, "py_func")]
    decorated = decorated or [name for name in kernels if name not in _COMPANIONS]
    if len(decorated) == 1:
        return decorated[0]
    example = [f"for example {file}:{decorated[0]}"] if decorated else []
    raise ConfigError(f"which function of {file}?", notes=[_listed(kernels), *example])


def _function_hints(name: str, kernels: dict[str, object]) -> list[str]:
    near = difflib.get_close_matches(name, kernels, n=2)
    return [*([f"did you mean {' or '.join(near)}?"] if near else []), _listed(kernels)]


def _listed(kernels: dict[str, object]) -> str:
    return f"it has {', '.join(sorted(kernels))}" if kernels else "it defines no function"


def _file_hints(file: Path) -> list[str]:
    folder = file.parent if file.parent.is_dir() else Path(".")
    names = sorted(p.name for p in folder.glob("*.py"))
    near = difflib.get_close_matches(file.name if file.suffix else f"{file.name}.py", names, n=2)
    if near:
        return [f"did you mean {' or '.join(str(folder / n) for n in near)}?"]
    return ["expected FILE.py:FUNC, as in kernels/gemm.py:gemm"]
