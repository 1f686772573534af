"""A local array that is used up as another array is made of it, element by element, is that other array from the start.

        for i: T[i] = 0                                      for i: C[i] = 0
        for i, k: T[i] = T[i] + A[i, k]        ->            for i, k: C[i] = C[i] + A[i, k]
        for i: C[i] = max(T[i] + b, 0)                       for i: C[i] = max(C[i] + b, 0)

The last nest assigns all of C's elements at the subscripts of T, reads of T the element there alone, and nothing touches C while T
is in use. Where it only copies, it goes; other nests make a product of matrices their own, which needs memory anyway. (Copy coalescing, known from registers: Chaitin, "Register allocation and spilling via
graph coloring", SIGPLAN 1982; results in the place of an operand are known as in-place updates: Schnorf, Ganapathi and Hennessy,
"Compile-time copy elimination", Software: Practice and Experience 1993.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polyml.model.core.evaluation import may_raise
from polyml.model.core.nest import Assign, Guard, Loop, Nest, Node, Read, Value, map_leaves, uses, with_block, with_body
from polyml.model.core.scop import Role
from polyml.model.nest_passes.inline_arrays import covers
from polyml.quasi_affine import affine as af


def coalesce(nest: Nest) -> Nest:
    """Returns the nest in which local arrays that another array is made of, element by element, are that other array from the start.

    It must not be used where arguments may share memory.
    """
    while (body := _block(nest.body, nest, False)) is not nest.body:
        nest = with_body(nest, body)
    return nest


@dataclass(frozen=True)
class _Takeover:
    """A _Takeover is a nest that assigns to the elements of `target` what it makes of those of `source` at the same subscripts.

    is_copy: whether it assigns them unchanged
    """

    source: str
    target: str
    is_copy: bool


def _block(body: tuple[Node, ...], nest: Nest, in_loop: bool) -> tuple[Node, ...]:
    """Returns the block with its first takeover done; the same object where there is none."""
    for position, node in enumerate(body):
        inside = node if isinstance(node, Assign) else _inside(node, nest, in_loop)
        if inside is not node:
            return (*body[:position], inside, *body[position + 1 :])
        free = (found for found in _takeovers(node, nest) if _is_free(found, body, position, nest, in_loop))
        found = next(free, None)
        if found is not None:
            last = () if found.is_copy else (_renamed(node, found),)
            return (*(_renamed(n, found) for n in body[:position]), *last, *body[position + 1 :])
    return body


def _inside(node: Loop | Guard, nest: Nest, in_loop: bool) -> Node:
    return with_block(node, _block(node.body, nest, in_loop or isinstance(node, Loop)))


def _takeovers(node: Node, nest: Nest) -> Iterator[_Takeover]:
    """Yields the local arrays of whose elements a node makes all that it assigns, at the same subscripts.

    Each of them is copied, or has sums of products (`_is_product`).
    """
    loops: list[Loop] = []
    while isinstance(node, Loop) and len(node.body) == 1:
        loops.append(node)
        node = node.body[0]
    if not isinstance(node, Assign) or not loops or node.may or not node.inside or may_raise(node.value):
        return
    target, found = nest.arrays[node.array], node.reads
    names = dict.fromkeys(read.array for read in found)
    if node.array in names:
        return
    for name in names:
        source, is_copy = nest.arrays[name], isinstance(node.value, Read)
        if source.role is not Role.LOCAL or source.element != target.element or source.pairs != target.pairs:
            continue
        if not all(read.inside and read.subscripts == node.subscripts for read in found if read.array == name):
            continue
        around = {af.variable(loop.iterator): loop for loop in loops}
        own = [around.pop(s, None) for s in node.subscripts]
        if not around and all(map(covers, own, node.subscripts, source.shape)) and (is_copy or _is_product(nest.body, name, ())):
            yield _Takeover(name, node.array, is_copy)


def _is_product(body: tuple[Node, ...], name: str, loops: tuple[str, ...]) -> bool:
    """Returns whether an array has sums of products of matrices: no operand moves with all loops, and no loop is without one.

    Such sums stay in memory while blocks of them are added up; other temporaries may become numbers in registers.

    loops: the iterators of the loops around the body
    """
    for node in body:
        if isinstance(node, Loop) and _is_product(node.body, name, (*loops, node.iterator)):
            return True
        if isinstance(node, Guard) and _is_product(node.body, name, loops):
            return True
        if isinstance(node, Assign) and node.array == name and len(node.subscripts) > 1:
            written = frozenset().union(*(s.names for s in node.subscripts))
            operands = [frozenset().union(*(s.names for s in r.subscripts)) for r in node.reads if r.array != name]
            depth, last = {*loops} - written, node.subscripts[-1].names
            across = any(not last & names and depth & names for names in operands)
            if depth and across and any(last & names and written - last - names and depth & names for names in operands):
                return True
    return False


def _is_free(taken: _Takeover, nodes: Sequence[Node], position: int, nest: Nest, in_loop: bool) -> bool:
    """Returns whether the target of a takeover can take the place of its source.

    All that uses the source has to stand before the takeover, or be it, and nothing between its first use and the takeover may use the
    target.

    nodes: the block of the takeover, which is at `position`
    in_loop: whether the block is in a loop; then nothing in the nest but the takeover may use the target, as the next iteration
        may read what the source still has
    """
    everywhere = uses(nest.body)
    if in_loop and everywhere[taken.target] > 1:
        return False
    if everywhere[taken.source] != uses(nodes[: position + 1])[taken.source]:
        return False
    before = nodes[:position]
    first = next((k for k, node in enumerate(before) if taken.source in node.uses), None)
    return first is not None and not any(taken.target in node.uses for node in before[first:])


def _renamed(node: Node, taken: _Takeover) -> Node:
    """Returns the node with the takeover's target in place of its source."""
    if taken.source not in node.uses:
        return node
    if not isinstance(node, Assign):
        return replace(node, body=tuple(_renamed(inner, taken) for inner in node.body))

    def leaf(value: Value) -> Value:
        return replace(value, array=taken.target) if isinstance(value, Read) and value.array == taken.source else value

    array = taken.target if node.array == taken.source else node.array
    return replace(node, array=array, value=map_leaves(node.value, leaf))
