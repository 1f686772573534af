"""What a function reads from outside its own text, found without parsing it, so that a cached kernel runs at once.

Every name in the code object that the module (or the builtins) or a closure gives a value counts, an attribute's name
too: more than the parser uses, never less.
"""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass
from types import FunctionType, ModuleType

import numpy as np

from polyml.frontend.captures import MISSING, current
from polyml.runtime.binding import ABSENT, Guard

_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


@dataclass(frozen=True)
class Captures:
    """guards: what each call compares. content: the values as text, the same in every process.

    portable: content says all there is to say of them, so that a compiled kernel may be kept on disk.
    """

    guards: tuple[Guard, ...]
    content: str
    portable: bool


def captures(function: FunctionType) -> Captures:
    """The values as they are now."""
    guards: list[Guard] = []
    lines: list[str] = []
    portable = _collect(function, guards, lines, {function})
    return Captures(tuple(guards), "\n".join(lines), portable)


def _collect(function: FunctionType, guards: list[Guard], lines: list[str], seen: set[FunctionType]) -> bool:
    code, portable = function.__code__, True
    for kind, names in (("global", code.co_names), ("cell", code.co_freevars)):
        for position, name in enumerate(names):
            value = current(function, kind, name)
            if kind == "global" and value is MISSING:
                continue  # an attribute's name
            guards.append(_guard(function, kind, name, position, value))
            text = _text(value)
            if isinstance(value, FunctionType) and not _is_library(value) and value not in seen:
                seen.add(value)
                text = hashlib.sha256("".join(_source(value)).encode()).hexdigest()
                portable &= _collect(value, guards, lines, seen)
            portable &= text is not None
            lines.append(f"{kind} {name} {type(value).__name__} {id(value) if text is None else text}")
    return portable


def _guard(function: FunctionType, kind: str, name: str, position: int, value: object) -> Guard:
    if kind == "cell":
        return Guard(function.__closure__[position], name, ABSENT if value is MISSING else value)
    return Guard(function.__globals__, name, value if name in function.__globals__ else ABSENT)


def _text(value: object) -> str | None:
    """The value in words, None where words do not tell it from another."""
    if type(value) in _NUMBERS:
        return repr(value)
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.tobytes().hex()}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, np.ufunc):  # which has no __module__ before NumPy 2
        return f"numpy.{value.__name__}" if getattr(np, value.__name__, None) is value else None
    if _is_library(value) or isinstance(value, FunctionType):
        return f"{value.__module__}.{value.__qualname__}"
    return "" if value is MISSING else None


def _is_library(value: object) -> bool:
    """A function or type of NumPy, math or Python itself: it never changes while its versions do not."""
    module = getattr(value, "__module__", None)
    named = isinstance(module, str) and hasattr(value, "__qualname__")
    return named and module.partition(".")[0] in ("numpy", "math", "builtins")


def _source(function: FunctionType) -> list[str]:
    try:
        return inspect.getsourcelines(function)[0]
    except (OSError, TypeError):  # text that is nowhere to be found
        return [function.__code__.co_code.hex(), repr(function.__code__.co_consts), repr(function.__code__.co_names)]
