"""What a caller knows of a kernel besides its arguments: symbolic sizes and results.

It is free of isl, so that a kernel from the disk cache runs without isl.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from typing import Any

from polyml.dtypes import DType
from polyml.source import Loc

ENDLESS = 2**56  # iterations: more than a loop runs in the life of a computer
NEAR = 2  # extents that differ by at most so much are taken to follow from one another


class Status(IntEnum):
    """A Status is a negative number that a kernel returns where it stops early, and says why. It fits eight bits.

    Where a check at entry fails, the kernel returns the check's number instead, which is 1 or more; where all goes well, 0.
    """

    OUT_OF_MEMORY = -1
    LEFT_64_BITS = -2  # a Python int leaves the range of 64 bits
    NOT_A_NUMBER = -3  # a NaN is converted to an integer
    TOO_LARGE_A_FLOAT = -4  # a float that is too large is converted to an integer
    DOES_NOT_FIT = -5  # a Python int does not fit the type of an element
    TOO_LARGE_AN_ARRAY = -6  # an array is larger than any memory
    TOO_GREAT_A_SIZE = -7  # a size of an argument is too great for loops in 64 bits
    TOO_LARGE_TO_SPARE = -8  # an array that the kernel does without has so many elements that to go through them takes very long
    RESTARTED = -9  # an error that plain Python raises: nothing is written yet


FIRST_FAILURE = 2**15  # the lowest 16 bits of a status that tells of an error in a region; the index is in the other bits

LEAST_STATUS = -256  # below it, a status tells of an error in a region, too
TOLD = 2**46  # indices beyond it are told as this one


def failure(status: int) -> tuple[int, int] | None:
    """Returns (number of the place in a region, index) of the error that a status tells of; None for any other status.

    >>> failure((-5 << 16) | FIRST_FAILURE + 2), failure(3), failure(-2)
    ((2, -5), None, None)
    """
    if LEAST_STATUS <= status < FIRST_FAILURE:
        return None
    return (status & 0xFFFF) - FIRST_FAILURE, status >> 16


PYTHON_DECIDES = frozenset({Status.TOO_GREAT_A_SIZE, Status.TOO_LARGE_TO_SPARE})


@dataclass(frozen=True)
class Parameter:
    """A Parameter is a symbolic integer of a call: a size, a number argument, an extreme element of an index array, or where a loop
    ends that data end.

    name: a C identifier
    array: the array whose size or extreme element it is; None for a number argument
    dim: the dimension of `array` whose size it is
    argument: the user's name of the argument that its value is taken from; for a number argument it differs from `name` only where
        it is no C identifier. A truth value counts as 0 or 1.
    extreme: "min" or "max" for the least or greatest element of the integer array `array` (2**62 or -(2**62) where it is empty);
        "" for a size or a number argument
    found: whether it is where a loop ends that data end. No code knows it before: ENDLESS stands for it, which no such loop reaches.
    """

    name: str
    array: str | None = None
    dim: int = 0
    argument: str = ""
    extreme: str = ""
    found: bool = False

    @property
    def is_size(self) -> bool:
        """Returns whether the parameter is a size, `array.shape[dim]`."""
        return self.array is not None and not self.extreme

    @property
    def is_number(self) -> bool:
        """Returns whether the parameter is a number argument."""
        return self.array is None and not self.found


@dataclass(frozen=True)
class SizeRelation:
    """A SizeRelation says how two sizes are related: name.shape[dim] == other.shape[other_dim] + difference."""

    name: str
    dim: int
    other: str
    other_dim: int
    difference: int

    def __str__(self) -> str:
        return f"{self.name}.shape[{self.dim}] == {self.other}.shape[{self.other_dim}] + {self.difference}"

    @property
    def fact(self) -> str:
        """Returns the relation as people read it.

        >>> SizeRelation("B", 0, "A", 1, 0).fact, SizeRelation("B", 0, "A", 1, -2).fact
        ('B.shape[0] == A.shape[1]', 'B.shape[0] == A.shape[1] - 2')
        """
        more = f" {'-' if self.difference < 0 else '+'} {abs(self.difference)}" if self.difference else ""
        return f"{self.name}.shape[{self.dim}] == {self.other}.shape[{self.other_dim}]{more}"

    @staticmethod
    def parse(text: str) -> SizeRelation:
        """Returns the relation that prints as `text`. Raises ValueError where no relation prints so.

        >>> SizeRelation.parse(str(SizeRelation("B", 0, "A", 1, -1)))
        SizeRelation(name='B', dim=0, other='A', other_dim=1, difference=-1)
        """
        found = re.fullmatch(r"(\w+)\.shape\[(\d+)\] == (\w+)\.shape\[(\d+)\] \+ (-?\d+)", text)
        if found is None:
            raise ValueError(text)
        name, dim, other, other_dim, difference = found.groups()
        return SizeRelation(name, int(dim), other, int(other_dim), int(difference))

    def holds(self, extents: Mapping[str, tuple[int, ...]]) -> bool:
        """Returns whether the relation holds for arrays of these extents, by name."""
        return extents[self.name][self.dim] == extents[self.other][self.other_dim] + self.difference


def size_relations(extents: Iterable[tuple[str, int, int]], of_any_dim: bool = False) -> tuple[SizeRelation, ...]:
    """Returns, for each extent that equals an earlier one of the same dimension, or almost does, by how much the two differ.

    Almost: they differ by at most NEAR. An extent is compared, in order, with those earlier ones for which no relation was found.

    extents: (array, dimension, extent).
    of_any_dim: whether extents of different dimensions are compared too.

    >>> size_relations([("A", 0, 100), ("A", 1, 90), ("B", 0, 101), ("B", 1, 50)])
    (SizeRelation(name='B', dim=0, other='A', other_dim=0, difference=1),)
    """
    found: list[SizeRelation] = []
    first: list[tuple[str, int, int]] = []
    for name, dim, extent in extents:
        near = ((n, d, e) for n, d, e in first if (of_any_dim or d == dim) and abs(e - extent) <= NEAR)
        other = next(near, None)
        if other is None:
            first.append((name, dim, extent))
        else:
            found.append(SizeRelation(name, dim, other[0], other[1], extent - other[2]))
    return tuple(found)


EXTREMES_OF_NOTHING = {"min": 2**62, "max": -(2**62)}  # adding a size to them stays within 64 bits


def extreme(array: Any, which: str) -> int:  # a NumPy array, which this module does without
    """Returns the least or greatest element of an integer array; a greater one than 2**63 - 1, of an unsigned type, counts as that.

    The least element of an empty array is taken to be 2**62, the greatest -(2**62).

    which: "min" or "max"
    """
    found = getattr(array, which)() if array.size else EXTREMES_OF_NOTHING[which]
    return min(int(found), 2**63 - 1)


def value(parameter: Parameter, arguments: Mapping[str, Any]) -> int:
    """Returns the value of a parameter in a call.

    arguments: the call's numbers and arrays by the names of the kernel's parameters; where only a size is asked for, anything with
        a `shape` can stand for an array
    """
    if parameter.found:
        return ENDLESS
    if parameter.array is None:
        return int(arguments[parameter.argument or parameter.name])
    array = arguments[parameter.array]
    return extreme(array, parameter.extreme) if parameter.extreme else array.shape[parameter.dim]


def number(name: str, arguments: Mapping[str, object]) -> object:
    """Returns the argument of a call that is a number, by its name; "z.imag" names the imaginary part of the complex argument z.

    arguments: the values of the call by the names of the kernel's parameters
    """
    argument, _, part = name.partition(".")
    return getattr(arguments[argument], part) if part else arguments[argument]


@dataclass(frozen=True)
class Failure:
    """A Failure is a place in a Region at which an instance may end the call with an error.

    kind: "index" (IndexError: an index that no element has), "zero" (ZeroDivisionError: a Python int is divided by zero) or "raise"
        (`raise` or `assert`)
    what: the access or quotient as it is written; the name of the exception that is raised, one of Python's own
    array: the user's name of the array, "" for a quotient
    dim: the dimension that the index is of; the line of a `raise`
    args: what the exception is made of
    """

    kind: str
    what: str
    array: str = ""
    dim: int = 0
    args: tuple[str, ...] = ()
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class ScalarResult:
    """A ScalarResult is a number that a kernel returns, which the kernel stores in the scalar array `array`.

    dtype: its type; where that is weak, as the types of Python's numbers are, the caller gets a Python number, else one of NumPy's
    whole: where the result is one part of a complex number, the type of that number; the real part comes first, the imaginary one
        is the next result. None for any other number
    """

    array: str
    dtype: DType
    whole: DType | None = None


@dataclass(frozen=True)
class ArrayResult:
    """An ArrayResult is an array that a kernel returns: an argument (the same object), or a new one, made for the call.

    sizes: how many of the results behind it are sizes: of each dimension as many elements are returned; 0 where all of the array is
    late: the type of the elements of an array that the kernel has allocated, whose address is the result before the sizes; None for
        any other
    """

    array: str
    sizes: int = 0
    late: DType | None = None


def returned(results: Sequence[ScalarResult | ArrayResult]) -> Iterator[tuple[ScalarResult | ArrayResult, ...]]:
    """Yields for each value that the kernel returns the results that make it up: one, the two parts of a complex number, or an array
    and its sizes.
    """
    rest = iter(results)
    for result in rest:
        more = result.sizes + (result.late is not None) if isinstance(result, ArrayResult) else int(result.whole is not None)
        yield (result, *islice(rest, more))
