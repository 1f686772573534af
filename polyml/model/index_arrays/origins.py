"""Where an index comes from: elements of index arrays at places that loops around a region decide.

    b[k[i]]                                          an element of k, at i
    data[p] for p in range(ptr[i], ptr[i + 1])       in the segment i of ptr, from ptr[i] to ptr[i + 1]
    y[col[p]]                                        an element of col, at a place in the segment i of ptr
    y[i*size + r] for r in range(size)               in the block i of size elements

Of what is known of the arrays it follows that equal indices have equal origins: an injective array has a number at one place alone, and
the segments of a monotonic one have none in common. Blocks never have. So an origin is a function of the index, an uninterpreted one (Pugh and Wonnacott,
"Nonlinear array dependence analysis", LCR 1995), and two accesses to one element of an array agree in it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import islpy as isl

from polyml.quasi_affine.affine import Affine

INJECTIVE, MONOTONIC, WITHIN = "injective", "monotonic", "within"
BLOCK = "block"
_NEEDED = {"element": INJECTIVE, "segment": MONOTONIC}
_FROM, _BELOW = "{ [x] -> [r] : r >= x }", "{ [x] -> [r] : r < x }"


@dataclass(frozen=True)
class IndexFact:
    """An IndexFact is what is known of an index array that the kernel does not change.

    kind: INJECTIVE or MONOTONIC, neither with negative numbers, or WITHIN
    array: its name in the nest
    low, high: WITHIN which range its numbers are; None for another kind
    """

    kind: str
    array: str
    low: Affine | None = None
    high: Affine | None = None


@dataclass(frozen=True)
class Step:
    """A Step says how an index comes from the place in an index array: kind "element", it is the element there, or "segment", it is at
    least that element and less than the next one. Kind BLOCK: the index is in the block of this number.

    array: its name in the nest; of a block, its size, as text
    """

    kind: str
    array: str

    @property
    def needed(self) -> IndexFact | None:
        """Returns what has to be known for the place to follow from the index; None for nothing."""
        return None if self.kind == BLOCK else IndexFact(_NEEDED[self.kind], self.array)


@dataclass(frozen=True)
class Origin:
    """An Origin is where an index comes from.

    steps: from the index to the place, the first one being the array that the index is taken from
    places: by dimension of the last array, the first place and the one behind the last one
    """

    steps: tuple[Step, ...]
    places: tuple[tuple[Affine, Affine], ...]

    @property
    def is_one(self) -> bool:
        """Returns whether it is a single place."""
        return all(high - low == Affine(1) for low, high in self.places)


@dataclass(frozen=True)
class Traced:
    """A Traced is an access's index in one dimension with its origin.

    dim: the dimension
    steps: those of the Origin
    places: { S[i] -> [r] }, the places
    """

    dim: int
    steps: tuple[Step, ...]
    places: isl.Map

    @property
    def key(self) -> tuple[int, tuple[Step, ...]]:
        """Returns what two accesses to one array have in common where their origins may be compared."""
        return self.dim, self.steps

    def holds(self, facts: Collection[IndexFact]) -> bool:
        """Returns whether the origin follows from the index. facts: what is known"""
        return all(step.needed is None or step.needed in facts for step in self.steps)


def between(low: isl.PwAff, high: isl.PwAff) -> isl.Map:
    """Returns { S[i] -> [r] : low(i) <= r < high(i) }."""
    return isl.Map.from_pw_aff(low).apply_range(isl.Map(_FROM)).intersect(isl.Map.from_pw_aff(high).apply_range(isl.Map(_BELOW)))
