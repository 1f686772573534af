"""sin, cos and tan: x = n * pi / 2 + r, and polynomials of r; huge arguments go to the C library.

pi / 2 is in several parts (Cody and Waite). Where so little is left of x that they do not suffice, and for large x, a
branch takes another way: float32 is computed in float64, float64 and what is too large for that in the C library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from polyml.codegen.llvm.elementary.double_word import Steps
from polyml.codegen.llvm.ssa_value import Val
from polyml.dtypes import F32, F64


@dataclass(frozen=True)
class _Waves:
    """half_pi: in parts, of which n times all but the last is exact while |x| is at most the limit.

    too_small: of r divided by n. sin: (sin(r) / r - 1) / r**2, cos: (cos(r) - 1 + r**2 / 2) / r**4, in r**2, |r| < 0.786.
    """

    half_pi: tuple[float, ...]
    limit: float
    too_small: float
    sin: tuple[float, ...]
    cos: tuple[float, ...]


_WAVES = {
    F64: _Waves(
        tuple(map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69"))), 2.0**20, 2.0**-60,
        (-0.16666666666666666, 0.008333333333333331, -0.0001984126984126504, 2.7557319219320575e-06,
         -2.5052106225992787e-08, 1.6058530596390244e-10, -7.586636867766497e-13),
        (0.041666666666666664, -0.0013888888888887389, 2.48015872987544e-05, -2.7557317265876615e-07,
         2.087614504910828e-09, -1.1382544623404291e-11),
    ),
    F32: _Waves(
        tuple(map(float.fromhex, ("0x1.92p+0", "0x1.fb4p-12", "0x1.444p-24", "0x1.68c234p-39"))), 2.0**13, 2.0**-34,
        (-0.1666666716337204, 0.008333331905305386, -0.00019840084132738411, 2.724962087086169e-06),
        (0.0416666641831398, -0.0013888301327824593, 2.4547689463361166e-05),
    ),
}  # fmt: skip
# (tan(r) / r - 1) / r**2 in r**2, |r| < 0.786
_NARROW_TAN = (
    0.3333333432674408, 0.133332297205925, 0.05399462580680847, 0.021619873121380806, 0.00996654573827982,
    0.001178298145532608, 0.003847305430099368,
)  # fmt: skip


def sin(steps: Steps, x: Val) -> Val:
    return _or_zero(steps, x, _by_range(steps, x, "sin"))


def cos(steps: Steps, x: Val) -> Val:
    return _by_range(steps, x, "cos")


def tan(steps: Steps, x: Val) -> Val:
    return _or_zero(steps, x, _by_range(steps, x, "tan"))


def _or_zero(steps: Steps, x: Val, result: Val) -> Val:
    """The zero's sign is lost where zeros are added."""
    return steps.select(steps.compare("==", x, steps.number(0.0)), x, result)


def _by_range(steps: Steps, x: Val, name: str) -> Val:
    result, outside = _WAYS[name](steps, x)
    if steps.dtype == F64:
        return steps.from_library(outside, name, result, x)

    def in_double() -> Val:
        wide, (argument,) = steps.in_double(x)
        return steps.rounded_to(_by_range(wide, argument, name))

    return steps.unless(outside, result, in_double)


def _sin(steps: Steps, x: Val) -> tuple[Val, Val]:
    return _wave(steps, x, 0)


def _cos(steps: Steps, x: Val) -> tuple[Val, Val]:
    return _wave(steps, x, 1)


def _wave(steps: Steps, x: Val, quarters: int) -> tuple[Val, Val]:
    """sin(x + quarters * pi / 2), and where that is not good enough."""
    r, rest, turn, outside = _reduced(steps, x)
    sine, cosine = (steps.op("fadd", *parts) for parts in _both(steps, r, rest))
    turn = steps.op("add", turn, steps.integer(quarters)) if quarters else turn
    negative = steps.op("shl", steps.op("and", turn, steps.integer(2)), steps.integer(steps.dtype.bits - 2))
    return steps.flipped(steps.select(_is_odd(steps, turn), cosine, sine), negative), outside


def _tan(steps: Steps, x: Val) -> tuple[Val, Val]:
    return (_narrow_tan if steps.dtype == F32 else _wide_tan)(steps, *_reduced(steps, x))


def _wide_tan(steps: Steps, r: Val, rest: Val, turn: Val, outside: Val) -> tuple[Val, Val]:
    """sin(r) / cos(r) or -cos(r) / sin(r), the quotient corrected once by what is left of it."""
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


def _narrow_tan(steps: Steps, r: Val, rest: Val, turn: Val, outside: Val) -> tuple[Val, Val]:
    """tan(r) or -1 / tan(r)."""
    z = steps.op("fmul", r, r)
    polynomial = steps.polynomial(_NARROW_TAN, z)
    tail = steps.muladd(steps.op("fmul", z, r), polynomial, steps.muladd(rest, z, rest))
    result = steps.op("fadd", r, tail)
    inverse = steps.op("fdiv", steps.number(-1.0), result)
    return steps.select(_is_odd(steps, turn), inverse, result), outside


_WAYS = {"sin": _sin, "cos": _cos, "tan": _tan}


def _is_odd(steps: Steps, turn: Val) -> Val:
    return steps.compare("!=", steps.op("and", turn, steps.integer(1)), steps.integer(0))


def _reduced(steps: Steps, x: Val) -> tuple[Val, Val, Val, Val]:
    """(r, rest, n, where they are not good enough) with x = n * pi / 2 + r + rest."""
    own = _WAVES[steps.dtype]
    times, turn = steps.rounded(x, 2 / math.pi)
    *first, second, third = own.half_pi
    near = x
    for part in first:
        near = steps.muladd(times, steps.number(-part), near)
    near, error = steps.fast_sum(near, steps.op("fmul", times, steps.number(-second)))
    total, rest = steps.fast_sum(near, steps.muladd(times, steps.number(-third), error))
    huge = steps.compare(">", steps.absolute(x), steps.number(own.limit))
    needed = steps.op("fmul", steps.absolute(times), steps.number(own.too_small))
    return total, rest, turn, steps.either(huge, steps.compare("<", steps.absolute(total), needed))


def _both(steps: Steps, r: Val, rest: Val) -> tuple[tuple[Val, Val], tuple[Val, Val]]:
    """sin and cos of r + rest, each as the sum of a number near it and a smaller one."""
    own = _WAVES[steps.dtype]
    z = steps.op("fmul", r, r)
    near, error = steps.fast_sum(steps.number(1.0), steps.op("fmul", z, steps.number(-0.5)))
    cosine = steps.muladd(steps.op("fmul", z, z), steps.polynomial(own.cos, z), error)
    sine = steps.muladd(steps.op("fmul", z, r), steps.polynomial(own.sin, z), steps.op("fmul", rest, near))
    return (r, sine), (near, steps.muladd(steps.negative(r), rest, cosine))
