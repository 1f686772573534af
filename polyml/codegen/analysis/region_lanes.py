"""What of a Region differs between instances that run together, as the lanes of vectors, and whether they may.

Lanes run in step: a mask says which of them are at a place of the code. A number is one for all lanes where all that is assigned to it
is the same in every lane, at places that all lanes reach together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from polyml.codegen.analysis.region_integers import FULL, RegionIntegers
from polyml.dtypes import PYINT
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import Expr, Stmt
from polyml.model.core.nest import Integer
from polyml.model.core.scop import Region

Cell = tuple[str, tuple[Expr, ...]]  # an array, and the indices of one element of it


@dataclass(frozen=True)
class LaneNumbers:
    """A LaneNumbers says which numbers of a region may differ between lanes.

    varying: the names of these numbers
    left: the labels of Blocks that lanes may leave one by one
    iterators: of the loops around the region, those of which each lane has a value of its own
    written: the arrays that the region writes
    """

    varying: frozenset[str]
    left: frozenset[str]
    iterators: frozenset[str]
    written: frozenset[str]

    def is_uniform(self, expr: Expr) -> bool:
        """Returns whether an expression has the same value in all lanes."""
        for node in traversal.nodes(expr):
            if isinstance(node, syntax.Name) and node.name in self.varying:
                return False
            if isinstance(node, Integer) and node.affine.names & self.iterators:
                return False
            if isinstance(node, syntax.Subscript) and node.array in self.written:
                return False
        return True


def lane_numbers(region: Region, iterators: Collection[str]) -> LaneNumbers:
    """Returns which numbers of a region may differ between lanes.

    iterators: of the loops around the region, those of which each lane has a value of its own
    """
    written = frozenset(access.array for access in region.accesses if access.writes)
    found = LaneNumbers(frozenset(), frozenset(), frozenset(iterators), written)
    while (more := _with_more(found, region)) != found:
        found = more
    return found


def _with_more(known: LaneNumbers, region: Region) -> LaneNumbers:
    """Returns what follows from what is known, with that."""
    varying, left = set(known.varying), set(known.left)

    def block(body: Sequence[Stmt], apart: bool) -> None:
        """apart: whether some lanes may be elsewhere"""
        for stmt in body:
            match stmt:
                case syntax.Assign(target=syntax.Name(name=name), value=value):
                    if apart or not known.is_uniform(value):
                        varying.add(name)
                case syntax.If(condition=condition, then=then, orelse=orelse):
                    for side in (then, orelse):
                        block(side, apart or not known.is_uniform(condition))
                case syntax.While(condition=condition, body=inner):
                    block(inner, apart or not known.is_uniform(condition))
                case syntax.For(var=var, start=start, stop=stop, body=inner):
                    same = known.is_uniform(start) and known.is_uniform(stop)
                    if not same:
                        varying.add(var)
                    block(inner, apart or not same)
                case syntax.Block(label=label, body=inner):
                    block(inner, apart or label in known.left)
                case syntax.Leave(label=label):
                    if apart:
                        left.add(label)

    block(region.body, False)
    return LaneNumbers(frozenset(varying), frozenset(left), known.iterators, known.written)


def cells(region: Region) -> frozenset[Cell] | None:
    """Returns the elements that a region writes, where an instance has no other access to their arrays; None where it has."""
    written = {access.array for access in region.accesses if access.writes}
    found: dict[str, set[tuple[Expr, ...]]] = {}
    for element in region.elements:
        if element.array in written:
            if not element.indices or not all(isinstance(index, (Integer, syntax.Const)) for index in element.indices):
                return None
            found.setdefault(element.array, set()).add(element.indices)
    for several in found.values():
        for one in several:
            if any(one is not other and not _are_apart(one, other) for other in several):
                return None
    return frozenset((array, indices) for array, several in found.items() for indices in several)


def read_cells(region: Region) -> frozenset[Cell]:
    """Returns the elements that expressions of a region read, as cells."""
    return frozenset((element.array, element.indices) for element in _read(region))


def fixed_cells(region: Region, numbers: LaneNumbers) -> frozenset[Cell]:
    """Returns the elements, one of each lane, that a region only reads, that exist, and that are the same ones in the whole instance."""
    found = set()
    for element in _read(region):
        is_fixed = element.indices and all(isinstance(index, (Integer, syntax.Const)) for index in element.indices)
        if is_fixed and element.inside and element.array not in numbers.written and not numbers.is_uniform(element):
            found.add((element.array, element.indices))
    return frozenset(found)


def _read(region: Region) -> Iterator[syntax.Subscript]:
    for stmt in statements(region.body):
        for expr in traversal.expressions(stmt):
            yield from (node for node in traversal.nodes(expr) if isinstance(node, syntax.Subscript))


def _are_apart(one: Sequence[Expr], other: Sequence[Expr]) -> bool:
    """Returns whether two elements are certainly different ones: they differ by a constant in an index that does not wrap."""
    constants = ((_constant(a), _constant(b)) for a, b in zip(one, other))
    return any(a is not None and b is not None and a != b and min(a, b) >= 0 for a, b in constants)


def _constant(index: Expr) -> int | None:
    if isinstance(index, Integer) and index.affine.is_constant:
        return index.affine.constant
    return int(index.value) if isinstance(index, syntax.Const) else None


def may_fail(region: Region, sizes: frozenset[str]) -> bool:
    """Returns whether an instance of a region may end the call with an error. sizes: the parameters that are never negative."""
    integers = RegionIntegers(region, sizes)
    raises = any(isinstance(stmt, syntax.Raise) for stmt in statements(region.body))
    return raises or any(_may_fail(node, integers) for node in region.expressions)


def _may_fail(node: Expr, integers: RegionIntegers) -> bool:
    match node:
        case syntax.Subscript():
            return bool(node.indices) and not node.inside
        case syntax.Call(function="position" | "bound"):
            return True
        case syntax.Cast():
            return _leaves_type(node, integers)
        case syntax.Unary(op="-"):
            return node.dtype == PYINT and integers.of(node) == FULL
        case syntax.Binary(op="+" | "-" | "*"):
            return node.dtype == PYINT and integers.of(node) == FULL
        case syntax.Binary(op="//" | "%", right=syntax.Const(value=int(value))) if value > 0:
            return False
        case syntax.Binary(op="//" | "%" | "<<" | ">>" | "**"):
            return node.dtype == PYINT
    return False


def _leaves_type(e: syntax.Cast, integers: RegionIntegers) -> bool:
    """Returns whether a conversion from or to Python ints may be of a number that the type does not have."""
    source = e.operand.dtype
    if e.to == PYINT:
        return source.is_float or source.kind == "u" and source.bits == 64
    if source != PYINT or not e.to.is_integer:
        return False
    signed = e.to.kind == "i"
    low, high = integers.of(e.operand)
    return low < (-(2 ** (e.to.bits - 1)) if signed else 0) or high >= 2 ** (e.to.bits - signed)


def is_slow_in_lanes(region: Region, sizes: frozenset[str]) -> bool:
    """Returns whether a region does something that processors have no vector instructions for.

    sizes: the parameters that are never negative
    """
    integers = RegionIntegers(region, sizes)
    return any(_is_slow(node, integers) for node in region.expressions)


def _is_slow(node: Expr, integers: RegionIntegers) -> bool:
    match node:
        case syntax.Call(function="position" | "bound"):
            return True
        case syntax.Binary(op="//" | "%", right=right) if node.dtype.is_integer:
            return not (isinstance(right, syntax.Const) and right.value > 0 and right.value & (right.value - 1) == 0)
        case syntax.Binary(op="**"):
            return node.dtype.is_integer
        case syntax.Binary(op="*"):
            is_multiple = any(isinstance(side, syntax.Const) and side.value > 0 for side in (node.left, node.right))
            return node.dtype == PYINT and integers.of(node) == FULL and not is_multiple
    return False
