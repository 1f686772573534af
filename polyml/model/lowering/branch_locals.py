"""Numbers that live in one branch of an `if` on data alone: what they are where the branch does not run does not matter.

        if c:                       t = x[i] - y[i] if c else 0
            t = x[i] - y[i]    ->   B[i] = t*t if c else B[i]
            B[i] = t*t

A select that kept the number's old value would make it depend on the iteration before. This is the privatization of scalars (Allen and
Kennedy, "Optimizing Compilers for Modern Architectures", sec. 5.3) for statements under a condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyml.frontend import syntax, traversal
from polyml.model.lowering.region_building import mentions


def branch_locals(branch: Sequence[syntax.Stmt], everywhere: Mapping[str, int]) -> frozenset[str]:
    """Returns the numbers that a branch assigns before it reads them, and that nothing outside of the branch mentions.

    everywhere: how often each name stands in the whole kernel
    """
    inside = mentions(branch)
    return frozenset(name for name in _begun(branch) if inside[name] == everywhere[name])


def _begun(block: Sequence[syntax.Stmt]) -> set[str]:
    """Returns the numbers whose first mention in a block is an assignment, be it in the one loop of the block that mentions them."""
    seen: set[str] = set()
    begun: set[str] = set()
    for place, stmt in enumerate(block):
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            read = {node.name for node in traversal.nodes(stmt.value) if isinstance(node, syntax.Name)}
            begun |= {stmt.target.name} - read - seen
        elif isinstance(stmt, syntax.For):
            begun |= _begun(stmt.body) - {stmt.var} - mentions((*block[:place], *block[place + 1 :])).keys()
        seen |= mentions((stmt,)).keys()
    return begun
