"""Indices in a loop of a Region that bounds can be told of before the loop begins: sums of its variable, of counters, and of numbers that
it does not change, and products of two of these numbers, or of one with the variable.

A counter is a number that the loop changes by small constants alone, perhaps on some of its paths: in iteration n it is between what it
was before plus n times the least and n times the most that one iteration adds, plus what this iteration has added so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polyml.codegen.analysis.region_integers import MIRRORED, changed_in, step
from polyml.dtypes import I64, PYINT, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.model.core.nest import Integer
from polyml.model.core.scop import ScalarArg

Moves = Mapping[str, tuple[int, int]]  # by counter, the least and the most that it has moved
_FAR = 2**40  # beyond constants in indices
_ATTAINED = {"<": -1, "<=": 0, ">": 1, ">=": 0}  # by comparison, what is added to the bound for a value that may be attained


@dataclass(frozen=True)
class LoopIndex:
    """A LoopIndex is an index of an element in a loop.

    moves: what counters have moved since the iteration began, where the element is
    """

    element: syntax.Subscript
    dim: int
    moves: tuple[tuple[str, tuple[int, int]], ...]

    @property
    def index(self) -> syntax.Expr:
        """Returns the index."""
        return self.element.indices[self.dim]


@dataclass(frozen=True)
class LoopIndices:
    """The LoopIndices of a loop are those of its indices that bounds can be told of.

    counters: by counter, the least and the most that one iteration adds
    """

    indices: tuple[LoopIndex, ...]
    counters: Moves


def loop_indices(loop: syntax.For) -> LoopIndices:
    """Returns the indices of a loop that bounds can be told of; none where there are loops inside of it."""
    if any(isinstance(inner, (syntax.For, syntax.While)) for inner in statements(loop.body)):
        return LoopIndices((), {})
    walk = _IterationWalk(loop)
    end = walk.block(loop.body, dict.fromkeys(walk.counters, (0, 0)))
    return LoopIndices(tuple(walk.found), end)


@dataclass(frozen=True)
class Ends:
    """The Ends of a counter are bounds of its values where an iteration of a `while` loop begins.

    least, most: an expression that the loop does not change, and a constant that is added to it; None for the value before the loop
    """

    least: tuple[syntax.Expr, int] | None
    most: tuple[syntax.Expr, int] | None


@dataclass(frozen=True)
class WhileIndex(LoopIndex):
    """A WhileIndex is an index of an element in a `while` loop.

    ends: the bounds of the counters in it
    """

    ends: tuple[tuple[str, Ends], ...]


def while_indices(loop: syntax.While) -> tuple[WhileIndex, ...]:
    """Returns the indices of a `while` loop that bounds can be told of; none where there are loops inside of it.

    A counter that only grows is at least what it was before the loop, and one that only shrinks at most that. Its other bound is one
    of the conditions that hold where the index is used: those of an `and` to its left, or all of them in the body.
    """
    if any(isinstance(inner, (syntax.For, syntax.While)) for inner in statements(loop.body)):
        return ()
    walk = _IterationWalk(loop)
    still = dict.fromkeys(walk.counters, (0, 0))
    moved = walk.block(loop.body, still)
    in_body, changed = walk.taken(), changed_in(loop.body)
    limits: list[tuple[str, str, tuple[syntax.Expr, int]]] = []
    found: list[WhileIndex] = []
    for condition in _conjuncts(loop.condition):
        walk.read(condition, still)
        found += _with_ends(walk.taken(), moved, limits)
        limits += _limits(condition, walk.counters, changed)
    return (*found, *_with_ends(in_body, moved, limits))


def _conjuncts(condition: syntax.Expr) -> tuple[syntax.Expr, ...]:
    if isinstance(condition, syntax.Logical) and condition.op == "and":
        return tuple(each for operand in condition.operands for each in _conjuncts(operand))
    return (condition,)


def _limits(condition: syntax.Expr, counters: set[str], changed: set[str]) -> Iterator[tuple[str, str, tuple[syntax.Expr, int]]]:
    """Yields what a condition says of counters: (name, "<" or ">", the bound that the counter may attain)."""
    if not isinstance(condition, syntax.Compare):
        return
    for op, one, other in (
        (condition.op, condition.left, condition.right), (MIRRORED.get(condition.op, ""), condition.right, condition.left),
    ):  # fmt: skip
        if op not in _ATTAINED or not isinstance(one, syntax.Name) or one.name not in counters:
            continue
        if is_made_of(other, changed) and all(node.dtype in (PYINT, None) for node in traversal.nodes(other)):
            yield one.name, op[0], (other, _ATTAINED[op])


def _with_ends(
    found: Sequence[LoopIndex], moved: Moves, limits: Sequence[tuple[str, str, tuple[syntax.Expr, int]]]
) -> list[WhileIndex]:
    """Returns the indices all of whose counters have two bounds. moved: what an iteration adds to counters"""
    kept = []
    for each in found:
        ends = {}
        for name, _ in each.moves:
            above, below = (next((bound for n, op, bound in limits if (n, op) == (name, which)), None) for which in "<>")
            if (moved[name][0] >= 0 or below is not None) and (moved[name][1] <= 0 or above is not None):
                ends[name] = Ends(None if moved[name][0] >= 0 else below, None if moved[name][1] <= 0 else above)
        if len(ends) == len(each.moves):
            kept.append(WhileIndex(each.element, each.dim, each.moves, tuple(sorted(ends.items()))))
    return kept


class _IterationWalk:
    """An _IterationWalk goes through the statements of an iteration and keeps what counters have moved so far.

    counters: the names of the counters
    found: the indices so far
    """

    def __init__(self, loop: syntax.For | syntax.While):
        self.counters = _counters(loop.body)
        self._changed = changed_in(loop.body) - self.counters
        self.found: list[LoopIndex] = []

    def taken(self) -> tuple[LoopIndex, ...]:
        """Returns the indices since the last call."""
        found, self.found = tuple(self.found), []
        return found

    def block(self, body: Sequence[syntax.Stmt], moves: Moves) -> Moves:
        """Goes through a block, and returns what counters have moved behind it. moves: what they have moved before it."""
        for stmt in body:
            moves = self._stmt(stmt, moves)
        return moves

    def read(self, expr: syntax.Expr, moves: Moves) -> None:
        """Goes through an expression."""
        for node in traversal.nodes(expr):
            if isinstance(node, syntax.Subscript) and not node.inside:
                self._element(node, moves)

    def _stmt(self, stmt: syntax.Stmt, moves: Moves) -> Moves:
        for expr in traversal.accessed(stmt):
            self.read(expr, moves)
        match stmt:
            case syntax.Assign(target=syntax.Name(name=name), value=value) if name in self.counters:
                moved, (low, high) = step(name, value) or 0, moves[name]
                return {**moves, name: (low + moved, high + moved)}
            case syntax.If():
                return _hull(self.block(stmt.then, moves), self.block(stmt.orelse, moves))
            case syntax.Block():
                self.block(stmt.body, moves)
                return {name: self._anywhere(name, stmt.body, ends) for name, ends in moves.items()}
        return moves

    def _anywhere(self, name: str, body: Sequence[syntax.Stmt], ends: tuple[int, int]) -> tuple[int, int]:
        """Returns what a counter may have moved behind statements that may be left anywhere."""
        steps = [
            step(name, stmt.value) or 0
            for stmt in statements(body)
            if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name) and stmt.target.name == name
        ]
        return ends[0] + sum(min(moved, 0) for moved in steps), ends[1] + sum(max(moved, 0) for moved in steps)

    def _element(self, element: syntax.Subscript, moves: Moves) -> None:
        for dim, index in enumerate(element.indices):
            if is_made_of(index, self._changed, products=True) and self.counters.isdisjoint(
                map(traversal.name_of, factors_in(index))
            ):
                names = [node for node in traversal.nodes(index) if isinstance(node, syntax.Name)]
                if any(node.name in self.counters and _is_narrow(node.dtype) for node in names):
                    continue
                used = {node.name for node in names}
                own = tuple(sorted((name, ends) for name, ends in moves.items() if name in used))
                self.found.append(LoopIndex(element, dim, own))


def _hull(one: Moves, other: Moves) -> Moves:
    return {name: (min(low, other[name][0]), max(high, other[name][1])) for name, (low, high) in one.items()}


def _counters(body: Sequence[syntax.Stmt]) -> set[str]:
    """Returns the numbers that statements change by small constants alone."""
    found: set[str] = set()
    others: set[str] = set()
    for stmt in statements(body):
        if isinstance(stmt, syntax.For):
            others.add(stmt.var)
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            (others if step(stmt.target.name, stmt.value) is None else found).add(stmt.target.name)
    return found - others


def is_made_of(index: syntax.Expr, changed: set[str], products: bool = False) -> bool:
    """Returns whether an index is a sum of numbers, times small constants, none of which is among `changed`.

    products: whether it may also have products of two numbers, as in offset + i * step, and numbers from outside of the region
    """
    match index:
        case syntax.Name(name=name):
            return name not in changed
        case syntax.Const(value=int(value)):
            return abs(value) < _FAR
        case Integer() | ScalarArg():
            return True
        case syntax.Subscript(array=name, indices=()):  # a number from outside of the region
            return products and name not in changed and index.dtype == PYINT
        case syntax.Cast(operand=operand):
            return products and _is_exact(index.dtype) and _is_exact(operand.dtype) and is_made_of(operand, changed, products)
        case syntax.Binary(op="+" | "-", left=left, right=right):
            return is_made_of(left, changed, products) and is_made_of(right, changed, products)
        case syntax.Binary(op="*", left=syntax.Const(value=int(value)), right=right):
            return abs(value) <= 2 and is_made_of(right, changed, products)
        case syntax.Binary(op="*", left=left, right=syntax.Const(value=int(value))):
            return abs(value) <= 2 and is_made_of(left, changed, products)
        case syntax.Binary(op="*", left=left, right=right):
            return products and all(_is_number(each) and is_made_of(each, changed, products) for each in (left, right))
    return False


def _is_exact(kind: DType | None) -> bool:
    """Returns whether 64 bits with a sign hold all numbers of a type of integers."""
    return kind is not None and kind.is_integer and (kind.kind == "i" or kind.bits < 64)


def _is_narrow(kind: DType | None) -> bool:
    return kind is not None and kind.is_integer and kind.bits < 64


def narrow_in(index: syntax.Expr) -> Iterator[syntax.Expr]:
    """Yields the sums, products and conversions in an index that wrap where their type does not hold them."""
    for node in traversal.nodes(index):
        if isinstance(node, (syntax.Binary, syntax.Cast)) and _is_narrow(node.dtype):
            yield node


def in_64_bits(index: syntax.Expr) -> syntax.Expr:
    """Returns an index with all of its sums and products in 64 bits, where none of them wraps."""
    match index:
        case syntax.Cast(operand=operand):
            return in_64_bits(operand)
        case syntax.Binary(left=left, right=right):
            return replace(index, left=in_64_bits(left), right=in_64_bits(right), dtype=PYINT)
        case syntax.Const():
            return replace(index, dtype=PYINT)
    return index if index.dtype in (PYINT, I64, None) else syntax.Cast(index, PYINT, True, dtype=PYINT)


def _is_number(expr: syntax.Expr) -> bool:
    """Returns whether an expression is one number, without operations."""
    return isinstance(expr, (syntax.Name, Integer, ScalarArg)) or isinstance(expr, syntax.Subscript) and not expr.indices


def factors_in(index: syntax.Expr) -> Iterator[syntax.Expr]:
    """Yields the numbers in an index that are multiplied with each other."""
    for node in traversal.nodes(index):
        if isinstance(node, syntax.Binary) and node.op == "*" and not has_constant_factor(node):
            yield from (node.left, node.right)


def has_constant_factor(product: syntax.Binary) -> bool:
    """Returns whether a factor of a product is constant."""
    return isinstance(product.left, syntax.Const) or isinstance(product.right, syntax.Const)


def constant_factor(product: syntax.Binary) -> tuple[int, syntax.Expr]:
    """Returns the constant factor of a product, and the other factor."""
    if isinstance(product.left, syntax.Const):
        return int(product.left.value), product.right
    if isinstance(product.right, syntax.Const):
        return int(product.right.value), product.left
    raise TypeError(f"no factor is constant: {product!r}")


def others_in(index: syntax.Expr, known: Iterator[str] | set[str]) -> Iterator[syntax.Expr]:
    """Yields the numbers that an index is made of, but for constants and those whose names are known."""
    names = set(known)
    for node in traversal.nodes(index):
        if _is_number(node) and not (isinstance(node, syntax.Name) and node.name in names):
            yield node
