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
_OF_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_COMPARE = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_UNARY: dict[str, Callable[..., object]] = {"-": operator.neg, "+": operator.pos, "not": operator.not_}
_PYTHON = (bool, int, float)
_MOST_BITS = 128  # of integers whose powers and shifts are evaluated


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


def large_integer(expr: syntax.Binary) -> syntax.Expr:
    """Returns an operation on ints as the constant that it gives where an int in it leaves 64 bits, as in `2**63 - 1`; else the operation.

    >>> from polyml.frontend.syntax import Binary, Const
    >>> large_integer(Binary("-", large_integer(Binary("**", Const(2), Const(63))), Const(1))).value
    9223372036854775807
    """
    if not isinstance(expr.left, syntax.Const) or not isinstance(expr.right, syntax.Const) or expr.op not in _OF_INTEGERS:
        return expr
    left, right = expr.left.value, expr.right.value
    if type(left) is not int or type(right) is not int or expr.op in ("**", "<<") and not 0 <= right <= _MOST_BITS:
        return expr
    try:
        result = _OF_INTEGERS[expr.op](left, right)
    except ArithmeticError:
        return expr
    leaves = any(not -(2**63) <= value < 2**63 for value in (left, right, result))
    return syntax.Const(result, loc=expr.loc) if leaves and result.bit_length() <= _MOST_BITS else expr


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
