"""Temporaries: NumPy computes the whole right side before it stores, which some loops over elements need a temporary for."""

from __future__ import annotations

import dataclasses
from collections.abc import Set

from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.shapes import Extent
from polyml.frontend.arrays.views import Point, Requires, stored_before
from polyml.frontend.syntax import Expr


def needs_temporary(
    value: Expr, lvalue: syntax.Subscript, point: Point, shape: tuple[Extent, ...], aliased: Set[str], require: Requires
) -> bool:
    """Returns whether a loop over the elements would read what it has stored already.

    value: the element that is stored, at the point
    lvalue: the element that it is stored to
    point: the loop variables, outermost first
    aliased: arrays that may be one another
    require: takes conditions under which the answer is no
    """
    longest = {index: extent.length for index, extent in zip(point, shape)}
    for node in traversal.nodes(value):
        if not isinstance(node, syntax.Subscript):
            continue
        if node.array == lvalue.array and node.indices != lvalue.indices:
            read, conditions = _from_start(node)
            if stored_before(lvalue, read, longest):
                return True
            for condition in conditions:
                require(condition, "a subscript that is negative", node.loc)
        if node.array != lvalue.array and {node.array, lvalue.array} <= aliased:
            return True
    return False


def _from_start(read: syntax.Subscript) -> tuple[syntax.Subscript, list[Expr]]:
    """Returns the element by subscripts that are not negative, and the conditions under which this is so."""
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
