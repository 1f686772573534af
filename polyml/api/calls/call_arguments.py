"""The arguments of a call: their types, and what Python and the caller get of them."""

from __future__ import annotations

import numpy as np

from polyml.frontend.argument_types import with_sizes
from polyml.frontend.syntax import ArgType
from polyml.runtime.calling.arguments import CallArgument


def types_of(given: tuple[CallArgument, ...]) -> tuple[tuple[ArgType, ...], tuple[str, ...]]:
    """Returns (types of all arguments, layouts of those that are arrays).

    A layout is "C" or "F" for NumPy's C or Fortran order without gaps, "A" for any other strides.
    """
    return tuple(a.type for a in given), tuple(a.layout for a in given if a.layout)


def exact_types(given: tuple[CallArgument, ...]) -> tuple[ArgType, ...]:
    """Returns the types of the arguments, in which the type of an array includes its sizes and that of an int its value."""
    return tuple(with_sizes(a.type, a.value) for a in given)


def for_python(argument: CallArgument) -> object:
    """Returns the value to pass to plain Python: for an object of another library that was converted to an array, this array; else
    what the caller passed.
    """
    converted = isinstance(argument.value, np.ndarray) and not isinstance(argument.original, (np.ndarray, list, tuple))
    return argument.value if converted else argument.original


def originals(result: object, given: tuple[CallArgument, ...]) -> object:
    """Returns a call's result in which each array that is the value of an argument, itself or in a tuple, is replaced by the object
    that the caller passed for it, such as an array of another library.
    """
    if isinstance(result, tuple):
        return tuple(originals(part, given) for part in result)
    return next((a.original for a in given if a.value is result), result)
