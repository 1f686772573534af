"""Constant folding: the value of an expression that is known when the kernel is parsed."""

from __future__ import annotations

import operator
from collections.abc import Callable

from polyml.frontend import syntax
from polyml.frontend.captures import MISSING

# No ** and <<: a small expression of them can take forever.
_BINARY: dict[str, Callable[..., object]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "min": min, "max": max, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_COMPARE = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_UNARY: dict[str, Callable[..., object]] = {"-": operator.neg, "+": operator.pos, "not": operator.not_}
_PYTHON = (bool, int, float)


def constant(expr: syntax.Expr) -> object:
    """Returns the Python number that `expr` always is, or the marker MISSING where it is not known.

    Constants and arithmetic on them are evaluated; NumPy scalars are not.
    """
    match expr:
        case syntax.Const(value=value):
            return value if type(value) in _PYTHON else MISSING
        case syntax.Unary(op=op, operand=operand) if op in _UNARY:
            return _applied(_UNARY[op], operand)
        case syntax.Binary(op=op, left=left, right=right) if op in _BINARY:
            return _applied(_BINARY[op], left, right)
        case syntax.Compare(op=op, left=left, right=right):
            return _applied(_COMPARE[op], left, right)
        case syntax.Logical(op=op, operands=operands):
            return _logical(op, operands)
    return MISSING


def _logical(op: str, operands: tuple[syntax.Expr, ...]) -> object:
    value: object = MISSING
    for operand in operands:
        value = constant(operand)
        if value is MISSING or bool(value) is (op == "or"):
            return value
    return value


def _applied(function: Callable[..., object], *operands: syntax.Expr) -> object:
    values: list[object] = []
    for operand in reversed(operands):  # the last term of a long sum shows at once that the sum is not constant
        value = constant(operand)
        if value is MISSING:
            return MISSING
        values.insert(0, value)
    try:
        return function(*values)
    except (ArithmeticError, TypeError, ValueError):
        return MISSING
