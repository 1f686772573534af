"""Of a result that is symmetric one half is computed, and the other half is a copy of it.

        for i: for j:                                   for i: for j in range(i + 1):
            C[i, j] = 0                                     C[i, j] = 0
            for k: C[i, j] += A[k, i] * A[k, j]   ->        for k: C[i, j] += A[k, i] * A[k, j]
                                                        for i: for j in range(i + 1, N):
                                                            C[i, j] = C[j, i]

So `A.T @ A` takes half the work, as a call of BLAS' syrk does. The half below the diagonal is computed, whose rows begin with the array's:
in tiles on the diagonal, vectors of several rows then run together, each up to the end of its own row under a mask. It is correct when two of the loops over elements run over the same
range, what an iteration computes is the same with their iterators exchanged, but for the order of operands of a sum or product,
and it depends on no element of the result that was there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import combinations

from polyml.frontend import syntax
from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import (
    Assign,
    Guard,
    Loop,
    Nest,
    Node,
    Read,
    Value,
    children,
    map_leaves,
    same_block,
    substituted_in,
    with_block,
    with_body,
)
from polyml.model.nest_passes.elements.element_loops import (
    around,
    assigns_of,
    element_loops,
    in_one_place,
    meeting_place,
    together,
)
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine

_COMMUTATIVE = frozenset(("+", "*", "&", "|", "^"))
_EVEN = frozenset(("abs", "absolute", "fabs", "square", "norm"))  # f(-x) = f(x), and x - y is -(y - x) to the last bit


def halved(nest: Nest, top: IterationContext, floats: bool) -> Nest:
    """Returns the nest with one half of each symmetric result computed and the other half copied.

    It must not be used where arguments may share memory.

    top: the context outside all loops
    floats: whether the factors of a product of floating-point numbers may be multiplied in another order
    """
    return with_body(nest, _Halves(nest, floats).block(nest.body, top))


class _Halves:
    """A _Halves finds symmetric results, block by block."""

    def __init__(self, nest: Nest, floats: bool) -> None:
        self._scalars = {n for n, a in nest.arrays.items() if not a.shape}
        self._floats = floats

    def block(self, body: tuple[Node, ...], context: IterationContext) -> tuple[Node, ...]:
        """Returns the block with one half of each symmetric result computed and the other copied, inner blocks first.

        context: the loops and guards around the block
        """
        nodes = [node if isinstance(node, Assign) else self._inside(node, context) for node in body]
        place = 0
        while place < len(nodes):
            made = None if isinstance(nodes[place], Assign) else self._halved_at(place, nodes, context)
            place, nodes = (place + 1, nodes) if made is None else (place + 2, made)
        return same_block(body, nodes)

    def _inside(self, node: Loop | Guard, context: IterationContext) -> Node:
        return with_block(node, self.block(node.body, context.inside(node)))

    def _halved_at(self, first: int, nodes: list[Node], context: IterationContext) -> list[Node] | None:
        """Returns the nodes with a half of the result that nodes[first] begins to compute; None where it begins none.

        nodes: a block
        context: the loops and guards around it
        """
        for name in dict.fromkeys(a.array for a in assigns_of(nodes[first]) if len(a.subscripts) > 1):
            places = [place for place in range(first, len(nodes)) if name in nodes[place].uses]
            for count in range(len(places), 0, -1):
                made = self._half(name, nodes, places[:count], context)
                if made is not None:
                    return made
        return None

    def _half(self, name: str, nodes: list[Node], places: Sequence[int], context: IterationContext) -> list[Node] | None:
        """Returns the nodes with a half of the array `name` computed in place of those at `places`; None where that is not
        correct, or no sum is in them.
        """
        nests = [element_loops(nodes[place], name) for place in places]
        last = nests[-1]
        if last is None or len(last.names) < 2 or not any(_has_loop(nest.inside) for nest in nests if nest):
            return None
        written = {a.array for place in places for a in assigns_of(nodes[place])} - {name}
        if not written <= self._scalars:
            return None
        inside, where = together(nests, name, context), meeting_place(nodes, places)
        if inside is None or where is None:
            return None
        body = tuple(node for part in inside for node in part)
        if not _begins_anew(body, {name, *written}):
            return None
        for a, b in combinations(last.elements, 2):
            if a.start == b.start and a.stop == b.stop and self._is_symmetric(body, name, last.point, (a.iterator, b.iterator)):
                loops = [replace(loop, stop=af.variable(a.iterator) + 1) if loop is b else loop for loop in last.elements]
                half = around(loops, body)
                return in_one_place(nodes, places, where, (*half, _mirror(name, last.point, last.elements, (a, b), body)))
        return None

    def _is_symmetric(self, body: tuple[Node, ...], name: str, point: tuple[Affine, ...], pair: tuple[str, str]) -> bool:
        """Returns whether a block does the same with two iterators exchanged, up to the order of operands of sums and products.

        name, point: the element that it assigns
        """
        swap = {pair[0]: af.variable(pair[1]), pair[1]: af.variable(pair[0])}
        swapped = tuple(s.substitute(swap) for s in point)

        def back(node: Node) -> Node:
            if not isinstance(node, Assign):
                return replace(node, body=tuple(map(back, node.body)))
            own = node.array == name and node.subscripts == swapped
            return replace(node, value=map_leaves(node.value, leaf), subscripts=point if own else node.subscripts)

        def leaf(value: Value) -> Value:
            own = isinstance(value, Read) and value.array == name and value.subscripts == swapped
            return Read(name, point, dtype=value.dtype, loc=value.loc, inside=True) if own else value

        other = tuple(back(substituted_in(node, swap)) for node in body)
        return self._signature_of(body) == self._signature_of(other)

    def _signature_of(self, body: tuple[Node, ...]) -> tuple:
        made: list[tuple] = []
        for node in body:
            if isinstance(node, Assign):
                made.append((node.array, node.subscripts, node.may, self._signature(node.value)))
            elif isinstance(node, Loop):
                made.append((node.iterator, node.start, node.stop, node.step, self._signature_of(node.body)))
            else:
                made.append((node.condition, self._signature_of(node.body)))
        return tuple(made)

    def _signature(self, value: Value) -> tuple:
        """Returns a value as nested tuples, in which the operands of sums and products are in a fixed order."""
        own = tuple((f.name, str(v)) for f in fields(value) if f.compare and not _has_values(v := getattr(value, f.name)))
        operands = tuple(map(self._signature, self._operands(value)))
        if isinstance(value, syntax.Call) and value.function in _EVEN and _is_difference(value.args[0]):
            operands = tuple(sorted(map(self._signature, children(value.args[0])), key=repr))
        elif isinstance(value, syntax.Binary) and value.op in _COMMUTATIVE:
            operands = tuple(sorted(operands, key=repr))
        return (type(value).__name__, own, operands)

    def _operands(self, value: Value) -> tuple[Value, ...]:
        """Returns the operands of a value; of a product whose factors may be multiplied in any order, all its factors."""
        if not isinstance(value, syntax.Binary) or value.op != "*" or not self._floats or value.dtype.kind != "f":
            return children(value)
        parts = (self._operands(v) if _is_product_of(v, value) else (v,) for v in (value.left, value.right))
        return tuple(part for operands in parts for part in operands)


def _is_product_of(value: Value, like: syntax.Binary) -> bool:
    return isinstance(value, syntax.Binary) and value.op == "*" and value.dtype == like.dtype


def _is_difference(value: Value) -> bool:
    return isinstance(value, syntax.Binary) and value.op == "-" and value.dtype.kind in "fi"


def _has_values(part: object) -> bool:
    """Returns whether a field of a value has operands."""
    return isinstance(part, syntax.Expr) or isinstance(part, tuple) and any(isinstance(p, syntax.Expr) for p in part)


def _has_loop(body: Sequence[Node]) -> bool:
    return any(isinstance(node, Loop) or not isinstance(node, Assign) and _has_loop(node.body) for node in body)


def _begins_anew(body: Sequence[Node], names: set[str]) -> bool:
    """Returns whether a block assigns each of the arrays before it reads it, under no condition and in no loop."""
    known: set[str] = set()
    for node in body:
        used = {read.array for a in assigns_of(node) for read in a.reads}
        used |= set() if isinstance(node, Assign) and not node.may else {a.array for a in assigns_of(node)}
        if used & names - known:
            return False
        if isinstance(node, Assign):
            known.add(node.array)
    return True


def _mirror(name: str, point: tuple[Affine, ...], loops: Sequence[Loop], pair: tuple[Loop, Loop], body: Sequence[Node]) -> Node:
    """Returns the nest that copies the elements below the diagonal of the array `name` to those above it.

    point: the element that an iteration of the loops has
    loops: over all elements
    pair: the two loops whose iterators may be exchanged
    body: what they have inside
    """
    like = next(a for node in body for a in assigns_of(node) if a.array == name)
    first, second = pair
    swap = {first.iterator: af.variable(second.iterator), second.iterator: af.variable(first.iterator)}
    there = tuple(s.substitute(swap) for s in point)
    value = Read(name, there, dtype=like.value.dtype, loc=like.loc, inside=True)
    copy = Assign(name, point, value, loc=like.loc, target_loc=like.target_loc, inside=True)
    above = [replace(loop, start=af.variable(first.iterator) + 1) if loop is second else loop for loop in loops]
    return around(above, (copy,))[0]
