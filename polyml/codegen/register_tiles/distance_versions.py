"""Versions of a nest for ranges of the distance at which its iterations depend on each other, where that is known in a call only.

    for i: A[i] = A[i - d]*0.5 + 1     ->      if d >= 16:             for i: ...    (may have lanes)
                                               if d <= 0:              for i: ...    (may have lanes)
                                               if d >= 1 and d <= 15:  for i: ...    (in its order)

Which lanes a version may have is left to the exact tests, which know the condition around it. (Run-time tests of dependences: Byler,
Davies, Huson, Leasure and Wolfe, "Multiple version loops", ICPP 1987.)
"""

from __future__ import annotations

from itertools import combinations_with_replacement

from polyml.codegen.analysis.loop_nest import LoopNest, NestAccess
from polyml.quasi_affine.affine import Affine, Condition, conjunction, negate, non_negative

DISTANCES_LIMIT = 3  # the most distances that a version asks for: each is a test, and few calls have all of them far


def versions(nest: LoopNest, far: int) -> tuple[Condition, ...]:
    """Returns conditions of which exactly one holds, one for each version of a nest: that all distances which are known in a call
    only are at least `far` iterations, that none is positive, and that neither is so; () where there is no such distance.
    """
    found = distances(nest)
    if not 0 < len(found) <= DISTANCES_LIMIT:
        return ()
    apart = conjunction(*(non_negative(distance - far) for distance in found))
    ahead = conjunction(*(non_negative(-distance) for distance in found))
    return apart, ahead, conjunction(negate(apart), negate(ahead))


def distances(nest: LoopNest) -> tuple[Affine, ...]:
    """Returns the distances, in iterations of the innermost loop, from a write to another access of the same element, as far as they
    are expressions that are no constants and have no variable of the nest.
    """
    pairs = (sorted(pair, key=lambda access: not access.writes) for pair in combinations_with_replacement(nest.accesses(), 2))
    found = (_distance(nest, write, other) for write, other in pairs if write.writes and write.array == other.array)
    return tuple(dict.fromkeys(distance for distance in found if distance is not None and not distance.is_constant))


def _distance(nest: LoopNest, write: NestAccess, other: NestAccess) -> Affine | None:
    """Returns how many iterations of the innermost loop after a write another access has its element; None where that is no
    expression without variables of the nest.
    """
    inside, innermost = {loop.var for loop in nest.chain}, nest.chain[-1].var
    for written, read in zip(write.subscripts, other.subscripts):
        step = written.coefficient(innermost)
        if step not in (1, -1) or read.coefficient(innermost) != step:
            continue
        distance = (written - read) * step
        if distance.names.isdisjoint(inside):
            return distance
    return None
