"""Calls that are like an earlier one: the same arrays on a device and the same numbers, whose launches are started again without tests.

    jacobi(A, B); jacobi(B, A); jacobi(A, B)   ->   the third call starts what the first one started

What a call starts is a function of addresses, shapes, types and numbers, unless elements are copied from the host or to it, or memory is
taken for the call. So a call that does none of this is recorded under all that it is a function of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any  # arrays of other libraries

import numpy as np

from polyml.runtime.gpu.driver import Queue, Start

_EXACT = (int, bool, str, type(None))  # equal values of one of these types are the same
_ARRAY = ("data", "shape", "typestr", "strides", "stream", "mask")  # what `__cuda_array_interface__` says of an array


@dataclass
class Recording:
    """A Recording notes what a call starts, and whether a like call would start the same.

    launches: the functions that start kernels, with numbers of blocks and arguments.
    is_repeatable: whether nothing but launches depends on the call.
    """

    launches: list[tuple[Start, tuple[int, int, int], list[object]]] = field(default_factory=list)
    is_repeatable: bool = True


@dataclass(frozen=True)
class RecordedCall:
    """A recorded call is a call whose launches may be started again in its queue."""

    queue: Queue
    launches: tuple[tuple[Start, tuple[int, int, int], list[object]], ...]

    def run(self) -> None:
        """Starts the launches. Raises what the driver raises."""
        for start, blocks, arguments in self.launches:
            start(self.queue, blocks, arguments)


def identity(values: Sequence[Any]) -> tuple | None:
    """Returns what calls with these values start is a function of: equal for two calls that start the same. None where the values do
    not tell: some are in memory of the host, or are known by DLPack alone.

    >>> identity([3, True]) == identity([3, 1]), identity([np.zeros(3)]) is None
    (False, True)
    """
    found: list[object] = []
    for value in values:
        kind = type(value)
        if kind in _EXACT:
            found.append((kind, value))
        elif kind is float or isinstance(value, np.generic):
            found.append((kind, np.asarray(value).tobytes()))
        else:
            try:
                facts = value.__cuda_array_interface__
                found.append(tuple(facts.get(name) for name in _ARRAY))
            except Exception:  # a class that is not ours may raise anything; the call itself says what is wrong
                return None
    key = tuple(found)
    try:
        hash(key)
    except TypeError:  # a class that writes shapes as lists, or has a mask
        return None
    return key
