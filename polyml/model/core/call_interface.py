"""What a caller knows of a kernel besides its arguments: symbolic sizes and results. Free of isl, so that a kernel from
the disk cache runs without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from polyml.dtypes import DType


class Status(IntEnum):
    """What a kernel answers, if it is not 0 or the number of a check at entry: eight bits."""

    OUT_OF_MEMORY = -1
    LEFT_64_BITS = -2  # a Python int
    NOT_A_NUMBER = -3  # became an integer
    TOO_LARGE_A_FLOAT = -4  # became an integer
    DOES_NOT_FIT = -5  # a Python int in the type of an element
    TOO_LARGE_AN_ARRAY = -6  # for any memory
    TOO_GREAT_A_SIZE = -7  # of an argument, for loops in 64 bits
    TOO_LARGE_TO_SPARE = -8  # is an array that the kernel does without: to go through what would be its elements takes very long


PYTHON_DECIDES = frozenset({Status.TOO_GREAT_A_SIZE, Status.TOO_LARGE_TO_SPARE})


@dataclass(frozen=True)
class Parameter:
    """A symbolic integer. array and dim: `array.shape[dim]` of the argument `array`; array None: a number argument.

    argument: the parameter of the call it is read from. It differs from an integer argument's `name` only where the
    user's is no C identifier. Of a truth value the parameter is 0 or 1. extreme: "min" or "max", the least or the greatest
    element of the integer array instead of a size; EXTREMES_OF_NOTHING where it has no elements.
    """

    name: str
    array: str | None = None
    dim: int = 0
    argument: str = ""
    extreme: str = ""

    @property
    def is_size(self) -> bool:
        return self.array is not None and not self.extreme


EXTREMES_OF_NOTHING = {"min": 2**62, "max": -(2**62)}  # adding a size to them stays within 64 bits


def extreme(array, which: str) -> int:
    """The value of a parameter that is an extreme of the array; 2**63 - 1 where it is greater than that."""
    found = getattr(array, which)() if array.size else EXTREMES_OF_NOTHING[which]
    return min(int(found), 2**63 - 1)


def value(parameter: Parameter, arguments: Mapping[str, Any]) -> int:
    """The parameter in a call. arguments: by the names of the kernel's parameters, of any type that has the shape or the number."""
    if parameter.array is None:
        return int(arguments[parameter.argument or parameter.name])
    array = arguments[parameter.array]
    return extreme(array, parameter.extreme) if parameter.extreme else array.shape[parameter.dim]


def number(name: str, arguments: Mapping[str, object]) -> object:
    """The number argument called `name`, or with "z.imag" a part of one that is complex."""
    argument, _, part = name.partition(".")
    return getattr(arguments[argument], part) if part else arguments[argument]


@dataclass(frozen=True)
class ScalarResult:
    """A returned number, the element of the scalar array `array`: Python's own where `dtype` is weak, else NumPy's.

    whole: the type of the complex number of which this and its neighbour are the parts, the real one first; Python's own
    where `dtype` is weak.
    """

    array: str
    dtype: DType
    whole: DType | None = None


@dataclass(frozen=True)
class ArrayResult:
    """A returned array: an argument (the same object comes back) or a RESULT array."""

    array: str


def returned(results: Sequence[ScalarResult | ArrayResult]) -> Iterator[tuple[ScalarResult | ArrayResult, ...]]:
    """The results that each returned value is made of: one, or the two parts of a complex number."""
    rest = iter(results)
    for result in rest:
        is_part = isinstance(result, ScalarResult) and result.whole is not None
        yield (result, next(rest)) if is_part else (result,)
