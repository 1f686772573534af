"""Loops that store what a condition selects, one behind the other, and count it.

x[x > 0]    ->    count = 0
                  for p in range(x.shape[0]):
                      chosen[count] = x[p]
                      if x[p] > 0: count += 1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyml.dtypes import DType
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.loop_builder import LoopBuilder
from polyml.frontend.arrays.selecting import rooms
from polyml.frontend.arrays.shapes import Extent, Linear
from polyml.frontend.arrays.views import Elements, Point, any_point, is_truth
from polyml.frontend.syntax import Expr
from polyml.source import Loc


@dataclass(frozen=True)
class Selection:
    """A Selection is the elements of an array that are not zero, in the order of rows, which are being counted.

    count: the number of those before the point where a statement stands, and of all of them behind the loops
    extent: that of a dimension that has an element for each of them
    """

    array: Elements
    count: syntax.Name
    extent: Extent

    def collect(
        self, builder: LoopBuilder, stores: Callable[[Point], Sequence[tuple[syntax.Subscript, Expr]]], loc: Loc | None
    ) -> None:
        """Adds the loops that store something for each of the elements.

        stores: gives for a point the places at which something is stored, whose first subscript is `count`, and what that is
        """
        array, count = self.array, self.count

        def body(point: Point) -> list[syntax.Stmt]:
            part = array.at(point)
            holds = part if is_truth(part, builder.truths) else syntax.Compare("!=", part, syntax.Const(0))
            more = syntax.Assign(count, syntax.Binary("+", count, syntax.Const(1)), loc=loc)
            made: list[syntax.Stmt] = [syntax.Assign(place, value, whole=True, loc=loc) for place, value in stores(point)]
            return [*made, syntax.If(holds, (more,), loc=loc)]

        builder.out.append(syntax.Assign(count, syntax.Const(0), loc=loc))
        builder.loops(array.shape, body, loc)

    def vector(self, builder: LoopBuilder, element: syntax.TypeOf | DType, loc: Loc | None) -> Elements:
        """Returns a new vector with an element for each of the elements, which gets no values yet."""
        return builder.allocated("_chosen", (self.extent,), element, None, loc)


def selection(builder: LoopBuilder, array: Elements) -> Selection:
    """Returns the selection of what is not zero in an array. Of the same truth values it is as large as before."""
    count = syntax.Name(builder.fresh("_count"))
    most = [rooms.room(extent, builder.counts) for extent in array.shape]
    known = [extent.expr for extent in most if extent is not None]
    builder.counts[count.name] = Linear.of(rooms.product(known)) if len(known) == len(most) else None
    made, key = Extent(Linear.of(count), True), _key(builder, array)
    return Selection(array, count, made if key is None else builder.selections.setdefault(key, made))


def _key(builder: LoopBuilder, array: Elements) -> tuple | None:
    """Returns what says which elements are selected, as long as no array changes that it reads; None where it reads numbers that may change."""
    point = any_point(array.rank)
    element = array.at(point)
    names = {node.name for node in traversal.nodes(element) if isinstance(node, syntax.Name) and node not in point}
    if not all(builder.is_fixed(name) for name in names):
        return None
    return element, tuple(extent.length for extent in array.shape)
