"""What the two kinds of entry, native and Python's, have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CellType

from polyml.dtypes import DType
from polyml.frontend.syntax import ArrayType
from polyml.model.core.call_interface import ScalarResult
from polyml.runtime.storage.artifact import Artifact

Entry = Callable[..., object]


class Outcome:
    """An Outcome is what a call of compiled code returns in place of a result, and says why there is none.

    status: the number of the failure, which the kernel returned; None in the Outcome MISS: the code is not for these arguments.
    """

    __slots__ = ("status",)

    def __init__(self, status: int | None):
        self.status = status


MISS = Outcome(None)
ABSENT = object()


@dataclass(frozen=True)
class CaptureGuard:
    """A CaptureGuard watches a name that a function takes from outside, and holds while the name has the same object.

    place: a module's dict, or a closure's cell.
    key: the name.
    expected: the object; the constant ABSENT of this module where the name must have none.
    """

    place: dict | CellType = field(repr=False)
    key: str
    expected: object

    def holds(self) -> bool:
        """Returns whether the name still has the expected object."""
        if isinstance(self.place, dict):
            return self.place.get(self.key, ABSENT) is self.expected
        try:
            return self.place.cell_contents is self.expected
        except ValueError:
            return self.expected is ABSENT


def receivers(artifact: Artifact) -> tuple[DType, ...]:
    """Returns the types of the numbers, not arrays, that the kernel returns, in the order in which it stores them."""
    return tuple(r.dtype for r in artifact.results if isinstance(r, ScalarResult))


def slot_count(artifact: Artifact) -> int:
    """Returns how many 64-bit words a kernel's call passes: for threads, arguments, result arrays and returned numbers."""
    arguments = sum(1 + 2 * t.ndim if isinstance(t, ArrayType) else 1 + t.dtype.is_complex for t in artifact.types)
    results = sum(1 + 2 * len(r.shape) for r in artifact.result_arrays)
    return 1 + arguments + results + len(receivers(artifact))


def pairs(artifact: Artifact) -> tuple[tuple[int, int], ...]:
    """Returns (i, j), i < j, for each two array arguments that must not share memory, since the kernel writes one of them.

    i, j: their positions among the kernel's arguments
    """
    arrays = [i for i, t in enumerate(artifact.types) if isinstance(t, ArrayType)]
    written = {i for i in arrays if artifact.params[i] in artifact.written}
    return tuple((i, j) for i in arrays for j in arrays if i < j and (i in written or j in written))
