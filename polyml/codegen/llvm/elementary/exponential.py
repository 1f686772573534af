"""exp, exp2, expm1, sinh, cosh and tanh: x = n * ln 2 + r, and polynomials of r."""

from __future__ import annotations

import math

from polyml.codegen.llvm.elementary.double_word import Steps
from polyml.codegen.llvm.ssa_value import Val
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
_TANH_IS_ONE = {F64: 44.0, F32: 20.0}  # tanh(x / 2) from there on


def exp(steps: Steps, x: Val) -> Val:
    inside = steps.most(steps.format.least, steps.least(steps.format.most, x))
    r, exponent = steps.reduced(inside)
    return steps.scaled(steps.op("fadd", *steps.exponential(r)), exponent)


def exp2(steps: Steps, x: Val) -> Val:
    limits = (limit / math.log(2) for limit in (steps.format.least, steps.format.most))
    least, most = map(math.floor, limits)
    inside = steps.most(float(least), steps.least(float(most + 1), x))
    times, exponent = steps.rounded(inside, 1.0)
    r = steps.op("fmul", steps.op("fsub", inside, times), steps.number(math.log(2)))
    return steps.scaled(steps.op("fadd", *steps.exponential(r)), exponent)


def expm1(steps: Steps, x: Val) -> Val:
    """2**n * e**r - 1, by halves so that the largest power of two stays in the format; a tiny x is its own value."""
    own = steps.format
    inside = steps.most(-(own.mantissa + 3.0), steps.least(own.most, x))
    r, rest, exponent = steps.reduced_exactly(inside)
    near, small = steps.exponential(r, rest)
    power = steps.power_of_two(steps.op("sub", exponent, steps.integer(1)))
    total, error = steps.exact_sum(steps.number(-0.5), steps.op("fmul", power, near))
    half = steps.op("fadd", total, steps.muladd(power, small, error))
    tiny = steps.compare("<", steps.absolute(x), steps.number(2.0 ** -(own.mantissa + 2)))
    return steps.select(tiny, x, steps.op("fadd", half, half))


def sinh(steps: Steps, x: Val) -> Val:
    """2**n * (cosh r + sinh r) / 2 - 2**-n * (cosh r - sinh r) / 2; a tiny x is its own value."""
    r, rest, square, plus, minus = _hyperbolic(steps, x)
    tiny = steps.compare("<", steps.absolute(x), steps.number(2.0 ** -(steps.format.mantissa // 2 + 1)))
    result = _of_parts(steps, r, rest, square, minus, plus)
    return steps.select(tiny, x, steps.with_sign(result, x))


def cosh(steps: Steps, x: Val) -> Val:
    r, rest, square, plus, minus = _hyperbolic(steps, x)
    return _of_parts(steps, r, rest, square, plus, minus)


_Sum = tuple[Val, Val]  # a number and its error


def _hyperbolic(steps: Steps, x: Val) -> tuple[Val, Val, Val, _Sum, _Sum]:
    """r, its rest, r**2, and quarters of (2**n + 2**-n) / 2 and (2**n - 2**-n) / 2, of |x|."""
    r, rest, exponent = steps.reduced_exactly(steps.least(steps.format.most + 1, steps.absolute(x)))
    limit = steps.integer(2 * steps.format.mantissa)
    inverse = steps.select(steps.compare("<", exponent, limit), exponent, limit)
    large = steps.power_of_two(steps.op("sub", exponent, steps.integer(3)))
    small = steps.power_of_two(steps.op("sub", steps.integer(-3), inverse))
    plus, minus = steps.fast_sum(large, small), steps.fast_sum(large, steps.negative(small))
    return r, rest, steps.op("fmul", r, r), plus, minus


def _of_parts(steps: Steps, r: Val, rest: Val, square: Val, even: _Sum, odd: _Sum) -> Val:
    """4 * (even * cosh(r + rest) + odd * sinh(r + rest))."""
    product, lost = steps.exact_product(odd[0], r)
    total, error = steps.fast_sum(even[0], product)
    error = steps.op("fadd", error, steps.op("fadd", lost, even[1]))
    cosine = steps.muladd(square, steps.polynomial(_COSH[steps.dtype], square), steps.op("fmul", r, rest))
    sine = steps.muladd(steps.op("fmul", square, r), steps.polynomial(_SINH[steps.dtype], square), rest)
    small = steps.muladd(even[0], cosine, steps.muladd(odd[0], sine, error))
    quarter = steps.op("fadd", total, small)
    half = steps.op("fadd", quarter, quarter)
    return steps.op("fadd", half, half)


def tanh(steps: Steps, x: Val) -> Val:
    """t / (t + 2) of t = e**(2 |x|) - 1, the quotient corrected once by what is left of it."""
    doubled = steps.op("fadd", steps.absolute(x), steps.absolute(x))
    r, exponent = steps.reduced(steps.least(_TANH_IS_ONE[steps.dtype], doubled))
    power = steps.power_of_two(exponent)
    near, rest = steps.exponential(r)
    t = steps.muladd(power, rest, steps.muladd(power, near, steps.number(-1.0)))
    two = steps.number(2.0)
    divisor = steps.op("fadd", t, two)
    lost = steps.op("fsub", t, steps.op("fsub", divisor, two))
    inverse = steps.op("fdiv", steps.number(1.0), divisor)
    quotient = steps.op("fmul", t, inverse)
    left = steps.muladd(steps.negative(quotient), lost, steps.left_of(t, quotient, divisor))
    return steps.with_sign(steps.muladd(left, inverse, quotient), x)
