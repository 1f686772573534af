"""The loops of a kernel as Python's ast, which the peers' sources are made from."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence


def function_tree(function: Callable) -> ast.FunctionDef:
    """Returns the function's definition without its decorators."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    tree.decorator_list = []
    return tree


def loops_of(tree: ast.AST) -> list[ast.For]:
    """Returns every loop in the order in which it is written, an outer one before those inside it."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.For):
            found.append(node)
        found.extend(loops_of(node))
    return found


def loops_named(tree: ast.FunctionDef, names: Sequence[str]) -> list[ast.For]:
    """Returns the loops of these names, as `parallel_loops` has them. Raises ValueError where there is no such loop."""
    loops = {f"{i}:{loop.target.id}": loop for i, loop in enumerate(loops_of(tree))}
    for name in names:
        if name not in loops:
            raise ValueError(f"{tree.name} has no loop {name}; it has {', '.join(loops)}")
    return [loops[name] for name in names]


def with_single_constants(tree: ast.FunctionDef) -> ast.FunctionDef:
    """Returns the function with its numbers as np.float32, for compilers that compute in float64 with Python's own."""
    return _SingleConstants().visit(tree)


class _SingleConstants(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, float):
            return node
        return ast.parse(f"np.float32({node.value!r})", mode="eval").body
