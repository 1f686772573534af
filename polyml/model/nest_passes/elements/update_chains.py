"""Updates of the same elements, one after the other, become one update.

        for j: C[i, j] = C[i, j] * beta                   for j:
        for j:                                                s = 0
            s = 0                                   ->        for k: s += A[i, k] * B[k, j]
            for k: s += A[i, k] * B[k, j]                     C[i, j] = C[i, j] * beta + s
            C[i, j] = C[i, j] + s

The first one's value takes the place of the element that the second one reads, so that memory is passed over once. It is correct
when both are loops over the same elements, nothing between them uses the array, nothing between writes what the first value reads,
and one loop keeps all other dependences. So do assignments to one element that stand in one block.

        for x: A[i, x+1] = A[i, x+1] + A[i, x+2]          ->          for j: A[i, j] = (A[i, j] + A[i, j+1] + A[i, j-1]) / 9
        for j: A[i, j] = (A[i, j] + A[i, j-1]) / 9

Either may read other elements of the array, too: the first one those that no iteration of the second changes before, the second one
those that no iteration of the first changes later, and in its own iteration only others. (Forward substitution and store elimination:
Allen and Kennedy, "Optimizing Compilers for Modern Architectures", sec. 4.5 and 8.3.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polyml.model.core.evaluation import may_raise
from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import Assign, Nest, Node, Read, map_leaves, same_block, size, with_block, with_body
from polyml.model.nest_passes.elements.element_loops import (
    around,
    assigns_of,
    element_loops,
    in_one_place,
    meeting_place,
    together,
)
from polyml.model.nest_passes.inline_arrays import is_heavy
from polyml.model.nest_passes.scalar_placement import differ

_SIZE_LIMIT = 100  # nodes of the value that results


def joined(nest: Nest, top: IterationContext, floats: bool) -> Nest:
    """Returns the nest with each update of elements as a part of the next update of the same elements, where that is correct.

    It must not be used where arguments may share memory.

    top: the context outside all loops
    floats: whether sums of floats may be taken in another order, so that recurrences of them may have lanes
    """
    return with_body(nest, _Joiner(nest, floats).block(nest.body, top))


@dataclass(frozen=True)
class _Joiner:
    """A _Joiner makes updates of elements of a nest parts of the next updates, block by block."""

    nest: Nest
    floats: bool

    def block(self, body: tuple[Node, ...], context: IterationContext) -> tuple[Node, ...]:
        """Returns a block with its updates joined, inner blocks first.

        context: the loops and guards around the block
        """
        nodes = [self._inside(node, context) for node in body]
        place = 0
        while place < len(nodes):
            made = self._joined_at(place, nodes, context)
            place, nodes = (place + 1, nodes) if made is None else (place, made)
        return same_block(body, nodes)

    def _inside(self, node: Node, context: IterationContext) -> Node:
        if isinstance(node, Assign):
            return node
        return with_block(node, self.block(node.body, context.inside(node)))

    def _joined_at(self, first: int, nodes: list[Node], context: IterationContext) -> list[Node] | None:
        """Returns the nodes with nodes[first], an update of elements, as a part of the next update of the same elements; None
        where that is not correct.

        nodes: a block
        context: the loops and guards around it
        """
        name = next((a.array for a in assigns_of(nodes[first])), "")
        later = next((p for p in range(first + 1, len(nodes)) if name in nodes[p].uses), None)
        if later is None:
            return None
        if isinstance(nodes[first], Assign):
            return self._assigned_once(first, later, nodes, context)
        own, other = (element_loops(nodes[place], name, context) for place in (first, later))
        if own is None or own.only is None or other is None or meeting_place(nodes, [first, later]) != later:
            return None
        inside = together([own, other], name, context)
        if inside is None:
            return None
        for loop in other.elements:
            context = context.loop(loop)
        made = self._with_update(inside[0][0], inside[1], context)
        return None if made is None else in_one_place(nodes, [first, later], later, around(other.elements, made))

    def _assigned_once(self, first: int, last: int, nodes: Sequence[Node], context: IterationContext) -> list[Node] | None:
        """Returns the nodes of a block with the assignment nodes[first] as a part of nodes[last], the next node that uses its array;
        None where that is not another assignment to the same element, or where it is not correct.
        """
        update, later = nodes[first], nodes[last]
        if not (isinstance(update, Assign) and isinstance(later, Assign)) or not update.subscripts:
            return None
        own = [read for read in later.reads if (read.array, read.subscripts) == (update.array, update.subscripts)]
        if (later.array, later.subscripts, len(own)) != (update.array, update.subscripts, 1):
            return None
        made = self._with_update(update, nodes[first + 1 : last + 1], context)
        return None if made is None else [*nodes[:first], *made, *nodes[last + 1 :]]

    def _with_update(self, update: Node, nodes: Sequence[Node], context: IterationContext) -> tuple[Node, ...] | None:
        """Returns the nodes of a block with `update`, which would stand before them, as a part of the assignment to the same element
        that alone of them uses its array; None where there is no such assignment.

        context: the loops and guards around the block
        """
        if not isinstance(update, Assign):
            return None
        name = update.array
        places = [place for place, node in enumerate(nodes) if name in node.uses]
        last = nodes[places[-1]]
        if len(places) != 1 or not isinstance(last, Assign) or update.may or last.may:
            return None
        if last.array != name or may_raise(update.value) or update.value.dtype != self.nest.arrays[name].element:
            return None
        if {r.array for r in update.reads} & {a.array for node in nodes[: places[0]] for a in assigns_of(node)}:
            return None
        mine = [r for r in last.reads if r.array == name]
        if not any(r.subscripts == last.subscripts for r in mine) and not all(r.inside for r in update.reads):
            return None  # the tests of its subscripts would be gone with it
        others = [r for r in mine if r.subscripts != last.subscripts]
        if others and self._takes_lanes(update, last, context):
            return None
        if not all(differ(r.subscripts, last.subscripts, context) for r in others):
            return None
        value = map_leaves(
            last.value, lambda v: update.value if isinstance(v, Read) and (v.array, v.subscripts) == (name, last.subscripts) else v
        )
        if size(value) > _SIZE_LIMIT:
            return None
        return (*nodes[: places[0]], replace(last, value=value), *nodes[places[0] + 1 :])

    def _takes_lanes(self, update: Assign, last: Assign, context: IterationContext) -> bool:
        """Returns whether an update that a recurrence, `last`, takes in may cost lanes, which are worth more than a pass over memory.

        The recurrence may have them as a scan, but not where the update reads other elements of the same array. Where a loop around
        does all that again with the same elements, several of its iterations run at once, which is as good. An update that takes many
        cycles may have lanes by itself.

        context: the loops and guards around both
        """
        if is_heavy(update.value):
            return True
        if not any(r.array == update.array and r.subscripts != update.subscripts for r in update.reads):
            return False
        may_be_scan = self.floats if self.nest.arrays[last.array].element.is_float else not is_heavy(last.value)
        return may_be_scan and set(context.iterators) <= {name for subscript in last.subscripts for name in subscript.names}
