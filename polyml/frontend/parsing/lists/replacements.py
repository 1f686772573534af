"""Lists in a list of lists that are replaced: whether names may stand for the old ones, which they go on with in Python.

row = adj[u]; adj[u] = []; row.append(v)          refused: what is row here has no place in the list of lists any more
"""

from __future__ import annotations

import ast
from collections.abc import Sequence


def has_element_names(function: ast.FunctionDef, names: set[str]) -> bool:
    """Returns whether a name may stand for a list in a list of lists. names: of this"""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Tuple()], value=value):
                if not isinstance(value, ast.Name) and _shares(value, names):
                    return True
            case ast.For(iter=over) if not isinstance(over, ast.Subscript) and _shares(over, names):
                return True
    return False


def _shares(node: ast.expr, names: set[str]) -> bool:
    """Returns whether the value of an expression may be, or have in it, a list in a list of lists."""
    match node:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return name in names
        case ast.Call(func=ast.Name(id="len" | "sum" | "min" | "max" | "any" | "all" | "range")):
            return False
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "reversed"), args=args):
            return any(_shares(each, names) for each in args if not isinstance(each, ast.Subscript))
        case ast.Call(func=ast.Name(id="list" | "sorted"), args=[ast.Subscript(value=ast.Name(), slice=place)]):
            return isinstance(place, ast.Slice)
        case ast.ListComp(elt=element, generators=parts):
            over = [part for part in parts if not isinstance(part.iter, ast.Subscript) and _shares(part.iter, names)]
            targets = {each.id for part in over for each in ast.walk(part.target) if isinstance(each, ast.Name)}
            return _shares(element, names | targets)
        case ast.Call() | ast.IfExp() | ast.BoolOp() | ast.Tuple() | ast.List() | ast.BinOp():
            return any(_shares(each, names) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
    return False


def replaces_elements(nodes: Sequence[ast.AST], names: set[str]) -> bool:
    """Returns whether one of the nodes assigns an element of a list of lists. names: of this"""
    targets = (target for node in nodes if isinstance(node, ast.Assign) for target in node.targets)
    return any(isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name) and each.value.id in names for each in targets)
