"""The typing rules of single operations: a typed expression, from an untyped one and its typed operands.

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
from polyml.frontend.types.conversions import UNKNOWN, TypedValue, constant, converted, depends_on_path, truth, widened
from polyml.frontend.types.operation_results import Results, main_type, result_types, rule_of
from polyml.frontend.types.promotion import embeds
from polyml.frontend.types.type_sets import TypeSet, holds, integer_range, of_type, representation, storage, storage_of

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
BOOL_FORMS = {"+": "|", "*": "&", "max": "|", "min": "&"}

_EVALUATED: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_EVALUATED_UNARY: dict[str, Callable[..., Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "abs": abs}


def literal(expr: syntax.Const) -> TypedValue:
    """Returns a constant as a typed value."""
    value = expr.value
    if isinstance(value, np.generic):
        return constant(value.item(), BY_NUMPY_NAME[value.dtype.name], expr.loc)
    return constant(value, OF_PYTHON[type(value)], expr.loc)


def unary(expr: syntax.Unary, operand: TypedValue) -> TypedValue:
    """Returns a typed operation on one operand; while the operand's types are not known, a value without types."""
    if not operand.known:
        return UNKNOWN
    results: Results = {(kind,): rule_of(expr, promotion.unary, expr.op, kind)[1] for kind in operand.types}
    types = result_types(expr, (operand,), results, _EVALUATED_UNARY.get(expr.op))
    typed = converted(operand, storage_of(types))
    if expr.op == "+":
        return TypedValue(typed, types)
    return TypedValue(dataclasses.replace(expr, operand=typed, dtype=typed.dtype), types)


def binary(expr: syntax.Binary, left: TypedValue, right: TypedValue) -> TypedValue:
    """Returns a typed arithmetic or bit operation; while the types of an operand are not known, a value without types."""
    if not left.known or not right.known:
        return UNKNOWN
    op, pairs = expr.op, list(itertools.product(left.types, right.types))
    results: Results = {(a, b): rule_of(expr, promotion.binary, op, a, b)[1] for a, b in pairs}
    if op == "**":
        results = {pair: power(expr, result, right) for pair, result in results.items()}
    if op in ("<<", ">>") and right.is_weak and _is_below_zero(right.expr) and PYINT in results.values():
        raise PolymlOverflowError("a Python int is shifted by a negative count", loc=expr.loc, notes=["accepted: a count from 0"])
    types = result_types(expr, (left, right), results, _EVALUATED.get(op))
    dtype = storage_of(types)
    op = BOOL_FORMS.get(op, op) if dtype == BOOL else op
    return TypedValue(syntax.Binary(op, converted(left, dtype), converted(right, dtype), dtype=dtype, loc=expr.loc), types)


def _is_below_zero(expr: syntax.Expr) -> bool:
    return isinstance(expr, syntax.Const) and expr.value < 0


def power(expr: syntax.Expr, result: DType, exponent: TypedValue) -> DType:
    """Returns the type of a power: `result`, or PYFLOAT for a Python int to a negative constant.

    result: the type by the rules of promotion
    Raises PolymlTypeError for any other integer power whose exponent may be negative.
    """
    if not result.is_integer or all(k.kind in "ub" for k in exponent.types):
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


def extremum(
    expr: syntax.Binary, left: TypedValue, right: TypedValue, typed: tuple[syntax.Expr, syntax.Expr], types: TypeSet
) -> TypedValue:
    """Returns Python's min or max of two numbers as a typed expression.

    left, right: the operands in their own types, by which they are compared
    typed: the operands converted to the type of the result
    types: the types that the result may have
    """
    dtype = typed[0].dtype
    if dtype == BOOL:
        return TypedValue(syntax.Binary(BOOL_FORMS[expr.op], *typed, dtype=dtype, loc=expr.loc), types)
    chooses_right = syntax.Compare("<" if expr.op == "min" else ">", expr.right, expr.left, loc=expr.loc)
    condition = None if dtype.is_integer else compare(chooses_right, right, left).expr
    same_comparison = isinstance(condition, syntax.Compare) and condition.left.dtype == dtype and dtype.is_float
    if condition is None or same_comparison:
        return TypedValue(syntax.Binary(expr.op, *typed, dtype=dtype, loc=expr.loc), types)
    return TypedValue(syntax.IfExp(condition, typed[1], typed[0], dtype=dtype, loc=expr.loc), types)


def compare(expr: syntax.Compare, left: TypedValue, right: TypedValue) -> TypedValue:
    """Returns a typed comparison; while the types of an operand are not known, a value without types."""
    if not left.known or not right.known:
        return UNKNOWN
    pairs = list(itertools.product(left.types, right.types))
    rules = {pair: rule_of(expr, promotion.comparison, expr.op, *pair) for pair in pairs}
    types = {result: None for _, result in rules.values()}
    if not any(k.kind in "cf" for k in (*left.types, *right.types)):
        return TypedValue(_compare_integers(expr, left, right), types)
    floats: Results = {pair: c for pair, (c, _) in rules.items() if c is not None and any(k.kind in "cf" for k in pair)}
    dtype = representation(main_type(result_types(expr, (left, right), floats, _EVALUATED[expr.op])))
    for a, b in pairs:
        exactly = holds(dtype, a, left.types[a]) and holds(dtype, b, right.types[b])
        if (a, b) not in floats and not exactly:  # two integers are compared by value
            raise depends_on_path(expr, {dtype: None, I64: None})
    return TypedValue(_compared(expr, converted(left, dtype), converted(right, dtype)), types)


def _compare_integers(expr: syntax.Compare, left: TypedValue, right: TypedValue) -> syntax.Expr:
    """Returns a typed comparison of integers by their values, whatever their types.

    np.uint8(5) < 300 and np.int64(-1) < np.uint64(1) are true.
    """
    if left.is_weak_constant and not right.is_weak_constant:
        expr, left, right = dataclasses.replace(expr, op=_FLIPPED[expr.op]), right, left
    if right.is_weak_constant and not left.is_weak_constant:
        return _compare_with_constant(expr, left, right)
    common = promotion.comparison(expr.op, left.dtype, right.dtype)[0]
    if common is not None:
        return _compared(expr, widened(left, common), widened(right, common))
    if left.dtype == U64:
        expr, left, right = dataclasses.replace(expr, op=_FLIPPED[expr.op]), right, left
    return _compare_signed_with_u64(expr, left, right)


def _compare_with_constant(expr: syntax.Compare, left: TypedValue, right: TypedValue) -> syntax.Expr:
    """Returns a comparison of an integer with a Python int, or its answer if every number of the type of `left` gives the same.

    LLVM must not be left to find that answer: where the comparison selects one of two floats, it makes a table of these, and fails
    where it later knows the index into the table (LLVM 22, an assertion of its x86 back end).

    right: the constant. Raises PolymlOverflowError for a NumPy bool and an int beyond 64 bits, as NumPy does.
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
    """Returns the value of the comparison `x op number` if it is the same for every x in `limits`, else None."""
    least, greatest = limits[0], limits[-1]
    if op in ("==", "!="):
        return None if number in limits else op == "!="
    if op in (">", ">="):
        answer = _decided("<=" if op == ">" else "<", limits, number)
        return None if answer is None else not answer
    if greatest < number or op == "<=" and greatest == number:
        return True
    return False if least > number or op == "<" and least == number else None


def _compare_signed_with_u64(expr: syntax.Compare, left: TypedValue, right: TypedValue) -> syntax.Expr:
    """Returns a comparison of a signed integer with a u64 by their values.

    s < u  ->  s < 0 or u64(s) < u          s > u  ->  s >= 0 and u64(s) > u
    """
    signed = widened(left, I64)
    zero = syntax.Const(0, dtype=I64, loc=expr.loc)
    unsigned = syntax.Cast(signed, U64, True, dtype=U64, loc=signed.loc)
    smaller = expr.op in ("<", "<=", "!=")
    sign = syntax.Compare("<" if smaller else ">=", signed, zero, dtype=BOOL, loc=expr.loc)
    rest = _compared(expr, unsigned, right.expr)
    return syntax.Logical("or" if smaller else "and", (sign, rest), dtype=BOOL, loc=expr.loc)


def _compared(expr: syntax.Compare, left: syntax.Expr, right: syntax.Expr) -> syntax.Compare:
    return syntax.Compare(expr.op, left, right, dtype=BOOL, loc=expr.loc)


def cast(expr: syntax.Cast, operand: TypedValue) -> TypedValue:
    """Returns a typed conversion for one that the text has, such as np.float32(x)."""
    if not operand.known:
        return UNKNOWN
    if expr.to.kind == "b":
        return TypedValue(truth(operand.expr), of_type(expr.to))
    return TypedValue(converted(_castable(expr, operand, expr.to), expr.to, implicit=False), of_type(expr.to))


def stored(value: TypedValue, element: DType) -> syntax.Expr:
    """Returns the value converted to the type of an array's elements, as NumPy's `A[i] = value` converts it.

    A signed integer element takes int(value), and raises OverflowError where that does not fit, even for NumPy scalars.
    An unsigned one takes a NumPy scalar modulo 2**bits.
    """
    if element.kind == "i" and not value.is_weak and not embeds(value.dtype, element):
        return converted(TypedValue(converted(value, PYINT), of_type(PYINT)), element)
    return converted(_castable(value.expr, value, element), element)


def filled(fill: TypedValue, element: DType) -> syntax.Expr:
    """Returns the value converted to the type of an array's elements, as np.full does: like astype, but Python ints must fit."""
    if fill.is_weak and PYFLOAT in fill.types and element.is_integer and not fill.is_rounded:
        fill = TypedValue(fill.expr, of_type(F64))
    return converted(_castable(fill.expr, fill, element), element)


def element_type(wanted: syntax.TypeOf, value: TypedValue) -> DType:
    """Returns the type of elements that a TypeOf means, which has it from the type of an expression.

    value: the typed value of that expression
    """
    if wanted.function == "truth":
        return BOOL
    if wanted.function == "array":
        kinds = {I64 if kind == PYINT else representation(kind) for kind in value.types}
        if len(kinds) > 1:
            raise depends_on_path(wanted.of, value.types)
        return kinds.pop()
    check_one_type(wanted.of, value.types)
    dtype = I64 if value.dtype == PYINT else value.dtype
    if wanted.function.startswith("wide") and dtype in HALVES:
        return F32
    if wanted.function.endswith("mean") and dtype.kind not in "cf":
        return F64
    if wanted.function.endswith("sum") and dtype.kind in "biu" and dtype.bits < 64:
        return U64 if dtype.kind == "u" else I64
    return dtype


def limit(expr: syntax.Call, value: TypedValue) -> TypedValue:
    """Returns the least or greatest value of a value's type as a constant, as `least(x)` or `greatest(x)` means it.

    While the types of the value are not known, the result is a value without types.
    """
    if not value.known:
        return UNKNOWN
    dtype = element_type(syntax.TypeOf(expr.args[0], loc=expr.loc), value)
    return constant(dtype.limits[expr.function == "greatest"], dtype, expr.loc)


def check_kind(stmt: syntax.Assign, value: TypedValue, element: DType) -> None:
    """Raises PolymlTypeError for an `A += x` that NumPy refuses too, because the elements of A cannot take the sum.

    Integers cannot take floats, for instance, and truth values cannot take numbers.

    value: the result that is stored, such as A + x
    element: the type of the elements
    """
    order = "buifc"
    if any(order.index(k.kind) > order.index(element.kind) for k in map(representation, value.types)):
        raise PolymlTypeError(
            f"the result is {value}, which an array of {element} does not take in place",
            loc=stmt.loc,
            notes=["accepted: an assignment with =, which converts"],
        )


def _castable(expr: syntax.Expr, value: TypedValue, to: DType) -> TypedValue:
    """Returns the value as one that can be cast to `to`: nearly always the value itself.

    In a cast to an integer type a Python number has to fit, while one of NumPy's wraps. A value that may be either is returned as
    one of NumPy's if all its Python numbers are known to fit; else PolymlTypeError is raised. Where `to` has all values of the type
    that holds the value, as int64 has those of Python ints, it is converted as it is.
    """
    if value.is_weak or not to.is_integer or not any(k.weak for k in value.types) or embeds(value.dtype, to):
        return value
    if not all(_known_to_fit(kind, known, to) for kind, known in value.types.items() if kind.weak):
        raise depends_on_path(expr, value.types)
    return TypedValue(value.expr, of_type(value.dtype))


def _known_to_fit(kind: DType, known: tuple | None, to: DType) -> bool:
    if kind == PYBOOL:
        return True
    return known is not None and all(math.isfinite(number) and int(number) in integer_range(to) for number in known)


def check_one_type(expr: syntax.Expr, types: TypeSet) -> None:
    """Raises PolymlTypeError for a result whose NumPy type depends on the path that the program takes.

    A result that is a Python number on one path and has a NumPy type on the other is accepted where that type holds the Python
    number; one that is a Python number of one kind or another is not.

    types: the types that the result may have
    """
    fixed = [k for k in types if not k.weak]
    if len(fixed) > 1 or any(storage(types) != f for f in fixed) or not fixed and len(types) > 1:
        raise depends_on_path(expr, types)
