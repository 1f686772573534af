"""The typing rules of single operations: an untyped expression and its typed operands -> the typed expression.

Each finds the types of the result for all types the operands may have, converts the operands to the one type in which
the program computes, and writes what NumPy calls by several names, or does not need, in one way: ** for power, & and
| for bool arithmetic, max(x, -x) for the absolute value of a Python int.

Where an operand is a Python number on one path and a NumPy scalar on another, the program computes in NumPy's type.
That is right on the path of the Python number only if its values are known and give the same result either way;
otherwise the operation is refused.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from polyml.dtypes import BOOL, BY_NUMPY_NAME, F32, F64, HALVES, I64, OF_PYTHON, PYBOOL, PYFLOAT, PYINT, U64, DType
from polyml.errors import PolymlOverflowError, PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.types import promotion
from polyml.frontend.types.conversions import UNKNOWN, Value, constant, converted, held, truth
from polyml.frontend.types.promotion import embeds
from polyml.frontend.types.results import Results, depends_on_path, main_type, result_kinds, rule_of
from polyml.frontend.types.type_sets import Kinds, held_as, holds, integer_range, of_type, representation, storage

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
BOOL_FORMS = {"+": "|", "*": "&", "max": "|", "min": "&"}

_EVALUATED: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_EVALUATED_UNARY: dict[str, Callable[..., Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "abs": abs}


def literal(expr: syntax.Const) -> Value:
    value = expr.value
    if isinstance(value, np.generic):
        return constant(value.item(), BY_NUMPY_NAME[value.dtype.name], expr.loc)
    return constant(value, OF_PYTHON[type(value)], expr.loc)


def unary(expr: syntax.Unary, operand: Value) -> Value:
    if not operand.known:
        return UNKNOWN
    results: Results = {(kind,): rule_of(expr, promotion.unary, expr.op, kind)[1] for kind in operand.kinds}
    kinds = result_kinds(expr, (operand,), results, _EVALUATED_UNARY.get(expr.op))
    typed = converted(operand, held_as(kinds))
    if expr.op == "+":
        return Value(typed, kinds)
    return Value(dataclasses.replace(expr, operand=typed, dtype=typed.dtype), kinds)


def binary(expr: syntax.Binary, left: Value, right: Value) -> Value:
    if not left.known or not right.known:
        return UNKNOWN
    op, pairs = expr.op, list(itertools.product(left.kinds, right.kinds))
    results: Results = {(a, b): rule_of(expr, promotion.binary, op, a, b)[1] for a, b in pairs}
    if op == "**":
        results = {pair: power(expr, result, right) for pair, result in results.items()}
    if op in ("<<", ">>") and right.is_weak and _is_below_zero(right.expr) and PYINT in results.values():
        raise PolymlOverflowError("a Python int is shifted by a negative count", loc=expr.loc, notes=["accepted: a count from 0"])
    kinds = result_kinds(expr, (left, right), results, _EVALUATED.get(op))
    dtype = held_as(kinds)
    op = BOOL_FORMS.get(op, op) if dtype == BOOL else op
    return Value(syntax.Binary(op, converted(left, dtype), converted(right, dtype), dtype=dtype, loc=expr.loc), kinds)


def _is_below_zero(expr: syntax.Expr) -> bool:
    return isinstance(expr, syntax.Const) and expr.value < 0


def power(expr: syntax.Expr, result: DType, exponent: Value) -> DType:
    """The type of a power: Python's int ** -1 is a float. An integer power needs an exponent that is not negative."""
    if not result.is_integer or all(k.kind in "ub" for k in exponent.kinds):
        return result
    if isinstance(exponent.expr, syntax.Const):
        if exponent.expr.value >= 0:
            return result
        if result == PYINT:
            return PYFLOAT
        raise PolymlTypeError(
            "an integer to a negative power",
            loc=expr.loc,
            notes=["accepted: a float base, for instance float(x) ** -1"],
        )
    raise PolymlTypeError(
        "the exponent of an integer power may be negative",
        loc=expr.loc,
        notes=["accepted: a constant, an unsigned exponent, or a float base, for instance float(x) ** n"],
    )


def extremum(expr: syntax.Binary, left: Value, right: Value, typed: tuple[syntax.Expr, syntax.Expr], kinds: Kinds) -> Value:
    """min or max of two numbers; `typed` holds them in the type of the result."""
    dtype = typed[0].dtype
    if dtype == BOOL:
        return Value(syntax.Binary(BOOL_FORMS[expr.op], *typed, dtype=dtype, loc=expr.loc), kinds)
    chooses_right = syntax.Compare("<" if expr.op == "min" else ">", expr.right, expr.left, loc=expr.loc)
    condition = None if dtype.is_integer else compare(chooses_right, right, left).expr
    alike = isinstance(condition, syntax.Compare) and condition.left.dtype == dtype and dtype.is_float
    if condition is None or alike:
        return Value(syntax.Binary(expr.op, *typed, dtype=dtype, loc=expr.loc), kinds)
    return Value(syntax.IfExp(condition, typed[1], typed[0], dtype=dtype, loc=expr.loc), kinds)


def compare(expr: syntax.Compare, left: Value, right: Value) -> Value:
    if not left.known or not right.known:
        return UNKNOWN
    pairs = list(itertools.product(left.kinds, right.kinds))
    rules = {pair: rule_of(expr, promotion.comparison, expr.op, *pair) for pair in pairs}
    kinds = {result: None for _, result in rules.values()}
    if not any(k.kind in "cf" for k in (*left.kinds, *right.kinds)):
        return Value(_compare_integers(expr, left, right), kinds)
    floats: Results = {pair: c for pair, (c, _) in rules.items() if c is not None and any(k.kind in "cf" for k in pair)}
    dtype = representation(main_type(result_kinds(expr, (left, right), floats, _EVALUATED[expr.op])))
    for a, b in pairs:
        exactly = holds(dtype, a, left.kinds[a]) and holds(dtype, b, right.kinds[b])
        if (a, b) not in floats and not exactly:  # two integers are compared by value
            raise depends_on_path(expr, {dtype: None, I64: None})
    return Value(_compared(expr, converted(left, dtype), converted(right, dtype)), kinds)


def _compare_integers(expr: syntax.Compare, left: Value, right: Value) -> syntax.Expr:
    """By value, whatever the types: np.uint8(5) < 300, np.int64(-1) < np.uint64(1)."""
    if left.is_weak_constant and not right.is_weak_constant:
        expr, left, right = dataclasses.replace(expr, op=_FLIPPED[expr.op]), right, left
    if right.is_weak_constant and not left.is_weak_constant:
        return _compare_with_constant(expr, left, right)
    common = promotion.comparison(expr.op, left.dtype, right.dtype)[0]
    if common is not None:
        return _compared(expr, held(left, common), held(right, common))
    if left.dtype == U64:
        expr, left, right = dataclasses.replace(expr, op=_FLIPPED[expr.op]), right, left
    return _compare_signed_with_u64(expr, left, right)


def _compare_with_constant(expr: syntax.Compare, left: Value, right: Value) -> syntax.Expr:
    """In the type of `left`; the answer is known where all or none of the numbers it holds fulfil the comparison.

    LLVM must not be left to find that out: it keeps a choice between two floats as a table, and fails where it later folds the
    index of one (LLVM 22, an assertion of its x86 back end).
    """
    if not isinstance(right.expr, syntax.Const):
        raise TypeError(f"not a constant: {right.expr!r}")
    number, limits = right.expr.value, integer_range(left.dtype)
    if left.dtype == BOOL and not left.is_weak and number not in integer_range(I64):
        raise PolymlOverflowError(
            "NumPy's bool is compared with an int beyond 64 bits", loc=expr.loc, notes=["accepted: -2**63 to 2**63 - 1"]
        )
    answer = _decided(expr.op, limits, number)
    if answer is None:
        return _compared(expr, left.expr, converted(right, left.dtype))
    return syntax.Const(answer, dtype=BOOL, loc=expr.loc)


def _decided(op: str, limits: range, number: int) -> bool | None:
    """`x op number` for every x of the range alike; None: it depends on x."""
    least, greatest = limits[0], limits[-1]
    if op in ("==", "!="):
        return None if number in limits else op == "!="
    if op in (">", ">="):
        answer = _decided("<=" if op == ">" else "<", limits, number)
        return None if answer is None else not answer
    if greatest < number or op == "<=" and greatest == number:
        return True
    return False if least > number or op == "<" and least == number else None


def _compare_signed_with_u64(expr: syntax.Compare, left: Value, right: Value) -> syntax.Expr:
    """s < u  is  s < 0 or u64(s) < u;  s > u  is  s >= 0 and u64(s) > u."""
    signed = held(left, I64)
    zero = syntax.Const(0, dtype=I64, loc=expr.loc)
    unsigned = syntax.Cast(signed, U64, True, dtype=U64, loc=signed.loc)
    smaller = expr.op in ("<", "<=", "!=")
    sign = syntax.Compare("<" if smaller else ">=", signed, zero, dtype=BOOL, loc=expr.loc)
    rest = _compared(expr, unsigned, right.expr)
    return syntax.Logical("or" if smaller else "and", (sign, rest), dtype=BOOL, loc=expr.loc)


def _compared(expr: syntax.Compare, left: syntax.Expr, right: syntax.Expr) -> syntax.Compare:
    return syntax.Compare(expr.op, left, right, dtype=BOOL, loc=expr.loc)


def cast(expr: syntax.Cast, operand: Value) -> Value:
    if not operand.known:
        return UNKNOWN
    if expr.to.kind == "b":
        return Value(truth(operand.expr), of_type(expr.to))
    return Value(converted(_cast_alike(expr, operand, expr.to), expr.to, implicit=False), of_type(expr.to))


def stored(value: Value, element: DType) -> syntax.Expr:
    """The value as an element, as NumPy's `A[i] = value` converts it.

    A signed integer element takes int(value), and raises OverflowError where that does not fit, even for NumPy scalars.
    An unsigned one takes a NumPy scalar modulo 2**bits.
    """
    if element.kind == "i" and not value.is_weak and not embeds(value.dtype, element):
        return converted(Value(converted(value, PYINT), of_type(PYINT)), element)
    return converted(_cast_alike(value.expr, value, element), element)


def filled(fill: Value, element: DType) -> syntax.Expr:
    """np.full converts as astype does, but for Python ints, which must fit."""
    if fill.is_weak and PYFLOAT in fill.kinds and element.is_integer:
        fill = Value(fill.expr, of_type(F64))
    return converted(_cast_alike(fill.expr, fill, element), element)


def element_type(wanted: syntax.TypeOf, value: Value) -> DType:
    """The element type of an array of such values."""
    if wanted.function == "truth":
        return BOOL
    check_one_type(wanted.of, value.kinds)
    dtype = I64 if value.dtype == PYINT else value.dtype
    if wanted.function.startswith("wide") and dtype in HALVES:
        return F32
    if wanted.function.endswith("mean") and dtype.kind not in "cf":
        return F64
    if wanted.function.endswith("sum") and dtype.kind in "biu" and dtype.bits < 64:
        return U64 if dtype.kind == "u" else I64
    return dtype


def check_kind(stmt: syntax.Assign, value: Value, element: DType) -> None:
    """What `A += value` may give the elements of A: NumPy refuses floats for integers, and numbers for truth values."""
    order = "buifc"
    if any(order.index(k.kind) > order.index(element.kind) for k in map(representation, value.kinds)):
        raise PolymlTypeError(
            f"the result is {value}, which an array of {element} does not take in place",
            loc=stmt.loc,
            notes=["accepted: an assignment with =, which converts"],
        )


def _cast_alike(expr: syntax.Expr, value: Value, to: DType) -> Value:
    """Python's numbers must fit an integer type, NumPy's wrap: of what may be either, Python's must be known to fit."""
    if value.is_weak or not to.is_integer or not any(k.weak for k in value.kinds):
        return value
    if not all(_known_to_fit(kind, known, to) for kind, known in value.kinds.items() if kind.weak):
        raise depends_on_path(expr, value.kinds)
    return Value(value.expr, of_type(value.dtype))


def _known_to_fit(kind: DType, known: tuple | None, to: DType) -> bool:
    if kind == PYBOOL:
        return True
    return known is not None and all(math.isfinite(number) and int(number) in integer_range(to) for number in known)


def check_one_type(expr: syntax.Expr, kinds: Kinds) -> None:
    """Refuse a result whose NumPy type depends on the path; a Python number on one path counts as NumPy's."""
    fixed = [k for k in kinds if not k.weak]
    if len(fixed) > 1 or any(storage(kinds) != f for f in fixed):
        raise depends_on_path(expr, kinds)
