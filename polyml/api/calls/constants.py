"""Arguments that are no numbers or arrays but values by which a call is compiled: texts, None, tuples, members of enumerations, types.

A kernel has a further kernel for each combination of them, in which these parameters are constants, so that `if mode == "sum"` is
decided while it is parsed.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from types import FunctionType, NoneType

import numpy as np

from polyml.errors import PolymlError, ValueNeeded

MOST = 32  # combinations of one kernel; calls with others run as plain Python
_LONGEST = 1_000  # characters of the text of a constant
_NUMBERS = (bool, int, float, complex)
_NAMED = ("builtins", "numpy", "ml_dtypes")


def constants(names: Sequence[str], values: Sequence[object]) -> dict[str, object]:
    """Returns the arguments of a call, by parameter, by which it is compiled."""
    return {name: value for name, value in zip(names, values) if type(value) not in _COMMON and _is_constant(value)}


_COMMON = (np.ndarray, *_NUMBERS)  # looked at first, since most arguments are of these classes


def kind(value: object) -> object:
    """Returns the class of an argument that is no array, with its text where it is a constant by which a call is compiled."""
    if type(value) in _COMMON or not _is_constant(value):
        return type(value)
    return type(value), text(value)


def truth_values(names: Sequence[str], values: Sequence[object]) -> dict[str, object]:
    """Returns the arguments of a call, by parameter, that are True or False: a call is compiled by them where it is not otherwise."""
    return {name: value for name, value in zip(names, values) if type(value) is bool}


def needed(problem: PolymlError | None, names: Sequence[str], values: Sequence[object]) -> dict[str, object]:
    """Returns the ints among a call's arguments, by parameter, that stand where the language has constants alone.

    problem: why the call is not compiled
    """
    if not isinstance(problem, ValueNeeded) or problem.loc is None:
        return {}
    read = {*re.findall(r"\w+", problem.loc.text)}
    return {name: value for name, value in zip(names, values) if type(value) is int and name in read}


def same(value: object, constant: object) -> bool:
    """Returns whether an argument is a constant by which a call was compiled. Ints are compared by value, all others by identity."""
    return value is constant or type(value) is int and type(constant) is int and value == constant


def with_defaults(function: FunctionType, names: Sequence[str], values: tuple[object, ...]) -> tuple[object, ...]:
    """Returns arguments by position with the defaults of those that are left out, as far as there are any."""
    count, defaults = len(names) - len(values), function.__defaults__ or ()
    return (*values, *defaults[-count:]) if 0 < count <= len(defaults) and not function.__kwdefaults__ else values


def text(value: object) -> str:
    """Returns a text that tells a constant from every other one, in every process.

    >>> text(("a", 1)), text((True, 1.0)), text(None)
    ("('a', 1)", '(True, 1.0)', 'None')
    """
    if isinstance(value, tuple):
        return f"({', '.join(map(text, value))}{',' * (len(value) == 1)})"
    if isinstance(value, enum.Enum):
        kind = type(value)
        return f"{kind.__module__}.{kind.__qualname__}.{value.name} = {value.value!r} of {[*kind.__members__]}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, np.dtype):
        return f"dtype {value.str} {value.name}"
    return repr(value)


def content(found: Mapping[str, object]) -> str:
    """Returns a text of all constants of a call."""
    return "\n".join(f"constant {name} {text(value)}" for name, value in found.items())


def _is_constant(value: object) -> bool:
    """Returns whether a call may be compiled by a value."""
    kind = type(value)
    if kind in (str, NoneType):
        return value is None or len(str(value)) <= _LONGEST
    if kind is tuple:
        parts = value if isinstance(value, tuple) else ()
        return len(parts) <= MOST and all(type(part) in _NUMBERS or _is_constant(part) for part in parts)
    if isinstance(value, enum.Enum):
        return not isinstance(value, int | float) and type(value.value) in (str, *_NUMBERS)
    if isinstance(value, np.dtype):
        return value.names is None
    return isinstance(value, type) and value.__module__ in _NAMED
