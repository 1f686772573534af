"""Extents of result arrays: expressions of a kernel's parameters, read as what they may be and nothing else.

    N + 1, 2*N - M, ((N + 3) // 4), min(N, M + 1), (N if N >= M else 0), ... and == > <= <, and, or, %

They come from files, so none of their text is run: what is checked here is written anew.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

_LONGEST = 100_000
_BITS = 63
_SUMS, _PRODUCTS = {ast.Add: "+", ast.Sub: "-"}, {ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_COMPARISONS = {ast.GtE: ">=", ast.Eq: "==", ast.LtE: "<=", ast.Gt: ">", ast.Lt: "<"}
_LOGIC = {ast.And: " and ", ast.Or: " or "}
_EXTREMES = {"min": "_min", "max": "_max"}


def rewritten(extent: str, names: Mapping[str, str]) -> str:
    """Returns an expression for an array's extent with other names for the parameters, and `_min` and `_max` for min and max.

    names: new name of each parameter. Raises ValueError for a text that is no extent.

    >>> rewritten("min(max, 2*N - 1)", {"N": "_p0", "max": "_p1"})
    '_min(_p1, ((2 * _p0) - 1))'
    >>> rewritten("N.real", {"N": "_p0"})
    Traceback (most recent call last):
    ValueError: `N.real` is not an extent
    """
    if len(extent) > _LONGEST:
        raise ValueError(f"an extent of {len(extent)} characters")
    try:
        return _written(ast.parse(extent, mode="eval").body, names)
    except (SyntaxError, LookupError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"`{extent:.60}` is not an extent") from None


def _written(node: ast.expr, names: Mapping[str, str]) -> str:
    """Returns the text of an expression, which is an array's extent or a part of one, with new names for the parameters.

    names: new name of each parameter
    Raises LookupError or ValueError for an expression that no extent has.
    """
    match node:
        case ast.Constant(value=int(value)) if abs(value) < 1 << _BITS:
            return repr(value)
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"(-{_written(operand, names)})"
        case ast.BinOp(op=op):
            return _chain(node, _SUMS if type(op) in _SUMS else _PRODUCTS, names)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if len(args) > 1:
            return f"{_EXTREMES[name]}({', '.join(_written(each, names) for each in args)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"({_written(body, names)} if {_written(test, names)} else {_written(orelse, names)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"({_written(left, names)} {_COMPARISONS[type(op)]} {_written(right, names)})"
        case ast.BoolOp(op=op, values=values):
            return f"({_LOGIC[type(op)].join(_written(each, names) for each in values)})"
    raise ValueError(node)


def _chain(node: ast.expr, operators: Mapping[type[ast.operator], str], names: Mapping[str, str]) -> str:
    """Returns the text of a chain of sums or of products, such as a + b - c, with new names for the parameters; it may be very
    long.

    operators: those that the chain may have, either of sums or of products, with their texts
    names: new name of each parameter
    Raises ValueError for a division by what is no positive constant, and for another operator.
    """
    parts = []
    while isinstance(node, ast.BinOp) and type(node.op) in operators:
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and not _is_divisor(node.right):
            raise ValueError(node.right)
        parts.append(f"{operators[type(node.op)]} {_written(node.right, names)}")
        node = node.left
    if not parts:
        raise ValueError(node)
    return f"({' '.join((_written(node, names), *reversed(parts)))})"


def _is_divisor(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0
