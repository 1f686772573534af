"""A nest stands between syntax and SCoP: loops, guards and assignments whose subscripts, bounds and conditions are affine.

    node  = Loop | Guard | Assign
    value = syntax.{Const, Unary, Binary, Compare, Logical, IfExp, Call, Cast} over Integer | Truth | Read | Gather | ScalarArg

`lowering.resolve` makes it, `nest_passes` simplify it, `lowering.extract` turns it into sets. Scalars are arrays of rank 0. A
value may share sub-trees, so traversals remember what they have seen by identity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Union

from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult, SizeRelation
from polyml.model.core.scop import OTHER_FORM, Gather, Region, Role
from polyml.model.index_arrays.origins import IndexFact
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine, Condition
from polyml.source import Loc
from polyml.values import cached_property

QUOTIENTS_AROUND = 3  # in all conditions around a statement: where one of them does not hold, isl has two conjunctions


@dataclass(frozen=True)
class Integer(syntax.Expr):
    """An Integer is an integer value in a nest that is affine in iterators and parameters."""

    affine: Affine


@dataclass(frozen=True)
class Truth(syntax.Expr):
    """A Truth is a truth value in a nest that is an affine condition on iterators and parameters."""

    formula: Condition


@dataclass(frozen=True)
class Read(syntax.Expr):
    """A Read is the value of an element array[subscripts], as it is written: a negative subscript counts from the end.

    inside: whether the subscripts are known to be neither negative nor out of bounds in every call that passes the requirements
    """

    array: str
    subscripts: tuple[Affine, ...]
    inside: bool = field(default=False, compare=False, kw_only=True)


Value = syntax.Expr  # a typed tree, as in the grammar above


class _Block:
    """A _Block is a node around a body of others."""

    body: tuple[Node, ...]

    @cached_property
    def uses(self) -> Counter[str]:
        """Returns how many accesses each array has in the body."""
        return uses(self.body)


@dataclass(frozen=True)
class Loop(_Block):
    """A Loop is the loop `for iterator in range(start, stop, step)` around a body."""

    iterator: str
    start: Affine
    stop: Affine
    step: int
    body: tuple[Node, ...]
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Guard(_Block):
    """A Guard is an `if` on an affine condition around a body."""

    condition: Condition
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Assign:
    """An Assign is the assignment `array[subscripts] = value`, or a Region, its value, with "" for the array.

    may: whether the value is a select that keeps the element's old value where a condition on data does not hold
    inside: whether the subscripts are known to be neither negative nor out of bounds in every call that passes the requirements
    """

    array: str
    subscripts: tuple[Affine, ...]
    value: Value
    may: bool = False
    loc: Loc | None = field(default=None, compare=False)
    target_loc: Loc | None = field(default=None, compare=False)
    inside: bool = field(default=False, compare=False)

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """Returns the distinct nodes of the value that read an array element."""
        return () if self.region else tuple(reads(self.value))

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Returns the names of the arrays that the value reads."""
        if self.region:
            return frozenset(access.array for access in self.region.accesses if not access.writes)
        return frozenset(read.array for read in self.reads)

    @cached_property
    def uses(self) -> Counter[str]:
        """Returns how many accesses the assignment has of each array."""
        if self.region:
            return Counter(access.array for access in self.region.accesses)
        return Counter((self.array, *(read.array for read in self.reads)))

    @property
    def region(self) -> Region | None:
        """Returns the Region that the node is; None for an assignment."""
        return self.value if isinstance(self.value, Region) else None


Node = Union[Loop, Guard, Assign]


@dataclass(frozen=True)
class ArrayInfo:
    """An ArrayInfo describes an array of a nest.

    shape: affine in the parameters
    conditional: whether it is allocated inside a loop or condition, so perhaps not at all
    pairs: whether it holds complex numbers, as a first dimension of size 2 with their real and imaginary parts
    address: the number that holds the address of an array whose size data decide; "" for any other
    is_list: whether it holds the elements of a list of Python's
    """

    element: DType
    shape: tuple[Affine, ...]
    role: Role
    source_name: str
    conditional: bool = False
    loc: Loc | None = field(default=None, compare=False)
    pairs: bool = False
    address: str = ""
    is_list: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Requirement:
    """A Requirement is a condition that must hold in every iteration of the loops around it in which the guards around it hold.

    A call that violates it runs as plain Python.

    around: these loops and guards, outermost first, without their bodies
    what: what is wrong with a call that violates it, for messages, such as "a size or number that is not the one compiled for"
    kind: of its check: "usual", or "raise" where the source raises in a call that violates it
    """

    around: tuple[Loop | Guard, ...]  # outermost first, without their bodies
    condition: Condition
    what: str
    loc: Loc | None = field(default=None, compare=False)
    kind: str = "usual"


@dataclass(frozen=True)
class Nest:
    """A Nest is a whole kernel as loops, guards and assignments, with its arrays, parameters and results.

    requirements: conditions on parameters
    contents: conditions on the elements of index arrays
    related: relations between sizes that hold in all calls that the nest is for; other code runs the other calls
    truths: the parameters that are truth values, 0 or 1
    facts: what is known of index arrays that the kernel does not change
    result_form: how nested tuples and lists are made of the results, a text of `reading.result_forms`; "" where there are none
    """

    body: tuple[Node, ...]
    arrays: dict[str, ArrayInfo]
    parameters: tuple[Parameter, ...]
    results: tuple[ScalarResult | ArrayResult, ...]
    result_is_tuple: bool
    requirements: tuple[Requirement, ...] = ()
    contents: tuple[Requirement, ...] = ()  # of the elements of index arrays
    related: tuple[SizeRelation, ...] = ()
    truths: frozenset[str] = frozenset()
    facts: tuple[IndexFact, ...] = ()
    result_form: str = ""

    @cached_property
    def has_regions(self) -> bool:
        """Returns whether some of its assignments are Regions."""
        return any(assign.region for assign in assigns(self.body))


def region_names(region: Region) -> frozenset[str]:
    """Returns the iterators and parameters that a Region's integers and subscripts are made of."""
    found = [e.names for access in region.accesses for e in access.subscripts if e is not None]
    places = [place for access in region.accesses for origin in access.origins if origin is not None for place in origin.places]
    places += [span for access in region.accesses for span in access.spans if span is not None]
    found += [end.names for place in places for end in place]
    found += [node.affine.names for node in region.expressions if isinstance(node, Integer)]
    return frozenset().union(*found)


def relations_required(nest: Nest) -> tuple[Requirement, ...]:
    """Returns the relations between sizes that a nest takes for granted as requirements."""
    names = {(p.array, p.dim): af.variable(p.name) for p in nest.parameters if p.is_size}
    found = ((names[r.name, r.dim], names[r.other, r.other_dim], r.difference) for r in nest.related)
    return tuple(Requirement((), af.zero(size - other - difference), OTHER_FORM) for size, other, difference in found)


def with_body(nest: Nest, body: tuple[Node, ...]) -> Nest:
    """Returns the nest with another body, and without the local arrays that the new body does not touch."""
    if body is nest.body:
        return nest
    used = uses(body)
    arrays = {n: a for n, a in nest.arrays.items() if n in used or a.role is not Role.LOCAL}
    return replace(nest, body=body, arrays=arrays)


def uses(nodes: Sequence[Node]) -> Counter[str]:
    """Returns how many accesses each array has in the nodes; its keys are those that have one."""
    total = Counter[str]()
    for node in nodes:
        total.update(node.uses)
    return total


def substituted(value: Value, names: Mapping[str, Affine]) -> Value:
    """Returns the value with some variables replaced by affine expressions, all at once.

    names: the expressions by variable
    """

    def leaf(part: Value) -> Value:
        if isinstance(part, Read):
            return replace(part, subscripts=tuple(s.substitute(names) for s in part.subscripts))
        if isinstance(part, Integer):
            return replace(part, affine=part.affine.substitute(names))
        if isinstance(part, Truth):
            return replace(part, formula=part.formula.substitute(names))
        return part

    return map_leaves(value, leaf)


def substituted_in(node: Node, names: Mapping[str, Affine]) -> Node:
    """Returns the node, with all that it contains, with some variables replaced by affine expressions, all at once.

    names: the expressions by variable
    """
    if isinstance(node, Assign):
        subscripts = tuple(s.substitute(names) for s in node.subscripts)
        return replace(node, subscripts=subscripts, value=substituted(node.value, names))
    body = tuple(substituted_in(inner, names) for inner in node.body)
    if isinstance(node, Guard):
        return Guard(node.condition.substitute(names), body)
    return replace(node, start=node.start.substitute(names), stop=node.stop.substitute(names), body=body)


def children(value: Value) -> tuple[Value, ...]:
    """Returns the operands of a value; () for a leaf."""
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
    """Returns the operation that a value is, applied to other operands; the same object when these are the value's own operands."""
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
    """Returns the value with every leaf replaced by what the function `leaf` makes of it; shared sub-trees stay shared."""
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
    """Yields every distinct sub-tree of a value once, itself included, operands after their operation."""
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
    """Returns whether an integer always fits a type by how it is made: a constant that fits it, a select between such, as in
    `1 if a[i] == b[j] else 0`, or what a mask or a modulus keeps small, as in `n & 1` and `n % 8`.
    """
    if isinstance(value, syntax.IfExp):
        return always_fits(value.then, to) and always_fits(value.orelse, to)
    low = -(1 << (to.bits - 1)) if to.kind == "i" else 0
    stop = low + (1 << to.bits)
    if isinstance(value, syntax.Binary) and value.op in ("&", "%"):
        masks = (value.left, value.right) if value.op == "&" else (value.right,)
        return any(0 < _constant(mask) < stop for mask in masks)
    return isinstance(value, syntax.Const) and low <= value.value < stop


def _constant(value: Value) -> int:
    """Returns the integer that a value is written as; -1 for any other value."""
    if isinstance(value, Integer):
        return value.affine.constant if not value.affine.terms else -1
    return value.value if isinstance(value, syntax.Const) and type(value.value) is int else -1


def size(value: Value) -> int:
    """Returns the number of nodes of a value as a tree; a shared sub-tree is counted each time that it occurs."""
    sizes: dict[int, int] = {}

    def visit(v: Value) -> int:
        if id(v) not in sizes:
            sizes[id(v)] = 1 + sum(visit(c) for c in children(v))
        return sizes[id(v)]

    return visit(value)


def reads(value: Value) -> Iterator[Read]:
    """Yields the distinct nodes of a value that read an array element."""
    return (v for v in subvalues(value) if isinstance(v, Read))


def same_block(body: tuple[Node, ...], nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Returns the nodes as a block: the body itself, as the same object, where they are its nodes."""
    return body if len(nodes) == len(body) and all(a is b for a, b in zip(nodes, body)) else tuple(nodes)


def with_block(node: Loop | Guard, body: tuple[Node, ...]) -> Loop | Guard:
    """Returns a loop or guard with another body; the same object where that is the one that it has."""
    return node if body is node.body else replace(node, body=body)


def iterators(body: tuple[Node, ...]) -> Iterator[str]:
    """Yields the iterators of all loops in a body."""
    for node in body:
        if isinstance(node, Loop):
            yield node.iterator
        if not isinstance(node, Assign):
            yield from iterators(node.body)


def assigns(body: tuple[Node, ...]) -> Iterator[Assign]:
    """Yields every assignment in a body, in source order."""
    for node in body:
        if isinstance(node, Assign):
            yield node
        else:
            yield from assigns(node.body)
