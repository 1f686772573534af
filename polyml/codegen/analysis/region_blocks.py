"""Loops of a Region of which several iterations may run at once, behind one test of all their indices.

    for k in range(n):                     for k in range(0, n - 3, 4):
        s += val[k] * x[col[k]]     ->         if not (col[k] < N and .. and col[k + 3] < N): break
                                               s += val[k] * x[col[k]]; ..; s += val[k + 3] * x[col[k + 3]]
                                           the other iterations one by one

An index counts that is known before its iteration begins: it is made of the loop's variable, of numbers that the loop does not change,
and of elements of arrays that it does not store to. What fails such a test is left to the loop over single iterations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set

from polyml.codegen.analysis.region_integers import changed_in
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements

ITERATIONS = 4  # at once
LEAST = 16  # iterations of a loop of which several run at once; of short loops the ends cost more than the iterations
_MOST_NODES = 40  # of the expressions in an iteration
Dimension = tuple[int, int]  # the identity of a Subscript, and a dimension


@dataclasses.dataclass(frozen=True)
class BlockIndex:
    """A BlockIndex is an index that is tested before its iteration begins.

    element, dim: where it stands
    value: what it is, made of what is known before the iteration
    """

    element: syntax.Subscript
    dim: int
    value: syntax.Expr


def block_indices(loop: syntax.For, safe: frozenset[Dimension]) -> tuple[BlockIndex, ...]:
    """Returns the indices of a loop that are to be tested before several iterations run at once; none where they cannot.

    safe: the indices that are known to be those of elements
    """
    body = [stmt for stmt in loop.body if isinstance(stmt, syntax.Assign)]
    if len(body) < len(loop.body) or sum(1 for stmt in body for _ in traversal.nodes(stmt.value)) > _MOST_NODES:
        return ()
    stored = {stmt.target.array for stmt in body if isinstance(stmt.target, syntax.Subscript)}
    values: dict[str, syntax.Expr | None] = dict.fromkeys(changed_in(body) - {loop.var})
    found: dict[Dimension, BlockIndex] = {}
    for stmt in body:
        target = (stmt.target,) if isinstance(stmt.target, syntax.Subscript) else ()
        for node in (node for expr in (stmt.value, *target) for node in traversal.nodes(expr)):
            if not isinstance(node, syntax.Subscript) or node.inside:
                continue
            for dim, index in enumerate(node.indices):
                if (id(node), dim) not in safe:
                    value = known_before(index, values, stored, safe)
                    if value is None:
                        return ()
                    found[id(node), dim] = BlockIndex(node, dim, value)
        if isinstance(stmt.target, syntax.Name):
            values[stmt.target.name] = known_before(stmt.value, values, stored, safe)
    return tuple(found.values())


def invariant_indices(loop: syntax.For, safe: frozenset[Dimension]) -> tuple[BlockIndex, ...]:
    """Returns the indices of a loop without others inside that are the same in all its iterations, as `rows[p]` in `y[rows[p], c]`.

    safe: the indices that are known to be those of elements
    """
    inside = [*statements(loop.body)]
    if any(isinstance(stmt, (syntax.For, syntax.While)) for stmt in inside):
        return ()
    changed = changed_in(loop.body) | {loop.var}
    values: dict[str, syntax.Expr | None] = dict.fromkeys(changed)
    found: dict[Dimension, BlockIndex] = {}
    for stmt in inside:
        target = (stmt.target,) if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Subscript) else ()
        for node in (node for expr in (*traversal.expressions(stmt), *target) for node in traversal.nodes(expr)):
            if isinstance(node, syntax.Subscript) and not node.inside:
                for dim, index in enumerate(node.indices):
                    if (id(node), dim) not in safe and known_before(index, values, changed, safe) is not None:
                        found[id(node), dim] = BlockIndex(node, dim, index)
    return tuple(found.values())


def totals(loop: syntax.For) -> frozenset[str]:
    """Returns the numbers of which a loop does nothing but add something to them, or multiply them by it, in one statement."""
    return frozenset(name for name, (reads, updates) in _updated(loop).items() if reads == updates == 1)


def watched(loop: syntax.For | syntax.While) -> frozenset[str]:
    """Returns the numbers to which a loop without others inside adds something, and which it also reads otherwise, so that each sum waits
    for the one before it.
    """
    return frozenset(name for name, (reads, updates) in _updated(loop).items() if reads > updates > 0)


def _updated(loop: syntax.For | syntax.While) -> dict[str, tuple[int, int]]:
    """Returns of the numbers that a loop updates how often it reads them, and how often in the statement that updates them."""
    inside = [*statements(loop.body)]
    conditions = (loop.condition,) if isinstance(loop, syntax.While) else ()
    expressions = (*conditions, *(e for stmt in inside for e in traversal.expressions(stmt)))
    reads = [node.name for e in expressions for node in traversal.nodes(e) if isinstance(node, syntax.Name)]
    found: list[str] = []
    for stmt in inside:
        match stmt:
            case syntax.Assign(syntax.Name(name=name), syntax.Binary(op="+" | "*", left=syntax.Name(name=own))) if own == name:
                found.append(name)
    return {name: (reads.count(name), found.count(name)) for name in found}


def known_before(
    expr: syntax.Expr, values: Mapping[str, syntax.Expr | None], stored: Set[str], safe: Set[Dimension]
) -> syntax.Expr | None:
    """Returns an expression in terms of what is known before the iteration; None where it is made of other things.

    values: those of numbers that the loop changes, as far as they are known
    stored: the arrays that the loop stores to
    safe: the indices that are known to be those of elements
    """
    if isinstance(expr, syntax.Name):
        return values.get(expr.name, expr)
    operands = traversal.operands(expr)
    made = [known_before(each, values, stored, safe) for each in operands]
    kept = [each for each in made if each is not None]
    if len(kept) < len(made):
        return None
    is_same = all(a is b for a, b in zip(kept, operands))
    if isinstance(expr, syntax.Subscript):
        is_safe = is_same and all((id(expr), dim) in safe for dim in range(len(expr.indices)))
        return expr if is_safe and expr.array not in stored else None
    return expr if is_same else traversal.with_operands(expr, tuple(kept))
