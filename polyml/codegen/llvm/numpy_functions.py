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
_LIBM = ("erf", "fmod")


def call(math: Arithmetic, name: str, values: Sequence[SsaValue]) -> SsaValue:
    """Returns the result of a function of the language (syntax.Call) on values that have been converted to one type."""
    name, _, part = name.partition(".")
    if part:
        return _part_of_complex(math, MATH_NAMES.get(name, name), part, values)
    if name in _INTRINSICS and values[0].dtype.is_float:
        return math.intrinsic(_INTRINSICS[name], *values)
    if name in _LIBM and values[0].dtype.is_float:
        return math.library(name, *values)
    return _DEFINED[name](math, *values)


def _part_of_complex(math: Arithmetic, name: str, part: str, values: Sequence[SsaValue]) -> SsaValue:
    """Returns the real or imaginary part of a complex function of the C library. values: real and imaginary parts of its
    arguments, as float64.
    """
    both = "{double, double}"
    numbers = []
    for lane in range(values[0].lanes):
        made = math.call(f"c{name}", both, [("double", math.element(v, lane).ssa) for v in values])
        numbers.append(SsaValue(math.once(f"extractvalue {both} {made}, {0 if part == 'real' else 1}"), F64))
    return numbers[0] if values[0].lanes == 1 else math.vector(numbers)


def _abs(math: Arithmetic, value: SsaValue) -> SsaValue:
    if value.dtype.is_float:
        return math.intrinsic("fabs", value)
    if value.dtype.kind != "i":
        return value
    return math.select(math.compare("<", value, SsaValue("0", value.dtype)), math.negate(value), value)


def _square(math: Arithmetic, value: SsaValue) -> SsaValue:
    return math.plain("*", value, value)


def _reciprocal(math: Arithmetic, value: SsaValue) -> SsaValue:
    one = SsaValue(literal(1, value.dtype), value.dtype)
    return math.plain("/", one, value) if value.dtype.is_float else math.floor_divide(one, value, False)


def _sign(math: Arithmetic, value: SsaValue) -> SsaValue:
    zero = SsaValue(literal(0, value.dtype), value.dtype)
    one, minus = SsaValue(literal(1, value.dtype), value.dtype), SsaValue(literal(-1, value.dtype), value.dtype)
    result = math.select(math.compare(">", value, zero), one, zero)
    if value.dtype.kind == "i" or value.dtype.is_float:
        result = math.select(math.compare("<", value, zero), minus, result)
    return math.select(math.compare("!=", value, value), value, result) if value.dtype.is_float else result


def _isnan(math: Arithmetic, value: SsaValue) -> SsaValue:
    return math.compare("!=", value, value) if value.dtype.is_float else SsaValue("false", BOOL)


def _isinf(math: Arithmetic, value: SsaValue) -> SsaValue:
    if not value.dtype.is_float:
        return SsaValue("false", BOOL)
    return math.compare("==", math.intrinsic("fabs", value), SsaValue(literal(float("inf"), value.dtype), value.dtype))


def _isfinite(math: Arithmetic, value: SsaValue) -> SsaValue:
    if not value.dtype.is_float:
        return SsaValue("true", BOOL)
    return math.compare("<", math.intrinsic("fabs", value), SsaValue(literal(float("inf"), value.dtype), value.dtype))


def _extreme(math: Arithmetic, op: str, left: SsaValue, right: SsaValue, nan_wins: bool) -> SsaValue:
    """Returns np.minimum or maximum (a NaN wins), or fmin or fmax (a NaN loses).

    Of two equal zeros minimum and maximum return the second, as NumPy does on x86-64; fmin and fmax return the first.
    """
    if not left.dtype.is_float:
        return math.select(math.compare(op + "=", left, right), left, right)
    better = math.compare(op if nan_wins else op + "=", left, right)
    odd = left if nan_wins else right
    return math.select(math.logical("or", better, math.compare("!=", odd, odd)), left, right)


def _minimum(math: Arithmetic, left: SsaValue, right: SsaValue) -> SsaValue:
    return _extreme(math, "<", left, right, True)


def _maximum(math: Arithmetic, left: SsaValue, right: SsaValue) -> SsaValue:
    return _extreme(math, ">", left, right, True)


def _fmin(math: Arithmetic, left: SsaValue, right: SsaValue) -> SsaValue:
    return _extreme(math, "<", left, right, False)


def _fmax(math: Arithmetic, left: SsaValue, right: SsaValue) -> SsaValue:
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
