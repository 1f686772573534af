"""What passes on nests did with arrays, found by comparing a nest before a pass with the one after it: for `explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from polyml.model.core.nest import Assign, Nest, Read, assigns
from polyml.model.core.scop import Role
from polyml.source import Loc

STORAGE, JOINED, SYMMETRIC, ALIKE = "storage", "joined", "symmetric", "sizes alike"


@dataclass(frozen=True)
class NestChange:
    """A NestChange is one thing that a pass did.

    kind: STORAGE (an array has no memory of its own any more), JOINED (an assignment went into another one), SYMMETRIC (half of a
        result is copied from the other half), or ALIKE (sizes are taken to be equal)
    """

    kind: str
    text: str


def changes(before: Nest, after: Nest) -> Iterator[NestChange]:
    """Yields what a pass did with arrays; numbers that it put into what uses them are not told."""
    written = Counter(a.array for a in assigns(after.body))
    written.subtract(a.array for a in assigns(before.body))
    takers = {}  # by place in the source: the array that more is assigned to than before
    for a in assigns(after.body):
        if written[a.array] > 0 and a.loc is not None:
            takers[a.loc] = a.array
    read = {name for a in assigns(before.body) for name in a.read_names}
    for name, array in before.arrays.items():
        now = after.arrays.get(name)
        if array.role is not Role.LOCAL or not array.shape or now is not None and now.shape:
            continue
        places = [a.loc for a in assigns(before.body) if a.array == name and a.loc is not None]
        taker = next((takers[loc] for loc in places if loc in takers), None)
        if now is not None:
            how = "one element of it is kept at a time, since the loops over its elements are one loop"
        elif taker is not None:
            how = f"it is {_told(after, taker)} from the start"
        else:
            how = "its elements are computed where they are read" if name in read else "nothing reads it"
        yield NestChange(STORAGE, f"{_told(before, name)}{_line(array.loc)} has no memory: {how}")
    yield from _joined(before, after, set(takers.values()))
    for a in _mirrored(after):
        if written[a.array] > 0 and a not in [*_mirrored(before)]:
            yield NestChange(SYMMETRIC, f"half of {_told(after, a.array)}{_line(a.loc)} is computed, and copied to the other half")
    for relation in after.related:
        if relation not in before.related:
            yield NestChange(
                ALIKE, f"the code is for {relation.fact}, which is tested at entry; other calls have code of their own"
            )


def _joined(before: Nest, after: Nest, takers: set[str]) -> Iterator[NestChange]:
    """Yields the assignments to elements that are gone although their array is not.

    takers: the arrays that took the place of others, the copies from which are gone
    """
    places = {a.loc for a in assigns(after.body)}
    for a in assigns(before.body):
        if a.loc is None or a.loc in places or not a.subscripts or a.array in takers or a.array not in after.arrays:
            continue
        if any(a.array in later.read_names for later in assigns(after.body) if later.array == a.array):
            how = "is a part of the next assignment to the same elements"
        else:
            how = "is stored over before anything reads it"
        yield NestChange(JOINED, f"what line {a.loc.line} assigns to {_told(before, a.array)} {how}")


def _mirrored(nest: Nest) -> Iterator[Assign]:
    """Yields the assignments that copy an element of an array to another one of the same array."""
    return (a for a in assigns(nest.body) if isinstance(a.value, Read) and a.value.array == a.array)


def _told(nest: Nest, name: str) -> str:
    """Returns an array's name in the source, or the one that the compiler gave it, without the number of its version."""
    return (nest.arrays[name].source_name or name).partition(".")[0]


def _line(loc: Loc | None) -> str:
    return "" if loc is None else f" (line {loc.line})"
