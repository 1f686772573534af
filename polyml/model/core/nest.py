"""A kernel between syntax and Scop: loops, guards and assignments whose subscripts, bounds and conditions are affine.

    node  = Loop | Guard | Assign
    value = syntax.{Const, Unary, Binary, Compare, Logical, IfExp, Call, Cast} over Integer | Truth | Read | Gather | ScalarArg

`model.lowering.resolve` makes it, `model.nest_passes.forward_substitution` simplifies it, `model.lowering.extract` turns it into sets. Scalars are arrays of rank
0. A value may share sub-trees, so that walks keep what they have seen by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Union

from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.model.core import affine as af
from polyml.model.core.affine import Affine, Formula
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.model.core.scop import Gather, Role
from polyml.source import Loc

QUOTIENTS_AROUND = 3  # of all conditions around a statement: where one does not hold, isl has two alternatives


@dataclass(frozen=True)
class Integer(syntax.Expr):
    """An affine integer."""

    affine: Affine


@dataclass(frozen=True)
class Truth(syntax.Expr):
    """An affine condition as a truth value."""

    formula: Formula


@dataclass(frozen=True)
class Read(syntax.Expr):
    """array[subscripts], the subscripts as written: a negative one counts from the end.

    inside: known to be neither negative nor outside the array in every call that passes the requirements.
    """

    array: str
    subscripts: tuple[Affine, ...]
    inside: bool = field(default=False, compare=False, kw_only=True)


Value = syntax.Expr  # typed: what stands above


@dataclass(frozen=True)
class Loop:
    """`for iterator in range(start, stop, step)`."""

    iterator: str
    start: Affine
    stop: Affine
    step: int
    body: tuple[Node, ...]
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Guard:
    condition: Formula
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Assign:
    """`array[subscripts] = value`. may: the value is a select that otherwise keeps the element. inside: as of a Read."""

    array: str
    subscripts: tuple[Affine, ...]
    value: Value
    may: bool = False
    loc: Loc | None = field(default=None, compare=False)
    target_loc: Loc | None = field(default=None, compare=False)
    inside: bool = field(default=False, compare=False)


Node = Union[Loop, Guard, Assign]


@dataclass(frozen=True)
class ArrayInfo:
    """shape: affine in the parameters. conditional: allocated inside a loop or condition, so perhaps not at all.

    pairs: as of a `scop.Array`.
    """

    element: DType
    shape: tuple[Affine, ...]
    role: Role
    source_name: str
    conditional: bool = False
    loc: Loc | None = field(default=None, compare=False)
    pairs: bool = False


@dataclass(frozen=True)
class Requirement:
    """A condition that holds at every point of the loops and guards around it; a call for which it does not runs as
    Python. what: what there is then.
    """

    around: tuple[Loop | Guard, ...]  # outermost first, without their bodies
    condition: Formula
    what: str
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Nest:
    body: tuple[Node, ...]
    arrays: dict[str, ArrayInfo]
    parameters: tuple[Parameter, ...]
    results: tuple[ScalarResult | ArrayResult, ...]
    result_is_tuple: bool
    requirements: tuple[Requirement, ...] = ()
    contents: tuple[Requirement, ...] = ()  # of the elements of index arrays


def with_body(nest: Nest, body: tuple[Node, ...]) -> Nest:
    """The nest with another body, without local arrays that this one does not touch."""
    if body is nest.body:
        return nest
    used = touched(body)
    arrays = {n: a for n, a in nest.arrays.items() if n in used or a.role is not Role.LOCAL}
    return replace(nest, body=body, arrays=arrays)


def touched(body: tuple[Node, ...]) -> set[str]:
    """The arrays that are read or written inside."""
    return {name for a in assigns(body) for name in (a.array, *(r.array for r in reads(a.value)))}


def substituted(value: Value, names: Mapping[str, Affine]) -> Value:
    """The value with some variables replaced, all at once."""

    def leaf(part: Value) -> Value:
        if isinstance(part, Read):
            return replace(part, subscripts=tuple(af.substituted(s, names) for s in part.subscripts))
        if isinstance(part, Integer):
            return replace(part, affine=af.substituted(part.affine, names))
        if isinstance(part, Truth):
            return replace(part, formula=af.substituted_formula(part.formula, names))
        return part

    return map_leaves(value, leaf)


def substituted_in(node: Node, names: Mapping[str, Affine]) -> Node:
    """The node with some variables replaced, all at once, in all that it contains."""
    if isinstance(node, Assign):
        subscripts = tuple(af.substituted(s, names) for s in node.subscripts)
        return replace(node, subscripts=subscripts, value=substituted(node.value, names))
    body = tuple(substituted_in(inner, names) for inner in node.body)
    if isinstance(node, Guard):
        return Guard(af.substituted_formula(node.condition, names), body)
    return replace(node, start=af.substituted(node.start, names), stop=af.substituted(node.stop, names), body=body)


def children(value: Value) -> tuple[Value, ...]:
    """The operands of a value, () for a leaf."""
    operands = _OPERANDS.get(type(value))
    return () if operands is None else operands(value)


# Any: each function is given values of the class beside it only.
_OPERANDS: Mapping[type, Callable[[Any], tuple[Value, ...]]] = {
    syntax.Unary: lambda value: (value.operand,),
    syntax.Cast: lambda value: (value.operand,),
    syntax.Binary: lambda value: (value.left, value.right),
    syntax.Compare: lambda value: (value.left, value.right),
    syntax.Logical: lambda value: value.operands,
    syntax.IfExp: lambda value: (value.condition, value.then, value.orelse),
    syntax.Call: lambda value: value.args,
    Gather: lambda value: value.indices,
}


def with_children(value: Value, operands: tuple[Value, ...]) -> Value:
    """The same operation on other operands; the same object when nothing changes."""
    before = children(value)
    if len(before) == len(operands) and all(a is b for a, b in zip(before, operands)):
        return value
    if isinstance(value, (syntax.Unary, syntax.Cast)):
        return replace(value, operand=operands[0])
    if isinstance(value, (syntax.Binary, syntax.Compare)):
        return replace(value, left=operands[0], right=operands[1])
    if isinstance(value, syntax.Logical):
        return replace(value, operands=operands)
    if isinstance(value, syntax.IfExp):
        return replace(value, condition=operands[0], then=operands[1], orelse=operands[2])
    if isinstance(value, Gather):
        return replace(value, indices=operands)
    if isinstance(value, syntax.Call):
        return replace(value, args=operands)
    raise TypeError(f"not an operation: {value!r}")


def map_leaves(value: Value, leaf: Callable[[Value], Value]) -> Value:
    """The value with every leaf replaced, shared sub-trees staying shared."""
    seen: dict[int, Value] = {}

    def visit(v: Value) -> Value:
        done = seen.get(id(v))
        if done is None:
            operands = children(v)
            done = with_children(v, tuple(visit(c) for c in operands)) if operands else leaf(v)
            seen[id(v)] = done
        return done

    return visit(value)


def subvalues(value: Value) -> Iterator[Value]:
    """Every distinct sub-tree once, operands after their operation."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        v = stack.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        yield v
        stack.extend(reversed(children(v)))


def always_fits(value: Value, to: DType) -> bool:
    """Whether a Python int is one of constants that all fit an integer type: `1 if a[i] == b[j] else 0`."""
    if isinstance(value, syntax.IfExp):
        return always_fits(value.then, to) and always_fits(value.orelse, to)
    low = -(1 << (to.bits - 1)) if to.kind == "i" else 0
    return isinstance(value, syntax.Const) and low <= value.value < low + (1 << to.bits)


def size(value: Value) -> int:
    """How many nodes the value has as a tree, shared sub-trees counted each time."""
    sizes: dict[int, int] = {}

    def visit(v: Value) -> int:
        if id(v) not in sizes:
            sizes[id(v)] = 1 + sum(visit(c) for c in children(v))
        return sizes[id(v)]

    return visit(value)


def reads(value: Value) -> Iterator[Read]:
    return (v for v in subvalues(value) if isinstance(v, Read))


class ReadNames:
    """The arrays a value reads; what was computed is kept, with the value, since passes ask for the same ones again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Value, frozenset[str]]] = {}

    def __call__(self, value: Value) -> frozenset[str]:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = (value, frozenset(r.array for r in reads(value)))
        return known[1]


def iterators(body: tuple[Node, ...]) -> Iterator[str]:
    """Those of all loops inside."""
    for node in body:
        if isinstance(node, Loop):
            yield node.iterator
        if not isinstance(node, Assign):
            yield from iterators(node.body)


def assigns(body: tuple[Node, ...]) -> Iterator[Assign]:
    """Every assignment inside, in source order."""
    for node in body:
        if isinstance(node, Assign):
            yield node
        else:
            yield from assigns(node.body)
