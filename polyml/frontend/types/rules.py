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
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polyml.dtypes import (
    BF16,
    BOOL,
    BY_NUMPY_NAME,
    C128,
    F32,
    F64,
    HALVES,
    I64,
    OF_PYTHON,
    PYBOOL,
    PYCOMPLEX,
    PYFLOAT,
    PYINT,
    U64,
    DType,
)  # fmt: skip
from polyml.errors import PolymlOverflowError, PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.elementwise_functions import COMPARISONS, OPERATORS
from polyml.frontend.types import promotion
from polyml.frontend.types.conversions import UNKNOWN, Value, constant, converted, held, truth
from polyml.frontend.types.promotion import NoRule, embeds
from polyml.frontend.types.type_sets import (
    Kinds,
    exact,
    held_as,
    holds,
    integer_range,
    of_type,
    representation,
    rounded,
    spelled,
    storage,
    union,
)
from polyml.numpy_dtypes import numpy_dtype

_ANGLES = {"deg2rad": math.pi / 180, "rad2deg": 180 / math.pi}
_TESTS = ("isnan", "isinf", "isfinite")
_ROUNDINGS = ("floor", "ceil", "trunc")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_BOOL_FORMS = {"+": "|", "*": "&", "max": "|", "min": "&"}
Results = dict[tuple[DType, ...], DType]  # the type of a result by the types of its operands

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
    results: Results = {(kind,): _rule(expr, promotion.unary, expr.op, kind)[1] for kind in operand.kinds}
    kinds = _result(expr, (operand,), results, _EVALUATED_UNARY.get(expr.op))
    typed = converted(operand, held_as(kinds))
    if expr.op == "+":
        return Value(typed, kinds)
    return Value(dataclasses.replace(expr, operand=typed, dtype=typed.dtype), kinds)


def binary(expr: syntax.Binary, left: Value, right: Value) -> Value:
    if not left.known or not right.known:
        return UNKNOWN
    op, pairs = expr.op, list(itertools.product(left.kinds, right.kinds))
    results: Results = {(a, b): _rule(expr, promotion.binary, op, a, b)[1] for a, b in pairs}
    if op == "**":
        results = {pair: _power(expr, result, right) for pair, result in results.items()}
    if op in ("<<", ">>") and right.is_weak and _is_below_zero(right.expr) and PYINT in results.values():
        raise PolymlOverflowError("a Python int is shifted by a negative count", loc=expr.loc, notes=["accepted: a count from 0"])
    kinds = _result(expr, (left, right), results, _EVALUATED.get(op))
    dtype = held_as(kinds)
    op = _BOOL_FORMS.get(op, op) if dtype == BOOL else op
    return Value(syntax.Binary(op, converted(left, dtype), converted(right, dtype), dtype=dtype, loc=expr.loc), kinds)


def _is_below_zero(expr: syntax.Expr) -> bool:
    return isinstance(expr, syntax.Const) and expr.value < 0


def _power(expr: syntax.Expr, result: DType, exponent: Value) -> DType:
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
        return Value(syntax.Binary(_BOOL_FORMS[expr.op], *typed, dtype=dtype, loc=expr.loc), kinds)
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
    rules = {pair: _rule(expr, promotion.comparison, expr.op, *pair) for pair in pairs}
    kinds = {result: None for _, result in rules.values()}
    if not any(k.kind in "cf" for k in (*left.kinds, *right.kinds)):
        return Value(_compare_integers(expr, left, right), kinds)
    floats: Results = {pair: c for pair, (c, _) in rules.items() if c is not None and any(k.kind in "cf" for k in pair)}
    dtype = representation(_main(_result(expr, (left, right), floats, _EVALUATED[expr.op])))
    for a, b in pairs:
        exactly = holds(dtype, a, left.kinds[a]) and holds(dtype, b, right.kinds[b])
        if (a, b) not in floats and not exactly:  # two integers are compared by value
            raise _depends_on_path(expr, {dtype: None, I64: None})
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


def call(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    if not all(a.known for a in args):
        return UNKNOWN
    if expr.function in ("real", "imag"):
        return _part(expr, args[0])
    if expr.function == "complex":
        return _joined(expr, args)
    if expr.function == "angle":
        return _angle(expr, args[0])
    if expr.module == "method":  # which keeps the type, Python's too
        made = dataclasses.replace(expr, args=(args[0].expr,), module="numpy", dtype=args[0].dtype)
        return Value(made, args[0].kinds) if args[0].dtype.is_complex else args[0]
    if expr.function == "round":
        whole = args[0].dtype.is_integer
        return (
            Value(converted(args[0], I64), of_type(I64))
            if args[0].dtype == PYINT
            else args[0]
            if whole
            else _numpy_call(dataclasses.replace(expr, function="rint"), args)
        )
    if expr.function == "inexact":
        is_inexact = args[0].dtype.kind in "cf" and args[0].dtype != BF16  # which NumPy's rules do not know
        return args[0] if is_inexact else Value(converted(args[0], F64), of_type(F64))
    if expr.function == "norm":
        return _norm(expr, args[0])
    if expr.module == "math":
        return _math_call(expr, args)
    if expr.module == "builtins":
        return _absolute(expr, args[0])
    return _numpy_call(expr, args)


def _part(expr: syntax.Call, operand: Value) -> Value:
    """The real or the imaginary part; of a real number it is the number, or zero."""
    kinds = union({_kind_of_part(kind): None} for kind in operand.kinds)
    typed, part = converted(operand, held_as(operand.kinds)), held_as(kinds)
    if typed.dtype.is_complex:
        return Value(dataclasses.replace(expr, args=(typed,), module="numpy", dtype=part), kinds)
    number = typed if expr.function == "real" else syntax.Const(0, dtype=typed.dtype, loc=expr.loc)
    return Value(converted(Value(number, operand.kinds), part), kinds)


def _kind_of_part(kind: DType) -> DType:
    return {PYCOMPLEX: PYFLOAT, PYBOOL: PYINT}.get(kind, kind.part)


def _joined(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    """complex(x, y)."""
    parts = tuple(converted(arg, F64) for arg in args)
    return Value(dataclasses.replace(expr, args=parts, dtype=C128), of_type(PYCOMPLEX))


def _angle(expr: syntax.Call, operand: Value) -> Value:
    """arctan2 of the parts, as np.angle has it: the imaginary part of a real number is a Python int."""
    real, imag = (dataclasses.replace(expr, function=name) for name in ("real", "imag"))
    is_complex = operand.dtype.is_complex
    y = _part(imag, operand) if is_complex else constant(0, PYINT, expr.loc)
    return _numpy_call(dataclasses.replace(expr, function="arctan2"), (y, _part(real, operand)))


def _norm(expr: syntax.Call, operand: Value) -> Value:
    """The square of the absolute value."""
    if not operand.dtype.is_complex:
        return _numpy_call(dataclasses.replace(expr, function="square"), (operand,))
    check_one_type(expr, operand.kinds)
    return Value(dataclasses.replace(expr, args=(operand.expr,), dtype=operand.dtype.part), of_type(operand.dtype.part))


def _modulus(expr: syntax.Call, operand: Value, kinds: Kinds) -> Value:
    """The absolute value of a complex number, which is real."""
    typed = converted(operand, held_as(operand.kinds))
    return Value(dataclasses.replace(expr, function="abs", args=(typed,), module="numpy", dtype=held_as(kinds)), kinds)


def _math_call(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    """Functions of math take float(x) and give a Python float, bool, or for the roundings int."""
    name = expr.function
    if name in _ROUNDINGS and args[0].is_weak and not args[0].dtype.is_float:
        return Value(converted(args[0], PYINT), of_type(PYINT))
    if name == "trunc" and any(not k.weak and k != F64 for k in args[0].kinds):
        raise PolymlTypeError(f"math.trunc has no rule for {args[0]}", loc=expr.loc, notes=["accepted: int(x)"])
    floats = tuple(converted(a, F64) for a in args)
    if name == "pow":
        return Value(syntax.Binary("**", *floats, dtype=F64, loc=expr.loc), of_type(PYFLOAT))
    result = PYBOOL if name in _TESTS else PYFLOAT
    typed = dataclasses.replace(expr, args=floats, module="numpy", dtype=representation(result))
    if name in _ROUNDINGS:
        return Value(syntax.Cast(typed, PYINT, dtype=PYINT, loc=expr.loc), of_type(PYINT))
    return Value(typed, of_type(result))


def _absolute(expr: syntax.Call, operand: Value) -> Value:
    results: Results = {(kind,): _rule(expr, promotion.unary, "abs", kind)[1] for kind in operand.kinds}
    kinds = _result(expr, (operand,), results, _EVALUATED_UNARY["abs"])
    if operand.dtype.is_complex:
        return _modulus(expr, operand, kinds)
    dtype = held_as(kinds)
    if dtype == PYINT:  # affine where the operand is; -x is checked for leaving 64 bits
        typed = converted(operand, PYINT)
        negated = syntax.Unary("-", typed, dtype=PYINT, loc=expr.loc)
        return Value(syntax.Binary("max", typed, negated, dtype=PYINT, loc=expr.loc), kinds)
    return Value(_of_one_type(expr, "abs", (operand,), dtype), kinds)


def _numpy_call(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    name = expr.function
    if name in COMPARISONS:
        if all(a.is_weak for a in args) and any(PYCOMPLEX in a.kinds for a in args):  # of which Python has no order
            args = tuple(Value(converted(a, C128), of_type(C128)) for a in args)
        compared = compare(syntax.Compare(COMPARISONS[name], *expr.args, loc=expr.loc), *args)
        return Value(compared.expr, of_type(BOOL))
    if name.startswith("logical_"):
        return Value(_logical(expr, tuple(truth(a.expr) for a in args)), of_type(BOOL))
    combinations = itertools.product(*(a.kinds for a in args))
    results = {c: _rule(expr, promotion.function, name, c)[1] for c in combinations}
    if name in _TESTS:
        floats = converted(args[0], args[0].dtype if args[0].dtype.kind in "cf" else F64)
        return Value(dataclasses.replace(expr, args=(floats,), dtype=BOOL), of_type(BOOL))
    kinds = _result(expr, args, results, None)
    if name == "abs" and args[0].dtype.is_complex:
        return _modulus(expr, args[0], kinds)
    dtype = held_as(kinds)
    if name in ("reciprocal", "fmod") and dtype.kind not in "cf":
        raise PolymlTypeError(
            f"np.{name} of integers is not part of the language", loc=expr.loc, notes=["accepted: floats, or // and %"]
        )
    if name == "pow":
        _power(expr, dtype, args[1])
    return Value(_of_one_type(expr, name, args, dtype), kinds)


def _logical(expr: syntax.Call, truths: tuple[syntax.Expr, ...]) -> syntax.Expr:
    if expr.function == "logical_not":
        return syntax.Unary("not", *truths, dtype=BOOL, loc=expr.loc)
    return syntax.Binary(OPERATORS[expr.function], *truths, dtype=BOOL, loc=expr.loc)


def _of_one_type(expr: syntax.Call, name: str, args: tuple[Value, ...], dtype: DType) -> syntax.Expr:
    """The call in type `dtype`, as a simpler operation where that is the same."""
    operands = tuple(converted(a, dtype) for a in args)
    if name in _ROUNDINGS and not dtype.is_float or name == "abs" and dtype.kind in "ub":
        return operands[0]
    if name == "conj" and not dtype.is_complex:
        return operands[0]
    if name in OPERATORS and len(operands) == 2:
        op = OPERATORS[name]
        return syntax.Binary(_BOOL_FORMS.get(op, op) if dtype == BOOL else op, *operands, dtype=dtype, loc=expr.loc)
    if name in OPERATORS:
        return syntax.Unary(OPERATORS[name], *operands, dtype=dtype, loc=expr.loc)
    if name == "positive":
        return operands[0]
    if name in _ANGLES:
        return syntax.Binary("*", operands[0], _number(_ANGLES[name], dtype), dtype=dtype, loc=expr.loc)
    if dtype.kind not in "cf":
        name = {"fmin": "minimum", "fmax": "maximum"}.get(name, name)  # they differ for NaN alone
    if dtype == BOOL and name in ("minimum", "maximum"):
        return syntax.Binary("&" if name == "minimum" else "|", *operands, dtype=BOOL, loc=expr.loc)
    if name == "square" and not dtype.is_float:
        return syntax.Binary("*", *operands, *operands, dtype=dtype, loc=expr.loc)
    name = "abs" if name == "fabs" else name
    return dataclasses.replace(expr, function=name, args=operands, module="numpy", dtype=dtype)


def _number(value: float, dtype: DType) -> syntax.Const:
    return syntax.Const(rounded(value, dtype), dtype=dtype)


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
        raise _depends_on_path(expr, value.kinds)
    return Value(value.expr, of_type(value.dtype))


def _known_to_fit(kind: DType, known: tuple | None, to: DType) -> bool:
    if kind == PYBOOL:
        return True
    return known is not None and all(math.isfinite(number) and int(number) in integer_range(to) for number in known)


def check_one_type(expr: syntax.Expr, kinds: Kinds) -> None:
    """Refuse a result whose NumPy type depends on the path; a Python number on one path counts as NumPy's."""
    fixed = [k for k in kinds if not k.weak]
    if len(fixed) > 1 or any(storage(kinds) != f for f in fixed):
        raise _depends_on_path(expr, kinds)


def _rule(expr: syntax.Expr, rule: Callable, *operands) -> tuple[DType | None, DType]:
    """(type to compute in, type of the result), or the refusal of an operation that does not exist."""
    try:
        return rule(*operands)
    except NoRule as problem:
        accepted = "operands of types that have one; convert them, for instance with int(x) or np.float64(x)"
        raise PolymlTypeError(str(problem), loc=expr.loc, notes=[f"accepted: {accepted}"]) from problem


def _result(
    expr: syntax.Expr,
    operands: Sequence[Value],
    results: Results,
    evaluated: Callable | None,
) -> Kinds:
    """The kinds of a result, given its type for each choice of the operands' types.

    evaluated: the operation itself, by which results of constants are found; None refuses several types.
    """
    distinct = dict.fromkeys(results.values())
    if len(distinct) == 1:
        return distinct
    if len([d for d in distinct if not d.weak]) > 1:
        raise _depends_on_path(expr, distinct)
    if {k for types in results for k in types} <= {BOOL, PYBOOL} and set(distinct) <= {BOOL, PYBOOL}:
        return distinct  # & | ^ of truth values, whosever they are
    main = _main(distinct)
    kinds: Kinds = {main: None}
    for types, dtype in results.items():
        if dtype == main:
            continue
        known = [operand.kinds[kind] for operand, kind in zip(operands, types, strict=True)]
        same = _same_arithmetic(evaluated, dtype, main)
        values = None if same else _proved(evaluated, known, dtype, main)
        if values is None and not same:
            raise _depends_on_path(expr, distinct)
        kinds = union((kinds, {dtype: values}))
    if storage(kinds) != representation(main):  # too many constants to keep
        raise _depends_on_path(expr, distinct)
    return kinds


def _main(kinds: Kinds) -> DType:
    """The type in which the program computes: NumPy's, or the largest of Python's."""
    return next((k for k in kinds if not k.weak), None) or next(k for k in (PYCOMPLEX, PYFLOAT, PYINT, PYBOOL) if k in kinds)


def _same_arithmetic(evaluated: Callable | None, dtype: DType, main: DType) -> bool:
    """Python's floats compute as float64 does; its ints, shifts apart, as int64, which wraps what leaves 64 bits."""
    return (dtype, main) == (PYFLOAT, F64) or (dtype, main) == (PYINT, I64) and evaluated is not None


def _proved(evaluated: Callable | None, known: Sequence[tuple | None], dtype: DType, main: DType) -> tuple | None:
    """The results for constants of Python, if computing in type `main` gives the same; else None."""
    if (
        evaluated is operator.mul
        and dtype.is_float == main.is_float
        and not main.is_complex
        and any(k and not any(k) for k in known)
    ):
        return next(k for k in known if k and not any(k))  # zero times anything, where that is in the range of `main`
    sets = [k for k in known if k is not None]
    if evaluated is None or len(sets) < len(known):
        return None
    results = [_result_in_both(evaluated, numbers, representation(main)) for numbers in itertools.product(*sets)]
    return None if any(r is None for r in results) else tuple(results)


def _result_in_both(evaluated: Callable, numbers: Sequence[object], main: DType) -> object | None:
    """What Python gives, if `main` gives and holds the same."""
    as_main = numpy_dtype(main).type
    try:
        with np.errstate(all="ignore"):
            result, same = evaluated(*numbers), evaluated(*map(as_main, numbers))
    except (ArithmeticError, TypeError, ValueError):
        return None
    if not isinstance(result, bool) and exact(result, main) is None:
        return None
    as_python = type(same.item())
    return result if repr(same.item()) == repr(as_python(result)) else None


def _depends_on_path(expr: syntax.Expr, kinds: Kinds) -> PolymlTypeError:
    return PolymlTypeError(
        f"the type of this depends on the path the program takes: {spelled(kinds)}",
        loc=expr.loc,
        notes=["accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ"],
    )
