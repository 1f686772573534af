"""Operations on complex numbers as expressions of their real and imaginary parts, as NumPy computes them.

Products, quotients (Smith, "Algorithm 116: Complex division", CACM 1962), comparisons (by the real parts, then by the imaginary
ones) and what is built on them follow NumPy; exponentials, logarithms and square roots use functions of real numbers, with the
special values of the C standard's Annex G; the others call the C library, in double precision.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

from polyml.dtypes import BOOL, F32, F64, DType
from polyml.frontend import syntax
from polyml.frontend.syntax import Expr

LIBRARY = (
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh pow"
).split()  # functions whose parts are the calls "exp.real" and "exp.imag"
_LONGEST_POWER = 100  # integer exponents below it are products
_LARGEST_EXPONENT = {F64: 700.0, F32: 80.0}  # the exponential of a larger number is computed as the square of another one
_FAR = {F64: 2.0**1020, F32: 2.0**124}  # larger numbers are not added, since the sum may overflow
_NEAR = {F64: 2.0**-960, F32: 2.0**-100}  # the squares of smaller numbers are not normal


class Pair(NamedTuple):
    """A Pair is a complex number as two expressions of one float type."""

    real: Expr
    imag: Expr

    @property
    def dtype(self) -> DType:
        return self.real.dtype


def constant(value: complex, dtype: DType) -> Pair:
    """Returns a complex constant as a pair of constants of type `dtype`."""
    return Pair(syntax.Const(value.real, dtype=dtype), syntax.Const(value.imag, dtype=dtype))


def converted(number: Pair, to: DType) -> Pair:
    """Returns a complex number with its parts converted to another float type."""
    return Pair(*(_cast(part, to) for part in number))


def negated(number: Pair) -> Pair:
    """Returns the complex number -number."""
    return Pair(*(_negated(part) for part in number))


def binary(op: str, left: Pair, right: Pair) -> Pair:
    """Returns `left op right` of complex numbers, for op + - * / and **."""
    match op:
        case "+" | "-":
            return Pair(*(_real(op, a, b) for a, b in zip(left, right)))
        case "*":
            return _product(left, right)
        case "/":
            return _quotient(left, right)
        case "**":
            return _power(left, right)
    raise TypeError(f"not an operator of complex numbers: {op}")


def compared(op: str, left: Pair, right: Pair) -> Expr:
    """Returns the truth value `left op right` of complex numbers.

    As in NumPy, they are ordered by their real parts, and where these are equal by their imaginary ones.
    """
    real, imag = (_compare("==" if op != "!=" else "!=", a, b) for a, b in zip(left, right))
    if op in ("==", "!="):
        return _logical("and" if op == "==" else "or", real, imag)
    first = _compare(op[0], left.real, right.real)
    ordered = [_compare("==", number.imag, number.imag) for number in (left, right)]  # no NaN
    return _logical("or", _logical("and", first, *ordered), _logical("and", real, _compare(op, left.imag, right.imag)))


def of_parts(function: str, number: Pair) -> Expr:
    """Returns a real or truth value of a complex number: its real, imag, abs, norm, isnan, isinf or isfinite."""
    match function:
        case "real":
            return number.real
        case "imag":
            return number.imag
        case "abs":
            return _call("hypot", *number)
        case "norm":
            return _real("+", _real("*", number.real, number.real), _real("*", number.imag, number.imag))
        case "isnan" | "isinf":
            return _logical("or", *(_test(function, part) for part in number))
        case "isfinite":
            return _logical("and", *(_test(function, part) for part in number))
    raise TypeError(f"not a function of complex numbers: {function}")


def called(function: str, args: list[Pair]) -> Pair:
    """Returns a function of complex numbers whose value is complex, such as "exp" or "sin"."""
    if function in LIBRARY:
        return _from_library(function, *args)
    return _FUNCTIONS[function](*args)


def selected(condition: Expr, then: Pair, orelse: Pair) -> Pair:
    """Returns the complex number `then if condition else orelse`."""
    return Pair(*(_choice(condition, a, b) for a, b in zip(then, orelse)))


# Functions


def _conj(z: Pair) -> Pair:
    return Pair(z.real, _negated(z.imag))


def _square(z: Pair) -> Pair:
    return _product(z, z)


def _reciprocal(z: Pair) -> Pair:
    """Returns 1/z by Smith's method, which divides the smaller of z's parts by the larger one."""
    one = _number(1.0, z.dtype)

    def steep(big: Expr, small: Expr) -> tuple[Expr, Expr]:
        ratio = _real("/", small, big)
        return ratio, _real("+", big, _real("*", small, ratio))

    ratio, scale = steep(z.real, z.imag)
    flat = Pair(_real("/", one, scale), _real("/", _negated(ratio), scale))
    ratio, scale = steep(z.imag, z.real)
    upright = Pair(_real("/", ratio, scale), _real("/", _negated(one), scale))
    return selected(_compare("<=", _call("abs", z.imag), _call("abs", z.real)), flat, upright)


def _sign(z: Pair) -> Pair:
    """Returns z/|z|, and 0 for 0.

    For an infinite number it is the direction of an axis where only one part is infinite, else NaN.
    """
    size, zero = of_parts("abs", z), _number(0.0, z.dtype)
    infinite = [_test("isinf", part) for part in z]
    along = [_call("copysign", _number(1.0, z.dtype), part) for part in z]
    nan = constant(complex(math.nan, math.nan), z.dtype)
    far = selected(infinite[1], selected(infinite[0], nan, Pair(zero, along[1])), Pair(along[0], zero))
    plain = Pair(*(_real("/", part, size) for part in z))
    near = selected(_compare("==", size, zero), Pair(zero, zero), plain)
    return selected(_test("isnan", size), nan, selected(_test("isinf", size), far, near))


def _rint(z: Pair) -> Pair:
    return Pair(*(_call("rint", part) for part in z))


def _extremum(op: str, keeps: int) -> Callable[[Pair, Pair], Pair]:
    """Returns a function of complex numbers a and b: a where `a op b` holds or (a, b)[keeps] is NaN, else b. keeps: 0 or 1"""

    def chosen(a: Pair, b: Pair) -> Pair:
        return selected(_logical("or", of_parts("isnan", (a, b)[keeps]), compared(op, a, b)), a, b)

    return chosen


def _scaled_logarithm(base: float) -> Callable[[Pair], Pair]:
    def logarithm(z: Pair) -> Pair:
        factor = _number(1 / math.log(base), z.dtype)
        return _scaled(_log(z), factor)

    return logarithm


def _log1p(z: Pair) -> Pair:
    more = _real("+", z.real, _number(1.0, z.dtype))
    return Pair(_call("log", _call("hypot", more, z.imag)), _call("arctan2", z.imag, more))


def _exp2(z: Pair) -> Pair:
    factor = _number(math.log(2), z.dtype)
    return _exp(_scaled(z, factor))


def _exp(z: Pair) -> Pair:
    """Returns exp(x + i y) = e**x * (cos y + i sin y) for the complex number z = x + i y."""
    x, y = z
    size, root = _call("exp", x), _call("exp", _real("*", x, _number(0.5, z.dtype)))
    large = _compare(">", x, _number(_LARGEST_EXPONENT[z.dtype], z.dtype))
    zero, infinity = _number(0.0, z.dtype), _number(math.inf, z.dtype)

    def times(factor: Expr) -> Expr:
        product = _real("*", _real("*", factor, root), root)
        return _choice(large, product, _real("*", factor, size))

    cosine, sine = _call("cos", y), _call("sin", y)
    vanishes, grows = _compare("==", x, _number(-math.inf, z.dtype)), _compare("==", x, infinity)
    none = _test("isnan", cosine)  # where y is not finite
    real = _choice(_logical("and", none, vanishes), zero, _choice(_logical("and", none, grows), infinity, times(cosine)))
    imag = _choice(_logical("and", none, vanishes), zero, _choice(_compare("==", y, zero), y, times(sine)))
    return Pair(real, imag)


def _log(z: Pair) -> Pair:
    """Returns log |z| + i arctan2(y, x) for the complex number z = x + i y.

    Where |z| is about 1, its logarithm is log1p(|z|**2 - 1) / 2.
    """
    one, half = _number(1.0, z.dtype), _number(0.5, z.dtype)
    sizes = [_call("abs", part) for part in z]
    large, small = _call("maximum", *sizes), _call("minimum", *sizes)
    size = _call("hypot", *z)
    excess = _real("+", _real("*", _real("-", large, one), _real("+", large, one)), _real("*", small, small))
    about_one = _logical("and", _compare(">", size, half), _compare("<", size, _number(2.0, z.dtype)))
    halved = _call("hypot", *_scaled(z, half))
    far = _real("+", _call("log", halved), _number(math.log(2), z.dtype))
    plain = _choice(_compare(">", large, _number(_FAR[z.dtype], z.dtype)), far, _call("log", size))
    real = _choice(about_one, _real("*", _call("log1p", excess), half), plain)
    return Pair(real, _call("arctan2", z.imag, z.real))


def _sqrt(z: Pair) -> Pair:
    """Returns the square root t + i y/(2t) of z = x + i y, with t = sqrt((|x| + |z|) / 2).

    The parts are exchanged where x is negative.
    """
    x, y = z
    zero, infinity, nan = (_number(value, z.dtype) for value in (0.0, math.inf, math.nan))
    sizes = [_call("abs", part) for part in z]
    far = _compare(">", _call("maximum", *sizes), _number(_FAR[z.dtype], z.dtype))
    near = _compare("<", _call("maximum", *sizes), _number(_NEAR[z.dtype], z.dtype))

    def by_range(of_far: float, of_near: float) -> Expr:
        return _choice(far, _number(of_far, z.dtype), _choice(near, _number(of_near, z.dtype), _number(1.0, z.dtype)))

    scale = by_range(2.0**-4, 2.0**60)
    scaled = _scaled(z, scale)
    back = by_range(2.0**2, 2.0**-30)
    total = _real("+", _call("abs", scaled[0]), _call("hypot", *scaled))
    t = _call("sqrt", _real("*", total, _number(0.5, z.dtype)))
    other = _real("/", _call("abs", scaled[1]), _real("+", t, t))
    t, other = _real("*", t, back), _real("*", other, back)
    right = _compare(">=", x, zero)
    found = Pair(_choice(right, t, other), _call("copysign", _choice(right, other, t), y))
    found = selected(compared("==", z, Pair(zero, zero)), Pair(zero, y), found)
    left_end = Pair(_choice(_test("isnan", y), nan, zero), _call("copysign", infinity, y))
    right_end = Pair(infinity, _choice(_test("isnan", y), nan, _call("copysign", zero, y)))
    found = selected(_test("isinf", x), selected(right, right_end, left_end), found)
    return selected(_test("isinf", y), Pair(infinity, y), found)


def _expm1(z: Pair) -> Pair:
    half = _call("sin", _real("/", z.imag, _number(2.0, z.dtype)))
    less = _real("*", _number(2.0, z.dtype), _real("*", half, half))
    real = _real("-", _real("*", _call("expm1", z.real), _call("cos", z.imag)), less)
    return Pair(real, _real("*", _call("exp", z.real), _call("sin", z.imag)))


_FUNCTIONS: dict[str, Callable[..., Pair]] = {
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "conj": _conj,
    "square": _square,
    "reciprocal": _reciprocal,
    "sign": _sign,
    "rint": _rint,
    "maximum": _extremum(">=", 0),
    "minimum": _extremum("<=", 0),
    "fmax": _extremum(">=", 1),
    "fmin": _extremum("<=", 1),
    "log2": _scaled_logarithm(2),
    "log10": _scaled_logarithm(10),
    "log1p": _log1p,
    "exp2": _exp2,
    "expm1": _expm1,
}


def _from_library(function: str, *args: Pair) -> Pair:
    wide = [_cast(part, F64) for number in args for part in number]
    return converted(Pair(*(_call(f"{function}.{part}", *wide) for part in ("real", "imag"))), args[0].dtype)


# Arithmetic


def _product(a: Pair, b: Pair) -> Pair:
    real = _real("-", _real("*", a.real, b.real), _real("*", a.imag, b.imag))
    return Pair(real, _real("+", _real("*", a.real, b.imag), _real("*", a.imag, b.real)))


def _quotient(a: Pair, b: Pair) -> Pair:
    """Returns a/b by Smith's method, which divides the smaller of b's parts by the larger one."""
    one, sizes = _number(1.0, a.dtype), [_call("abs", part) for part in b]

    def steep(big: Expr, small: Expr) -> tuple[Expr, Expr]:
        ratio = _real("/", small, big)
        return ratio, _real("/", one, _real("+", big, _real("*", small, ratio)))

    def scaled(scale: Expr, first: Expr, op: str, second: Expr) -> Expr:
        return _real("*", _real(op, first, second), scale)

    ratio, scale = steep(b.real, b.imag)
    flat = Pair(scaled(scale, a.real, "+", _real("*", a.imag, ratio)), scaled(scale, a.imag, "-", _real("*", a.real, ratio)))
    ratio, scale = steep(b.imag, b.real)
    upright = Pair(scaled(scale, _real("*", a.real, ratio), "+", a.imag), scaled(scale, _real("*", a.imag, ratio), "-", a.real))
    zero = _logical("and", *(_compare("==", size, _number(0.0, a.dtype)) for size in sizes))
    by_zero = Pair(*(_real("/", part, sizes[0]) for part in a))
    return selected(_compare(">=", *sizes), selected(zero, by_zero, flat), upright)


def _power(a: Pair, b: Pair) -> Pair:
    times = _small_integer(b)
    if times is not None:
        return _integer_power(a, times)
    nan, zero = constant(complex(math.nan, math.nan), a.dtype), constant(0j, a.dtype)
    of_zero = selected(_compare(">", b.real, zero.real), zero, nan)
    plain = selected(compared("==", a, zero), of_zero, _from_library("pow", a, b))
    return selected(compared("==", b, zero), constant(1 + 0j, a.dtype), plain)


def _small_integer(exponent: Pair) -> int | None:
    real, imag = exponent
    if not (isinstance(real, syntax.Const) and isinstance(imag, syntax.Const)) or imag.value != 0:
        return None
    number = real.value
    return int(number) if abs(number) < _LONGEST_POWER and number == int(number) else None


def _integer_power(a: Pair, times: int) -> Pair:
    """Returns the complex number a to the integer power `times`, by repeated squaring."""
    one = constant(1 + 0j, a.dtype)
    if times in (0, 1):
        return a if times else one
    square, rest = a, abs(times)
    while not rest & 1:
        square, rest = _product(square, square), rest >> 1
    result = square
    while rest := rest >> 1:
        square = _product(square, square)
        if rest & 1:
            result = _product(result, square)
    if times > 0:
        return result
    nan, zero = constant(complex(math.nan, math.nan), a.dtype), constant(0j, a.dtype)
    return selected(compared("==", a, zero), nan, _quotient(one, result))


# Real expressions


def _number(value: float, dtype: DType) -> Expr:
    return syntax.Const(value, dtype=dtype)


def _real(op: str, left: Expr, right: Expr) -> Expr:
    return syntax.Binary(op, left, right, dtype=left.dtype)


def _negated(number: Expr) -> Expr:
    if isinstance(number, syntax.Const):
        return dataclasses.replace(number, value=-number.value)
    return syntax.Unary("-", number, dtype=number.dtype)


def _choice(condition: Expr, then: Expr, orelse: Expr) -> Expr:
    return syntax.IfExp(condition, then, orelse, dtype=then.dtype)


def _scaled(number: Pair, factor: Expr) -> Pair:
    return Pair(*(_real("*", part, factor) for part in number))


def _call(function: str, *args: Expr) -> Expr:
    return syntax.Call(function, args, dtype=args[0].dtype)


def _test(function: str, number: Expr) -> Expr:
    return syntax.Call(function, (number,), dtype=BOOL)


def _compare(op: str, left: Expr, right: Expr) -> Expr:
    return syntax.Compare(op, left, right, dtype=BOOL)


def _logical(op: str, *operands: Expr) -> Expr:
    return syntax.Logical(op, operands, dtype=BOOL)


def _cast(number: Expr, to: DType) -> Expr:
    return number if number.dtype == to else syntax.Cast(number, to, True, dtype=to)
