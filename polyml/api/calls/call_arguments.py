"""The arguments of a call: their types, and what Python and the caller get of them."""

from __future__ import annotations

import numpy as np

from polyml.frontend.argument_types import with_sizes
from polyml.frontend.syntax import ArgType
from polyml.runtime.calling.arguments import CallArgument


def types_of(given: tuple[CallArgument, ...]) -> tuple[tuple[ArgType, ...], tuple[str, ...]]:
    return tuple(a.type for a in given), tuple(a.layout for a in given if a.layout)


def exact_types(given: tuple[CallArgument, ...]) -> tuple[ArgType, ...]:
    """The types with all sizes and ints."""
    return tuple(with_sizes(a.type, a.value) for a in given)


def for_python(argument: CallArgument) -> object:
    """What py_func gets: foreign objects that were converted as arrays, all else as it came."""
    converted = isinstance(argument.value, np.ndarray) and not isinstance(argument.original, (np.ndarray, list, tuple))
    return argument.value if converted else argument.original


def originals(result: object, given: tuple[CallArgument, ...]) -> object:
    """The result with arrays that stand for an argument replaced by the argument as the caller passed it."""
    if isinstance(result, tuple):
        return tuple(originals(part, given) for part in result)
    return next((a.original for a in given if a.value is result), result)
