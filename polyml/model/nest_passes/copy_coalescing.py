"""A local array that is only copied to another array is that other array from the start.

        for i: T[i] = 0                                      for i: C[i] = 0
        for i, k: T[i] = T[i] + A[i, k]        ->            for i, k: C[i] = C[i] + A[i, k]
        for i: C[i] = T[i]

The copy is of all of T to the same elements of C, and nothing touches C while T is in use. (Copy coalescing, known from
registers: Chaitin, "Register allocation and spilling via graph coloring", SIGPLAN 1982.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyml.model.core.nest import Assign, Guard, Loop, Nest, Node, Read, Value, assigns, map_leaves, reads, touched, with_body
from polyml.model.core.scop import Role
from polyml.model.nest_passes.inline_arrays import covers
from polyml.quasi_affine import affine as af


def coalesce(nest: Nest) -> Nest:
    """Returns the nest in which local arrays that are only copied to another array are that other array from the start.

    It must not be used where arguments may share memory.
    """
    return with_body(nest, _block(nest.body, nest, False))


@dataclass(frozen=True)
class _ArrayCopy:
    """An _ArrayCopy is a copy of all elements of the array `source` to the same elements of `target`."""

    source: str
    target: str


def _block(body: tuple[Node, ...], nest: Nest, in_loop: bool) -> tuple[Node, ...]:
    nodes = [node if isinstance(node, Assign) else _inside(node, nest, in_loop) for node in body]
    changed = any(a is not b for a, b in zip(nodes, body))
    for node in list(nodes):
        copy, position = _copy(node, nest), nodes.index(node)
        if copy is not None and _is_free(copy, nodes, position, nest, in_loop):
            nodes = [_renamed(n, copy) for n in nodes[:position]] + nodes[position + 1 :]
            changed = True
    return tuple(nodes) if changed else body


def _inside(node: Loop | Guard, nest: Nest, in_loop: bool) -> Node:
    body = _block(node.body, nest, in_loop or isinstance(node, Loop))
    return node if body is node.body else replace(node, body=body)


def _copy(node: Node, nest: Nest) -> _ArrayCopy | None:
    """Returns the copy of a whole local array that a node is; None where it is something else."""
    loops: list[Loop] = []
    while isinstance(node, Loop) and len(node.body) == 1:
        loops.append(node)
        node = node.body[0]
    if not isinstance(node, Assign) or not loops or not isinstance(node.value, Read) or node.may:
        return None
    read = node.value
    source, target = nest.arrays[read.array], nest.arrays[node.array]
    if source.role is not Role.LOCAL or source.element != target.element or source.pairs != target.pairs:
        return None
    if not (node.inside and read.inside) or node.subscripts != read.subscripts or read.array == node.array:
        return None
    around = {af.variable(loop.iterator): loop for loop in loops}
    own = [around.pop(s, None) for s in read.subscripts]
    if around or not all(map(covers, own, read.subscripts, source.shape)):
        return None
    return _ArrayCopy(read.array, node.array)


def _is_free(copy: _ArrayCopy, nodes: list[Node], position: int, nest: Nest, in_loop: bool) -> bool:
    """Returns whether the target of a copy can take the place of its source.

    All that uses the source has to stand before the copy, and nothing between its first use and the copy may use the target.

    nodes: the block of the copy, which is at `position`
    in_loop: whether the block is in a loop; then nothing in the nest but the copy may use the target, as the next iteration may
        read what the source still has
    """
    if in_loop and sum(_count(a, copy.target) for a in assigns(nest.body)) > 1:
        return False
    before = [touched((node,)) for node in nodes[:position]]
    everywhere = sum(_count(a, copy.source) for a in assigns(nest.body))
    here = sum(_count(a, copy.source) for node in nodes[: position + 1] for a in assigns((node,)))
    if everywhere != here:
        return False
    first = next((k for k, names in enumerate(before) if copy.source in names), None)
    return first is not None and not any(copy.target in names for names in before[first:])


def _count(assign: Assign, name: str) -> int:
    return (assign.array == name) + sum(read.array == name for read in reads(assign.value))


def _renamed(node: Node, copy: _ArrayCopy) -> Node:
    """Returns the node with the copy's target in place of its source."""
    if copy.source not in touched((node,)):
        return node
    if not isinstance(node, Assign):
        return replace(node, body=tuple(_renamed(inner, copy) for inner in node.body))

    def leaf(value: Value) -> Value:
        return replace(value, array=copy.target) if isinstance(value, Read) and value.array == copy.source else value

    array = copy.target if node.array == copy.source else node.array
    return replace(node, array=array, value=map_leaves(node.value, leaf))
