"""What is made of a local array in another shape is made in the order of that array's own indices.

    for h in range(8): for i in range(512):                        for g in range(2): for r in range(2048):
        C[h, i] = T[(512*h + i) // 2048, (512*h + i) % 2048]   ->      C[4*g + r // 512, r % 512] = T[g, r]

Both nests go through the rows of memory in the same order. But the loops on the right are those of the nests that make T, so that
they can share them; then a strip of T's rows is all that has memory.

Proof. T has as many elements as the nest has points, and each point reads one that is inside of T. An element's number in the order
of rows is that of its point, by which points differ; so each element belongs to one point, whose iterators are the digits of the
number. (Change of variables: Kelly and Pugh, "A unifying framework for iteration reordering transformations", ICAPP 1995.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import gcd, prod
from typing import TypeVar

from polyml.model.core.evaluation import may_raise
from polyml.model.core.nest import (
    Assign,
    Integer,
    Loop,
    Nest,
    Node,
    Read,
    Truth,
    Value,
    assigns,
    iterators,
    map_leaves,
    same_block,
    substituted,
    subvalues,
    with_body,
)
from polyml.model.core.scop import Role
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine, FloorDiv

_Part = tuple[str, int, int]  # an index in a sum: its name, how often it counts, and how many values from 0 on it has
Key = TypeVar("Key")


def in_source_order(nest: Nest) -> Nest:
    """Returns the nest in which what is made of local arrays in other shapes is made in the order of these arrays' indices.

    It must not be used where arguments may share memory.
    """
    names = {*nest.arrays, *(p.name for p in nest.parameters), *iterators(nest.body)}
    read = frozenset(r.array for a in assigns(nest.body) for r in a.reads)

    def block(body: tuple[Node, ...]) -> tuple[Node, ...]:
        return same_block(body, list(map(ordered, body)))

    def ordered(node: Node) -> Node:
        if isinstance(node, Assign):
            return node
        found = _reshape(node, nest, read) if isinstance(node, Loop) else None
        if found is not None:
            return _in_source_order(found, (name for n in count() if (name := f"_r{n}") not in names))
        inside = block(node.body)
        return node if inside is node.body else replace(node, body=inside)

    return with_body(nest, block(nest.body))


@dataclass(frozen=True)
class _Reshape:
    """A _Reshape is a nest that reads each element of a local array once, in the order of rows, and assigns to one of another shape.

    loops: outermost first. source: the array. shape: of the array
    """

    loops: tuple[Loop, ...]
    assign: Assign
    source: str
    shape: tuple[int, ...]

    @property
    def lengths(self) -> dict[str, int]:
        """Returns, by iterator of the loops, how many iterations there are."""
        return {loop.iterator: loop.stop.constant for loop in self.loops}


def _reshape(node: Node, nest: Nest, read: frozenset[str]) -> _Reshape | None:
    """Returns the reshape that a node is; None for any other node. read: the arrays that the nest reads."""
    loops: list[Loop] = []
    while isinstance(node, Loop) and len(node.body) == 1:
        loops.append(node)
        node = node.body[0]
    if not isinstance(node, Assign) or node.may or node.array in read or may_raise(node.value):
        return None
    if any(loop.start != Affine(0) or loop.step != 1 or not loop.stop.is_constant for loop in loops):
        return None
    point = [s for s in node.subscripts if s != Affine(0)]
    if point != [af.variable(loop.iterator) for loop in loops]:
        return None
    lengths = {loop.iterator: loop.stop.constant for loop in loops}
    for found in node.reads:
        shape = _constants(nest.arrays[found.array].shape) if nest.arrays[found.array].role is Role.LOCAL else ()
        subscripts = tuple(_simplified(s, lengths) for s in found.subscripts)
        if all(map(_is_linear, subscripts)) or prod(shape) != prod(lengths.values()) or not prod(shape):
            continue
        index = _digits(lengths, dict(enumerate(shape)))  # of the source's element with the number of the point
        if subscripts == tuple(index.values()):
            made = _Reshape(tuple(loops), node, found.array, shape)
            return made if _is_simple(made, found) else None
    return None


def _constants(shape: Sequence[Affine]) -> tuple[int, ...]:
    """Returns the sizes; () where they are not all known."""
    return tuple(s.constant for s in shape) if all(s.is_constant for s in shape) else ()


def _simplified(e: Affine, lengths: Mapping[str, int]) -> Affine:
    """Returns an expression whose quotients have no variables that do not matter.

    lengths: by variable, how many values from 0 on it has
    """
    total = Affine(e.constant)
    for atom, factor in e.terms:
        value = af.of_atom(atom)
        if isinstance(atom, FloorDiv):
            operand, divisor = _joined(_simplified(atom.operand, lengths), atom.divisor)
            parts = [(name, c, lengths[name]) for name, c in operand.terms if isinstance(name, str) and name in lengths and c > 0]
            is_sum = len(parts) == len(operand.terms) and not operand.constant
            value = _quotient(parts, divisor) if is_sum else af.floor_div(operand, divisor)
        total += value * factor
    return total


def _joined(operand: Affine, divisor: int) -> tuple[Affine, int]:
    """Returns a quotient's operand and divisor without a quotient inside: floor((a + floor(b/c))/d) is floor((a*c + b)/(c*d))."""
    inner = [atom for atom, factor in operand.terms if isinstance(atom, FloorDiv) and factor == 1]
    if len(inner) != 1:
        return operand, divisor
    return (operand - af.of_atom(inner[0])) * inner[0].divisor + inner[0].operand, divisor * inner[0].divisor


def _is_simple(found: _Reshape, read: Read) -> bool:
    """Returns whether all else that the value is made of needs no quotients where the loops are the source's, nor the last subscript
    of what is assigned, along which vectors run.

    read: the one of the source
    """
    digits = _digits({str(d): n for d, n in enumerate(found.shape)}, found.lengths)
    others: set[str] = set()
    for part in subvalues(found.assign.value):
        if isinstance(part, Read) and part != read:
            if part.array == found.source:
                return False
            others |= frozenset().union(*(s.names for s in part.subscripts))
        others |= part.affine.names if isinstance(part, Integer) else part.formula.names if isinstance(part, Truth) else set()
    return all(_is_linear(digits[name]) for name in {*digits} & (others | found.assign.subscripts[-1].names))


def _is_linear(e: Affine) -> bool:
    return all(isinstance(atom, str) for atom, _ in e.terms)


def _digits(lengths: Mapping[str, int], shape: Mapping[Key, int]) -> dict[Key, Affine]:
    """Returns the index, in an array of one shape, of the element whose number in the order of rows is that of a point in another shape.

    lengths: by variable of the point, outermost first, how many values from 0 on it has. shape: by dimension, the array's sizes
    """
    counts, sizes, digits = [*lengths.values()], [*shape.values()], {}
    parts = [(name, prod(counts[d + 1 :]), length) for d, (name, length) in enumerate(lengths.items()) if length > 1]
    for d, (key, length) in enumerate(shape.items()):
        stride = prod(sizes[d + 1 :])
        below = [part for part in parts if part[1] % (stride * length)]  # the others are multiples of what the digit counts up to
        value = _quotient(below, stride)
        digits[key] = value - _quotient(below, stride * length) * length
    return digits


def _quotient(parts: Sequence[_Part], divisor: int) -> Affine:
    """Returns a sum of indices by a number, rounded down, without those indices that do not matter."""
    kept = sorted(parts, key=lambda part: -part[1])
    for n in range(len(kept) + 1):
        unit = gcd(divisor, *(stride for _, stride, _ in kept[:n]))
        if _most(kept[n:]) < unit:  # the rest never reaches the next multiple
            break
    total = sum((af.variable(name) * (stride // unit) for name, stride, _ in kept[:n]), Affine(0))
    return af.floor_div(total, divisor // unit)


def _most(parts: Sequence[_Part]) -> int:
    """Returns the most that a sum of indices is."""
    return sum(stride * (length - 1) for _, stride, length in parts)


def _in_source_order(found: _Reshape, fresh: Iterator[str]) -> Node:
    """Returns the nest with a loop along each dimension of the source. fresh: names for the loops."""
    names = [name for name, _ in zip(fresh, found.shape)]
    digits = _digits(dict(zip(names, found.shape)), found.lengths)

    def leaf(value: Value) -> Value:
        if isinstance(value, Read) and value.array == found.source:
            return replace(value, subscripts=tuple(map(af.variable, names)))
        return substituted(value, digits)

    subscripts = tuple(s.substitute(digits) for s in found.assign.subscripts)
    made: Node = replace(found.assign, subscripts=subscripts, value=map_leaves(found.assign.value, leaf))
    for name, length in reversed([*zip(names, found.shape)]):
        made = Loop(name, Affine(0), Affine(length), 1, (made,), found.loops[0].loc)
    return made
