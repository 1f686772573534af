"""A kernel's own source with `prange` at the loops that may run in parallel, for numba."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from benchmarks.loops import function_tree, loops_of


def numba_source(function: Callable, parallel: Sequence[str], dtype: str) -> str:
    """Python text of the function.

    parallel: loops as `parallel_loops` names them; ValueError when the source has no such loop. In float32, constants
    become np.float32, as numba would compute in float64 with Python's own.
    """
    tree = function_tree(function)
    loops = {f"{i}:{loop.target.id}": loop for i, loop in enumerate(loops_of(tree))}
    for name in parallel:
        if name not in loops:
            raise ValueError(f"{tree.name} has no loop {name}; it has {', '.join(loops)}")
        loops[name].iter.func = ast.Name("prange", ast.Load())
    if dtype == "float32":
        tree = _SingleConstants().visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


class _SingleConstants(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, float):
            return node
        return ast.parse(f"np.float32({node.value!r})", mode="eval").body
