"""Subscripts of np.mgrid and np.ogrid, whose slices are not those of an array, as calls of functions of the same names.

np.mgrid[0:n, -1:1:5j]    ->    np.mgrid((0, -1), (n, 1), (1, 5), (False, True), True)
"""

from __future__ import annotations

import ast
import copy

import numpy as np

from polyml.frontend.parsing.names import NameLookup

_GRIDS = (np.mgrid, np.ogrid)


def as_calls(names: NameLookup, tree: ast.FunctionDef) -> ast.FunctionDef:
    """Returns the tree of a function with calls in the place of subscripts of np.mgrid and np.ogrid."""
    if not any(_is_grid(names, node) for node in ast.walk(tree)):
        return tree
    return _Calls(names).visit(copy.deepcopy(tree))


def _is_grid(names: NameLookup, node: ast.AST) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, (ast.Name, ast.Attribute)):
        return False
    value = names.value(node.value)
    return any(value is each for each in _GRIDS)


class _Calls(ast.NodeTransformer):
    """A _Calls replaces subscripts of grids; those that are no slices with an end become calls that are refused.

    names: what names stand for
    """

    def __init__(self, names: NameLookup):
        self._names = names

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not _is_grid(self._names, node):
            return node
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        slices = [part for part in parts if isinstance(part, ast.Slice)]
        is_grid = len(slices) == len(parts) and all(part.upper is not None for part in slices) and bool(slices)
        columns = zip(*map(self._arguments, slices if is_grid else [ast.Slice()]))
        args: list[ast.expr] = [ast.Tuple(list(column), ast.Load()) for column in columns]
        args.append(ast.Constant(isinstance(node.slice, ast.Tuple) if is_grid else None))
        return ast.fix_missing_locations(ast.copy_location(ast.Call(node.value, args, []), node))

    def _arguments(self, part: ast.Slice) -> tuple[ast.expr, ast.expr, ast.expr, ast.expr]:
        """Returns the start, the end and the step of a slice, and whether that is a number of points, which a complex step says."""
        start, stop, counted = part.lower or ast.Constant(0), part.upper or ast.Constant(0), ast.Constant(True)
        match part.step:
            case ast.Constant(value=complex() as value):
                return start, stop, ast.Constant(int(abs(value))), counted
            case ast.BinOp(op=ast.Mult(), left=ast.Constant(value=complex() as value), right=count) if value == 1j:
                return start, stop, count, counted
            case ast.BinOp(op=ast.Mult(), left=count, right=ast.Constant(value=complex() as value)) if value == 1j:
                return start, stop, count, counted
        return start, stop, part.step or ast.Constant(1), ast.Constant(False)
