"""sin, cos and tan: x = n * pi / 2 + r, and polynomials in r; huge arguments go to the C library.

pi / 2 is a sum of several parts (Cody and Waite). If so little is left of x that they do not suffice, or if x is large, a
branch is taken: float32 is then computed in float64, and float64, or what is too large for that, in the C library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from polyml.codegen.llvm.elementary.double_word import FloatOperations
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.dtypes import F32, F64


@dataclass(frozen=True)
class _TrigConstants:
    """A _TrigConstants holds the constants of a floating-point type with which x becomes n * pi / 2 + r.

    half_pi: pi / 2 in parts; n times each but the last is exact while |x| is at most `limit`.
    limit: the largest |x| that these parts suffice for.
    too_small: the parts do not suffice either if |r| is less than this times n.
    sin, cos: the coefficients of (sin(r) / r - 1) / r**2 and of (cos(r) - 1 + r**2 / 2) / r**4, in r**2, for |r| < 0.786.
    """

    half_pi: tuple[float, ...]
    limit: float
    too_small: float
    sin: tuple[float, ...]
    cos: tuple[float, ...]


_CONSTANTS = {
    F64: _TrigConstants(
        tuple(map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69"))), 2.0**20, 2.0**-60,
        (-0.16666666666666666, 0.008333333333333331, -0.0001984126984126504, 2.7557319219320575e-06,
         -2.5052106225992787e-08, 1.6058530596390244e-10, -7.586636867766497e-13),
        (0.041666666666666664, -0.0013888888888887389, 2.48015872987544e-05, -2.7557317265876615e-07,
         2.087614504910828e-09, -1.1382544623404291e-11),
    ),
    F32: _TrigConstants(
        tuple(map(float.fromhex, ("0x1.92p+0", "0x1.fb4p-12", "0x1.444p-24", "0x1.68c234p-39"))), 2.0**13, 2.0**-34,
        (-0.1666666716337204, 0.008333331905305386, -0.00019840084132738411, 2.724962087086169e-06),
        (0.0416666641831398, -0.0013888301327824593, 2.4547689463361166e-05),
    ),
}  # fmt: skip
# (tan(r) / r - 1) / r**2 in r**2, |r| < 0.786
_TAN_FLOAT32 = (
    0.3333333432674408, 0.133332297205925, 0.05399462580680847, 0.021619873121380806, 0.00996654573827982,
    0.001178298145532608, 0.003847305430099368,
)  # fmt: skip


def sin(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits sin(x) and returns it."""
    return _keep_zero(fp, x, _by_range(fp, x, "sin"))


def cos(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits cos(x) and returns it."""
    return _by_range(fp, x, "cos")


def tan(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits tan(x) and returns it."""
    return _keep_zero(fp, x, _by_range(fp, x, "tan"))


def _keep_zero(fp: FloatOperations, x: SsaValue, result: SsaValue) -> SsaValue:
    """Emits x itself where x is a zero, whose sign the computed result may have lost, and the result elsewhere; returns that value."""
    return fp.select(fp.compare("==", x, fp.number(0.0)), x, result)


def _by_range(fp: FloatOperations, x: SsaValue, name: str) -> SsaValue:
    """Emits sin(x), cos(x) or tan(x) and returns it. Where x is too large, or too near a multiple of pi / 2, a branch computes it
    in float64 if x is a float32, and by the C library if x is a float64.

    name: "sin", "cos" or "tan".
    """
    result, outside = _REDUCED[name](fp, x)
    if fp.dtype == F64:
        return fp.from_library(outside, name, result, x)

    def in_double() -> SsaValue:
        wide, (argument,) = fp.in_double(x)
        return fp.rounded_to(_by_range(wide, argument, name))

    return fp.unless(outside, result, in_double)


def _sin(fp: FloatOperations, x: SsaValue) -> tuple[SsaValue, SsaValue]:
    """Emits sin(x). Returns the value, and whether it is inaccurate."""
    return _shifted_sine(fp, x, 0)


def _cos(fp: FloatOperations, x: SsaValue) -> tuple[SsaValue, SsaValue]:
    """Emits cos(x). Returns the value, and whether it is inaccurate."""
    return _shifted_sine(fp, x, 1)


def _shifted_sine(fp: FloatOperations, x: SsaValue, quarters: int) -> tuple[SsaValue, SsaValue]:
    """Emits sin(x + quarters * pi / 2). Returns the value, and whether it is inaccurate."""
    r, rest, quadrant, outside = _reduced(fp, x)
    sine, cosine = (fp.op("fadd", *parts) for parts in _both(fp, r, rest))
    quadrant = fp.op("add", quadrant, fp.integer(quarters)) if quarters else quadrant
    negative = fp.op("shl", fp.op("and", quadrant, fp.integer(2)), fp.integer(fp.dtype.bits - 2))
    return fp.flipped(fp.select(_is_odd(fp, quadrant), cosine, sine), negative), outside


def _tan(fp: FloatOperations, x: SsaValue) -> tuple[SsaValue, SsaValue]:
    """Emits tan(x). Returns the value, and whether it is inaccurate."""
    return (_tan_float32 if fp.dtype == F32 else _tan_float64)(fp, *_reduced(fp, x))


def _tan_float64(
    fp: FloatOperations, r: SsaValue, rest: SsaValue, quadrant: SsaValue, outside: SsaValue
) -> tuple[SsaValue, SsaValue]:
    """Emits tan(n * pi / 2 + r + rest) of float64: sin / cos, or -cos / sin for an odd n, a quotient that is corrected once by
    its residual. Returns the value, and `outside`.

    quadrant: n.
    outside: whether the value is inaccurate.
    """
    sine, cosine = (fp.fast_sum(*parts) for parts in _both(fp, r, rest))
    swap = _is_odd(fp, quadrant)
    over, over_rest = (fp.select(swap, c, s) for s, c in zip(sine, cosine))
    under, under_rest = (fp.select(swap, s, c) for s, c in zip(sine, cosine))
    inverse = fp.op("fdiv", fp.number(1.0), under)
    quotient = fp.op("fmul", over, inverse)
    left = fp.op("fadd", fp.residual(over, quotient, under), over_rest)
    left = fp.muladd(fp.negative(quotient), under_rest, left)
    negative = fp.select(swap, fp.sign(-1), fp.sign(1))
    return fp.flipped(fp.muladd(left, inverse, quotient), negative), outside


def _tan_float32(
    fp: FloatOperations, r: SsaValue, rest: SsaValue, quadrant: SsaValue, outside: SsaValue
) -> tuple[SsaValue, SsaValue]:
    """Emits tan(n * pi / 2 + r + rest) of float32: tan(r + rest), or -1 / tan(r + rest) for an odd n. Returns the value, and
    `outside`.

    quadrant: n.
    outside: whether the value is inaccurate.
    """
    z = fp.op("fmul", r, r)
    polynomial = fp.polynomial(_TAN_FLOAT32, z)
    tail = fp.muladd(fp.op("fmul", z, r), polynomial, fp.muladd(rest, z, rest))
    result = fp.op("fadd", r, tail)
    inverse = fp.op("fdiv", fp.number(-1.0), result)
    return fp.select(_is_odd(fp, quadrant), inverse, result), outside


_REDUCED = {"sin": _sin, "cos": _cos, "tan": _tan}


def _is_odd(fp: FloatOperations, quadrant: SsaValue) -> SsaValue:
    """Emits whether the number of the quadrant is odd, and returns the truth value."""
    return fp.compare("!=", fp.op("and", quadrant, fp.integer(1)), fp.integer(0))


def _reduced(fp: FloatOperations, x: SsaValue) -> tuple[SsaValue, SsaValue, SsaValue, SsaValue]:
    """Emits the argument reduction x = n * pi / 2 + r + rest, where rest is the rounding error of r. Returns (r, rest, n, whether r
    and rest are inaccurate, since |x| is too large or too near to a multiple of pi / 2).
    """
    own = _CONSTANTS[fp.dtype]
    times, quadrant = fp.rounded(x, 2 / math.pi)
    *first, second, third = own.half_pi
    near = x
    for part in first:
        near = fp.muladd(times, fp.number(-part), near)
    near, error = fp.fast_sum(near, fp.op("fmul", times, fp.number(-second)))
    total, rest = fp.fast_sum(near, fp.muladd(times, fp.number(-third), error))
    huge = fp.compare(">", fp.absolute(x), fp.number(own.limit))
    needed = fp.op("fmul", fp.absolute(times), fp.number(own.too_small))
    return total, rest, quadrant, fp.either(huge, fp.compare("<", fp.absolute(total), needed))


def _both(fp: FloatOperations, r: SsaValue, rest: SsaValue) -> tuple[tuple[SsaValue, SsaValue], tuple[SsaValue, SsaValue]]:
    """Emits sin and cos of r + rest, and returns for each of them two numbers whose sum it is, the large one first."""
    own = _CONSTANTS[fp.dtype]
    z = fp.op("fmul", r, r)
    near, error = fp.fast_sum(fp.number(1.0), fp.op("fmul", z, fp.number(-0.5)))
    cosine = fp.muladd(fp.op("fmul", z, z), fp.polynomial(own.cos, z), error)
    sine = fp.muladd(fp.op("fmul", z, r), fp.polynomial(own.sin, z), fp.op("fmul", rest, near))
    return (r, sine), (near, fp.muladd(fp.negative(r), rest, cosine))
