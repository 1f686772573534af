"""Temporaries: NumPy computes the whole right side before it stores, which some loops over elements need a temporary for.

        P[:] = np.minimum(P, P[:, k, None] + P[k])    ->    a[:] = P[:, k];  b[:] = P[k];  P[i, j] = min(P[i, j], a[i] + b[j])

Where all that would be overwritten too soon has fewer dimensions than what is stored, it is copied; else the whole right side is
computed in an array of its own first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence, Set

from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.loop_builder import LoopBuilder
from polyml.frontend.arrays.shapes import Extent, Linear
from polyml.frontend.arrays.tested_indices import Requirements
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.syntax import Expr


def overwritten_reads(
    value: Expr, lvalue: syntax.Subscript, point: Point, shape: tuple[Extent, ...], aliased: Set[str], require: Requirements
) -> list[syntax.Subscript]:
    """Returns the elements that a loop which stores the elements of an array may read after it has overwritten them.

    value: the expression that an iteration evaluates and stores
    lvalue: the element that the iteration stores it to
    point: the loop variables, outermost first, which both expressions use
    shape: the extents of the loops, in the same order
    aliased: arrays that may share memory
    require: is called with conditions under which no others are
    """
    longest = {index: extent.length for index, extent in zip(point, shape)}
    found: list[syntax.Subscript] = []
    for node in traversal.nodes(value):
        if not isinstance(node, syntax.Subscript):
            continue
        if node.array == lvalue.array and node.indices != lvalue.indices:
            read, conditions = _from_start(node)
            if _stored_before(lvalue, read, longest):
                found.append(node)
                continue
            for condition in conditions:
                require(condition, "a subscript that is negative", node.loc)
        if node.array != lvalue.array and {node.array, lvalue.array} <= aliased:
            found.append(node)
    return found


def copied_reads(
    builder: LoopBuilder, value: Expr, read: list[syntax.Subscript], point: Point, shape: Sequence[Extent]
) -> Expr | None:
    """Returns the value with copies of the elements `read`, which are made before the loops over the point; None where one of these
    elements moves with all of the loops, so that the copies would be no smaller than the value.

    point: the loop variables, outermost first, and 0 for a dimension of size 1
    shape: the extents of the loops, in the same order
    """
    loops = {index: extent for index, extent in zip(point, shape) if isinstance(index, syntax.Name)}
    if len(loops) < sum(not isinstance(index, syntax.Const) for index in point):
        return None
    moving = {each: [name for name in loops if name in traversal.nodes(each)] for each in read}
    if any(len(names) == len(loops) for names in moving.values()):
        return None
    copies: dict[Expr, Expr] = {}
    for each, names in moving.items():
        copies[each] = _copy(builder, each, names, tuple(loops[name] for name in names))
    return _replaced(value, copies)


def _copy(builder: LoopBuilder, read: syntax.Subscript, names: Sequence[Expr], shape: tuple[Extent, ...]) -> Expr:
    """Adds loops that copy the elements which `read` is for all values of the loop variables; returns the element of the copy."""
    if not names:
        return builder.held_number(read, read.loc)
    made = Elements(shape, lambda point: _replaced(read, dict(zip(names, point))))
    return builder.memory(made, "_held", read.loc).at(tuple(names))


def _replaced(value: Expr, parts: Mapping[Expr, Expr]) -> Expr:
    """Returns the value with some of its parts replaced."""
    if value in parts:
        return parts[value]
    operands = traversal.operands(value)
    return traversal.with_operands(value, tuple(_replaced(part, parts) for part in operands)) if operands else value


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
