"""The typing rules of single operations: an untyped expression and its typed operands -> the typed expression.

Each computes the types of the result for all types the operands may have, converts the operands to the one type in
which the program computes, and writes what NumPy calls by several names, or does not need, in one way: ** for power,
& and | for bool arithmetic, max(x, -x) for the absolute value of a Python int.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from polyml.dtypes import BOOL, BY_NUMPY_NAME, F64, I64, PYBOOL, PYFLOAT, PYINT, U64, DType
from polyml.errors import PolymlOverflowError, PolymlTypeError
from polyml.frontend import promotion, syntax
from polyml.frontend.promotion import NoRule
from polyml.frontend.values import (
    UNKNOWN,
    Value,
    constant,
    converted,
    held,
    integer_range,
    representation,
    spelled,
    truth,
)

_TESTS = ("isnan", "isinf", "isfinite")
_ROUNDINGS = ("floor", "ceil", "trunc")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
BOOL_FORMS = {"+": "|", "*": "&", "max": "|", "min": "&"}


def literal(expr: syntax.Const) -> Value:
    value = expr.value
    if isinstance(value, (bool, int, float)) and type(value) in (bool, int, float):
        dtype = {bool: PYBOOL, int: PYINT, float: PYFLOAT}[type(value)]
        return constant(value, dtype, expr.loc)
    return constant(value.item(), BY_NUMPY_NAME[value.dtype.name], expr.loc)


def unary(expr: syntax.Unary, operand: Value) -> Value:
    if not operand.known:
        return UNKNOWN
    kinds = _results(expr, [_rule(expr, promotion.unary, expr.op, kind)[1] for kind in operand.kinds])
    typed = converted(operand, held(kinds))
    if expr.op == "+":
        return Value(typed, kinds)
    return Value(dataclasses.replace(expr, operand=typed, dtype=representation(held(kinds))), kinds)


def binary(expr: syntax.Binary, left: Value, right: Value) -> Value:
    if not left.known or not right.known:
        return UNKNOWN
    op = expr.op
    rules = [_rule(expr, promotion.binary, op, a, b) for a in left.kinds for b in right.kinds]
    results = [result for _, result in rules]
    if op == "**" and any(r.is_integer for r in results) and _negative_power(expr, left, right):
        results = [PYFLOAT]
    kinds = _results(expr, results)
    dtype = held(kinds)
    if op in ("<<", ">>") and dtype == PYINT and right.is_weak_constant and right.expr.value < 0:
        raise PolymlOverflowError(
            "a Python int is shifted by a negative count", loc=expr.loc, notes=["accepted: a count from 0"]
        )
    operands = (converted(left, dtype), converted(right, dtype))
    op = BOOL_FORMS.get(op, op) if dtype == BOOL else op
    return Value(syntax.Binary(op, *operands, dtype=representation(dtype), loc=expr.loc), kinds)


def _negative_power(expr: syntax.Binary, left: Value, right: Value) -> bool:
    """True for a Python int to a constant negative power, a float. Refuses exponents whose sign is not known."""
    if right.is_weak_constant and right.expr.value >= 0 or all(k.kind in "ub" for k in right.kinds):
        return False
    if right.is_weak_constant and left.is_weak:
        return True
    if isinstance(right.expr, syntax.Const):
        if right.expr.value >= 0:
            return False
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


def compare(expr: syntax.Compare, left: Value, right: Value) -> Value:
    if not left.known or not right.known:
        return UNKNOWN
    rules = [_rule(expr, promotion.comparison, a, b) for a in left.kinds for b in right.kinds]
    kinds = frozenset(result for _, result in rules)
    if all(k.kind in "iub" for k in left.kinds | right.kinds):
        return Value(_compare_integers(expr, left, right), kinds)
    dtype = held(_results(expr, [compared for compared, _ in rules]))
    typed = dataclasses.replace(expr, left=converted(left, dtype), right=converted(right, dtype), dtype=BOOL)
    return Value(typed, kinds)


def _compare_integers(expr: syntax.Compare, left: Value, right: Value) -> syntax.Expr:
    """By value, whatever the types: np.uint8(5) < 300, np.int64(-1) < np.uint64(1)."""
    if left.is_weak_constant and not right.is_weak_constant:
        expr = dataclasses.replace(expr, op=_FLIPPED[expr.op], left=expr.right, right=expr.left)
        left, right = right, left
    if right.is_weak_constant and not left.is_weak_constant:
        return _compare_with_constant(expr, left, right)
    common = promotion.comparison(left.held, right.held)[0]
    if common is not None:
        return _compared(expr, converted(left, common), converted(right, common))
    if left.expr.dtype == U64:
        expr, left, right = dataclasses.replace(expr, op=_FLIPPED[expr.op]), right, left
    return _compare_signed_with_u64(expr, left, right)


def _compare_with_constant(expr: syntax.Compare, left: Value, right: Value) -> syntax.Expr:
    """In the type of `left`; the answer is known where that cannot hold the constant."""
    number, limits = right.expr.value, integer_range(left.expr.dtype)
    if number in limits:
        return _compared(expr, left.expr, converted(right, left.held))
    if left.expr.dtype == BOOL and not left.is_weak and number not in integer_range(I64):
        raise PolymlOverflowError(
            "NumPy's bool is compared with an int beyond 64 bits", loc=expr.loc, notes=["accepted: -2**63 to 2**63 - 1"]
        )
    above = number > limits[-1]
    answer = expr.op == "!=" or expr.op in (("<", "<=") if above else (">", ">="))
    return syntax.Const(answer, dtype=BOOL, loc=expr.loc)


def _compare_signed_with_u64(expr: syntax.Compare, left: Value, right: Value) -> syntax.Expr:
    """s < u  is  s < 0 or u64(s) < u;  s > u  is  s >= 0 and u64(s) > u."""
    signed = converted(left, I64)
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
    kinds = frozenset((expr.to,))
    if expr.to.kind == "b":
        return Value(truth(operand), kinds)
    return Value(converted(operand, expr.to, implicit=False), kinds)


def call(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    if not all(a.known for a in args):
        return UNKNOWN
    if expr.module == "math":
        return _math_call(expr, args)
    if expr.module == "builtins":
        return _absolute(expr, args[0])
    return _numpy_call(expr, args)


def _math_call(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    """Functions of math take float(x) and give a Python float, bool, or for the roundings int."""
    name = expr.function
    if name in _ROUNDINGS and args[0].is_weak and args[0].held != PYFLOAT:
        return Value(converted(args[0], PYINT), frozenset((PYINT,)))
    if name == "trunc" and any(not k.weak and k != F64 for k in args[0].kinds):
        raise PolymlTypeError(f"math.trunc has no rule for {args[0]}", loc=expr.loc, notes=["accepted: int(x)"])
    floats = tuple(converted(a, F64) for a in args)
    if name == "pow":
        return Value(syntax.Binary("**", *floats, dtype=F64, loc=expr.loc), frozenset((PYFLOAT,)))
    result = PYBOOL if name in _TESTS else PYFLOAT
    typed = dataclasses.replace(expr, args=floats, module="numpy", dtype=representation(result))
    if name in _ROUNDINGS:
        return Value(syntax.Cast(typed, PYINT, dtype=PYINT, loc=expr.loc), frozenset((PYINT,)))
    return Value(typed, frozenset((result,)))


def _absolute(expr: syntax.Call, operand: Value) -> Value:
    kinds = _results(expr, [_rule(expr, promotion.unary, "abs", kind)[1] for kind in operand.kinds])
    if held(kinds) == PYINT:  # affine where the operand is; -x is checked for leaving 64 bits
        typed = converted(operand, PYINT)
        return Value(
            syntax.Binary("max", typed, syntax.Unary("-", typed, dtype=PYINT, loc=expr.loc), dtype=PYINT, loc=expr.loc),
            kinds,
        )
    return Value(_of_one_type(expr, "abs", (operand,), held(kinds)), kinds)


def _numpy_call(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    name = expr.function
    combinations = (
        [(k,) for k in args[0].kinds] if len(args) == 1 else [(a, b) for a in args[0].kinds for b in args[1].kinds]
    )
    if name in _TESTS:
        for combination in combinations:
            _rule(expr, promotion.function, name, combination)
        floats = converted(args[0], args[0].held if args[0].held.is_float else F64)
        return Value(dataclasses.replace(expr, args=(floats,), dtype=BOOL), frozenset((BOOL,)))
    kinds = _results(expr, [_rule(expr, promotion.function, name, c)[1] for c in combinations])
    dtype = held(kinds)
    if name in ("reciprocal", "fmod") and not dtype.is_float:
        raise PolymlTypeError(
            f"np.{name} of integers is not part of the language", loc=expr.loc, notes=["accepted: floats, or // and %"]
        )
    if name == "pow" and dtype.is_integer:
        _negative_power(expr, Value(args[0].expr, kinds), args[1])
    return Value(_of_one_type(expr, name, args, dtype), kinds)


def _of_one_type(expr: syntax.Call, name: str, args: tuple[Value, ...], dtype: DType) -> syntax.Expr:
    """The call in type `dtype`, as a simpler operation where that is the same."""
    operands, result = tuple(converted(a, dtype) for a in args), representation(dtype)
    if name in _ROUNDINGS and not result.is_float or name == "abs" and result.kind in "ub":
        return operands[0]
    if name == "pow":
        return syntax.Binary("**", *operands, dtype=result, loc=expr.loc)
    if not result.is_float:
        name = {"fmin": "minimum", "fmax": "maximum"}.get(name, name)  # they differ for NaN alone
    if result == BOOL and name in ("minimum", "maximum"):
        return syntax.Binary("&" if name == "minimum" else "|", *operands, dtype=BOOL, loc=expr.loc)
    if name == "square" and not result.is_float:
        return syntax.Binary("*", *operands, *operands, dtype=result, loc=expr.loc)
    name = "abs" if name == "fabs" else name
    return dataclasses.replace(expr, function=name, args=operands, module="numpy", dtype=result)


def _rule(expr: syntax.Expr, rule: Callable, *operands):
    try:
        return rule(*operands)
    except NoRule as problem:
        accepted = "operands of types that have one; convert them, for instance with int(x) or np.float64(x)"
        raise PolymlTypeError(str(problem), loc=expr.loc, notes=[f"accepted: {accepted}"]) from problem


def _results(expr: syntax.Expr, results: Sequence[DType]) -> frozenset[DType]:
    """The types a result may have. One of them, beside weak ones of no higher kind, is what the program computes in."""
    kinds = frozenset(results)
    fixed = [k for k in kinds if not k.weak]
    if len(fixed) <= 1 and all(_rank(w) <= _rank(f) for f in fixed for w in kinds):
        return kinds
    raise PolymlTypeError(
        f"the type of this depends on the path the program takes: {spelled(kinds)}",
        loc=expr.loc,
        notes=[
            "an operand may be of several types here",
            "accepted: a conversion of that operand, for instance np.float64(x)",
        ],
    )


def _rank(dtype: DType) -> int:
    return {"b": 0, "i": 1, "u": 1, "f": 2}[dtype.kind]


def filled(fill: Value, element: DType) -> syntax.Expr:
    """np.full converts as astype does, but for Python ints, which must fit."""
    if fill.held == PYFLOAT and element.is_integer:
        fill = Value(fill.expr, frozenset((F64,)))
    return converted(fill, element)
