"""NumPy's elementwise functions that take a few instructions. Those that need an approximation are in `elementary`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyml.codegen.llvm.arithmetic import Arithmetic
from polyml.codegen.llvm.ssa_value import SsaValue, literal
from polyml.dtypes import BOOL, F64
from polyml.frontend.elementwise_functions import MATH_NAMES

# functions that are one LLVM intrinsic, on scalars and vectors; their results are correctly rounded
_INTRINSICS = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "nearbyint",
    "copysign": "copysign",
    "fabs": "fabs",
}
# functions of the C library with the same meaning, which are called once per lane; `elementary` has the others
_LIBM = ("erf", "erfc", "tgamma", "lgamma", "fmod")


def call(math: Arithmetic, name: str, values: Sequence[SsaValue]) -> SsaValue:
    """Emits a function of the language (syntax.Call) and returns its result.

    name: the function's; `name.real` or `name.imag` for one part of its complex result.
    values: the operands, all of one type.
    """
    name, _, part = name.partition(".")
    if part:
        return _part_of_complex(math, MATH_NAMES.get(name, name), part, values)
    if name in _INTRINSICS and values[0].dtype.is_float:
        return math.intrinsic(_INTRINSICS[name], *values)
    if name in _LIBM and values[0].dtype.is_float:
        return math.library(name, *values)
    return _DEFINED[name](math, *values)


def _part_of_complex(math: Arithmetic, name: str, part: str, values: Sequence[SsaValue]) -> SsaValue:
    """Emits a call per lane of a complex function of the C library, and returns one part of the results.

    part: "real" or "imag".
    values: real and imaginary parts of the arguments, as float64.
    """
    both = "{double, double}"
    numbers = []
    for lane in range(values[0].lanes):
        made = math.call(f"c{name}", both, [("double", math.element(v, lane).ssa) for v in values])
        numbers.append(SsaValue(math.once(f"extractvalue {both} {made}, {0 if part == 'real' else 1}"), F64))
    return numbers[0] if values[0].lanes == 1 else math.vector(numbers)


def floor_divide(math: Arithmetic, left: SsaValue, right: SsaValue, remainder: bool) -> SsaValue:
    """Emits //, or % if `remainder`, as NumPy defines it, and returns it: quotients are rounded down, and integers divided by zero
    give 0.
    """
    if left.dtype.is_float:
        return _float_floor_divide(math, left, right, remainder)
    left, right = math.broadcast(left, right)
    zero, one = SsaValue("0", left.dtype), SsaValue("1", left.dtype)
    by_zero = math.compare("==", right, zero)
    if left.dtype.kind == "u":
        safe = math.select(by_zero, one, right)
        name = "urem" if remainder else "udiv"
        quotient = SsaValue(math.once(f"{name} {left.type} {left.ssa}, {safe.ssa}"), left.dtype, left.lanes)
        return math.select(by_zero, zero, quotient)
    least = SsaValue(literal(1 << (left.dtype.bits - 1), left.dtype), left.dtype)
    leaves = math.logical("and", math.compare("==", left, least), math.compare("==", right, SsaValue("-1", left.dtype)))
    safe = math.select(math.logical("or", by_zero, leaves), one, right)
    quotient = SsaValue(math.once(f"sdiv {left.type} {left.ssa}, {safe.ssa}"), left.dtype, left.lanes)
    rest = math.plain("-", left, math.plain("*", quotient, safe))
    opposite = math.compare("<", math.logical("xor", rest, safe), zero)
    adjust = math.logical("and", math.compare("!=", rest, zero), opposite)
    if remainder:
        result = math.select(adjust, math.plain("+", rest, safe), rest)
        return math.select(math.logical("or", by_zero, leaves), zero, result)
    result = math.select(adjust, math.plain("-", quotient, one), quotient)
    return math.select(by_zero, zero, result)


def _float_floor_divide(math: Arithmetic, left: SsaValue, right: SsaValue, remainder: bool) -> SsaValue:
    """Emits //, or % if `remainder`, of floats, and returns it: NumPy's npy_divmod, whose remainder is exact (fmod) and has the
    divisor's sign.
    """
    left, right = math.broadcast(left, right)
    zero = SsaValue(literal(0, left.dtype), left.dtype)
    rest = math.library("fmod", left, right)
    negative_zero_safe = math.compare("!=", rest, zero)
    differs = math.logical("xor", math.compare("<", right, zero), math.compare("<", rest, zero))
    adjust = math.logical("and", negative_zero_safe, differs)
    moved = math.select(adjust, math.plain("+", rest, right), rest)
    if remainder:
        signed_zero = math.intrinsic("copysign", zero if left.lanes == 1 else math.splat(zero, left.lanes), right)
        result = math.select(negative_zero_safe, moved, signed_zero)
        return math.select(math.compare("==", right, zero), rest, result)
    quotient = math.plain("/", math.plain("-", left, rest), right)
    quotient = math.select(adjust, math.plain("-", quotient, SsaValue(literal(1, left.dtype), left.dtype)), quotient)
    floor = math.intrinsic("floor", quotient)
    half = SsaValue(literal(0.5, left.dtype), left.dtype)
    up = math.compare(">", math.plain("-", quotient, floor), half)
    rounded = math.select(up, math.plain("+", floor, SsaValue(literal(1, left.dtype), left.dtype)), floor)
    whole = math.plain("/", left, right)
    signed_zero = math.intrinsic("copysign", math.splat(zero, left.lanes), whole)
    result = math.select(math.compare("!=", quotient, zero), rounded, signed_zero)
    return math.select(math.compare("==", right, zero), whole, result)


def _abs(math: Arithmetic, value: SsaValue) -> SsaValue:
    """Emits |value| and returns it."""
    if value.dtype.is_float:
        return math.intrinsic("fabs", value)
    if value.dtype.kind != "i":
        return value
    return math.select(math.compare("<", value, SsaValue("0", value.dtype)), math.negate(value), value)


def _square(math: Arithmetic, value: SsaValue) -> SsaValue:
    """Emits value * value and returns it."""
    return math.plain("*", value, value)


def _reciprocal(math: Arithmetic, value: SsaValue) -> SsaValue:
    """Emits 1 / value and returns it; of integers the quotient is rounded down."""
    one = SsaValue(literal(1, value.dtype), value.dtype)
    return math.plain("/", one, value) if value.dtype.is_float else floor_divide(math, one, value, False)


def _sign(math: Arithmetic, value: SsaValue) -> SsaValue:
    """Emits the value's sign, -1, 0 or 1, and returns it; a NaN is its own sign."""
    zero = SsaValue(literal(0, value.dtype), value.dtype)
    one, minus = SsaValue(literal(1, value.dtype), value.dtype), SsaValue(literal(-1, value.dtype), value.dtype)
    result = math.select(math.compare(">", value, zero), one, zero)
    if value.dtype.kind == "i" or value.dtype.is_float:
        result = math.select(math.compare("<", value, zero), minus, result)
    return math.select(math.compare("!=", value, value), value, result) if value.dtype.is_float else result


def _isnan(math: Arithmetic, value: SsaValue) -> SsaValue:
    """Emits whether the value is a NaN, and returns the truth value."""
    return math.compare("!=", value, value) if value.dtype.is_float else SsaValue("false", BOOL)


def _isinf(math: Arithmetic, value: SsaValue) -> SsaValue:
    """Emits whether the value is infinite, and returns the truth value."""
    if not value.dtype.is_float:
        return SsaValue("false", BOOL)
    return math.compare("==", math.intrinsic("fabs", value), SsaValue(literal(float("inf"), value.dtype), value.dtype))


def _isfinite(math: Arithmetic, value: SsaValue) -> SsaValue:
    """Emits whether the value is neither infinite nor a NaN, and returns the truth value."""
    if not value.dtype.is_float:
        return SsaValue("true", BOOL)
    return math.compare("<", math.intrinsic("fabs", value), SsaValue(literal(float("inf"), value.dtype), value.dtype))


def _extreme(math: Arithmetic, op: str, left: SsaValue, right: SsaValue, nan_wins: bool) -> SsaValue:
    """Emits np.minimum or maximum, where a NaN wins (`nan_wins`), or np.fmin or fmax, where it loses, and returns it.

    op: "<" for the smaller operand, ">" for the larger one.

    Of two equal zeros minimum and maximum return the second, as NumPy does on x86-64; fmin and fmax return the first.
    """
    if not left.dtype.is_float:
        return math.select(math.compare(op + "=", left, right), left, right)
    better = math.compare(op if nan_wins else op + "=", left, right)
    odd = left if nan_wins else right
    return math.select(math.logical("or", better, math.compare("!=", odd, odd)), left, right)


def _minimum(math: Arithmetic, left: SsaValue, right: SsaValue) -> SsaValue:
    """Emits np.minimum and returns it."""
    return _extreme(math, "<", left, right, True)


def _maximum(math: Arithmetic, left: SsaValue, right: SsaValue) -> SsaValue:
    """Emits np.maximum and returns it."""
    return _extreme(math, ">", left, right, True)


def _fmin(math: Arithmetic, left: SsaValue, right: SsaValue) -> SsaValue:
    """Emits np.fmin and returns it."""
    return _extreme(math, "<", left, right, False)


def _fmax(math: Arithmetic, left: SsaValue, right: SsaValue) -> SsaValue:
    """Emits np.fmax and returns it."""
    return _extreme(math, ">", left, right, False)


_DEFINED: dict[str, Callable[..., SsaValue]] = {
    "abs": _abs,
    "fabs": _abs,
    "square": _square,
    "reciprocal": _reciprocal,
    "sign": _sign,
    "isnan": _isnan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "minimum": _minimum,
    "maximum": _maximum,
    "fmin": _fmin,
    "fmax": _fmax,
}
