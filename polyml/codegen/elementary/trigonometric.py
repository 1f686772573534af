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
    wide, argument, narrow = _double(steps, x)
    if narrow:
        r, turn, outside = _reduced_narrow(wide, argument)
        sine, cosine = _both_narrow(wide, r)
    else:
        r, rest, turn, outside = _reduced(wide, argument)
        sine, cosine = (wide.op("fadd", *parts) for parts in _both(wide, r, rest))
    turn = wide.op("add", turn, wide.integer(quarters)) if quarters else turn
    odd = wide.compare("!=", wide.op("and", turn, wide.integer(1)), wide.integer(0))
    negative = wide.op("shl", wide.op("and", turn, wide.integer(2)), wide.integer(62))
    result = wide.flipped(wide.select(odd, cosine, sine), negative)
    return steps.from_library(outside, name, steps.rounded_to(result), x)


def tan(steps: Steps, x: Val) -> Val:
    """sin(r) / cos(r) or -cos(r) / sin(r), the quotient corrected once by what is left of it."""
    wide, argument, narrow = _double(steps, x)
    if narrow:
        r, turn, outside = _reduced_narrow(wide, argument)
        sine, cosine = ((near,) for near in _both_narrow(wide, r))
    else:
        r, rest, turn, outside = _reduced(wide, argument)
        sine, cosine = (wide.fast_sum(*parts) for parts in _both(wide, r, rest))
    odd = wide.op("and", turn, wide.integer(1))
    swap = wide.compare("!=", odd, wide.integer(0))
    over, *over_rest = (wide.select(swap, c, s) for s, c in zip(sine, cosine))
    under, *under_rest = (wide.select(swap, s, c) for s, c in zip(sine, cosine))
    about = steps.rounded_to(under)  # in float32 the correction makes up for a short inverse too
    (inverse,) = steps.in_double(steps.op("fdiv", steps.number(1.0), about))[1]
    quotient = wide.op("fmul", over, inverse)
    if narrow:
        left = wide.muladd(wide.negative(quotient), under, over)
    else:
        left = wide.op("fadd", wide.left_of(over, quotient, under), *over_rest)
        left = wide.muladd(wide.negative(quotient), *under_rest, left)
    result = wide.flipped(wide.muladd(left, inverse, quotient), wide.op("shl", odd, wide.integer(63)))
    return _or_zero(steps, x, steps.from_library(outside, "tan", steps.rounded_to(result), x))


def _or_zero(steps: Steps, x: Val, result: Val) -> Val:
    """The zero's sign is lost where zeros are added."""
    return steps.select(steps.compare("==", x, steps.number(0.0)), x, result)


def _double(steps: Steps, x: Val) -> tuple[Steps, Val, bool]:
    """Steps on float64, the argument there, and whether it is a float32."""
    wide, (argument,) = steps.in_double(x)
    return wide, argument, steps.dtype == F32


def _quarters(steps: Steps, x: Val) -> tuple[Val, Val, Val, Val]:
    """(n, n, r, whether x is too large) with x = n * pi / 2 + r but for the later parts of pi / 2, n also an integer."""
    times, turn = steps.rounded(x, 2 / math.pi)
    r = steps.muladd(times, steps.number(-_HALF_PI[0]), x)
    return times, turn, r, steps.compare(">", steps.absolute(x), steps.number(_LIMIT))


def _reduced_narrow(steps: Steps, x: Val) -> tuple[Val, Val, Val]:
    times, turn, r, huge = _quarters(steps, x)
    return steps.muladd(times, steps.number(-_HALF_PI_LOW), r), turn, huge


def _both_narrow(steps: Steps, r: Val) -> tuple[Val, Val]:
    """sin and cos of r, good enough for float32."""
    z = steps.op("fmul", r, r)
    near = steps.muladd(z, steps.number(-0.5), steps.number(1.0))
    cosine = steps.muladd(steps.op("fmul", z, z), steps.polynomial(_COS[F32], z), near)
    return steps.muladd(steps.op("fmul", z, r), steps.polynomial(_SIN[F32], z), r), cosine


def _reduced(steps: Steps, x: Val) -> tuple[Val, Val, Val, Val]:
    """(r, rest, n, where they are not good enough) with x = n * pi / 2 + r + rest."""
    times, turn, r, huge = _quarters(steps, x)
    _, second, third = _HALF_PI
    near, error = steps.fast_sum(r, steps.op("fmul", times, steps.number(-second)))
    total, rest = steps.fast_sum(near, steps.muladd(times, steps.number(-third), error))
    needed = steps.op("fmul", steps.absolute(times), steps.number(_TOO_SMALL))
    return total, rest, turn, steps.either(huge, steps.compare("<", steps.absolute(total), needed))


def _both(steps: Steps, r: Val, rest: Val) -> tuple[tuple[Val, Val], tuple[Val, Val]]:
    """sin and cos of r + rest, each as the sum of a number near it and a smaller one."""
    z = steps.op("fmul", r, r)
    near, error = steps.fast_sum(steps.number(1.0), steps.op("fmul", z, steps.number(-0.5)))
    cosine = steps.muladd(steps.op("fmul", z, z), steps.polynomial(_COS[F64], z), error)
    sine = steps.muladd(steps.op("fmul", z, r), steps.polynomial(_SIN[F64], z), steps.op("fmul", rest, near))
    return (r, sine), (near, steps.muladd(steps.negative(r), rest, cosine))
