"""What the text of a function that calls itself has in it: returns, and statements that leave a loop."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def own_nodes(node: ast.AST) -> list[ast.AST]:
    """Returns the nodes of a statement without those of functions inside of it."""
    found, pending = [], [node]
    while pending:
        each = pending.pop()
        found.append(each)
        pending += [] if isinstance(each, _SCOPES) else ast.iter_child_nodes(each)
    return found


def leaves(stmt: ast.stmt) -> bool:
    """Returns whether a statement leaves a loop around it, or one of its iterations."""
    if isinstance(stmt, (ast.For, ast.While)):
        return any(map(leaves, stmt.orelse))
    inner = (each for each in ast.iter_child_nodes(stmt) if isinstance(each, ast.stmt))
    return isinstance(stmt, (ast.Break, ast.Continue)) or any(map(leaves, inner))


def result_count(
    trees: Iterable[ast.FunctionDef], is_call: Callable[[ast.Call], bool], refused: Callable[[ast.AST, str], Exception]
) -> int:
    """Returns how many values functions return, which call themselves or each other.

    is_call: whether a call is one of them
    refused: returns the error for a part of one, from the node and what it is
    Raises LanguageError where that is not the same for all returns.
    """
    counts = set()
    trees = tuple(trees)
    for node in (each for tree in trees for stmt in tree.body for each in own_nodes(stmt)):
        if isinstance(node, _SCOPES) and any(isinstance(each, ast.Call) and is_call(each) for each in ast.walk(node)):
            raise refused(node, "a call of the function itself in a function or comprehension inside of it")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            raise refused(node, "a definition inside of a function that calls itself")
        if isinstance(node, ast.Return):
            value = node.value
            is_own = isinstance(value, ast.Call) and is_call(value)
            is_none = value is None or isinstance(value, ast.Constant) and value.value is None
            counts |= set() if is_own else {0} if is_none else {len(value.elts)} if isinstance(value, ast.Tuple) else {1}
    if len(counts) > 1:
        raise refused(trees[0], "a function that calls itself and returns as many values as the path decides")
    return counts.pop() if counts else 0
