"""What LLVM is told of the loops of regions: those that store over an element that they read in each iteration become no vectors.

    for j in range(n):
        if d[i, k] + d[k, j] < d[i, j]:
            d[i, j] = d[i, k] + d[k, j]        d[i, k] is among what is stored, unless k is outside of the range

LLVM would compare addresses before the loop, find that they meet, and run the iterations in a loop that it leaves as it is. Without
vectors it unrolls that one.
"""

from __future__ import annotations

from polyml.codegen.analysis.region_integers import changed_in
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.model.core.nest import Integer

NAME = "loop hints"  # of the metadata among a function's declarations
_NO_VECTORS = 1000  # beyond the numbers of other metadata
_TEXT = f'!{_NO_VECTORS} = distinct !{{!{_NO_VECTORS}, !{_NO_VECTORS + 1}}}\n!{_NO_VECTORS + 1} = !{{!"llvm.loop.vectorize.enable", i1 false}}'


def hint(body: ElementAccess, loop: syntax.For) -> str:
    """Returns what stands behind the branch to the first block of a loop; "" where LLVM may do as it likes."""
    if not meets_itself(loop):
        return ""
    body.declared.setdefault(NAME, _TEXT)
    return f", !llvm.loop !{_NO_VECTORS}"


def meets_itself(loop: syntax.For) -> bool:
    """Returns whether a loop without others inside is likely to store to an element that it reads in all iterations."""
    inside = [*statements(loop.body)]
    if any(isinstance(stmt, (syntax.For, syntax.While)) for stmt in inside):
        return False
    changed, ends = changed_in((loop,)), _names(loop.start) | _names(loop.stop)
    stored = [stmt.target for stmt in inside if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Subscript)]
    read = [node for stmt in inside for expr in traversal.expressions(stmt) for node in traversal.nodes(expr)]
    return any(
        isinstance(element, syntax.Subscript)
        and element.array == target.array
        and _is_passed(target, element, loop.var, changed, ends)
        for target in stored
        for element in read
    )


def _is_passed(target: syntax.Subscript, element: syntax.Subscript, variable: str, changed: set[str], ends: set[str]) -> bool:
    """Returns whether an element that stays the same is in the row that a loop stores to.

    variable, changed, ends: the loop's variable, all that it changes, and the names in its bounds: what these mention may be beyond them
    """
    others = [(one, other) for one, other in zip(target.indices, element.indices) if one != other]
    return len(others) == 1 and all(
        isinstance(one, syntax.Name) and one.name == variable and bool(names := _names(other)) and names.isdisjoint(changed | ends)
        for one, other in others
    )


def _names(expr: syntax.Expr) -> set[str]:
    """Returns the numbers, arrays and iterators that an expression is made of."""
    nodes = [*traversal.nodes(expr)]
    affine = {name for node in nodes if isinstance(node, Integer) for name in node.affine.names}
    return affine | {name for node in nodes if (name := traversal.name_of(node)) is not None}
