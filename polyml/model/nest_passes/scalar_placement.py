"""A scalar that is finally stored in an element lives in that element.

        w = A[i, j]                            A[i, j] = A[i, j]      (nothing: left out)
        for k in range(j):                     for k in range(j):
            w -= A[i, k] * A[k, j]      ->         A[i, j] -= A[i, k] * A[k, j]
        A[i, j] = w / A[j, j]                  A[i, j] = A[i, j] / A[j, j]

This removes the false dependences that the one scalar causes between all (i, j), without the memory that expanding it to an array
would take. It is correct when the block always reaches the final assignment, the scalar is dead after it, the types are the same,
and nothing between reads or writes that element otherwise. The same idea for arrays: Bhaskaracharya, Bondhugula and Cohen, "SMO",
POPL 2016.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyml.model.core.call_interface import ScalarResult
from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import Assign, Guard, Loop, Nest, Node, Read, Value, map_leaves, reads, uses
from polyml.model.core.scop import Role
from polyml.quasi_affine import affine as af


def place(nest: Nest, top: IterationContext) -> Nest:
    """Returns the nest with each local scalar replaced, where that is correct, by the array element that it is finally stored in.

    Inner blocks come first. Scalars that are replaced are no longer among the nest's arrays.

    top: the context outside all loops
    """
    results = {r.array for r in nest.results if isinstance(r, ScalarResult)}
    scalars = {n for n, a in nest.arrays.items() if not a.shape and a.role is Role.LOCAL and n not in results}
    if not scalars:
        return nest
    body = _Placer(nest, scalars).block(nest.body, top)
    used = uses(body)
    return replace(nest, body=body, arrays={n: a for n, a in nest.arrays.items() if n in used or n not in scalars})


class _Placer:
    """A _Placer replaces scalars by the array elements that they are finally stored in, block by block."""

    def __init__(self, nest: Nest, scalars: set[str]) -> None:
        self.arrays = nest.arrays
        self.scalars = scalars
        self._everywhere = uses(nest.body)

    def block(self, body: tuple[Node, ...], context: IterationContext) -> tuple[Node, ...]:
        """Returns a block with its scalars replaced by the elements that they are finally stored in, inner blocks first.

        context: the loops and guards around the block
        """
        if self.scalars.isdisjoint(uses(body)):
            return body
        nodes = list(self._inner(body, context))
        for first, node in enumerate(nodes):
            if isinstance(node, Assign) and node.array in self.scalars:
                self._try(nodes, first, context)
        return tuple(nodes)

    def _inner(self, body: tuple[Node, ...], context: IterationContext) -> Iterator[Node]:
        for node in body:
            if isinstance(node, Guard):
                yield replace(node, body=self.block(node.body, context.within(node.condition)))
            elif isinstance(node, Loop):
                yield replace(node, body=self.block(node.body, context.loop(node)))
            else:
                yield node

    def _try(self, nodes: list[Node], first: int, context: IterationContext) -> None:
        """Replaces the scalar that nodes[first] defines by the array element that it is finally stored in, where that is correct.

        It changes `nodes` in place where all of this holds, and else nothing:

        * nodes[first] does not read the scalar, and the last of the nodes that uses it is an assignment that reads it and stores,
          under no condition on data, in an array element of the scalar's type;
        * the scalar is not used before nodes[first] or outside the block;
        * there is a loop between the two assignments (else nothing is gained);
        * neither what is between them nor the last one's value reads or writes that element.

        nodes: a block
        context: the loops and guards around it
        """
        definition = nodes[first]
        if not isinstance(definition, Assign):
            return
        name = definition.array
        places = [k for k in range(first + 1, len(nodes)) if name in nodes[k].uses]
        if name in definition.read_names or not places:
            return
        final = nodes[places[-1]]
        if not isinstance(final, Assign) or name not in final.read_names or final.may or not final.subscripts:
            return
        if self.arrays[final.array].element != self.arrays[name].element or self._is_used_elsewhere(nodes, first, name):
            return
        between = nodes[first + 1 : places[-1]]
        if not any(isinstance(node, Loop) for node in between):
            return
        if not all(never_touches(node, final, context) for node in between):
            return
        if not _reads_never_touch(final.value, final, context):
            return
        for k in range(first, places[-1] + 1):
            nodes[k] = in_element(nodes[k], name, final)

    def _is_used_elsewhere(self, nodes: list[Node], first: int, name: str) -> bool:
        """Returns whether an assignment of the nest that is not in nodes[first:] mentions the scalar."""
        return uses(nodes[first:])[name] != self._everywhere[name]


def never_touches(node: Node, final: Assign, context: IterationContext) -> bool:
    """Returns whether a node never reads or writes the element that `final` writes, in the same iteration of the loops around.

    context: the loops and guards around the node
    """
    if not isinstance(node, Assign):
        return all(never_touches(n, final, context.inside(node)) for n in node.body)
    if node.array == final.array and not differ(node.subscripts, final.subscripts, context):
        return False
    return _reads_never_touch(node.value, final, context)


def _reads_never_touch(value: Value, final: Assign, context: IterationContext) -> bool:
    """Returns whether a value never reads the element that `final` writes in the same iteration of the loops around both."""
    return all(r.array != final.array or differ(r.subscripts, final.subscripts, context) for r in reads(value))


def differ(a: tuple[af.Affine, ...], b: tuple[af.Affine, ...], context: IterationContext) -> bool:
    """Returns whether two elements of one array are proved to be different in every iteration of a context.

    The result is False where a subscript may be negative, since it then counts from the end.

    a, b: the subscripts of the elements
    """
    if not all(context.is_never_negative(subscript) for subscript in (*a, *b)):
        return False
    for left, right in zip(a, b):
        if context.is_never_negative(left - right - 1) or context.is_never_negative(right - left - 1):
            return True
    same = context.assumed
    for left, right in zip(a, b):
        same = same.intersect(context.set(af.zero(left - right)))
    return same.is_empty()


def in_element(node: Node, name: str, final: Assign) -> Node:
    """Returns the node with the element that `final` writes in place of the scalar."""
    if not isinstance(node, Assign):
        return replace(node, body=tuple(in_element(inner, name, final) for inner in node.body))

    def leaf(v: Value) -> Value:
        is_scalar = isinstance(v, Read) and v.array == name
        return Read(final.array, final.subscripts, dtype=v.dtype, loc=final.target_loc, inside=final.inside) if is_scalar else v

    value = map_leaves(node.value, leaf)
    if node.array != name:
        return replace(node, value=value)
    where, inside = final.target_loc, final.inside
    return replace(node, value=value, array=final.array, subscripts=final.subscripts, target_loc=where, inside=inside)
