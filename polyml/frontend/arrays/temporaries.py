"""Temporaries: NumPy computes the whole right side before it stores, which some loops over elements need a temporary for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set

from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.shapes import Extent, Linear
from polyml.frontend.arrays.views import Point, Requires
from polyml.frontend.syntax import Expr


def needs_temporary(
    value: Expr, lvalue: syntax.Subscript, point: Point, shape: tuple[Extent, ...], aliased: Set[str], require: Requires
) -> bool:
    """Returns whether a loop that stores the elements of an array would read some that it has overwritten, so that it needs a
    temporary.

    value: the expression that an iteration evaluates and stores
    lvalue: the element that the iteration stores it to
    point: the loop variables, outermost first, which both expressions use
    shape: the extents of the loops, in the same order
    aliased: arrays that may share memory
    require: is called with conditions under which the answer is False
    """
    longest = {index: extent.length for index, extent in zip(point, shape)}
    for node in traversal.nodes(value):
        if not isinstance(node, syntax.Subscript):
            continue
        if node.array == lvalue.array and node.indices != lvalue.indices:
            read, conditions = _from_start(node)
            if _stored_before(lvalue, read, longest):
                return True
            for condition in conditions:
                require(condition, "a subscript that is negative", node.loc)
        if node.array != lvalue.array and {node.array, lvalue.array} <= aliased:
            return True
    return False


def _from_start(read: syntax.Subscript) -> tuple[syntax.Subscript, list[Expr]]:
    """Returns a read element with subscripts counted from the start of its array, and the conditions under which this is right.

    A negative constant is added to the array's size; other subscripts stay, under the condition that they are not negative.
    """
    if read.inside:
        return read, []
    indices: list[Expr] = []
    conditions: list[Expr] = []
    for dim, index in enumerate(read.indices):
        if not isinstance(index, syntax.Const):
            conditions.append(syntax.Compare(">=", index, syntax.Const(0)))
        elif index.value < 0:
            index = syntax.Binary("+", syntax.Shape(read.array, dim), index)
        indices.append(index)
    return dataclasses.replace(read, indices=tuple(indices)), conditions


def _stored_before(lvalue: syntax.Subscript, read: syntax.Subscript, longest: Mapping[Expr, Linear]) -> bool:
    """Returns whether a loop may read an element that it has stored to in an earlier iteration.

    lvalue: the element that an iteration stores to
    read: an element of the same array that an iteration reads
    longest: the loop variables, outermost first, each with the number that it stays below
    """
    later_by: dict[Expr, int] = {}  # for each loop variable, how much larger it is when the element that is read is stored to
    for own, other in zip(lvalue.indices, read.indices):
        here, there = Linear.of(own), Linear.of(other)
        if _is_above(here, there, longest) or _is_above(there, here, longest):
            return False
        distance, moving = there - here, [(atom, c) for atom, c in here.terms if atom in longest]
        if not distance.is_constant or len(moving) > 1:
            return True
        if not moving:
            if distance.constant:
                return False
            continue
        atom, step = moving[0]
        if distance.constant % step or later_by.get(atom, distance.constant // step) != distance.constant // step:
            return False
        later_by[atom] = distance.constant // step
    first = next((later_by[atom] for atom in longest if later_by.get(atom)), 0)
    return first < 0


def _is_above(one: Linear, other: Linear, longest: Mapping[Expr, Linear]) -> bool:
    """Returns whether index `one` in any iteration is certainly larger than index `other` in any iteration.

    longest: each loop variable with the number that it stays below
    """
    low, high = (_extreme(one, longest, False), _extreme(other, longest, True))
    gap = low - high
    return gap.is_constant and gap.constant > 0


def _extreme(index: Linear, longest: Mapping[Expr, Linear], most: bool) -> Linear:
    """Returns the largest value of an index over all iterations if `most`, else the smallest.

    longest: each loop variable with the number that it stays below
    """
    total = Linear((), index.constant)
    for atom, c in index.terms:
        if atom not in longest:
            total += Linear(((atom, c),))
        elif (c > 0) is most:
            total += (longest[atom] - 1) * c
    return total
