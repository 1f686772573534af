"""What a function reads from outside its own text, found without parsing it, so that a cached kernel runs at once.

Every name in the bytecode to which the module, the builtins or a closure gives a value counts, an attribute's name too: more than
the parser uses, never less.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import cast

import numpy as np

from polyml.frontend.captures import MISSING, current, in_python, is_library, is_library_module, python_function
from polyml.reading.function_source import code_text, definition_of, names_outside
from polyml.reading.numba_signatures import signature_of
from polyml.runtime.calling.binding import ABSENT, CaptureGuard

_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


@dataclass(frozen=True)
class Captures:
    """A Captures holds the values that a function, and the functions that it calls, take from outside.

    guards: what each call compares.
    content: the values as text, the same in every process.
    portable: whether equal contents mean equal values in every process, so that a compiled kernel may be kept on disk.
    depth: how many calls may be inside of each other, where one of the functions calls itself, by others perhaps; else None
    """

    guards: tuple[CaptureGuard, ...]
    content: str
    portable: bool
    depth: int | None = None


def captures(function: FunctionType) -> Captures:
    """Returns the values that a function, and the functions that it calls, take from outside, as they are now."""
    guards: list[CaptureGuard] = []
    lines: list[str] = []
    seen = {function}
    portable = _collect(function, guards, lines, seen)
    depth = sys.getrecursionlimit() if _call_themselves(seen) else None
    if depth is not None:
        lines.append(f"recursion limit {depth}")
    return Captures(tuple(guards), "\n".join(lines), portable, depth)


def _call_themselves(functions: set[FunctionType]) -> bool:
    """Returns whether one of the functions may call itself, by others perhaps, or has one inside of it that may."""
    inner = (each for function in functions for each in function.__code__.co_consts if isinstance(each, CodeType))
    if any(each.co_name in each.co_freevars for each in inner):
        return True
    calls = {function: _called(function) & functions for function in functions}
    while ends := [function for function, called in calls.items() if not called & calls.keys()]:
        for function in ends:
            del calls[function]
    return bool(calls)


def _called(function: FunctionType) -> set[FunctionType]:
    code = function.__code__
    values = (
        python_function(current(function, kind, name))
        for kind, names in (("global", names_outside(code)), ("cell", code.co_freevars))
        for name in names
    )
    return {value for value in values if value is not None}


def of_itself(function: FunctionType) -> tuple[CaptureGuard, ...]:
    """Returns the guards of the names that a function's own code mentions, without those of the functions that it calls.

    They are enough where plain Python runs the function, which looks up the names in the called functions at each call.
    """
    cells, names = function.__closure__ or (), function.__code__.co_names
    own = {*map(id, cells)}
    return tuple(g for g in captures(function).guards if id(g.place) in own or g.place is function.__globals__ and g.key in names)


def _collect(function: FunctionType, guards: list[CaptureGuard], lines: list[str], seen: set[FunctionType]) -> bool:
    """Adds to `guards` and `lines` the guards of what a function takes from outside, and lines of text that describe the values.

    Returns whether equal lines mean equal values in every process.

    seen: the functions that are described already.
    """
    code, portable = function.__code__, True
    for kind, names in (("global", names_outside(code)), ("cell", code.co_freevars)):
        for position, name in enumerate(names):
            value = current(function, kind, name)
            if kind == "global" and value is MISSING:
                continue  # an attribute's name
            guards.append(_guard(function, kind, name, position, value))
            portable &= _described(f"{kind} {name}", value, guards, lines, seen)
            if isinstance(value, ModuleType) and not is_library_module(value):
                for attribute in sorted({*names} & {*vars(value)}):
                    held = vars(value)[attribute]
                    guards.append(CaptureGuard(vars(value), attribute, held))
                    portable &= _described(f"{kind} {name}.{attribute}", held, guards, lines, seen)
    return portable


def _described(name: str, value: object, guards: list[CaptureGuard], lines: list[str], seen: set[FunctionType]) -> bool:
    """Adds to `lines` a line that describes a value and, if it is a function, lines and guards for what it takes from outside.

    Returns whether equal lines mean equal values in every process. They do not where they contain a memory address.

    name: what the line calls the value
    seen: the functions that are described already.
    """
    text, called, portable = _text(in_python(value)), python_function(value), True
    if called is not None:
        signature = signature_of(value)
        text = _digest(called) if signature is None else f"{_digest(called)} {signature}"
        if called not in seen:
            seen.add(called)
            portable = _collect(called, guards, lines, seen)
            defaults = (*(called.__defaults__ or ()), *(called.__kwdefaults__ or {}).values())
            for number, default in enumerate(defaults):
                portable &= _described(f"default {number} of {name}", default, guards, lines, seen)
    lines.append(f"{name} {type(value).__name__} {id(value) if text is None else text}")
    return portable and text is not None


def _guard(function: FunctionType, kind: str, name: str, position: int, value: object) -> CaptureGuard:
    if kind == "cell":
        return CaptureGuard((function.__closure__ or ())[position], name, ABSENT if value is MISSING else value)
    return CaptureGuard(function.__globals__, name, value if name in function.__globals__ else ABSENT)


def _text(value: object) -> str | None:
    """Returns a text that tells a value from every other one, in every process; None where there is no such text."""
    if type(value) in _NUMBERS:
        return repr(value)
    if type(value) is tuple:
        parts = [_text(part) for part in value]
        return None if None in parts else f"({', '.join(f'{type(part).__name__} {text}' for part, text in zip(value, parts))})"
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.tobytes().hex()}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, np.ufunc):  # it has no __module__ before NumPy 2
        is_numpys = getattr(np, value.__name__, None) is value
        return f"numpy.{value.__name__}" if is_numpys else None
    if is_library(value):
        function = cast(FunctionType, value)
        return f"{function.__module__}.{function.__qualname__}"
    return "" if value is MISSING else None


def _digest(function: FunctionType) -> str:
    """Returns a digest of a function's text and bytecode, and of the file and line where it begins, since messages name these."""
    code = function.__code__
    try:
        text = definition_of(function).lines
    except (OSError, TypeError, RecursionError):  # text that is nowhere to be found, or nested too deeply to be read here
        text = ()
    place = f"{code.co_filename}:{code.co_firstlineno}\n"
    return hashlib.sha256("".join((place, code_text(code), *text)).encode(errors="surrogatepass")).hexdigest()
