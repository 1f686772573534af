"""The arguments of a call: their types, and what Python and the caller get of them."""

from __future__ import annotations

import numpy as np

from polyml.frontend.argument_types import with_sizes
from polyml.frontend.syntax import ArgType
from polyml.runtime.calling.arguments import CallArgument


def types_of(given: tuple[CallArgument, ...]) -> tuple[tuple[ArgType, ...], tuple[str, ...]]:
    """Returns the types of all arguments, and the layouts, "C", "F" or "A", of those that are arrays."""
    return tuple(a.type for a in given), tuple(a.layout for a in given if a.layout)


def exact_types(given: tuple[CallArgument, ...]) -> tuple[ArgType, ...]:
    """Returns the types of the arguments with the sizes of arrays and the values of ints as constants in them."""
    return tuple(with_sizes(a.type, a.value) for a in given)


def for_python(argument: CallArgument) -> object:
    """Returns the value to pass to plain Python: the array that a foreign object was converted to, or else what the caller
    passed.
    """
    converted = isinstance(argument.value, np.ndarray) and not isinstance(argument.original, (np.ndarray, list, tuple))
    return argument.value if converted else argument.original


def originals(result: object, given: tuple[CallArgument, ...]) -> object:
    """Returns a result in which each array that is an argument is replaced by the object that the caller passed for it."""
    if isinstance(result, tuple):
        return tuple(originals(part, given) for part in result)
    return next((a.original for a in given if a.value is result), result)
