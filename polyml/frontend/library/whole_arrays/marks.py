"""What the texts of this folder ask of a compiler: the kind of numbers, and sorting that NumPy would not do faster."""

from __future__ import annotations

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


FUNCTIONS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (is_integer, is_real, is_number, is_same_type, ndim, grouped, grouped_places)
}
OF_TWO = (is_same_type,)
