"""Arrays that are unpacked, and calls of NumPy's functions that return tuples of arrays: each part becomes a function of its own.

i, j = np.nonzero(A)     ->     i = nonzero(A, axis=0, ndim=2); j = nonzero(A, axis=1, ndim=2)
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from polyml.frontend import syntax
from polyml.frontend.constant_folding import constant
from polyml.frontend.parsing.calls import CallParser
from polyml.frontend.parsing.sequences.values import ListOf


def places(parser: CallParser, node: ast.expr, count: int) -> tuple[syntax.Expr, ...] | None:
    """Returns the parts of np.nonzero of an array of `count` dimensions; None for another expression."""
    operand = _places_operand(parser, node)
    if operand is None:
        return None
    array = _held(parser, parser.expr(operand))
    return tuple(_place(parser, node, array, (("axis", axis), ("ndim", count))) for axis in range(count))


def place(parser: CallParser, node: ast.expr, index: ast.expr) -> syntax.Expr | None:
    """Returns the part of np.nonzero with a constant number; None for another expression."""
    operand = _places_operand(parser, node)
    if operand is None:
        return None
    axis = constant(parser.expr(index)) if not isinstance(index, ast.Slice) else None
    if type(axis) is not int:
        raise parser.not_affine(node, "a part of np.nonzero whose number is not a constant", "`np.nonzero(A)[0]`", "PML-F006")
    return _place(parser, node, parser.expr(operand), (("axis", axis),))


def rows(parser: CallParser, node: ast.expr, value: syntax.Expr, count: int) -> tuple[list[syntax.Stmt], tuple[syntax.Expr, ...]]:
    """Returns the elements or rows of an array that is unpacked into `count` names, behind statements that require that it has so many."""
    if isinstance(value, syntax.Const):
        accepted = "`a, b = x, y`, `n, m = A.shape`, an array, and a function that returns a tuple"
        raise parser.error(node, "this cannot be unpacked", accepted)
    loc = parser.text.loc(node)
    array = value if isinstance(value, syntax.Name) else syntax.Name(parser.fresh("_part"), loc=value.loc)
    made: list[syntax.Stmt] = [] if array is value else [syntax.Assign(array, value, loc=value.loc)]
    same = syntax.Compare("==", syntax.Shape(array.name, 0, loc=loc), syntax.Const(count, loc=loc), loc=loc)
    made.append(syntax.Require(same, "an array that is unpacked into another number of names", loc=loc))
    return made, tuple(syntax.Subscript(array.name, (syntax.Const(k, loc=loc),), loc=loc) for k in range(count))


def parts_of_list(parser: CallParser, node: ast.expr, value: ListOf, count: int) -> tuple[syntax.Expr, ...]:
    """Returns the numbers of a list in a list of lists of one length that is unpacked into `count` names, and requires that it has so many.

    node: the targets or the expression, for messages
    """
    if len(value.indices) + 1 != value.ndim or value.count:
        raise parser.not_affine(node, "a list that is unpacked", "a list in a list of lists of one length", "PML-F008")
    loc, places = parser.text.loc(node), [_held(parser, each) for each in value.indices]
    fits = syntax.Compare("==", syntax.Shape(value.array, len(places), loc=loc), syntax.Const(count, loc=loc), loc=loc)
    parser.before.append(syntax.Require(fits, "a list that is unpacked into another number of names", loc=loc))
    return tuple(syntax.Subscript(value.array, (*places, syntax.Const(k, loc=loc)), loc=loc) for k in range(count))


def mask(parser: CallParser, node: ast.expr) -> syntax.Expr | None:
    """Returns the mask that selects the same elements as np.nonzero(A) does where it is a subscript; None for another expression."""
    operand = _places_operand(parser, node)
    if operand is None:
        return None
    return syntax.Compare("!=", parser.expr(operand), syntax.Const(0), loc=parser.text.loc(node))


def indices(parser: CallParser, node: ast.expr) -> Sequence[ast.expr]:
    """Returns the subscripts of the dimensions, of a subscript that is written or the name of a tuple."""
    if isinstance(node, ast.Tuple):
        return node.elts
    found = parser.parts(node) if isinstance(node, ast.Name) else None
    if not isinstance(found, tuple):
        return (node,)
    made = (ast.Subscript(node, ast.copy_location(ast.Constant(k), node), ast.Load()) for k in range(len(found)))
    return [ast.copy_location(each, node) for each in made]


def _places_operand(parser: CallParser, node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "nonzero"
        and not node.args
        and parser.is_computed(node.func.value)
    ):
        return node.func.value
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        return None
    function = parser.value(node.func)
    return node.args[0] if function is np.nonzero or function is np.where else None


def _place(parser: CallParser, node: ast.expr, array: syntax.Expr, options: tuple[tuple[str, object], ...]) -> syntax.Expr:
    return syntax.Function("nonzero", (array,), options, loc=parser.text.loc(node))


def _held(parser: CallParser, value: syntax.Expr) -> syntax.Expr:
    if isinstance(value, (syntax.Const, syntax.Name)):
        return value
    name = syntax.Name(parser.fresh("_part"), loc=value.loc)
    parser.before.append(syntax.Assign(name, value, loc=value.loc))
    return name
