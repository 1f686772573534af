"""Python ints that only count become 64-bit integers.

        c = 0
        for i in range(n):           c: int   ->   c: int64
            if A[i] > 0: c += 1

Python's ints are unbounded, so operations on them are checked one by one, in the order of the source and in one lane. A scalar
that starts small and changes by small steps alone would have to change for a year to leave 64 bits. (Stephenson, Babb and
Amarasinghe, "Bitwidth analysis with application to silicon compilation", PLDI 2000.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyml.dtypes import BOOL, F64, I64, PYINT
from polyml.frontend import syntax
from polyml.model.core.call_interface import ScalarResult
from polyml.model.core.nest import (
    Assign,
    Integer,
    Nest,
    Node,
    Read,
    Value,
    assigns,
    children,
    map_leaves,
    subvalues,
    with_children,
)
from polyml.model.core.scop import Role
from polyml.quasi_affine.affine import Affine

START = 2**40  # the largest magnitude that a counter is set to
STEP = 256  # the largest magnitude of a change: 2**63 / STEP changes are a year's work for a core that does a billion in a second


def counters_in_64_bits(nest: Nest) -> Nest:
    """Returns the nest with scalars that only count, changing by small steps, as 64-bit integers instead of Python ints.

    Other values that read such a scalar convert it to a Python int.
    """
    found = _counters(nest)
    if not found:
        return nest
    arrays = {name: replace(a, element=I64) if name in found else a for name, a in nest.arrays.items()}
    return replace(nest, arrays=arrays, body=tuple(_node(node, found) for node in nest.body))


def _counters(nest: Nest) -> frozenset[str]:
    """Returns the names of the scalars that only count.

    They are set to small numbers, to each other, or to each other plus or minus a small step.
    """
    results = {r.array for r in nest.results if isinstance(r, ScalarResult)}
    names = {
        name for name, a in nest.arrays.items()
        if a.element == PYINT and a.role is Role.LOCAL and not a.shape and name not in results
    }  # fmt: skip
    every = [a for a in assigns(nest.body) if a.array in names]
    while others := {a.array for a in every if a.array in names and not _counts(a.value, names)}:
        names -= others
    return _that_count(names, every)


def _that_count(names: set[str], every: Sequence[Assign]) -> frozenset[str]:
    """Returns those of the scalars `names` that some assignment changes by a step, and all that are connected with these.

    Two scalars are connected where the value that is assigned to one of them reads the other, or a value reads both.

    every: all assignments to the scalars
    """
    found = {a.array for a in every if a.array in names and any(map(_is_change, subvalues(a.value)))}
    while True:
        more = set(found)
        for a in every:
            together = a.uses.keys() & names
            more |= together if together & more else set()
        if more == found:
            return frozenset(found)
        found = more


def _is_change(value: Value) -> bool:
    return isinstance(value, syntax.Binary) and value.dtype == PYINT


def _counts(value: Value, names: set[str]) -> bool:
    """Returns whether the value is a small number, one of the scalars `names`, or such a scalar changed by small steps."""
    if isinstance(value, Read):
        return value.array in names
    if isinstance(value, syntax.IfExp):
        return _counts(value.then, names) and _counts(value.orelse, names)
    if isinstance(value, syntax.Binary) and value.op in ("+", "-") and value.dtype == PYINT:
        steps = _is_step(value.right) and _counts(value.left, names)
        return steps or value.op == "+" and _is_step(value.left) and _counts(value.right, names)
    return _is_constant(value, START)


def _is_step(value: Value) -> bool:
    if isinstance(value, syntax.IfExp):
        return _is_step(value.then) and _is_step(value.orelse)
    if isinstance(value, syntax.Cast):
        return value.operand.dtype == BOOL
    return _is_constant(value, STEP)


def _is_constant(value: Value, most: int) -> bool:
    if isinstance(value, Integer):
        return value.affine.is_constant and abs(value.affine.constant) <= most
    return isinstance(value, syntax.Const) and value.dtype in (PYINT, I64) and abs(value.value) <= most


def _node(node: Node, names: frozenset[str]) -> Node:
    if not isinstance(node, Assign):
        return replace(node, body=tuple(_node(child, names) for child in node.body))
    value = (_in_64_bits if node.array in names else _used)(node.value, names)
    return node if value is node.value else replace(node, value=value)


def _in_64_bits(value: Value, names: frozenset[str]) -> Value:
    """Returns the value that is assigned to a counter, computed in 64 bits.

    names: all counters
    """
    if isinstance(value, (Read, Integer, syntax.Const)):
        return replace(value, dtype=I64)
    if isinstance(value, syntax.Cast):
        return replace(value, operand=_used(value.operand, names), to=I64, dtype=I64)
    if isinstance(value, syntax.Binary):
        return replace(value, left=_in_64_bits(value.left, names), right=_in_64_bits(value.right, names), dtype=I64)
    if isinstance(value, syntax.IfExp):
        then, orelse = _in_64_bits(value.then, names), _in_64_bits(value.orelse, names)
        return replace(value, condition=_used(value.condition, names), then=then, orelse=orelse, dtype=I64)
    raise TypeError(f"not the value of a counter: {value!r}")


def _used(value: Value, names: frozenset[str]) -> Value:
    """Returns a value with the counters that it reads converted to Python ints.

    A counter that the value converts to 64 bits or float64 right away needs no such conversion.

    names: all counters
    """

    def leaf(part: Value) -> Value:
        if isinstance(part, Read) and part.array in names:
            return syntax.Cast(replace(part, dtype=I64), PYINT, implicit=True, dtype=PYINT, loc=part.loc)
        return part

    changed = map_leaves(value, leaf)
    return value if changed is value else _without_detours(changed, {})


def _without_detours(value: Value, seen: dict[int, Value]) -> Value:
    """Returns the value without conversions from 64 bits to a Python int and from there back to 64 bits or to float64.

    seen: the results for sub-trees so far, by identity; it is extended
    """
    if id(value) not in seen:
        made = with_children(value, tuple(_without_detours(c, seen) for c in children(value)))
        if isinstance(made, syntax.Cast) and isinstance(made.operand, syntax.Cast) and made.to in (I64, F64):
            inner = made.operand
            if inner.to == PYINT and inner.operand.dtype == I64:
                made = inner.operand if made.to == I64 else replace(made, operand=inner.operand)
        seen[id(value)] = made
    return seen[id(value)]


def with_steps_added(nest: Nest) -> Nest:
    """Returns the nest with 64-bit counters that change under a condition as sums: c + 1 if p else c  ->  c + (1 if p else 0)."""
    names = {name for name, a in nest.arrays.items() if a.element == I64 and a.role is Role.LOCAL and not a.shape}
    body = tuple(_summed(node, names) for node in nest.body) if names else nest.body
    return replace(nest, body=body)


def _summed(node: Node, names: set[str]) -> Node:
    if not isinstance(node, Assign):
        return replace(node, body=tuple(_summed(child, names) for child in node.body))
    if node.array not in names or not isinstance(node.value, syntax.IfExp):
        return node
    change = _change(node.value, node.array)
    if change is None:
        return node
    return replace(node, value=syntax.Binary("+", Read(node.array, (), dtype=I64), change, dtype=I64, loc=node.value.loc))


def _change(value: Value, name: str) -> Value | None:
    """Returns by how much an assigned value differs from the counter `name`; None where it is no counter changed by small steps."""
    if isinstance(value, Read):
        return Integer(Affine(0), dtype=I64) if value.array == name else None
    if isinstance(value, syntax.IfExp):
        then, orelse = _change(value.then, name), _change(value.orelse, name)
        return None if then is None or orelse is None else replace(value, then=then, orelse=orelse)
    if not isinstance(value, syntax.Binary) or value.op not in ("+", "-"):
        return None
    counter, step = (value.right, value.left) if value.op == "+" and _is_step(value.left) else (value.left, value.right)
    before = _change(counter, name) if _is_step(step) else None
    if before is None:
        return None
    return step if value.op == "+" and isinstance(counter, Read) else replace(value, left=before, right=step)
