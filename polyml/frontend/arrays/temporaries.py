"""NumPy computes the whole right side before it stores: where a loop over the elements needs a temporary for that."""

from __future__ import annotations

import dataclasses
from collections.abc import Set

from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.shapes import Extent
from polyml.frontend.arrays.views import Need, Point, stored_before
from polyml.frontend.syntax import Expr


def needs_temporary(
    value: Expr, place: syntax.Subscript, point: Point, shape: tuple[Extent, ...], aliased: Set[str], need: Need
) -> bool:
    """Whether a loop over the point, element by element, would read what it has stored already.

    aliased: arrays that may be one another. need: of conditions under which the answer is no.
    """
    longest = {index: extent.length for index, extent in zip(point, shape)}
    for node in traversal.nodes(value):
        if not isinstance(node, syntax.Subscript):
            continue
        if node.array == place.array and node.indices != place.indices:
            read, conditions = _from_start(node)
            if stored_before(place, read, longest):
                return True
            for condition in conditions:
                need(condition, "a subscript that is negative", node.loc)
        if node.array != place.array and {node.array, place.array} <= aliased:
            return True
    return False


def _from_start(read: syntax.Subscript) -> tuple[syntax.Subscript, list[Expr]]:
    """The element by subscripts that are not negative, and the conditions under which this is so."""
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
