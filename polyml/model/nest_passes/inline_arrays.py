"""Arrays that only pass a value on to where it is used leave the nest.

        for i: T[i] = A[i] + 1
        for i: B[i] = T[N - 1 - i] * 2      ->      for i: B[i] = (A[N - 1 - i] + 1) * 2

It is forward substitution, as in `model.nest_passes.forward_substitution`, for local arrays: T is written by one nest that covers
all of it, everything that reads it stands behind that nest in the same block, nothing between writes what the value reads, and
computing the value again is no more work than reading it: each element is read once, or the value is hardly more than a read.
(Array contraction: Lewis, Lin and Snyder, "The implementation and evaluation of fusion and contraction in array languages", PLDI
1998; here the value moves instead of the loops.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from polyml.frontend import syntax
from polyml.model.core.evaluation import may_raise
from polyml.model.core.nest import (
    Assign,
    Guard,
    Integer,
    Loop,
    Nest,
    Node,
    Read,
    Truth,
    Value,
    assigns,
    map_leaves,
    reads,
    size,
    substituted,
    subvalues,
    with_block,
    with_body,
)
from polyml.model.core.scop import Role
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine

_CHEAP_OPERATIONS = 1  # of a value that may be computed several times
_SIZE_LIMIT = 200  # nodes of the value that results


def contract(nest: Nest) -> Nest:
    """Returns the nest without those local arrays that are assigned once: the assigned value is computed again where it is used.

    Arrays stay whose uses do not allow it. It must not be used where arguments may share memory.
    """
    return with_body(nest, _ArrayInliner(nest).block(nest.body))


@dataclass(frozen=True)
class _ArrayDefinition:
    """An _ArrayDefinition is a loop nest that assigns all elements of an array, `array[iterators] = value`.

    iterators: by dimension; None for one of size 1 without a loop
    """

    array: str
    iterators: tuple[str | None, ...]
    value: Value


class _ArrayInliner:
    """An _ArrayInliner substitutes the values of local arrays into their uses, block by block."""

    def __init__(self, nest: Nest) -> None:
        self._arrays = nest.arrays
        self._writes: dict[str, int] = {}
        self._reads: dict[str, int] = {}
        for assign in assigns(nest.body):
            self._writes[assign.array] = self._writes.get(assign.array, 0) + 1
            for name in assign.read_names:
                self._reads[name] = self._reads.get(name, 0) + 1

    def block(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        """Returns the block with its arrays replaced by their values, inner blocks first; the same object where nothing changes."""
        nodes = [n if isinstance(n, Assign) else self._inside(n) for n in body]
        changed = any(a is not b for a, b in zip(nodes, body))
        while self._inlines_any(nodes):  # what had several uses may have one now
            changed = True
        return tuple(nodes) if changed else body

    def _inlines_any(self, nodes: list[Node]) -> bool:
        """Puts the values of all definitions in `nodes` that allow it into the uses of their arrays, and removes these definitions.

        Returns whether there was one.
        """
        before, position = len(nodes), 0
        while position < len(nodes):
            definition = self._definition(nodes[position])
            if definition is None or not self._moved(nodes, position, definition):
                position += 1
        return len(nodes) < before

    def _inside(self, node: Loop | Guard) -> Node:
        return with_block(node, self.block(node.body))

    def _definition(self, node: Node) -> _ArrayDefinition | None:
        """Returns the definition that a node is: loops that assign all elements of a local array. It is None for any other node.

        It is None, too, where something else writes the array, or where the value reads the array itself or may raise.
        """
        loops: list[Loop] = []
        while isinstance(node, Loop) and len(node.body) == 1:
            loops.append(node)
            node = node.body[0]
        if not isinstance(node, Assign) or not loops or node.may or self._writes[node.array] != 1:
            return None
        info, around = self._arrays[node.array], {af.variable(loop.iterator): loop for loop in loops}
        if info.role is not Role.LOCAL:
            return None
        own = [around.pop(s, None) for s in node.subscripts]
        if around or not all(map(covers, own, node.subscripts, info.shape)):
            return None
        if node.array in node.read_names or may_raise(node.value):
            return None
        return _ArrayDefinition(node.array, tuple(loop.iterator if loop else None for loop in own), node.value)

    def _moved(self, nodes: list[Node], position: int, definition: _ArrayDefinition) -> bool:
        """Puts the value of the definition at nodes[position] into every use of its array and removes it from `nodes`.

        Returns whether it did; it changes nothing where one of the uses does not allow it.
        """
        name, operands = definition.array, frozenset(read.array for read in reads(definition.value))
        found: dict[int, Node] = {}
        users, stale = [], False
        for later in range(position + 1, len(nodes)):
            node = nodes[later]
            here = [a for a in assigns((node,)) if name in a.read_names]
            writes = any(a.array in operands for a in assigns((node,)))
            if here:
                if stale or not all(self._fits(read, loops, definition) for read, loops in _uses(node, name, ())):
                    return False
                found[later] = _substituted(node, definition)
                if writes and not _is_in_place(found[later], operands):
                    return False
            stale = stale or writes
            users += here
        if len(users) != self._reads.get(name, 0) or len(users) > 1 and not _is_cheap(definition.value):
            return False
        if any(size(a.value) > _SIZE_LIMIT for node in found.values() for a in assigns((node,))):
            return False
        for later, node in found.items():
            nodes[later] = node
        del nodes[position]
        for operand in operands:
            self._reads[operand] += sum(operand not in a.read_names for a in users) - 1
        return True

    def _fits(self, read: Read, loops: tuple[Loop, ...], definition: _ArrayDefinition) -> bool:
        """Returns whether a read of a local array may be replaced by the expression that was assigned to its element.

        The read has to be inside the array. It also has to be of another element in each iteration of the loops around it, so that
        nothing is computed twice; for a cheap expression this is not needed.

        loops: the loops around the read
        """
        if not read.inside:
            return False
        moving = frozenset().union(*(s.names for s in read.subscripts))
        is_cheap = _is_cheap(definition.value) and not _selects_by_place(definition.value)
        return is_cheap or all(loop.iterator in moving for loop in loops)


def covers(loop: Loop | None, subscript: Affine, extent: Affine) -> bool:
    """Returns whether a subscript takes all indices of a dimension, from 0 on in steps of 1.

    loop: the loop whose iterator the subscript is; None where it is no iterator, so that the dimension must have the size 1
    extent: the dimension's size
    """
    if loop is None:
        return subscript == Affine(0) and extent == Affine(1)
    whole = loop.start == Affine(0) and loop.step == 1
    return whole and extent in (loop.stop, af.extremum("max", (loop.stop, Affine(0)), as_written=True))


def _is_in_place(node: Node, operands: frozenset[str]) -> bool:
    """Returns whether a node is an assignment, alone or in loops, each iteration of which writes an element of its own.

    Where the written array is one of `operands`, the value may read no other of its elements than the one that is written.
    """
    loops: list[Loop] = []
    while isinstance(node, Loop) and len(node.body) == 1:
        loops.append(node)
        node = node.body[0]
    if not isinstance(node, Assign) or not node.inside:
        return False
    if not all(af.variable(loop.iterator) in node.subscripts for loop in loops):
        return False
    here = (read for read in node.reads if read.array == node.array and read.array in operands)
    return all(read.subscripts == node.subscripts for read in here)


def is_heavy(value: Value) -> bool:
    """Returns whether a value has operations that take many cycles: functions, divisions and powers."""
    slow = ("/", "//", "%", "**")
    return any(isinstance(v, syntax.Call) or isinstance(v, syntax.Binary) and v.op in slow for v in subvalues(value))


def _is_cheap(value: Value) -> bool:
    operations = [v for v in subvalues(value) if not isinstance(v, (Read, Integer, Truth, syntax.Const))]
    return not is_heavy(value) and len(operations) <= _CHEAP_OPERATIONS and sum(1 for _ in reads(value)) <= 1


def _selects_by_place(value: Value) -> bool:
    """Returns whether a value is another one at some iterators, as an element of a diagonal or triangular matrix is."""
    return any(isinstance(v, Truth) for v in subvalues(value))


def _uses(node: Node, name: str, loops: tuple[Loop, ...]) -> Iterator[tuple[Read, tuple[Loop, ...]]]:
    """Yields pairs (read, loops around it) for all reads of the array `name` in a node, outermost loop first.

    loops: those around the node
    """
    if isinstance(node, Assign):
        yield from ((read, loops) for read in node.reads if read.array == name)
        return
    inside = (*loops, node) if isinstance(node, Loop) else loops
    for inner in node.body:
        yield from _uses(inner, name, inside)


def _substituted(node: Node, definition: _ArrayDefinition) -> Node:
    """Returns the node with the definition's value in place of each read of its array."""
    if not isinstance(node, Assign):
        return replace(node, body=tuple(_substituted(inner, definition) for inner in node.body))
    known: dict[tuple[Affine, ...], Value] = {}

    def leaf(value: Value) -> Value:
        if not isinstance(value, Read) or value.array != definition.array:
            return value
        if value.subscripts not in known:
            known[value.subscripts] = _at(definition, value.subscripts)
        return known[value.subscripts]

    return replace(node, value=map_leaves(node.value, leaf))


def _at(definition: _ArrayDefinition, point: tuple[Affine, ...]) -> Value:
    """Returns the value of the element of a defined array that has the subscripts `point`."""
    return substituted(definition.value, {name: index for name, index in zip(definition.iterators, point) if name})
