"""Loops over the elements of a local array become one loop, in which the array is a scalar.

        for x: T[x] = 0                                    for x:
        for x: for k: T[x] += A[x, k] * b[k]      ->           T = 0
        for x: C[x] = C[x] * beta + T[x]                       for k: T += A[x, k] * b[k]
                                                               C[x] = C[x] * beta + T

An array program so becomes the nest that its loops would be, and what is done for scalars is done for it: they live in the element
that they are stored in, or get an element for each iteration of all loops around them. It is correct when each loop over x runs
over the same x, the first one defines every element, nothing else uses the array, and one loop keeps all other dependences.
(Array contraction: Lewis, Lin and Snyder, "The implementation and evaluation of fusion and contraction in array languages", PLDI
1998.)
"""

from __future__ import annotations

from dataclasses import replace

from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import Assign, Nest, Node, Read, Value, map_leaves, same_block, uses, with_block
from polyml.model.core.scop import Role
from polyml.model.nest_passes.elements.element_loops import (
    ElementLoops,
    around,
    assigns_of,
    element_loops,
    in_one_place,
    meeting_place,
    together,
)
from polyml.model.nest_passes.forward_substitution import forward
from polyml.model.nest_passes.inline_arrays import is_heavy


def contracted(nest: Nest, top: IterationContext) -> Nest:
    """Returns the nest with local arrays as scalars wherever the loops that use one can be one loop over its elements.

    It must not be used where arguments may share memory.

    top: the context outside all loops
    """
    contraction = _Contraction(nest)
    body = contraction.block(nest.body, top)
    if not contraction.scalars:
        return nest
    scalars = {name: replace(nest.arrays[name], shape=(), conditional=False) for name in contraction.scalars}
    arrays = {name: scalars.get(name, info) for name, info in nest.arrays.items()}
    return forward(replace(nest, body=body, arrays=arrays))


class _Contraction:
    """A _Contraction makes one loop of those that use a local array, block by block.

    scalars: the arrays that have become scalars
    """

    def __init__(self, nest: Nest) -> None:
        self.scalars: set[str] = set()
        self._arrays = {n for n, a in nest.arrays.items() if a.role is Role.LOCAL and a.shape and not a.pairs}
        self._everywhere = uses(nest.body)

    def block(self, body: tuple[Node, ...], context: IterationContext) -> tuple[Node, ...]:
        """Returns the block with its arrays as scalars where that is correct, inner blocks first.

        context: the loops and guards around the block
        """
        mine = self._arrays & uses(body).keys()
        if not mine:
            return body
        nodes = [node if isinstance(node, Assign) else self._inner(node, context) for node in body]
        for name in dict.fromkeys(a.array for node in nodes for a in assigns_of(node)):
            if name in mine:
                nodes = self._without(name, nodes, context) or nodes
        return same_block(body, nodes)

    def _inner(self, node: Node, context: IterationContext) -> Node:
        if isinstance(node, Assign):
            return node
        return with_block(node, self.block(node.body, context.inside(node)))

    def _without(self, name: str, nodes: list[Node], context: IterationContext) -> list[Node] | None:
        """Returns the nodes with one loop in place of those that use the array `name`, which is a scalar there; None where that is
        not correct.

        nodes: a block
        context: the loops and guards around it
        """
        places = [place for place, node in enumerate(nodes) if name in node.uses]
        if len(places) < 2 or sum(nodes[place].uses[name] for place in places) != self._everywhere[name]:
            return None
        nests = [element_loops(nodes[place], name) for place in places]
        definition = _definition(nests[0], name)
        if definition is None:
            return None
        is_large = bool(context.iterators) and len(definition.subscripts) > 1
        if len(places) > 2 and (is_large or is_heavy(definition.value)):
            return None  # the scalar would have an element for each iteration of all loops around, or be computed for each use
        inside, where = together(nests, name, context), meeting_place(nodes, places)
        if inside is None or where is None or nests[-1] is None:
            return None
        self.scalars.add(name)
        made = tuple(_as_scalar(node, name) for part in inside for node in part)
        return in_one_place(nodes, places, where, around(nests[-1].elements, made))


def _definition(nest: ElementLoops | None, name: str) -> Assign | None:
    """Returns the assignment to every element of the array `name` that a nest is; None where it is something else."""
    only = None if nest is None else nest.only
    if only is None or only.array != name or only.may or any(r.array == name for r in only.reads):
        return None
    return only


def _as_scalar(node: Node, name: str) -> Node:
    """Returns the node with a scalar in place of the array `name`."""
    if not isinstance(node, Assign):
        return replace(node, body=tuple(_as_scalar(inner, name) for inner in node.body))

    def leaf(value: Value) -> Value:
        return replace(value, subscripts=(), inside=True) if isinstance(value, Read) and value.array == name else value

    value = map_leaves(node.value, leaf)
    return replace(node, value=value, subscripts=(), inside=True) if node.array == name else replace(node, value=value)
