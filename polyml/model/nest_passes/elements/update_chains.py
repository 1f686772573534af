"""Updates of the same elements, one after the other, become one update.

        for j: C[i, j] = C[i, j] * beta                   for j:
        for j:                                                s = 0
            s = 0                                   ->        for k: s += A[i, k] * B[k, j]
            for k: s += A[i, k] * B[k, j]                     C[i, j] = C[i, j] * beta + s
            C[i, j] = C[i, j] + s

The first one's value takes the place of the element that the second one reads, so that memory is passed over once. It is correct
when both are loops over the same elements, nothing between them uses the array, nothing between writes what the first value reads,
and one loop keeps all other dependences. So do assignments to one element that stand in one block. (Forward substitution and store elimination: Allen and Kennedy, "Optimizing Compilers for
Modern Architectures", sec. 4.5 and 8.3.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyml.model.core.evaluation import may_raise
from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import Assign, Loop, Nest, Node, Read, map_leaves, reads, size, touched, with_body
from polyml.model.nest_passes.elements.element_loops import (
    around,
    assigns_of,
    element_loops,
    in_one_place,
    meeting_place,
    together,
)

_SIZE_LIMIT = 100  # nodes of the value that results


def joined(nest: Nest, top: IterationContext) -> Nest:
    """Returns the nest with each update of elements as a part of the next update of the same elements, where that is correct.

    It must not be used where arguments may share memory.

    top: the context outside all loops
    """
    return with_body(nest, _block(nest.body, nest, top))


def _block(body: tuple[Node, ...], nest: Nest, context: IterationContext) -> tuple[Node, ...]:
    nodes = [node if isinstance(node, Assign) else _inside(node, nest, context) for node in body]
    place = 0
    while place < len(nodes):
        made = _joined_at(place, nodes, nest, context)
        place, nodes = (place + 1, nodes) if made is None else (place, made)
    return body if len(nodes) == len(body) and all(a is b for a, b in zip(nodes, body)) else tuple(nodes)


def _inside(node: Node, nest: Nest, context: IterationContext) -> Node:
    if isinstance(node, Assign):
        return node
    body = _block(node.body, nest, context.loop(node) if isinstance(node, Loop) else context.within(node.condition))
    return node if body is node.body else replace(node, body=body)


def _joined_at(first: int, nodes: list[Node], nest: Nest, context: IterationContext) -> list[Node] | None:
    """Returns the nodes with nodes[first], an update of elements, as a part of the next update of the same elements; None where that
    is not correct.

    nodes: a block
    context: the loops and guards around it
    """
    name = next((a.array for a in assigns_of(nodes[first])), "")
    later = next((p for p in range(first + 1, len(nodes)) if name in touched((nodes[p],))), None)
    if later is None:
        return None
    if isinstance(nodes[first], Assign):
        return _assigned_once(first, later, nodes, nest)
    own, other = element_loops(nodes[first], name), element_loops(nodes[later], name)
    if own is None or own.only is None or other is None or meeting_place(nodes, [first, later]) != later:
        return None
    inside = together([own, other], name, context)
    made = None if inside is None else _with_update(inside[0][0], inside[1], name, nest)
    return None if made is None else in_one_place(nodes, [first, later], later, around(other.elements, made))


def _assigned_once(first: int, last: int, nodes: Sequence[Node], nest: Nest) -> list[Node] | None:
    """Returns the nodes of a block with the assignment nodes[first] as a part of nodes[last], the next node that uses its array;
    None where that is not another assignment to the same element, or where it is not correct.
    """
    update, later = nodes[first], nodes[last]
    if not (isinstance(update, Assign) and isinstance(later, Assign)) or not update.subscripts:
        return None
    own = [read.subscripts for read in reads(later.value) if read.array == update.array]
    if (later.array, later.subscripts, own) != (update.array, update.subscripts, [update.subscripts]):
        return None
    made = _with_update(update, nodes[first + 1 : last + 1], update.array, nest)
    return None if made is None else [*nodes[:first], *made, *nodes[last + 1 :]]


def _with_update(update: Node, nodes: Sequence[Node], name: str, nest: Nest) -> tuple[Node, ...] | None:
    """Returns the nodes of a block with `update`, which would stand before them, as a part of the assignment to the same element that
    alone of them uses it; None where there is no such assignment.
    """
    places = [place for place, node in enumerate(nodes) if name in touched((node,))]
    last = nodes[places[-1]]
    if len(places) != 1 or not isinstance(update, Assign) or not isinstance(last, Assign) or update.may or last.may:
        return None
    if last.array != name or may_raise(update.value) or update.value.dtype != nest.arrays[name].element:
        return None
    if {r.array for r in reads(update.value)} & {a.array for node in nodes[: places[0]] for a in assigns_of(node)}:
        return None
    value = map_leaves(last.value, lambda v: update.value if isinstance(v, Read) and v.array == name else v)
    if size(value) > _SIZE_LIMIT:
        return None
    return (*nodes[: places[0]], replace(last, value=value), *nodes[places[0] + 1 :])
