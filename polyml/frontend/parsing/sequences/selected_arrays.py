"""Calls of np.select, whose conditions and choices are two lists: they become the operands of one function."""

from __future__ import annotations

import ast

import numpy as np

from polyml.frontend import syntax
from polyml.frontend.parsing.calls import CallParser

_PARAMETERS = ("condlist", "choicelist", "default")
_ACCEPTED = "`np.select([a, b], [x, y], default=z)`, with lists or tuples that are written out"


def select(parser: CallParser, node: ast.Call) -> syntax.Function | None:
    """Returns the function whose operands are the conditions, the choices and the default of np.select; None for another call."""
    if parser.value(node.func) is not np.select:
        return None
    given = dict(zip(_PARAMETERS, node.args))
    for keyword in node.keywords:
        if keyword.arg not in _PARAMETERS or keyword.arg in given:
            raise parser.error(node, "`np.select` does not take this", _ACCEPTED)
        given[keyword.arg] = keyword.value
    if len(node.args) > len(_PARAMETERS) or not {"condlist", "choicelist"} <= given.keys():
        raise parser.error(node, "`np.select` needs conditions and choices", _ACCEPTED)
    conditions, choices = (_parts(parser, given[name]) for name in _PARAMETERS[:2])
    if len(conditions) != len(choices) or not conditions:
        raise parser.not_affine(node, f"`np.select` of {len(conditions)} conditions and {len(choices)} choices", _ACCEPTED)
    default = parser.expr(given["default"]) if "default" in given else syntax.Const(0)
    return syntax.Function("select", (*conditions, *choices, default), loc=parser.text.loc(node))


def _parts(parser: CallParser, node: ast.expr) -> tuple[syntax.Expr, ...]:
    """Returns the numbers and arrays in a list or tuple."""
    if isinstance(node, (ast.List, ast.Tuple)) and not any(isinstance(each, ast.Starred) for each in node.elts):
        return tuple(map(parser.array_operand, node.elts))
    parts = parser.flat(node) if isinstance(node, ast.Name) else None
    if parts is None:
        raise parser.not_affine(node, "`np.select` of a list that is not written out", _ACCEPTED)
    return parts
