"""What a function does in plain Python, and whether a compiled call did the same."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

import numpy as np

from polyml.frontend.captures import python_function
from polyml.reading.numba_signatures import signature_of

_ROUNDING = {2: 1e-2, 4: 1e-4, 8: 1e-9}
"""How far apart two sums may be that were added up in different orders, by the bytes of their numbers."""


@dataclass(frozen=True)
class Outcome:
    """An Outcome is what a call returned or raised, and its arguments after it."""

    result: object
    error: Exception | None
    arguments: tuple


def as_python(function: FunctionType, made: dict[FunctionType, FunctionType] | None = None) -> FunctionType:
    """Returns a function that calls the Python functions of the dispatchers in its globals, as polyml inlines them."""
    made = {} if made is None else made
    if function not in made:
        names = dict(function.__globals__)
        called = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
        called.__kwdefaults__ = function.__kwdefaults__
        made[function] = called
        for name in function.__code__.co_names:
            inner = None if signature_of(names.get(name)) else python_function(names.get(name))
            if inner is not None and inner is not names[name]:
                names[name] = as_python(inner, made)
    return made[function]


def outcome(call: Callable, arguments: tuple) -> Outcome:
    """Calls a function on copies of its arguments."""
    given = copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        try:
            return Outcome(call(*given), None, given)
        except Exception as error:
            return Outcome(None, error, given)


def difference(wanted: Outcome, found: Outcome) -> str:
    """Returns in words the first thing in which two outcomes differ by more than rounding, or ""."""
    if (wanted.error, found.error) != (None, None):
        return "" if _told(wanted.error) == _told(found.error) else f"raises {_told(found.error)}, not {_told(wanted.error)}"
    sizes = [a.real.itemsize for a in wanted.arguments if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
    rounding = _ROUNDING[min(sizes, default=8)]  # what is computed of narrow numbers is rounded as they are
    problem = _unequal(wanted.result, found.result, rounding)
    return f"result: {problem}" if problem else _changed(wanted.arguments, found.arguments, rounding)


def _changed(wanted: tuple, found: tuple, rounding: float) -> str:
    for place, (left, right) in enumerate(zip(wanted, found)):
        if problem := _unequal(left, right, rounding):
            return f"argument {place}: {problem}"
    return ""


def _told(error: Exception | None) -> str:
    return "nothing" if error is None else f"{type(error).__name__}: {error}"


def _unequal(wanted: object, found: object, rounding: float) -> str:
    if type(wanted) is not type(found):
        return f"{type(found).__name__}, not {type(wanted).__name__}"
    if isinstance(wanted, (tuple, list)) and isinstance(found, (tuple, list)):
        if len(wanted) != len(found):
            return f"{len(found)} values, not {len(wanted)}"
        return next(filter(None, (_unequal(left, right, rounding) for left, right in zip(wanted, found))), "")
    if wanted is None or isinstance(wanted, str):
        return "" if wanted == found else f"{found}, not {wanted}"
    left, right = np.asarray(wanted), np.asarray(found)
    if (left.dtype, left.shape) != (right.dtype, right.shape):
        return f"{right.dtype}{list(right.shape)}, not {left.dtype}{list(left.shape)}"
    if left.dtype.kind in "fc":
        rounding = max(rounding, _ROUNDING[left.real.dtype.itemsize])
        same = np.allclose(left, right, rtol=rounding, atol=rounding * 1e-3, equal_nan=True)
    else:
        same = np.array_equal(left, right)
    return "" if same else f"{found}, not {wanted}"
