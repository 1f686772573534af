"""sin, cos and tan: x = n * pi / 2 + r, and polynomials of r; huge arguments go to the C library.

pi / 2 is in three parts (Cody and Waite); where so little is left of x that they do not suffice, and for huge x, a branch
takes the C library's result. float32 is computed in float64, which needs no rest of the reduction.
"""

from __future__ import annotations

import math

from polyml.codegen.elementary.steps import Steps
from polyml.codegen.values import Val
from polyml.dtypes import F32, F64

_HALF_PI = (
    float.fromhex("0x1.921fb544p+0"), float.fromhex("0x1.0b4611a6p-34"), float.fromhex("0x1.3198a2e037073p-69")
)  # fmt: skip
_HALF_PI_LOW = float.fromhex("0x1.0b4611a626331p-34")  # all behind the first part
_LIMIT = 2.0**20  # beyond, n times a part of pi / 2 is not exact
_TOO_SMALL = 2.0**-60  # what is left, divided by n

# (sin(r) / r - 1) / r**2 and (cos(r) - 1 + r**2 / 2) / r**4 in r**2, |r| < 0.786; in float64
_SIN = {
    F64: (-0.16666666666666666, 0.008333333333333331, -0.0001984126984126504, 2.7557319219320575e-06,
          -2.5052106225992787e-08, 1.6058530596390244e-10, -7.586636867766497e-13),
    F32: (-0.16666666663844046, 0.008333331870340256, -0.00019840084375832671, 2.7249620003645e-06),
}  # fmt: skip
_COS = {
    F64: (0.041666666666666664, -0.0013888888888887389, 2.48015872987544e-05, -2.7557317265876615e-07,
          2.087614504910828e-09, -1.1382544623404291e-11),
    F32: (0.04166666465348729, -0.0013888301867270142, 2.4547689709382208e-05),
}  # fmt: skip


def sin(steps: Steps, x: Val) -> Val:
    return _or_zero(steps, x, _wave(steps, x, "sin", 0))


def cos(steps: Steps, x: Val) -> Val:
    return _wave(steps, x, "cos", 1)


def _wave(steps: Steps, x: Val, name: str, quarters: int) -> Val:
    """sin(x + quarters * pi / 2)."""
    steps, wide, narrow = _double(steps, x)
    r, rest, turn, outside = _reduced(steps, wide, narrow)
    turn = steps.op("add", turn, steps.integer(quarters)) if quarters else turn
    sine, cosine = _both(steps, r, rest)
    odd = steps.compare("!=", steps.op("and", turn, steps.integer(1)), steps.integer(0))
    result = steps.select(odd, steps.op("fadd", *cosine), steps.op("fadd", *sine))
    negative = steps.op("shl", steps.op("and", turn, steps.integer(2)), steps.integer(62))
    return _finished(narrow or steps, steps.flipped(result, negative), name, x, outside)


def _finished(steps: Steps, result: Val, name: str, x: Val, outside: Val) -> Val:
    return steps.from_library(outside, name, steps.rounded_to(result), x)


def tan(steps: Steps, x: Val) -> Val:
    """sin(r) / cos(r) or -cos(r) / sin(r), the quotient corrected once by what is left of it."""
    steps, wide, narrow = _double(steps, x)
    r, rest, turn, outside = _reduced(steps, wide, narrow)
    sine, cosine = (steps.fast_sum(*parts) for parts in _both(steps, r, rest))
    odd = steps.op("and", turn, steps.integer(1))
    swap = steps.compare("!=", odd, steps.integer(0))
    over, over_rest = (steps.select(swap, c, s) for s, c in zip(sine, cosine))
    under, under_rest = (steps.select(swap, s, c) for s, c in zip(sine, cosine))
    inverse = steps.op("fdiv", steps.number(1.0), under)
    quotient = steps.op("fmul", over, inverse)
    left = steps.op("fadd", steps.left_of(over, quotient, under), over_rest)
    left = steps.muladd(steps.negative(quotient), under_rest, left)
    result = steps.muladd(left, inverse, quotient)
    result = steps.flipped(result, steps.op("shl", odd, steps.integer(63)))
    narrow = narrow or steps
    return _or_zero(narrow, x, _finished(narrow, result, "tan", x, outside))


def _or_zero(steps: Steps, x: Val, result: Val) -> Val:
    """The zero's sign is lost where zeros are added."""
    return steps.select(steps.compare("==", x, steps.number(0.0)), x, result)


def _double(steps: Steps, x: Val) -> tuple[Steps, Val, Steps | None]:
    """Steps on float64, the argument there, and the steps on float32 where it is one."""
    if steps.dtype == F64:
        return steps, x, None
    wide, (argument,) = steps.in_double(x)
    return wide, argument, steps


def _reduced(steps: Steps, x: Val, narrow: Steps | None) -> tuple[Val, Val | None, Val, Val]:
    """(r, rest, n, where they are not good enough) with x = n * pi / 2 + r + rest."""
    times, turn = steps.rounded(x, 2 / math.pi)
    first, second, third = _HALF_PI
    size = steps.absolute(x)
    r = steps.muladd(times, steps.number(-first), x)
    huge = steps.compare(">", size, steps.number(_LIMIT))
    if narrow:
        return steps.muladd(times, steps.number(-_HALF_PI_LOW), r), None, turn, huge
    product = steps.op("fmul", times, steps.number(second))
    near, error = steps.fast_sum(r, steps.negative(product))
    total, rest = steps.fast_sum(near, steps.muladd(times, steps.number(-third), error))
    needed = steps.op("fmul", steps.absolute(times), steps.number(_TOO_SMALL))
    return total, rest, turn, steps.either(huge, steps.compare("<", steps.absolute(total), needed))


def _both(steps: Steps, r: Val, rest: Val | None) -> tuple[tuple[Val, Val], tuple[Val, Val]]:
    """sin and cos of r + rest, each as the sum of a number near it and a smaller one."""
    dtype = F32 if rest is None else F64
    z = steps.op("fmul", r, r)
    half = steps.op("fmul", z, steps.number(0.5))
    near, error = steps.fast_sum(steps.number(1.0), steps.negative(half))
    more = steps.op("fmul", steps.op("fmul", z, z), steps.polynomial(_COS[dtype], z))
    cubic = steps.op("fmul", z, r)
    if rest is None:
        return (r, steps.op("fmul", cubic, steps.polynomial(_SIN[dtype], z))), (near, more)
    sine = steps.muladd(cubic, steps.polynomial(_SIN[dtype], z), steps.op("fmul", rest, near))
    error = steps.muladd(steps.negative(r), rest, error)
    return (r, sine), (near, steps.op("fadd", error, more))

