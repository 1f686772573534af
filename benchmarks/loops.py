"""The loops of a kernel as Python's ast, which the peers' sources are made from."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable


def function_tree(function: Callable) -> ast.FunctionDef:
    """The function's definition without its decorators."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    tree.decorator_list = []
    return tree


def loops_of(tree: ast.AST) -> list[ast.For]:
    """Every loop in the order in which it is written, an outer one before those inside it."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.For):
            found.append(node)
        found.extend(loops_of(node))
    return found
