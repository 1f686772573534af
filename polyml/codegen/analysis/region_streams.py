"""Elements that a loop of a Region reads one behind the other, beside elements whose places data decide.

    for k in range(start, stop):
        s += val[k] * x[col[k]]          val[k] and col[k] are streams

Processors fetch such rows ahead by themselves, but not well between accesses to any place: prefetches make the product of a
sparse matrix out of cache up to twice as fast. (Ainsworth and Jones, "Software prefetching for indirect memory accesses", CGO 2017.)
"""

from __future__ import annotations

from polyml.codegen.analysis.region_indices import constant_factor, is_made_of
from polyml.codegen.analysis.region_integers import changed_in
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements


def streams(loop: syntax.For) -> tuple[syntax.Subscript, ...]:
    """Returns one element of each array row that a loop without others inside reads one behind the other; none where data decide no
    place of another element.
    """
    inside = [*statements(loop.body)]
    if loop.step != 1 or any(isinstance(stmt, (syntax.For, syntax.While)) for stmt in inside):
        return ()
    changed = changed_in(loop.body) - {loop.var}
    found: dict[tuple, syntax.Subscript] = {}
    has_gathers = False
    for stmt in inside:
        for node in (node for expr in traversal.accessed(stmt) for node in traversal.nodes(expr)):
            if not isinstance(node, syntax.Subscript) or not node.indices:
                continue
            if all(is_made_of(index, changed) for index in node.indices):
                *rows, last = node.indices
                if all(_moves(index, loop.var) == 0 for index in rows) and _moves(last, loop.var) == 1:
                    found.setdefault((node.array, *rows), node)
            else:
                has_gathers = True
    return tuple(found.values()) if has_gathers else ()


def _moves(index: syntax.Expr, variable: str) -> int:
    """Returns by how much a sum of numbers (`is_made_of`) grows where a variable grows by one."""
    match index:
        case syntax.Name(name=name):
            return int(name == variable)
        case syntax.Binary(op="*"):
            factor, other = constant_factor(index)
            return factor * _moves(other, variable)
        case syntax.Binary(op=op, left=left, right=right):
            return _moves(left, variable) + (-1 if op == "-" else 1) * _moves(right, variable)
    return 0
