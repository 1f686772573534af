"""Scalars that are only names for a value, and writes that nobody reads, leave the nest.

        t = A[i] + 1                 B[i] = (A[i] + 1) * 2
        B[i] = t * 2         ->      C[i] = A[i] + 1
        C[i] = t

A scalar's definition moves into its uses when all of them stand later in the same straight-line block, no write between
changes what the value reads, and no other definition reaches a use. Forward substitution (Allen and Kennedy,
"Optimizing Compilers for Modern Architectures", sec. 4.5). Uses share the value, so that emission computes it once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polyml.frontend import syntax
from polyml.model.core.call_interface import ScalarResult
from polyml.model.core.evaluation import always_may_raise, may_raise, operations
from polyml.model.core.nest import (
    Assign,
    Guard,
    Nest,
    Node,
    Read,
    Value,
    children,
    map_leaves,
    size,
    uses,
    with_children,
)
from polyml.model.core.nest import assigns as all_assigns
from polyml.model.core.scop import Role

_SIZE_LIMIT = 1000  # operations of a value, shared ones counted each time; beyond it a scalar stays in memory

_Decided = tuple[tuple[Value, bool], ...]  # conditions, and whether they hold
_Seen = dict[tuple[int, tuple[tuple[int, bool], ...]], Value]  # simplified values, by identity and what was decided


def forward(nest: Nest, *, aliased: bool = False) -> Nest:
    """Returns the nest with scalars substituted into their uses, and without assignments to local arrays that nobody reads.

    aliased: whether arguments may share memory, so that a write to one of them may change what is read from another
    """
    scalars = frozenset(n for n, a in nest.arrays.items() if not a.shape and a.role is Role.LOCAL)
    if nest.has_regions:
        return _beside_regions(nest, scalars, aliased)
    arguments = frozenset(n for n, a in nest.arrays.items() if a.role is Role.ARGUMENT)
    results = frozenset(r.array for r in nest.results if isinstance(r, ScalarResult))
    needed = _without_unread(nest.body, nest, results)
    body = _Substituter(scalars, arguments if aliased else frozenset()).block(needed, results)
    body = _without_unread(body, nest, results)
    used = uses(body).keys() | results
    arrays = {n: a for n, a in nest.arrays.items() if n in used or a.role is not Role.LOCAL or a.shape}
    return replace(nest, body=body, arrays=arrays)


def _beside_regions(nest: Nest, scalars: frozenset[str], aliased: bool) -> Nest:
    """Returns a nest that has regions, in which scalars are substituted that one loop without regions alone uses."""
    everywhere = uses(nest.body)
    own = scalars - {r.array for r in nest.results if isinstance(r, ScalarResult)}
    arguments = frozenset(n for n, a in nest.arrays.items() if a.role is Role.ARGUMENT) if aliased else frozenset()

    def changed(node: Node) -> Node:
        if isinstance(node, Assign):
            return node
        if isinstance(node, Guard) or any(each.region for each in all_assigns((node,))):
            return replace(node, body=tuple(map(changed, node.body)))
        inside = node.uses
        substituter = _Substituter(frozenset(name for name in own if 0 < inside[name] == everywhere[name]), arguments)
        return replace(node, body=substituter.block(node.body, substituter.needed(node.body)))

    body = tuple(map(changed, nest.body))
    used = uses(body).keys() | (scalars - own)
    return replace(nest, body=body, arrays={n: a for n, a in nest.arrays.items() if n in used or n not in own})


class _Substituter:
    """A _Substituter substitutes the values of scalars into their uses, block by block.

    scalars: local arrays of rank 0
    aliases: the arrays that may share memory
    """

    def __init__(self, scalars: frozenset[str], aliases: frozenset[str]) -> None:
        self.scalars = scalars
        self.aliases = aliases

    def _overlaps(self, writes: set[str], operands: frozenset[str]) -> bool:
        """Returns whether writing to the arrays `writes` may change elements of the arrays `operands`."""
        if not writes.isdisjoint(operands):
            return True
        return not self.aliases.isdisjoint(writes) and not self.aliases.isdisjoint(operands)

    def block(self, body: tuple[Node, ...], live_out: frozenset[str]) -> tuple[Node, ...]:
        """Returns the block with its scalars substituted into their uses, inner blocks first.

        Assignments to scalars that are not read any more are left out.

        live_out: the scalars that are read after the block
        """
        nodes = list(self._inner(body, live_out))
        position = 0
        while position < len(nodes):
            node = nodes[position]
            if isinstance(node, Assign) and node.array in self.scalars and self._try(nodes, position, live_out):
                continue
            position += 1
        return self._live(nodes, live_out)

    def _inner(self, body: tuple[Node, ...], live_out: frozenset[str]) -> Iterable[Node]:
        """Returns the nodes of a block with the scalars of the blocks inside them substituted.

        live_out: the scalars that are read after the block
        """
        live = live_out
        result: list[Node] = []
        for node in reversed(body):
            if isinstance(node, Assign):
                result.append(node)
            elif isinstance(node, Guard):
                result.append(replace(node, body=self.block(node.body, live)))
            else:
                result.append(replace(node, body=self.block(node.body, live | self._needed(node.body, live))))
            live = self._before(node, live)
        return reversed(result)

    def _before(self, node: Node, live: frozenset[str]) -> frozenset[str]:
        """Returns the scalars whose values just before a node are still needed, by the node itself or after it.

        live: the scalars whose values are needed after the node
        """
        if isinstance(node, Assign):
            after = live - {node.array} if not node.subscripts else live
            return after | (node.read_names & self.scalars)
        return live | self._needed(node.body, live)

    def needed(self, body: tuple[Node, ...]) -> frozenset[str]:
        """Returns the scalars whose values from before a loop's body, or its last iteration, the body needs."""
        return self._needed(body, frozenset())

    def _needed(self, body: tuple[Node, ...], live: frozenset[str]) -> frozenset[str]:
        for node in reversed(body):
            live = self._before(node, live)
        return live

    def _live(self, nodes: list[Node], live_out: frozenset[str]) -> tuple[Node, ...]:
        """Returns the nodes without empty loops and guards, and without assignments to scalars that nothing reads afterwards.

        An assignment stays where its value may raise.

        live_out: the scalars that are read after the nodes
        """
        kept: list[Node] = []
        live = live_out
        for node in reversed(nodes):
            if isinstance(node, Assign) and node.array in self.scalars and node.array not in live:
                if not may_raise(node.value):
                    continue
            if not isinstance(node, Assign) and not node.body:
                continue
            kept.append(node)
            live = self._before(node, live)
        return tuple(reversed(kept))

    def _try(self, nodes: list[Node], position: int, live_out: frozenset[str]) -> bool:
        """Substitutes the scalar that nodes[position] defines into all its uses, and removes the definition from `nodes`.

        Returns whether it did; it changes nothing where one of the uses cannot be substituted.

        live_out: the scalars that are read after the block
        """
        definition = nodes[position]
        if not isinstance(definition, Assign) or size(definition.value) > _SIZE_LIMIT:
            return False
        name, value = definition.array, definition.value
        operands = definition.read_names
        changed: dict[int, Node] = {}
        is_stale = False
        is_condition = value.dtype.kind == "b"
        for later in range(position + 1, len(nodes)):
            node = nodes[later]
            is_used = any(name in a.read_names for a in all_assigns((node,)))
            writes = {a.array for a in all_assigns((node,))}
            if is_used:
                inside_loop = not _is_straight(node)
                if is_stale or (inside_loop and (not is_condition or self._overlaps(writes, operands | {name}))):
                    return False
                if isinstance(node, Guard) and self._written_before_last_use(node.body, name, operands):
                    return False
                changed[later] = _substitute(node, name, value)
            if isinstance(node, Assign) and node.array == name:
                break
            if name in writes:
                return False
            is_stale = is_stale or self._overlaps(writes, operands)
        else:
            if name in live_out:
                return False
        if always_may_raise(value) and not any(_always_reads(nodes[index], name) for index in changed):
            return False
        for index, node in changed.items():
            nodes[index] = node
        del nodes[position]
        return True

    def _written_before_last_use(self, body: tuple[Node, ...], name: str, operands: frozenset[str]) -> bool:
        """Returns whether a block reads the scalar `name` after it has assigned it or one of the arrays `operands`.

        operands: the arrays that the scalar's value reads
        """
        is_stale = False
        for assign in all_assigns(body):
            if is_stale and name in assign.read_names:
                return True
            is_stale = is_stale or self._overlaps({assign.array}, operands | {name})
        return False


def _is_straight(node: Node) -> bool:
    """Returns whether a node is an assignment, or guards around assignments, with no loop."""
    if isinstance(node, Assign):
        return True
    return isinstance(node, Guard) and all(_is_straight(inner) for inner in node.body)


def _always_reads(node: Node, name: str) -> bool:
    """Returns whether a node is an assignment whose value reads the array `name` whatever the data are."""
    if not isinstance(node, Assign):
        return False
    return any(isinstance(part, Read) and part.array == name and not may for part, may in operations(node.value))


def _substitute(node: Node, name: str, value: Value) -> Node:
    if isinstance(node, Assign):
        replaced = map_leaves(node.value, lambda v: value if isinstance(v, Read) and v.array == name else v)
        return replace(node, value=simplified(replaced)) if replaced is not node.value else node
    return replace(node, body=tuple(_substitute(inner, name, value) for inner in node.body))


def simplified(value: Value) -> Value:
    """Returns the value with selects replaced by one of their branches where a select around them has decided their condition.

    (x if c else y) if c else z    ->    x if c else z
    """
    return _simplified(value, (), {})


def _simplified(value: Value, decided: _Decided, seen: _Seen) -> Value:
    key = (id(value), tuple((id(c), taken) for c, taken in decided))
    if key in seen:
        return seen[key]
    if isinstance(value, syntax.IfExp):
        result = _simplified_select(value, decided, seen)
    else:
        operands = children(value)
        result = with_children(value, tuple(_simplified(c, decided, seen) for c in operands)) if operands else value
    seen[key] = result
    return result


def _simplified_select(value: syntax.IfExp, decided: _Decided, seen: _Seen) -> Value:
    for condition, taken in decided:
        if condition is value.condition or condition == value.condition:
            return _simplified(value.then if taken else value.orelse, decided, seen)
    condition = _simplified(value.condition, decided, seen)
    then = _simplified(value.then, (*decided, (value.condition, True)), seen)
    orelse = _simplified(value.orelse, (*decided, (value.condition, False)), seen)
    if then is orelse:
        return then
    return with_children(value, (condition, then, orelse))


def _without_unread(body: tuple[Node, ...], nest: Nest, results: frozenset[str]) -> tuple[Node, ...]:
    """Returns the body without assignments to local arrays that no other assignment reads, except those that may raise.

    results: the scalar arrays that hold the numbers which the kernel returns, whose assignments stay, too
    """
    local = {n for n, a in nest.arrays.items() if a.role is Role.LOCAL and n not in results}
    while True:
        found = list(all_assigns(body))
        needed = {name for a in found for name in a.read_names if name != a.array}
        unread = {a.array for a in found if a.array in local} - needed
        unread -= {a.array for a in found if may_raise(a.value)}
        if not unread:
            return body
        body = _dropped(body, unread)


def _dropped(body: tuple[Node, ...], names: set[str]) -> tuple[Node, ...]:
    """Returns the body without assignments to the arrays `names`, and without loops and guards that are empty then."""
    kept: list[Node] = []
    for node in body:
        if isinstance(node, Assign):
            if node.array not in names:
                kept.append(node)
            continue
        inner = _dropped(node.body, names)
        if inner:
            kept.append(replace(node, body=inner))
    return tuple(kept)
