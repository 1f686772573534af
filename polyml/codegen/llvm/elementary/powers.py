"""Powers, cube roots and lengths.

x**y is 2**(y * log2 x), where log2 x is a sum of two numbers with a relative error of about 2**-65 (for float32, one float64
suffices). It is 2 * atanh(s) of s = f / (2 + f), whose first terms are such sums too, as in FDLIBM's e_pow.c (Sun Microsystems,
1993).
"""

from __future__ import annotations

import math

from polyml.codegen.costs.instruction_costs import EASY_POWERS
from polyml.codegen.llvm.elementary.double_word import FloatOperations
from polyml.codegen.llvm.elementary.logarithmic import split
from polyml.codegen.llvm.ssa_value import SsaValue, literal
from polyml.dtypes import F64

_THIRD = (float.fromhex("0x1.5555555555555p-2"), float.fromhex("0x1.5555555555555p-56"))
_TWICE_PER_LN2 = (float.fromhex("0x1.71547652b82fep+1"), float.fromhex("0x1.777d0ffda0d24p-55"))
_LN2 = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))
# (atanh(s) / s - 1 - s**2 / 3) / s**4 in s**2, |s| < 0.172
_ATANH = (
    0.2, 0.14285714285714685, 0.11111111110827367, 0.0909090916782708, 0.07692297467298959, 0.06667403106050301,
    0.05853097844940682, 0.058618018114527055,
)  # fmt: skip
# log2(1 + f) / f in f, -0.293 < f < 0.415, in float64, and (2**r - 1) / r in r, |r| <= 0.5: for float32
_LOG2 = (
    1.442695040870834, -0.7213475209644591, 0.4808983602044458, -0.3606736550938465, 0.28853739155157215,
    -0.24045434592214343, 0.20617293297093778, -0.18027093203654848, 0.15878208021760354, -0.14348986373265535,
    0.14495851201673596, -0.1414566923547039, 0.07553485281554735,
)  # fmt: skip
_EXP2 = (
    0.6931471824645996, 0.24022650718688965, 0.055503569543361664, 0.009618082083761692,
    0.0013390886597335339, 0.00015453182277269661,
)  # fmt: skip


def power(fp: FloatOperations, base: SsaValue, exponent: SsaValue) -> SsaValue:
    """Emits base**exponent of floats, and returns it. A few constant exponents have instructions of their own."""
    known = next((e for e in EASY_POWERS if exponent.ssa.split(",")[0].endswith(literal(e, base.dtype))), None)
    return _general(fp, base, exponent) if known is None else _easy(fp, base, known)


def power_of_all(fp: FloatOperations, base: SsaValue, exponent: SsaValue) -> SsaValue:
    """Emits base**exponent for an exponent that is one number in the whole call, and returns it. Where it is one of a few numbers as
    the code runs, the power is what it is for a constant exponent, behind a branch.
    """
    if not exponent.ssa.startswith("%"):
        return power(fp, base, fp.in_lanes(exponent))

    def tested(easy: tuple[float, ...]) -> SsaValue:
        if not easy:
            return _general(fp, base, fp.in_lanes(exponent))
        first, *others = easy
        is_first = fp.compare("==", exponent, SsaValue(literal(first, exponent.dtype), exponent.dtype))
        return fp.either_side(is_first, lambda: base if first == 1 else _easy(fp, base, first), lambda: tested(tuple(others)))

    return tested((2, 1, 0.5, 3, -1))


def _easy(fp: FloatOperations, base: SsaValue, exponent: float) -> SsaValue:
    """Emits base**exponent for the exponent 2, 3, -1 or 0.5 (EASY_POWERS), to one unit in the last place, and returns it."""
    if exponent == 0.5:  # unlike sqrt, the power is never -0, and it is infinite at -inf
        root = fp.intrinsic("sqrt", fp.op("fadd", base, fp.number(0.0)))
        infinite = fp.compare("==", base, fp.number(-math.inf))
        return fp.select(infinite, fp.number(math.inf), root)
    if exponent == -1:
        return fp.plain("/", fp.number(1.0), base)
    if exponent == 2:
        return fp.plain("*", base, base)
    square, lost = fp.exact_product(base, base)
    cube = fp.op("fmul", square, base)
    exact = fp.accurate_muladd(square, base, fp.op("fmul", lost, base))
    usual = fp.compare("<", fp.absolute(cube), fp.number(math.inf))
    return fp.select(fp.both(usual, fp.compare("!=", cube, fp.number(0.0))), exact, cube)


def _general(fp: FloatOperations, base: SsaValue, exponent: SsaValue) -> SsaValue:
    """Emits base**exponent for any exponent, and returns it. Operands for which the fast code is not accurate take a branch to
    slower code. So does a negative base, unless the exponent is a constant: then |base|**exponent is computed, and gets its sign
    afterwards.
    """
    size, varies = fp.absolute(base), exponent.ssa.startswith("%")
    result, usual = (_normal if fp.dtype == F64 else _normal_float32)(fp, base if varies else size, exponent)
    if varies:
        return fp.where(usual, result, lambda: _signed(fp, base, exponent, _special(fp, size, exponent)))
    return _signed(fp, base, exponent, fp.where(usual, result, lambda: _special(fp, size, exponent)))


def _signed(fp: FloatOperations, base: SsaValue, exponent: SsaValue, result: SsaValue) -> SsaValue:
    """Emits base**exponent from |base|**exponent, and returns it: negated for a negative base and an odd exponent, NaN for a
    negative base and an exponent that is no integer.

    result: |base|**exponent.
    """
    zero, infinity = fp.number(0.0), fp.number(math.inf)
    whole = fp.compare("==", fp.intrinsic("trunc", exponent), exponent)
    half = fp.op("fmul", exponent, fp.number(0.5))
    odd = fp.both(whole, fp.compare("!=", fp.intrinsic("trunc", half), half))
    result = fp.flipped(result, fp.select(odd, fp.signs(base), fp.integer(0)))
    finite = fp.both(fp.compare("<", base, zero), fp.compare("<", fp.absolute(base), infinity))
    broken = fp.both(finite, fp.compare("!=", fp.intrinsic("trunc", exponent), exponent))
    return fp.select(broken, fp.number(math.nan), result)


def _normal(fp: FloatOperations, size: SsaValue, exponent: SsaValue) -> tuple[SsaValue, SsaValue]:
    """Emits size**exponent of float64, and returns (the power, whether it is accurate). It is accurate if `size` is a positive
    normal number and the power is far from overflow and underflow; callers take the result of `_special` where it is not.
    """
    high, low = _log2(fp, size)
    product, error = fp.exact_product(exponent, high)
    inside = fp.compare("<", fp.absolute(product), fp.number(1020.0))
    power, whole = _exp2(fp, product, fp.muladd(exponent, low, error))
    result = fp.op("fmul", power, fp.power_of_two(whole))
    return result, fp.both(inside, fp.is_normal(size))


def _special(fp: FloatOperations, size: SsaValue, exponent: SsaValue) -> SsaValue:
    """Emits size**exponent for all numbers, special ones among them, and returns it: it is 1 if the exponent is 0 or the size is
    1, even for a NaN.
    """
    zero, one = fp.number(0.0), fp.number(1.0)
    size = fp.select(fp.compare("==", exponent, zero), one, size)
    exponent = fp.select(fp.compare("==", size, one), zero, exponent)
    wide, (x, y) = fp.in_double(size, exponent)
    own = wide.format
    tiny = wide.compare("<", x, wide.number(2.0 ** (1 - own.bias)))
    less = wide.choice(tiny, own.mantissa + 2.0, 0.0)
    scaled = wide.op("fmul", x, wide.number(2.0 ** (own.mantissa + 2)))
    high, low = _log2(wide, wide.select(tiny, scaled, x), less)
    high = wide.select(wide.compare("<", x, wide.number(math.inf)), high, x)
    high = wide.select(wide.compare("==", x, wide.number(0.0)), wide.number(-math.inf), high)
    product, error = wide.exact_product(y, high)
    inside = wide.compare("<", wide.absolute(product), wide.number(1100.0))
    error = wide.select(inside, wide.muladd(y, low, error), wide.number(0.0))
    power, whole = _exp2(wide, wide.maximum(-1100.0, wide.minimum(1100.0, product)), error)
    return fp.rounded_to(wide.scaled(power, whole))


def _exp2(fp: FloatOperations, product: SsaValue, error: SsaValue) -> tuple[SsaValue, SsaValue]:
    """Emits p and n, where 2**(product + error) = p * 2**n and n is an integer, and returns both."""
    times, whole = fp.rounded(product, 1.0)
    r, rest = fp.fast_sum(fp.op("fsub", product, times), error)
    scaled, lost = fp.exact_product(r, fp.number(_LN2[0]))
    lost = fp.muladd(r, fp.number(_LN2[1]), fp.muladd(rest, fp.number(_LN2[0]), lost))
    return fp.op("fadd", *fp.exponential(scaled, lost)), whole


def _log2(fp: FloatOperations, x: SsaValue, less: SsaValue | None = None) -> tuple[SsaValue, SsaValue]:
    """Emits log2 of a positive normal number, minus the integer `less` if there is one. Returns two numbers whose sum it is, the
    large one first.
    """
    times, _, f = split(fp, x)
    times = times if less is None else fp.op("fsub", times, less)
    divisor, lost = fp.fast_sum(fp.number(2.0), f)
    inverse = fp.op("fdiv", fp.number(1.0), divisor)
    s = fp.op("fmul", f, inverse)
    left = fp.muladd(fp.negative(s), lost, fp.residual(f, s, divisor))
    s_low = fp.op("fmul", left, inverse)
    z, error = fp.exact_product(s, s)
    z_low = fp.muladd(fp.op("fadd", s, s), s_low, error)
    tail = fp.op("fmul", fp.op("fmul", z, z), fp.polynomial(_ATANH, z))
    third, error = fp.exact_product(z, fp.number(_THIRD[0]))
    third_low = fp.muladd(z, fp.number(_THIRD[1]), fp.muladd(z_low, fp.number(_THIRD[0]), error))
    more, error = fp.fast_sum(third, tail)
    more_low = fp.op("fadd", error, third_low)
    factor, factor_low = (fp.number(part) for part in _TWICE_PER_LN2)
    first, error = fp.exact_product(s, factor)
    first_low = fp.muladd(s, factor_low, fp.muladd(s_low, factor, error))
    product, error = fp.exact_product(first, more)
    product_low = fp.muladd(first, more_low, fp.muladd(first_low, more, error))
    high, error = fp.fast_sum(first, product)
    low = fp.op("fadd", error, fp.op("fadd", first_low, product_low))
    total, error = fp.fast_sum(times, high)
    return total, fp.op("fadd", error, low)


def _normal_float32(fp: FloatOperations, size: SsaValue, exponent: SsaValue) -> tuple[SsaValue, SsaValue]:
    """Emits size**exponent of float32, and returns (the power, whether it is accurate). It is accurate if `size` is a positive
    normal number, |exponent| is below 2**20, and the power neither overflows nor underflows; callers take the result of `_special`
    where it is not.

    Only the logarithm and its product with the exponent are computed in float64.
    """
    times, _, f = split(fp, size)
    wide, (n, f, y) = fp.in_double(times, f, exponent)
    product = wide.op("fmul", y, wide.muladd(f, wide.polynomial(_LOG2, f), n))
    near, whole = wide.rounded(product, 1.0)
    r, whole = fp.rounded_to(wide.op("fsub", product, near)), fp.narrowed(whole)
    power = fp.muladd(r, fp.polynomial(_EXP2, r), fp.number(1.0))
    small = fp.compare("<", fp.absolute(exponent), fp.number(2.0**20))  # so that `whole` fits its type
    low = fp.compare(">", whole, fp.integer(-126))
    inside = fp.both(small, fp.both(low, fp.compare("<", whole, fp.integer(127))))
    return fp.op("fmul", power, fp.power_of_two(whole)), fp.both(inside, fp.is_normal(size))


def hypot(fp: FloatOperations, x: SsaValue, y: SsaValue) -> SsaValue:
    """Emits sqrt(x * x + y * y), corrected by the root's residual, and returns it; both are scaled if squares could overflow or
    underflow.
    """
    x, y = fp.absolute(x), fp.absolute(y)
    swapped = fp.compare("<", x, y)
    a, b = fp.select(swapped, y, x), fp.select(swapped, x, y)
    limit = fp.format.bias // 2 - 1
    shift = 2.0 ** (fp.format.bias // 2 + fp.format.mantissa + 2)
    large = fp.compare(">", a, fp.number(2.0**limit))
    small = fp.compare("<", a, fp.number(2.0 ** (fp.format.mantissa + 2 - limit)))
    scale = fp.select(large, fp.number(1 / shift), fp.choice(small, shift, 1.0))
    back = fp.select(large, fp.number(shift), fp.choice(small, 1 / shift, 1.0))
    a, b = fp.op("fmul", a, scale), fp.op("fmul", b, scale)
    square, error = fp.exact_product(a, a)
    other, other_error = fp.exact_product(b, b)
    total, lost = fp.fast_sum(square, other)
    error = fp.op("fadd", lost, fp.op("fadd", error, other_error))
    root = fp.intrinsic("sqrt", total)
    left = fp.op("fadd", fp.residual(total, root, root), error)
    length = fp.op("fmul", fp.muladd(left, fp.half_inverse_root(total), root), back)
    infinity = fp.number(math.inf)
    infinite = fp.either(fp.compare("==", x, infinity), fp.compare("==", y, infinity))
    return fp.select(infinite, infinity, length)


def cbrt(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits the cube root and returns it. Very large and very small numbers, whose products or their errors would overflow or
    underflow, are scaled first.
    """
    size, third = fp.absolute(x), fp.format.mantissa // 3 + 1
    usual = fp.is_between(2.0 ** (fp.format.mantissa - fp.format.bias), size, 2.0**fp.format.bias)

    def of_others() -> SsaValue:
        small = fp.compare("<", size, fp.number(1.0))
        root = _cbrt(fp, fp.op("fmul", size, fp.choice(small, 8.0**third, 8.0**-third)))
        root = fp.op("fmul", root, fp.choice(small, 2.0**-third, 2.0**third))
        root = fp.select(fp.compare("<", size, fp.number(math.inf)), root, size)
        return fp.select(fp.compare("==", size, fp.number(0.0)), size, root)

    return fp.with_sign(fp.where(usual, _cbrt(fp, size), of_others), x)


def _cbrt(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits the cube root of x and returns it: x * y**2, where y is near x**(-1/3) and starts from a third of the bits of x. The
    result is corrected once by its residual.
    """
    inverse = fp.inverse_cube_root(x)
    for terms in fp.format.cube_root:
        product = fp.op("fmul", fp.op("fmul", x, inverse), fp.op("fmul", inverse, inverse))
        e = fp.op("fsub", fp.number(1.0), product)
        inverse = fp.muladd(fp.op("fmul", inverse, e), fp.polynomial(terms, e), inverse)
    square = fp.op("fmul", inverse, inverse)
    root = fp.op("fmul", x, square)
    power, error = fp.exact_product(root, root)
    left = fp.muladd(fp.negative(root), error, fp.residual(x, root, power))
    return fp.muladd(fp.op("fmul", left, square), fp.number(1 / 3), root)
