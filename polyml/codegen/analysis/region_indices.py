"""Indices in a loop of a Region that bounds can be told of before the loop begins: sums of its variable, of counters, and of numbers that
it does not change.

A counter is a number that the loop changes by small constants alone, perhaps on some of its paths: in iteration n it is between what it
was before plus n times the least and n times the most that one iteration adds, plus what this iteration has added so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polyml.codegen.analysis.region_integers import changed_in, step
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.model.core.nest import Integer
from polyml.model.core.scop import ScalarArg

Moves = Mapping[str, tuple[int, int]]  # by counter, the least and the most that it has moved
_FAR = 2**40  # beyond constants in indices


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


class _IterationWalk:
    """An _IterationWalk goes through the statements of an iteration and keeps what counters have moved so far.

    counters: the names of the counters
    found: the indices so far
    """

    def __init__(self, loop: syntax.For):
        self.counters = _counters(loop.body)
        self._changed = changed_in(loop.body) - self.counters
        self.found: list[LoopIndex] = []

    def block(self, body: Sequence[syntax.Stmt], moves: Moves) -> Moves:
        """Goes through a block, and returns what counters have moved behind it. moves: what they have moved before it."""
        for stmt in body:
            moves = self._stmt(stmt, moves)
        return moves

    def _stmt(self, stmt: syntax.Stmt, moves: Moves) -> Moves:
        for expr in traversal.accessed(stmt):
            for node in traversal.nodes(expr):
                if isinstance(node, syntax.Subscript) and not node.inside:
                    self._element(node, moves)
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
            if is_made_of(index, self._changed):
                used = {node.name for node in traversal.nodes(index) if isinstance(node, syntax.Name)}
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


def is_made_of(index: syntax.Expr, changed: set[str]) -> bool:
    """Returns whether an index is a sum of numbers, times small constants, none of which is among `changed`."""
    match index:
        case syntax.Name(name=name):
            return name not in changed
        case syntax.Const(value=int(value)):
            return abs(value) < _FAR
        case Integer() | ScalarArg():
            return True
        case syntax.Binary(op="+" | "-", left=left, right=right):
            return is_made_of(left, changed) and is_made_of(right, changed)
        case syntax.Binary(op="*", left=syntax.Const(value=int(value)), right=right):
            return abs(value) <= 2 and is_made_of(right, changed)
        case syntax.Binary(op="*", left=left, right=syntax.Const(value=int(value))):
            return abs(value) <= 2 and is_made_of(left, changed)
    return False


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
        if isinstance(node, (Integer, ScalarArg)) or isinstance(node, syntax.Name) and node.name not in names:
            yield node
