"""What the texts of this folder ask of a compiler: the kind of numbers, and sorting that NumPy would not do faster."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def is_integer(a: Any) -> bool:
    """Returns whether numbers are integers or truth values."""
    return np.asarray(a).dtype.kind in "iub"


def is_real(a: Any) -> bool:
    """Returns whether numbers are not complex."""
    return np.asarray(a).dtype.kind in "iubf"


def is_number(a: Any) -> bool:
    """Returns whether numbers are no truth values, for which NumPy has no difference."""
    return np.asarray(a).dtype.kind in "iufc"


def is_float64(a: Any) -> bool:
    """Returns whether numbers are float64."""
    return np.asarray(a).dtype == np.float64


def is_own(a: Any) -> bool:
    """Returns whether a number is Python's own."""
    return type(a) in (bool, int, float, complex)


def is_wide(a: Any) -> bool:
    """Returns whether NumPy computes with float64 where it needs floats of these numbers."""
    return is_integer(a) or is_float64(a)


def ndim(a: Any) -> int:
    """Returns how many dimensions an array has; a number has none."""
    return np.ndim(a)


def is_same_type(a: Any, b: Any) -> bool:
    """Returns whether two arrays have elements of one type."""
    return np.asarray(a).dtype == np.asarray(b).dtype


def grouped(a: Any) -> Any:
    """Returns a sorted vector; one outside of loops is compiled where it holds integers, of which equal ones are counted."""
    return np.sort(a, kind="stable")


def grouped_places(a: Any) -> Any:
    """Returns the order in which the elements of a vector stand in `grouped`."""
    return np.argsort(a, kind="stable")


def is_sequence(a: Any) -> bool:
    """Returns whether something is a tuple or list, which is known where a text is parsed."""
    return isinstance(a, (tuple, list))


def is_wide_range(first: Any, last: Any) -> bool:
    """Returns whether a million bins between two numbers have different edges as float64."""
    farthest = max(abs(first), abs(last))
    return bool(
        first <= last and farthest < 2.0**52 and (last - first > max(1e-9 * farthest, 1e-290) or first == last and farthest < 1e8)
    )


def is_empty_range(first: Any, last: Any) -> bool:
    """Returns whether two numbers are equal."""
    return bool(first == last)


def spaced(start: Any, stop: Any, step: Any, clipped: bool) -> Any:
    """Returns numbers from a start on, in steps, each as a multiple of the step plus the start.

    clipped: whether there are none where the step leads away from the end, which is an error else
    """
    count = math.ceil((stop - start) / step)
    return np.arange(max(count, 0) if clipped else np.zeros(count).shape[0]) * step + start


_ALL = (is_integer, is_real, is_number, is_own, is_float64, is_wide, is_same_type, ndim, grouped, grouped_places, spaced)
FUNCTIONS: dict[str, Callable[..., Any]] = {each.__name__: each for each in (*_ALL, is_wide_range, is_empty_range)}
OF_CONSTANTS: dict[str, Callable[..., Any]] = {each.__name__: each for each in (is_wide_range, is_empty_range)}


def parameters(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the parameters of a function of this table that are arrays or numbers, and those that are constants."""
    if name in OF_CONSTANTS:
        return (), ("first", "last")
    if name == "spaced":
        return ("start", "stop", "step"), ("clipped",)
    return (("a", "b") if name == "is_same_type" else ("a",)), ()
