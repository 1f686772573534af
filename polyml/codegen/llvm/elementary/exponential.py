"""exp, exp2, expm1, sinh, cosh and tanh: the argument is reduced to x = n * ln 2 + r, and polynomials in r are evaluated."""

from __future__ import annotations

import math

from polyml.codegen.llvm.elementary.double_word import FloatOperations
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.dtypes import F32, F64

# (sinh(r) / r - 1) / r**2 and (cosh(r) - 1) / r**2 in r**2, |r| < 0.347
_SINH = {
    F64: (0.16666666666666669, 0.008333333333330051, 0.00019841269863105968, 2.7557268378684192e-06,
          2.5100424157005067e-08),
    F32: (0.1666666716337204, 0.00833331048488617, 0.00019891030387952924),
}  # fmt: skip
_COSH = {
    F64: (0.5, 0.04166666666666668, 0.0013888888888879043, 2.4801587336526005e-05, 2.755726318947621e-07,
          2.0918170876658783e-09),
    F32: (0.5, 0.041666463017463684, 0.0013933685841038823),
}  # fmt: skip
_TANH_IS_ONE = {F64: 44.0, F32: 20.0}  # tanh(x / 2) rounds to 1 from there on


def exp(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits e**x and returns it, as 2**n * e**r where x = n * ln 2 + r."""
    inside = fp.maximum(fp.format.exp_zero_below, fp.minimum(fp.format.exp_infinite_above, x))
    r, exponent = fp.reduced(inside)
    return fp.scaled(fp.op("fadd", *fp.exponential(r)), exponent)


def exp2(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits 2**x and returns it, as 2**n * e**(r * ln 2) where x = n + r."""
    limits = (limit / math.log(2) for limit in (fp.format.exp_zero_below, fp.format.exp_infinite_above))
    least, most = map(math.floor, limits)
    inside = fp.maximum(float(least), fp.minimum(float(most + 1), x))
    times, exponent = fp.rounded(inside, 1.0)
    r = fp.op("fmul", fp.op("fsub", inside, times), fp.number(math.log(2)))
    return fp.scaled(fp.op("fadd", *fp.exponential(r)), exponent)


def expm1(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits e**x - 1 and returns it, as 2 * (2**(n-1) * e**r - 1/2) where x = n * ln 2 + r, so that the largest power of two
    does not overflow. For a tiny x it is x.
    """
    own = fp.format
    inside = fp.maximum(-(own.mantissa + 3.0), fp.minimum(own.exp_infinite_above, x))
    r, rest, exponent = fp.reduced_exactly(inside)
    near, small = fp.exponential(r, rest)
    power = fp.power_of_two(fp.op("sub", exponent, fp.integer(1)))
    total, error = fp.exact_sum(fp.number(-0.5), fp.op("fmul", power, near))
    half = fp.op("fadd", total, fp.muladd(power, small, error))
    tiny = fp.compare("<", fp.absolute(x), fp.number(2.0 ** -(own.mantissa + 2)))
    return fp.select(tiny, x, fp.op("fadd", half, half))


def sinh(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits sinh(x) and returns it, as 2**n * (cosh r + sinh r) / 2 - 2**-n * (cosh r - sinh r) / 2 where |x| = n * ln 2 + r.
    For a tiny x it is x.
    """
    r, rest, square, plus, minus = _hyperbolic(fp, x)
    tiny = fp.compare("<", fp.absolute(x), fp.number(2.0 ** -(fp.format.mantissa // 2 + 1)))
    result = _combined(fp, r, rest, square, minus, plus)
    return fp.select(tiny, x, fp.with_sign(result, x))


def cosh(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits cosh(x) and returns it, as 2**n * (cosh r + sinh r) / 2 + 2**-n * (cosh r - sinh r) / 2 where |x| = n * ln 2 + r."""
    r, rest, square, plus, minus = _hyperbolic(fp, x)
    return _combined(fp, r, rest, square, plus, minus)


_Sum = tuple[SsaValue, SsaValue]  # a number and its rounding error


def _hyperbolic(fp: FloatOperations, x: SsaValue) -> tuple[SsaValue, SsaValue, SsaValue, _Sum, _Sum]:
    """Emits the argument reduction |x| = n * ln 2 + r of sinh and cosh. Returns (r, the rounding error of r, r**2, even, odd),
    where even = (2**n + 2**-n) / 8 and odd = (2**n - 2**-n) / 8 are pairs of a number and its rounding error.
    """
    r, rest, exponent = fp.reduced_exactly(fp.minimum(fp.format.exp_infinite_above + 1, fp.absolute(x)))
    limit = fp.integer(2 * fp.format.mantissa)
    inverse = fp.select(fp.compare("<", exponent, limit), exponent, limit)
    large = fp.power_of_two(fp.op("sub", exponent, fp.integer(3)))
    small = fp.power_of_two(fp.op("sub", fp.integer(-3), inverse))
    plus, minus = fp.fast_sum(large, small), fp.fast_sum(large, fp.negative(small))
    return r, rest, fp.op("fmul", r, r), plus, minus


def _combined(fp: FloatOperations, r: SsaValue, rest: SsaValue, square: SsaValue, even: _Sum, odd: _Sum) -> SsaValue:
    """Emits 4 * (even * cosh(r + rest) + odd * sinh(r + rest)) and returns it. square: r**2. even, odd: numbers, each with its
    rounding error.
    """
    product, lost = fp.exact_product(odd[0], r)
    total, error = fp.fast_sum(even[0], product)
    error = fp.op("fadd", error, fp.op("fadd", lost, even[1]))
    cosine = fp.muladd(square, fp.polynomial(_COSH[fp.dtype], square), fp.op("fmul", r, rest))
    sine = fp.muladd(fp.op("fmul", square, r), fp.polynomial(_SINH[fp.dtype], square), rest)
    small = fp.muladd(even[0], cosine, fp.muladd(odd[0], sine, error))
    quarter = fp.op("fadd", total, small)
    half = fp.op("fadd", quarter, quarter)
    return fp.op("fadd", half, half)


def tanh(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits tanh(x) and returns it, as t / (t + 2) where t = e**(2 |x|) - 1. The quotient is corrected once by its residual."""
    doubled = fp.op("fadd", fp.absolute(x), fp.absolute(x))
    r, exponent = fp.reduced(fp.minimum(_TANH_IS_ONE[fp.dtype], doubled))
    power = fp.power_of_two(exponent)
    near, rest = fp.exponential(r)
    t = fp.muladd(power, rest, fp.muladd(power, near, fp.number(-1.0)))
    two = fp.number(2.0)
    divisor = fp.op("fadd", t, two)
    lost = fp.op("fsub", t, fp.op("fsub", divisor, two))
    inverse = fp.op("fdiv", fp.number(1.0), divisor)
    quotient = fp.op("fmul", t, inverse)
    left = fp.muladd(fp.negative(quotient), lost, fp.residual(t, quotient, divisor))
    return fp.with_sign(fp.muladd(left, inverse, quotient), x)
