"""What a kernel takes from outside its own text: globals, builtins and closure values.

They are read once, when the kernel is parsed, and are part of its meaning; the runtime compares them at each call.
"""

from __future__ import annotations

import builtins
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from polyml.reading.numba_signatures import converts, signature_of


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
_LIBRARIES = ("numpy", "ml_dtypes", "math", "cmath", "builtins")


@dataclass(frozen=True, eq=False)
class Captured:
    """A Captured is one value that a kernel took from outside when it was parsed.

    kind: "cell" for a closure's variable, "global" for a module's variable or, where the module has none, a builtin.
    name: the name by which the function's text reads it.
    value: the value at that time; MISSING where the name had none.
    """

    kind: str
    name: str
    value: object


def python_function(value: object) -> FunctionType | None:
    """Returns the Python function that `value` is, or that it was compiled from (its `py_func`).

    None is returned for functions of libraries, for those that convert to types that are not known, and for everything else. Of one
    that converts as a signature says, `numba_signatures.signature_of` tells the types.
    """
    function = value if isinstance(value, FunctionType) else getattr(value, "py_func", None)
    if not isinstance(function, FunctionType) or is_library(function):
        return None
    return function if not converts(value) or signature_of(value) is not None else None


def in_python(value: object) -> object:
    """Returns what a value from outside a kernel is in plain Python: `range` for numba's `prange`, which is one there."""
    if isinstance(value, type) and value.__name__ == "prange" and value.__module__.partition(".")[0] == "numba":
        return range
    return value


def is_library(value: object) -> bool:
    """Returns whether `value` is a function or type of NumPy, ml_dtypes, math, cmath or Python itself, which never changes."""
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and hasattr(value, "__qualname__") and module.partition(".")[0] in _LIBRARIES


def is_library_module(module: ModuleType) -> bool:
    """Returns whether the module is NumPy, ml_dtypes, math, cmath or one of their submodules."""
    return module.__name__.partition(".")[0] in _LIBRARIES


class OuterScope:
    """An OuterScope looks up the globals, builtins and closure variables of a function, and remembers which were looked up.

    function: the function
    """

    def __init__(self, function: FunctionType):
        self.function = function
        self._used: dict[str, Captured] = {}

    def lookup(self, name: str) -> object:
        """Returns the value of `name` outside the function, or the marker MISSING if it has none; later look-ups return the same
        value.
        """
        if name not in self._used:
            kind = "cell" if name in self.function.__code__.co_freevars else "global"
            self._used[name] = Captured(kind, name, current(self.function, kind, name))
        return self._used[name].value

    @property
    def captured(self) -> tuple[Captured, ...]:
        """Returns the names that were looked up so far, with their values, in the order of the first look-ups."""
        return tuple(self._used.values())


def current(function: FunctionType, kind: str, name: str) -> object:
    """Returns the value that `name` has now in `function`, as a closure variable, a global or a builtin; MISSING if it has none.

    kind: "cell" for a closure variable, "global" for a global or builtin.
    """
    if kind == "cell":
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # the enclosing function has not assigned it yet
            return MISSING
    if name in function.__globals__:
        return function.__globals__[name]
    namespace = function.__globals__.get("__builtins__", builtins)
    namespace = namespace if isinstance(namespace, dict) else vars(namespace)
    return namespace.get(name, MISSING)


def changed(function: FunctionType, captured: Iterable[Captured]) -> Captured | None:
    """Returns the first captured value that differs from the one that its name has in the function now, or None.

    Numbers are compared by type and bits, so that 0.0 is not -0.0; all other objects by identity.
    """
    return next((c for c in captured if not _same(c.value, current(function, c.kind, c.name))), None)


def _same(old: Any, new: Any) -> bool:  # Any, since the values' attributes depend on their types
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, float):  # np.float64 is one too; 0.0 is not -0.0, and a NaN equals itself
        return struct.pack("d", old) == struct.pack("d", new)
    if isinstance(old, int):
        return old == new
    return hasattr(old, "dtype") and getattr(old, "shape", None) == () and old.tobytes() == new.tobytes()
