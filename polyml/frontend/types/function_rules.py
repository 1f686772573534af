"""The typing rules of functions of numbers: NumPy's, those of math, the builtin abs, and methods.

Their results are written in one way: a function that NumPy calls by several names, or that is an operator, becomes the operator.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

from polyml.dtypes import BF16, BOOL, C128, F16, F32, F64, I64, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT, U64, DType
from polyml.errors import NotAffineError, PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.elementwise_functions import ASKED, COMPARISONS, OPERATORS, TESTS
from polyml.frontend.types import decimal_rounding, promotion
from polyml.frontend.types.conversions import UNKNOWN, TypedValue, constant, converted, depends_on_path, truth
from polyml.frontend.types.operation_results import Results, result_types, rule_of
from polyml.frontend.types.rules import BOOL_FORMS, binary, check_one_type, compare, power
from polyml.frontend.types.type_sets import TypeSet, of_type, representation, rounded, storage_of, union

_ANGLES = {"deg2rad": math.pi / 180, "rad2deg": 180 / math.pi}
OF_NUMPY = {"i": PYINT, "f": PYFLOAT, "c": PYCOMPLEX, "b": PYBOOL}  # the number of Python's that numba makes of one, by its kind
_MOST_DECIMALS = 22  # greater powers of ten are no float64
_ROUNDINGS = ("floor", "ceil", "trunc")
_OF_KINDS = ("real", "imag", "angle", "round", "item", "norm")  # functions that do other things with ints than with floats


def call(expr: syntax.Call, args: tuple[TypedValue, ...]) -> TypedValue:
    """Returns the typed call of a function of numbers, in a simpler form where there is one.

    While the types of an argument are not known, the result is a value without types.
    """
    if not all(a.known for a in args):
        return UNKNOWN
    if any(a.is_rounded for a in args) and (expr.function in _OF_KINDS or expr.module == "math" and expr.function in _ROUNDINGS):
        raise depends_on_path(expr, union(a.types for a in args))
    if expr.function in ("real", "imag"):
        return _part(expr, args[0])
    if expr.function == "complex":
        return _joined(expr, args)
    if expr.function == "angle":
        return _angle(expr, args[0])
    if expr.module == "method":  # a method keeps the type, Python's too
        made = dataclasses.replace(expr, args=(args[0].expr,), module="numpy", dtype=args[0].dtype)
        return TypedValue(made, args[0].types) if args[0].dtype.is_complex else args[0]
    if expr.function == "round" and len(args) > 1:
        return _to_decimals(expr, args[0])
    if expr.function == "round":
        if args[0].dtype == PYINT:
            return TypedValue(converted(args[0], I64), of_type(I64))
        return args[0] if args[0].dtype.is_integer else _numpy_call(dataclasses.replace(expr, function="rint"), args)
    if expr.function == "is_same_type":
        return constant(len(union(a.types for a in args)) == 1, PYBOOL, expr.loc)
    if expr.function in ASKED:
        return constant(all(map(ASKED[expr.function], args[0].types)), PYBOOL, expr.loc)
    if expr.function == "item":
        return _item(expr, args[0])
    if expr.function == "converted":
        return _converted(expr, args[0], args[1].dtype)
    if expr.function == "of_type":
        return _of_given_type(expr, args[0], args[1].dtype)
    if expr.function == "index":
        if not all(k.is_integer for k in args[0].types):
            notes = ["accepted: an int, or int(x)"]
            what = "this" if expr.module == "builtins" else "a bound of range"
            raise PolymlTypeError(f"{what} must be an integer, not {args[0]}", loc=expr.loc, notes=notes)
        return TypedValue(converted(args[0], PYINT), of_type(PYINT))
    if expr.function == "bound":
        flag, value = args
        return TypedValue(dataclasses.replace(expr, args=(truth(flag.expr), value.expr), dtype=value.dtype), value.types)
    if expr.function == "position":
        if not all(k.is_integer for k in args[0].types):
            notes = ["accepted: an int, or int(x)"]
            raise PolymlTypeError(f"a subscript must be an integer, not {args[0]}", loc=expr.loc, notes=notes)
        integers = tuple(converted(each, PYINT) for each in args)
        counted = dataclasses.replace(expr, args=integers, dtype=PYINT)
        return TypedValue(counted if len(args) > 1 else integers[0], of_type(PYINT))
    if expr.function == "of_range":
        return _of_range(expr, *args)
    if expr.function in ("choice", "default"):
        return _choice(expr, *args)
    if expr.function in ("intp", "double", "float64"):
        return _safe(expr, args[0])
    if expr.function == "inexact":
        is_inexact = args[0].dtype.kind in "cf" and args[0].dtype != BF16  # NumPy's rules do not know bfloat16
        return args[0] if is_inexact else TypedValue(converted(args[0], F64), of_type(F64))
    if expr.function == "norm":
        return _norm(expr, args[0])
    if expr.function == "root_power":
        return _root_power(expr, *args)
    if expr.module == "math":
        return _math_call(expr, args)
    if expr.module == "cmath":
        made = dataclasses.replace(expr, args=(converted(args[0], C128),), module="numpy", dtype=C128)
        return TypedValue(made, of_type(PYCOMPLEX))
    if expr.module == "scipy":
        return _special(expr, args[0])
    if expr.module == "builtins":
        return _absolute(expr, args[0])
    return _numpy_call(expr, args)


def _to_decimals(expr: syntax.Call, operand: TypedValue) -> TypedValue:
    """Returns a number rounded to decimals as NumPy does it, multiplied, rounded to a whole number, and divided; Python's own floats exactly.

    Raises NotAffineError for types that NumPy rounds otherwise, and for more decimals than are exact.
    """
    [decimals] = [arg.value for arg in expr.args[1:] if isinstance(arg, syntax.Const)]
    own = expr.module == "builtins" and all(kind.weak for kind in operand.types)
    if operand.dtype.is_integer and decimals >= 0 and (own or not any(kind.weak for kind in operand.types)):
        return operand
    if own and all(kind == PYFLOAT for kind in operand.types) and abs(decimals) <= decimal_rounding.MOST_DECIMALS:
        return TypedValue(decimal_rounding.rounded(operand.expr, decimals, expr.loc), of_type(PYFLOAT))
    if own or operand.dtype not in (F32, F64) or abs(decimals) > _MOST_DECIMALS or len(operand.types) > 1:
        most = decimal_rounding.MOST_DECIMALS
        known = f"NumPy's float32, float64, integers to no fewer than 0 decimals, and Python's floats to at most {most}"
        raise NotAffineError(f"{operand} is rounded to {decimals} decimals", loc=expr.loc, notes=[f"polyml compiles: {known}"])
    dtype = operand.dtype
    scale = _number(10.0 ** abs(decimals), dtype)
    first, last = ("*", "/") if decimals >= 0 else ("/", "*")
    scaled = syntax.Binary(first, converted(operand, dtype), scale, dtype=dtype, loc=expr.loc)
    whole = syntax.Call("rint", (scaled,), dtype=dtype, loc=expr.loc)
    return TypedValue(syntax.Binary(last, whole, scale, dtype=dtype, loc=expr.loc), of_type(dtype))


def _root_power(expr: syntax.Call, base: TypedValue, exponent: TypedValue) -> TypedValue:
    """Returns the typed power by a number, as NumPy's loops over elements compute it: a square root where the exponent is 0.5."""
    if expr.module == "numpy":
        plain = _numpy_call(dataclasses.replace(expr, function="pow"), (base, exponent))
    else:
        plain = binary(syntax.Binary("**", *expr.args, loc=expr.loc), base, exponent)
    dtype = storage_of(plain.types)
    known = exponent.expr.value if isinstance(exponent.expr, syntax.Const) else None
    has_root = dtype in (F32, F64) or dtype == F16 and exponent.is_weak and expr.module == "builtins"
    if not has_root or not exponent.dtype.is_float or known not in (None, 0.5):
        return plain
    made: syntax.Expr = syntax.Call("sqrt", (converted(base, dtype),), dtype=dtype, loc=expr.loc)
    if known is None:
        half = syntax.Compare("==", exponent.expr, syntax.Const(0.5, dtype=exponent.dtype), dtype=BOOL, loc=expr.loc)
        made = syntax.IfExp(half, made, plain.expr, dtype=dtype, loc=expr.loc)
    return TypedValue(made, plain.types)


def _of_range(expr: syntax.Call, operand: TypedValue, stop: TypedValue) -> TypedValue:
    """Returns an element of np.arange, of NumPy's type. Raises NotAffineError for numbers of which it makes elements of other types."""
    kinds = {*operand.types, *stop.types}
    to = I64 if kinds <= {I64, PYINT} else F64 if kinds <= {F64, PYFLOAT, I64, PYINT} else None
    if to is None or len(operand.types) > 1 or len(stop.types) > 1:
        notes = ["polyml compiles: ints and floats of Python, int64 and float64"]
        raise NotAffineError(f"a range of {operand} up to {stop}", loc=expr.loc, notes=notes)
    return TypedValue(converted(TypedValue(operand.expr, of_type(operand.dtype)), to), of_type(to))


def _choice(expr: syntax.Call, number: TypedValue, common: TypedValue) -> TypedValue:
    """Returns a number among the choices of np.select, or its default, converted to the type of the others.

    Raises NotAffineError for ints of Python that do not fit, which NumPy takes for int64 here: it wraps them, or raises an error.
    """
    to, value = common.dtype, number.expr.value if isinstance(number.expr, syntax.Const) else 0
    is_weak = any(kind.weak for kind in number.types)
    fits = to.kind not in "iu" or type(value) is not int or to.limits[0] <= value <= to.limits[1]
    if is_weak and (to.kind == "u" and expr.function == "choice" or not fits):
        notes = ["polyml compiles: ints that fit, and NumPy's numbers beside unsigned integers"]
        raise NotAffineError(f"{number} is a choice among those of {to}", loc=expr.loc, notes=notes)
    return TypedValue(converted(number, to), of_type(to))


def _safe(expr: syntax.Call, operand: TypedValue) -> TypedValue:
    """Returns a number converted to int64 or float64, as a Python number. Raises NotAffineError where NumPy does not convert its type safely."""
    to, kinds = (PYINT, "iub") if expr.function == "intp" else (PYFLOAT, "iubf")
    wrong = {U64} if expr.function == "intp" else {F32, F16, BF16} if expr.function == "float64" else set()
    if any(kind.kind not in kinds or kind in wrong for kind in operand.types):
        raise NotAffineError(
            f"{operand} is not converted to {expr.function} safely", loc=expr.loc, notes=["polyml compiles: other types"]
        )
    return TypedValue(converted(operand, representation(to)), of_type(to))


def _item(expr: syntax.Call, operand: TypedValue) -> TypedValue:
    """Returns the typed number of Python's that a NumPy number becomes. Raises NotAffineError for Python's own, which have no `.item()`."""
    if any(kind.weak for kind in operand.types):
        raise NotAffineError(
            "`.item()` of a number that may be Python's own", loc=expr.loc, notes=["polyml compiles: NumPy's numbers"]
        )
    kind = operand.dtype.kind
    result = PYCOMPLEX if kind == "c" else PYFLOAT if kind == "f" else PYBOOL if kind == "b" else PYINT
    return TypedValue(converted(operand, representation(result)), of_type(result))


def _converted(expr: syntax.Call, operand: TypedValue, to: DType) -> TypedValue:
    """Returns the typed number of Python's that a number becomes where numba has a type for it. Integers wrap, as those of C.

    Raises PolymlTypeError for floats where an integer is needed, integers where a float32 is, and complex numbers for real ones.
    """
    kinds, result = {kind.kind for kind in operand.types}, OF_NUMPY[to.kind]
    fits = {
        "i": kinds <= {"i", "u", "b"},
        "b": kinds <= {"i", "u", "b"},
        "f": kinds <= ({"f"} if to == F32 else {"f", "i", "u", "b"}),
    }
    if not fits.get(to.kind, True):
        notes = [f"accepted: a number that is converted to {to} without rounding"]
        raise PolymlTypeError(f"{operand} stands where a function was compiled for {to.numpy_name}", loc=expr.loc, notes=notes)
    if to.kind != "i":
        rounded_to = converted(operand, to)
        return TypedValue(converted(TypedValue(rounded_to, of_type(to)), representation(result)), of_type(result))
    if operand.is_weak:
        if to.bits == 64:
            return TypedValue(converted(operand, PYINT), of_type(PYINT))
        operand = TypedValue(syntax.Cast(converted(operand, PYINT), I64, dtype=I64, loc=expr.loc), of_type(I64))
    wrapped = converted(TypedValue(operand.expr, of_type(operand.dtype)), to, implicit=False)
    return TypedValue(converted(TypedValue(wrapped, of_type(to)), PYINT), of_type(PYINT))


def _of_given_type(expr: syntax.Call, operand: TypedValue, element: DType) -> TypedValue:
    """Returns true. Raises PolymlTypeError for an element of another type than the one given."""
    if set(operand.types) != {element}:
        notes = [f"accepted: an array of {element}"]
        raise PolymlTypeError(
            f"an array of {operand} stands where a function was compiled for {element}", loc=expr.loc, notes=notes
        )
    return TypedValue(syntax.Const(True, dtype=BOOL, loc=expr.loc), of_type(BOOL))


def _part(expr: syntax.Call, operand: TypedValue) -> TypedValue:
    """Returns the typed real or imaginary part of a number; for a real number the number itself, or zero."""
    types = union({_type_of_part(kind): None} for kind in operand.types)
    typed, part = converted(operand, storage_of(operand.types)), storage_of(types)
    if typed.dtype.is_complex:
        return TypedValue(dataclasses.replace(expr, args=(typed,), module="numpy", dtype=part), types)
    number = typed if expr.function == "real" else syntax.Const(0, dtype=typed.dtype, loc=expr.loc)
    return TypedValue(converted(TypedValue(number, operand.types), part), types)


def _type_of_part(kind: DType) -> DType:
    return {PYCOMPLEX: PYFLOAT, PYBOOL: PYINT}.get(kind, kind.part)


def _joined(expr: syntax.Call, args: tuple[TypedValue, ...]) -> TypedValue:
    """Returns the typed call complex(x, y), whose result is a Python complex."""
    parts = tuple(converted(arg, F64) for arg in args)
    return TypedValue(dataclasses.replace(expr, args=parts, dtype=C128), of_type(PYCOMPLEX))


def _angle(expr: syntax.Call, operand: TypedValue) -> TypedValue:
    """Returns the typed angle of a complex number, as arctan2 of its parts.

    As in np.angle, the imaginary part of a real number is a Python int.
    """
    real, imag = (dataclasses.replace(expr, function=name) for name in ("real", "imag"))
    is_complex = operand.dtype.is_complex
    y = _part(imag, operand) if is_complex else constant(0, PYINT, expr.loc)
    return _numpy_call(dataclasses.replace(expr, function="arctan2"), (y, _part(real, operand)))


def _norm(expr: syntax.Call, operand: TypedValue) -> TypedValue:
    """Returns the typed square of an absolute value: np.square of a real number, re(z)**2 + im(z)**2 of a complex one."""
    if not operand.dtype.is_complex:
        return _numpy_call(dataclasses.replace(expr, function="square"), (operand,))
    check_one_type(expr, operand.types)
    return TypedValue(dataclasses.replace(expr, args=(operand.expr,), dtype=operand.dtype.part), of_type(operand.dtype.part))


def _modulus(expr: syntax.Call, operand: TypedValue, types: TypeSet) -> TypedValue:
    """Returns the typed absolute value of a complex number.

    expr: the call that is replaced
    types: the types that the result may have
    """
    typed = converted(operand, storage_of(operand.types))
    return TypedValue(dataclasses.replace(expr, function="abs", args=(typed,), module="numpy", dtype=storage_of(types)), types)


def _math_call(expr: syntax.Call, args: tuple[TypedValue, ...]) -> TypedValue:
    """Returns the typed call of a function of math: it takes float(x) and gives a Python float, bool, or for the roundings int."""
    name = expr.function
    if name == "rint":
        return _round(expr, args[0])
    if name in _ROUNDINGS and args[0].is_weak and not args[0].dtype.is_float:
        return TypedValue(converted(args[0], PYINT), of_type(PYINT))
    if name == "trunc" and any(not k.weak and k != F64 for k in args[0].types):
        raise PolymlTypeError(f"math.trunc has no rule for {args[0]}", loc=expr.loc, notes=["accepted: int(x)"])
    floats = tuple(converted(a, F64) for a in args)
    if name == "pow":
        return TypedValue(syntax.Binary("**", *floats, dtype=F64, loc=expr.loc), of_type(PYFLOAT))
    result = PYBOOL if name in TESTS else PYFLOAT
    typed = dataclasses.replace(expr, args=floats, module="numpy", dtype=representation(result))
    if name in _ROUNDINGS:
        return TypedValue(syntax.Cast(typed, PYINT, dtype=PYINT, loc=expr.loc), of_type(PYINT))
    return TypedValue(typed, of_type(result))


def _special(expr: syntax.Call, operand: TypedValue) -> TypedValue:
    """Returns the typed call of a function of scipy.special, which computes in float64, and gives float32 for that type alone.

    Raises PolymlTypeError for complex numbers, and where it depends on the path whether the number is a float32.
    """
    if any(kind.is_complex for kind in operand.types):
        raise PolymlTypeError(f"{operand} in a function of scipy.special", loc=expr.loc, notes=["accepted: real numbers"])
    results: TypeSet = {F32 if kind == F32 else F64: None for kind in operand.types}
    check_one_type(expr, results)
    number = converted(operand, F64)
    made: syntax.Expr = dataclasses.replace(expr, args=(number,), module="numpy", dtype=F64)
    if expr.function == "lgamma":  # scipy.special.gammaln(-inf) is -inf
        least = syntax.Const(-math.inf, dtype=F64)
        made = syntax.IfExp(syntax.Compare("==", number, least, dtype=BOOL), least, made, dtype=F64, loc=expr.loc)
    [result] = results
    return TypedValue(converted(TypedValue(made, of_type(F64)), result), of_type(result))


def _round(expr: syntax.Call, operand: TypedValue) -> TypedValue:
    """Returns Python's round(x) of a number, a Python int. Raises PolymlTypeError for numbers that have no `__round__`:
    complex ones, NumPy's truth values and bfloat16.
    """
    if any(kind.is_complex or kind in (BOOL, BF16) for kind in operand.types):
        raise PolymlTypeError(f"round has no rule for {operand}", loc=expr.loc, notes=["accepted: real numbers"])
    if operand.dtype.is_float:
        rounded_float = converted(operand, F64)
        operand = TypedValue(dataclasses.replace(expr, args=(rounded_float,), module="numpy", dtype=F64), of_type(PYFLOAT))
    return TypedValue(converted(operand, PYINT), of_type(PYINT))


def _absolute(expr: syntax.Call, operand: TypedValue) -> TypedValue:
    results: Results = {(kind,): rule_of(expr, promotion.unary, "abs", kind)[1] for kind in operand.types}
    types = result_types(expr, (operand,), results, abs)
    if operand.dtype.is_complex:
        return _modulus(expr, operand, types)
    dtype = storage_of(types)
    if dtype == PYINT:  # affine where the operand is; -x is checked for leaving 64 bits
        typed = converted(operand, PYINT)
        negated = syntax.Unary("-", typed, dtype=PYINT, loc=expr.loc)
        return TypedValue(syntax.Binary("max", typed, negated, dtype=PYINT, loc=expr.loc), types)
    return TypedValue(_of_one_type(expr, "abs", (operand,), dtype), types)


def _numpy_call(expr: syntax.Call, args: tuple[TypedValue, ...]) -> TypedValue:
    name = expr.function
    if name in COMPARISONS:
        if all(a.is_weak for a in args) and any(PYCOMPLEX in a.types for a in args):  # Python does not order complex numbers
            args = tuple(TypedValue(converted(a, C128), of_type(C128)) for a in args)
        compared = compare(syntax.Compare(COMPARISONS[name], *expr.args, loc=expr.loc), *args)
        return TypedValue(compared.expr, of_type(BOOL))
    if name.startswith("logical_"):
        return TypedValue(_logical(expr, tuple(truth(a.expr) for a in args)), of_type(BOOL))
    combinations = itertools.product(*(a.types for a in args))
    results = {c: rule_of(expr, promotion.function, name, c)[1] for c in combinations}
    if name in TESTS:
        floats = converted(args[0], args[0].dtype if args[0].dtype.kind in "cf" else F64)
        return TypedValue(dataclasses.replace(expr, args=(floats,), dtype=BOOL), of_type(BOOL))
    types = result_types(expr, args, results, None)
    if name == "abs" and args[0].dtype.is_complex:
        return _modulus(expr, args[0], types)
    dtype = storage_of(types)
    if name in ("reciprocal", "fmod") and dtype.kind not in "cf":
        raise PolymlTypeError(
            f"np.{name} of integers is not part of the language", loc=expr.loc, notes=["accepted: floats, or // and %"]
        )
    if name == "pow":
        power(expr, dtype, args[1])
    return TypedValue(_of_one_type(expr, name, args, dtype), types)


def _logical(expr: syntax.Call, truths: tuple[syntax.Expr, ...]) -> syntax.Expr:
    if expr.function == "logical_not":
        return syntax.Unary("not", *truths, dtype=BOOL, loc=expr.loc)
    return syntax.Binary(OPERATORS[expr.function], *truths, dtype=BOOL, loc=expr.loc)


def _of_one_type(expr: syntax.Call, name: str, args: tuple[TypedValue, ...], dtype: DType) -> syntax.Expr:
    """Returns the call of the function `name` with all operands converted to `dtype`, or a simpler operation that gives the
    same.
    """
    operands = tuple(converted(a, dtype) for a in args)
    if name in _ROUNDINGS and not dtype.is_float or name == "abs" and dtype.kind in "ub":
        return operands[0]
    if name == "conj" and not dtype.is_complex:
        return operands[0]
    if name in OPERATORS and len(operands) == 2:
        op = OPERATORS[name]
        return syntax.Binary(BOOL_FORMS.get(op, op) if dtype == BOOL else op, *operands, dtype=dtype, loc=expr.loc)
    if name in OPERATORS:
        return syntax.Unary(OPERATORS[name], *operands, dtype=dtype, loc=expr.loc)
    if name == "positive":
        return operands[0]
    if name in _ANGLES:
        return syntax.Binary("*", operands[0], _number(_ANGLES[name], dtype), dtype=dtype, loc=expr.loc)
    if dtype.kind not in "cf":
        name = {"fmin": "minimum", "fmax": "maximum"}.get(name, name)  # the two differ only for NaN
    if dtype == BOOL and name in ("minimum", "maximum"):
        return syntax.Binary("&" if name == "minimum" else "|", *operands, dtype=BOOL, loc=expr.loc)
    if name == "square" and not dtype.is_float:
        return syntax.Binary("*", *operands, *operands, dtype=dtype, loc=expr.loc)
    name = "abs" if name == "fabs" else name
    return dataclasses.replace(expr, function=name, args=operands, module="numpy", dtype=dtype)


def _number(value: float, dtype: DType) -> syntax.Const:
    return syntax.Const(rounded(value, dtype), dtype=dtype)
