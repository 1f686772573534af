"""The names that statements of Python's syntax tree read, bind, and certainly have bound afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from polyml.frontend.lifting import live_variables

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp)  # their bodies run at any later time
_VIEWS = {
    "T",
    "real",
    "imag",
    "reshape",
    "ravel",
    "transpose",
    "swapaxes",
    "squeeze",
    "diagonal",
    "view",
    "moveaxis",
    "flip",
    "expand_dims",
    "mT",
}


def loaded(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.Name]]:
    """Yields (name, node) for each read of a name in the statements."""
    for stmt in body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield node.id, node
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                yield node.target.id, node.target


def stored(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yields each name that the statements bind, as often as they do."""
    for stmt in body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def definitely_assigned(body: Sequence[ast.stmt]) -> set[str]:
    """Returns the names that the statements certainly assign, whichever way control takes through them."""
    found: set[str] = set()
    for stmt in body:
        if isinstance(stmt, ast.If):
            found |= definitely_assigned(stmt.body) & definitely_assigned(stmt.orelse)
        elif isinstance(stmt, ast.Assign):
            found |= {name for target in stmt.targets for node in ast.walk(target) if (name := _bound(node))}
        elif isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
            found.add(stmt.target.id)
    return found


def binds_view(stmt: ast.stmt) -> bool:
    """Returns whether the statement gives a name to a view of an array, as far as its text tells."""
    if not isinstance(stmt, ast.Assign):
        return False
    match stmt.value:
        case ast.Subscript(slice=index):
            return any(isinstance(n, ast.Slice) or isinstance(n, ast.Constant) and n.value in (None, ...) for n in ast.walk(index))
        case ast.Attribute(attr=attr) | ast.Call(func=ast.Attribute(attr=attr)):
            return attr in _VIEWS
    return False


def _bound(node: ast.AST) -> str | None:
    """Returns the name that the node itself binds, as the target of an assignment or a loop; None if it binds none."""
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


def unstable_names(tree: ast.FunctionDef) -> set[str]:
    """Returns the names that other code may bind or that may lose their value: those of `global`, `nonlocal` and `del`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found |= set(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            found.add(node.id)
    return found


def names_of_inner_functions(tree: ast.FunctionDef) -> set[str]:
    """Returns the names that functions, classes and generators inside this function may read, whenever they run."""
    inside = [node for stmt in tree.body for node in ast.walk(stmt) if isinstance(node, SCOPES)]
    return {name for node in inside for name in live_variables.loaded(node)}


def upward_exposed(body: Sequence[ast.stmt], bound: set[str]) -> set[str]:
    """Returns the names that may be read before the statements give them a value.

    bound: the names that have a value before the statements
    """
    found: set[str] = set()
    bound = set(bound)
    for stmt in body:
        if isinstance(stmt, ast.For):
            inside = bound | set(stored([ast.Assign([stmt.target], stmt.iter)]))
            found |= {name for name, _ in loaded([ast.Expr(stmt.iter)])} - bound
            found |= upward_exposed(stmt.body, inside) | upward_exposed(stmt.orelse, bound)
        elif isinstance(stmt, (ast.If, ast.While)):
            found |= {name for name, _ in loaded([ast.Expr(stmt.test)])} - bound
            found |= upward_exposed(stmt.body, bound) | upward_exposed(stmt.orelse, bound)
        else:
            found |= {name for name, _ in loaded([stmt])} - bound
        bound |= definitely_assigned([stmt])
    return found


def subscripts_of(body: Sequence[ast.stmt]) -> dict[str, int]:
    """Returns, for each name in the statements, the least number of subscripts other than slices that it has at any of its places.

    It is 0 where the name stands alone or all its subscripts are slices.
    """
    found: dict[str, int] = {}
    bases: set[int] = set()
    for stmt in body:
        for node in ast.walk(stmt):
            taken, base = 0, node
            while isinstance(base, ast.Subscript):
                indices = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
                taken += sum(not isinstance(i, ast.Slice) for i in indices)
                base = base.value
            if isinstance(base, ast.Name) and id(base) not in bases:
                bases.add(id(base))
                found[base.id] = min(found.get(base.id, taken), taken)
    return found
