"""How many dimensions the arrays of a function have, as far as its text tells before it is parsed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

_MADE = frozenset({"zeros", "ones", "empty", "full"})
_LIKE = frozenset({"zeros_like", "ones_like", "empty_like", "full_like", "copy", "astype", "ascontiguousarray", "asarray"})
_ROUNDS = 4  # through the assignments: a name may have its array from one further down in a loop


def ranks(tree: ast.FunctionDef, known: Mapping[str, int], matrices: Collection[str]) -> Mapping[str, int]:
    """Returns how many dimensions the arrays have that names of a function stand for; names of which that is not known are left out.

    known: those of the parameters
    matrices: the parameters that are sparse matrices
    """
    found = dict(known)
    for _ in range(_ROUNDS):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                made = rank(node.value, found, matrices)
                if made is not None:
                    found.setdefault(node.targets[0].id, made)
    return found


def rank(node: ast.expr, known: Mapping[str, int], matrices: Collection[str]) -> int | None:
    """Returns how many dimensions the value of an expression has; None where the text does not tell.

    known: those of names
    matrices: the names of sparse matrices
    """

    def of(part: ast.expr) -> int | None:
        return rank(part, known, matrices)

    match node:
        case ast.Name(id=name):
            return known.get(name)
        case ast.Constant():
            return 0
        case ast.UnaryOp(operand=operand):
            return of(operand)
        case ast.Attribute(value=value, attr="T" | "real" | "imag"):
            return of(value)
        case ast.BinOp(left=left, op=op, right=right):
            one, other = of(left), of(right)
            if _is_matrix(left, matrices):
                return other
            if _is_matrix(right, matrices):
                return one
            if one is None or other is None:
                return None
            return max(one + other - 2, 0) if isinstance(op, ast.MatMult) else max(one, other)
        case ast.Subscript(value=value, slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            whole = of(value)
            if whole is None or not all(isinstance(part, ast.Slice) or of(part) == 0 for part in parts):
                return None
            return whole - sum(not isinstance(part, ast.Slice) for part in parts)
        case ast.Call(func=ast.Attribute(value=base, attr="dot"), args=[argument]) if _is_matrix(base, matrices):
            return of(argument)
        case ast.Call(func=ast.Attribute(attr="diagonal"), args=[]):
            return 1
        case ast.Call(func=ast.Attribute(attr=name), args=[shape, *_]) if name in _MADE:
            return _length(shape, known, matrices)
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=arguments) if name in _LIKE:
            own = of(base)
            return own if own is not None or not arguments else of(arguments[0])
    return None


def _is_matrix(node: ast.expr, matrices: Collection[str]) -> bool:
    base = node.value if isinstance(node, ast.Attribute) and node.attr == "T" else node
    return isinstance(base, ast.Name) and base.id in matrices


def _length(shape: ast.expr, known: Mapping[str, int], matrices: Collection[str]) -> int | None:
    """Returns how many sizes the shape of a new array has."""
    match shape:
        case ast.Tuple(elts=sizes) | ast.List(elts=sizes):
            return len(sizes)
        case ast.Attribute(value=value, attr="shape"):
            return 2 if _is_matrix(value, matrices) else rank(value, known, matrices)
        case ast.Constant() | ast.Subscript(value=ast.Attribute(attr="shape")):
            return 1
        case ast.Name(id=name) if known.get(name, 0) == 0:
            return 1
    return None
