"""sin, cos and tan: x = n * pi / 2 + r, and polynomials of r; huge arguments go to the C library.

pi / 2 is in three parts (Cody and Waite). Where so little is left of x that they do not suffice, and for huge x, a
branch takes the C library's result. float32 is reduced in float64, which needs no rest of the reduction.
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
# (tan(r) / r - 1) / r**2 in r**2, |r| < 0.786
_TAN = (
    0.3333333432674408, 0.133332297205925, 0.05399462580680847, 0.021619873121380806, 0.00996654573827982,
    0.001178298145532608, 0.003847305430099368,
)  # fmt: skip


def sin(steps: Steps, x: Val) -> Val:
    return _or_zero(steps, x, _wave(steps, x, "sin", 0))


def cos(steps: Steps, x: Val) -> Val:
    return _wave(steps, x, "cos", 1)


def _wave(steps: Steps, x: Val, name: str, quarters: int) -> Val:
    """sin(x + quarters * pi / 2)."""
    wide, (argument,) = steps.in_double(x)
    if steps.dtype == F32:
        r, turn = _reduced_narrow(wide, argument)
        sine, cosine, outside = *_both_narrow(wide, r), _is_huge(steps, x)
    else:
        r, rest, turn, outside = _reduced(steps, x)
        sine, cosine = (steps.op("fadd", *parts) for parts in _both(steps, r, rest))
    turn = wide.op("add", turn, wide.integer(quarters)) if quarters else turn
    negative = wide.op("shl", wide.op("and", turn, wide.integer(2)), wide.integer(62))
    result = wide.flipped(wide.select(_is_odd(wide, turn), cosine, sine), negative)
    return steps.from_library(outside, name, steps.rounded_to(result), x)


def tan(steps: Steps, x: Val) -> Val:
    result, outside = (_tan_narrow if steps.dtype == F32 else _tan)(steps, x)
    return _or_zero(steps, x, steps.from_library(outside, "tan", result, x))


def _tan(steps: Steps, x: Val) -> tuple[Val, Val]:
    """sin(r) / cos(r) or -cos(r) / sin(r), the quotient corrected once by what is left of it."""
    r, rest, turn, outside = _reduced(steps, x)
    sine, cosine = (steps.fast_sum(*parts) for parts in _both(steps, r, rest))
    swap = _is_odd(steps, turn)
    over, over_rest = (steps.select(swap, c, s) for s, c in zip(sine, cosine))
    under, under_rest = (steps.select(swap, s, c) for s, c in zip(sine, cosine))
    inverse = steps.op("fdiv", steps.number(1.0), under)
    quotient = steps.op("fmul", over, inverse)
    left = steps.op("fadd", steps.left_of(over, quotient, under), over_rest)
    left = steps.muladd(steps.negative(quotient), under_rest, left)
    negative = steps.select(swap, steps.sign(-1), steps.sign(1))
    return steps.flipped(steps.muladd(left, inverse, quotient), negative), outside


def _tan_narrow(steps: Steps, x: Val) -> tuple[Val, Val]:
    """tan(r) or -1 / tan(r) in float32, of an r in two parts."""
    wide, (argument,) = steps.in_double(x)
    exact, turn = _reduced_narrow(wide, argument)
    r = steps.rounded_to(exact)
    (back,) = steps.in_double(r)[1]
    rest = steps.rounded_to(wide.op("fsub", exact, back))
    z = steps.op("fmul", r, r)
    tail = steps.muladd(steps.op("fmul", z, r), steps.polynomial(_TAN, z), steps.muladd(rest, z, rest))
    result = steps.op("fadd", r, tail)
    inverse = steps.op("fdiv", steps.number(-1.0), result)
    return steps.select(_is_odd(steps, steps.narrowed(turn)), inverse, result), _is_huge(steps, x)


def _is_odd(steps: Steps, turn: Val) -> Val:
    return steps.compare("!=", steps.op("and", turn, steps.integer(1)), steps.integer(0))


def _is_huge(steps: Steps, x: Val) -> Val:
    return steps.compare(">", steps.absolute(x), steps.number(_LIMIT))


def _or_zero(steps: Steps, x: Val, result: Val) -> Val:
    """The zero's sign is lost where zeros are added."""
    return steps.select(steps.compare("==", x, steps.number(0.0)), x, result)


def _quarters(steps: Steps, x: Val) -> tuple[Val, Val, Val]:
    """(n, n, r) with x = n * pi / 2 + r but for the later parts of pi / 2; n also as an integer."""
    times, turn = steps.rounded(x, 2 / math.pi)
    return times, turn, steps.muladd(times, steps.number(-_HALF_PI[0]), x)


def _reduced_narrow(steps: Steps, x: Val) -> tuple[Val, Val]:
    """(r, n) with x = n * pi / 2 + r, of a float32 in float64."""
    times, turn, r = _quarters(steps, x)
    return steps.muladd(times, steps.number(-_HALF_PI_LOW), r), turn


def _both_narrow(steps: Steps, r: Val) -> tuple[Val, Val]:
    """sin and cos of r, good enough for float32."""
    z = steps.op("fmul", r, r)
    near = steps.muladd(z, steps.number(-0.5), steps.number(1.0))
    cosine = steps.muladd(steps.op("fmul", z, z), steps.polynomial(_COS[F32], z), near)
    return steps.muladd(steps.op("fmul", z, r), steps.polynomial(_SIN[F32], z), r), cosine


def _reduced(steps: Steps, x: Val) -> tuple[Val, Val, Val, Val]:
    """(r, rest, n, where they are not good enough) with x = n * pi / 2 + r + rest."""
    times, turn, r = _quarters(steps, x)
    _, second, third = _HALF_PI
    near, error = steps.fast_sum(r, steps.op("fmul", times, steps.number(-second)))
    total, rest = steps.fast_sum(near, steps.muladd(times, steps.number(-third), error))
    needed = steps.op("fmul", steps.absolute(times), steps.number(_TOO_SMALL))
    return total, rest, turn, steps.either(_is_huge(steps, x), steps.compare("<", steps.absolute(total), needed))


def _both(steps: Steps, r: Val, rest: Val) -> tuple[tuple[Val, Val], tuple[Val, Val]]:
    """sin and cos of r + rest, each as the sum of a number near it and a smaller one."""
    z = steps.op("fmul", r, r)
    near, error = steps.fast_sum(steps.number(1.0), steps.op("fmul", z, steps.number(-0.5)))
    cosine = steps.muladd(steps.op("fmul", z, z), steps.polynomial(_COS[F64], z), error)
    sine = steps.muladd(steps.op("fmul", z, r), steps.polynomial(_SIN[F64], z), steps.op("fmul", rest, near))
    return (r, sine), (near, steps.muladd(steps.negative(r), rest, cosine))
