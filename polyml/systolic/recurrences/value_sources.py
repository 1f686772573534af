"""The classes that `routing` works with: reads of a nest, and the sources from which they get their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import islpy as isl

from polyml.source import Loc
from polyml.systolic.recurrences.spacetime import Vector

RESULT = -1  # in place of a read's number: what the statement computes


ReadKey = tuple[str, int]  # a statement, and which of its reads


@dataclass(frozen=True)
class ValueSource:
    """A ValueSource says from where a read at the point q of the index space gets its value: from the instance at p = q - vector.

    kind: "forwarded" from a read of the instance at p, or "produced" by it.
    statement, read: which read of which statement has the value at p; RESULT for what the statement produces.
    vector: the step from p to q.
    free: whether the value may as well travel from q to p, since both only read it.
    pairs: { p -> q }.
    line: the direction of a wire, along which q = p + vector + n * line for any n; () without a wire.
    """

    kind: str
    statement: str
    read: int
    vector: Vector
    free: bool
    pairs: isl.Map = field(repr=False, compare=False)
    line: Vector = ()


@dataclass(frozen=True)
class RoutedRead:
    """A RoutedRead is a read of a nest's statement S, with where its values are made and used.

    key: the statement's name, and the number of the read.
    array: the array.
    name, text: the array and the access, as the user writes them.
    flow: for each statement T of the nest, { T[j] -> S[i] : T[j] made what S[i] reads }.
    produced: for each statement T of the nest, { T[j] -> p }: the points p of the index space at which instances of S read what
        T[j] made.
    users: { T[j] -> p; element_A[e] -> p }: the points at which each value is read, also those that are in element e of array A
        before the nest runs.
    reuse_directions: steps in the index space along which the access names the same element.
    """

    key: ReadKey
    array: str
    name: str
    text: str
    loc: Loc | None
    flow: Mapping[str, isl.Map]
    produced: Mapping[str, isl.Map]
    users: isl.UnionMap
    reuse_directions: tuple[Vector, ...]


@lru_cache(maxsize=1024)
def shift(vector: Vector) -> isl.Map:
    """Returns { p -> p + vector }, on all points."""
    names = [f"c{k}" for k in range(len(vector))]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(f'{name} + {step}' for name, step in zip(names, vector))}] }}")


def shifted(points: isl.Set, vector: Vector, outer: int = 0) -> isl.Map:
    """Returns { [o, a] -> [o, a + vector] } between these points.

    outer: how many coordinates o stand before the axes a.
    """
    return shift((*(0 for _ in range(outer)), *vector)).intersect_domain(points).intersect_range(points)
