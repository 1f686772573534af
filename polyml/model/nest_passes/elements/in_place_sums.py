"""A sum that is finally added to an element, or taken from it, is added up in that element.

        s = 0
        for k: s += A[i, k] * x[k]        ->        for k: y[i] -= A[i, k] * x[k]
        y[i] = sqrt(y[i] - s)                       y[i] = sqrt(y[i])

The element is then one more addend of a reduction, which comes first: integers are what they were, and numbers of floating point
may be in another order where `fp` allows it. It is correct when the sum is used for nothing else, its type is that of the element,
and nothing between reads or writes that element. It stays where the element is multiplied or otherwise changed before the sum is
added, since a product of a sum is not the sum of products. (Reductions: Allen and Kennedy, "Optimizing Compilers for Modern Architectures", sec.
5.6; scalars that live in elements: `model.nest_passes.scalar_placement`.)
"""

from __future__ import annotations

from dataclasses import replace

from polyml.frontend import syntax
from polyml.model.core.call_interface import ScalarResult
from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import (
    Assign,
    Integer,
    Loop,
    Nest,
    Node,
    Read,
    Value,
    children,
    reads,
    same_block,
    subvalues,
    uses,
    with_block,
    with_body,
    with_children,
)
from polyml.model.core.scop import Role
from polyml.model.nest_passes.elements.element_loops import assigns_of
from polyml.model.nest_passes.scalar_placement import in_element, never_touches
from polyml.quasi_affine.affine import Affine


def added_in_place(nest: Nest, top: IterationContext, floats: bool) -> Nest:
    """Returns the nest with sums that are finally added to an element added up there.

    It must not be used where arguments may share memory.

    top: the context outside all loops
    floats: whether sums of floating-point numbers may be added up in another order
    """
    results = {r.array for r in nest.results if isinstance(r, ScalarResult)}
    scalars = {
        n
        for n, a in nest.arrays.items()
        if not a.shape
        and a.role is Role.LOCAL
        and n not in results
        and (a.element.kind in "iu" or floats and a.element.kind == "f")
    }
    return with_body(nest, _Sums(nest, scalars).block(nest.body, top)) if scalars else nest


class _Sums:
    """A _Sums adds up sums in the elements that they are added to, block by block.

    scalars: the names of what may be a sum
    """

    def __init__(self, nest: Nest, scalars: set[str]) -> None:
        self._nest, self._scalars = nest, scalars
        self._everywhere = uses(nest.body)

    def block(self, body: tuple[Node, ...], context: IterationContext) -> tuple[Node, ...]:
        """Returns the block with its sums in elements where that is correct, inner blocks first.

        context: the loops and guards around the block
        """
        if not any(a.array in self._scalars for node in body for a in assigns_of(node)):
            return body
        nodes = [self._inside(node, context) for node in body]
        place = 0
        while place < len(nodes):
            made = self._without_sum(place, nodes, context)
            place, nodes = (place + 1, nodes) if made is None else (place, made)
        return same_block(body, nodes)

    def _inside(self, node: Node, context: IterationContext) -> Node:
        if isinstance(node, Assign):
            return node
        return with_block(node, self.block(node.body, context.inside(node)))

    def _without_sum(self, first: int, nodes: list[Node], context: IterationContext) -> list[Node] | None:
        """Returns the nodes with the sum that nodes[first] begins in the element that it is added to; None where it is no such sum.

        nodes: a block
        context: the loops and guards around it
        """
        start = nodes[first]
        if not isinstance(start, Assign) or start.array not in self._scalars or not _is_zero(start.value):
            return None
        name = start.array
        places = [p for p in range(first + 1, len(nodes)) if name in nodes[p].uses]
        last = nodes[places[-1]] if places else start
        if not isinstance(last, Assign) or uses(nodes[first:])[name] != self._everywhere[name]:
            return None
        joined = None if not last.subscripts or last.may else _joined(last, name)
        if joined is None:
            return None
        if self._nest.arrays[last.array].element != self._nest.arrays[name].element:
            return None
        between = nodes[first + 1 : places[-1]]
        if not any(isinstance(node, Loop) for node in between) or not all(_only_adds_to(node, name) for node in between):
            return None
        if not all(never_touches(node, last, context) for node in between):
            return None
        between = [_negated(node, name) for node in between] if joined.op == "-" else between
        moved = [in_element(node, name, last) for node in between]
        left = [] if joined is last.value else [replace(last, value=_with_element(last.value, joined))]
        return [*nodes[:first], *moved, *left, *nodes[places[-1] + 1 :]]


def _is_zero(value: Value) -> bool:
    """Returns whether a value is the constant 0."""
    while isinstance(value, syntax.Cast):
        value = value.operand
    if isinstance(value, Integer):
        return value.affine == Affine(0)
    return isinstance(value, syntax.Const) and not isinstance(value.value, complex) and value.value == 0


def _joined(last: Assign, name: str) -> syntax.Binary | None:
    """Returns the part D[x] + s or D[x] - s of the value that an assignment gives to an element D[x], where s is the scalar `name`
    and no other part reads the scalar or the array D; None where there is no such part.
    """
    if [read.array for read in last.reads if read.array in (last.array, name)] not in (
        [last.array, name],
        [name, last.array],
    ):
        return None
    for value in subvalues(last.value):
        if isinstance(value, syntax.Binary) and value.op in ("+", "-"):
            sides = [side for side in (value.left, value.right) if isinstance(side, Read)]
            own = [side for side in sides if side.array == last.array and side.subscripts == last.subscripts]
            if own and any(side.array == name for side in sides):
                return value if value.op == "+" or own[0] is value.left else None
    return None


def _with_element(value: Value, joined: syntax.Binary) -> Value:
    """Returns the value with the element alone in place of its sum with a scalar."""
    if value is joined:
        return joined.left if isinstance(joined.left, Read) and joined.left.subscripts else joined.right
    return with_children(value, tuple(_with_element(operand, joined) for operand in children(value)))


def _negated(node: Node, name: str) -> Node:
    """Returns a node that only adds to the scalar `name`, with each value subtracted that is added, and added that is subtracted."""
    if not isinstance(node, Assign):
        return replace(node, body=tuple(_negated(inner, name) for inner in node.body))
    if node.array != name or not isinstance(node.value, syntax.Binary):
        return node
    value = node.value
    scalar, other = (value.left, value.right) if _reads(value.left, name) else (value.right, value.left)
    return replace(node, value=replace(value, op="+" if value.op == "-" else "-", left=scalar, right=other))


def _only_adds_to(node: Node, name: str) -> bool:
    """Returns whether all that a node does with the scalar `name` is to add to it: `s = s + value`, or `s = s - value`."""
    return all(_is_addition(a, name) for a in assigns_of(node) if a.array == name or _reads(a.value, name))


def _is_addition(assign: Assign, name: str) -> bool:
    value = assign.value
    if assign.array != name or assign.may or not isinstance(value, syntax.Binary) or value.op not in ("+", "-"):
        return False
    mine = isinstance(value.left, Read) and value.left.array == name
    if mine:
        return not _reads(value.right, name)
    return value.op == "+" and isinstance(value.right, Read) and value.right.array == name and not _reads(value.left, name)


def _reads(value: Value, name: str) -> bool:
    return any(read.array == name for read in reads(value))
