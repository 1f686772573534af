"""arcsin, arccos, arctan and arctan2: polynomials on half or all of [0, 1], reflected to the other arguments."""

from __future__ import annotations

import math
from collections.abc import Callable

from polyml.codegen.llvm.elementary.double_word import FloatOperations
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.dtypes import F32, F64

# (arctan(t) / t - 1) / t**2 in t**2, |t| <= 0.5
_ARCTAN = {
    F64: (-0.3333333333333333, 0.19999999999999485, -0.1428571428559874, 0.11111111100881761, -0.09090908618865388,
          0.07692294677482635, -0.06666435144143137, 0.05879573107799684, -0.052400641544110685, 0.04627870086418654,
          -0.03806224794996687, 0.024999689507521367, -0.009211063504627926),
    F32: (-0.3333333432674408, 0.19999875128269196, -0.14279793202877045, 0.11006776988506317, -0.0823497623205185,
          0.04224750027060509),
}  # fmt: skip
# (arcsin(s) / s - 1) / s**2 in s**2, |s| <= 0.5
_ARCSIN = {
    F64: (0.16666666666666669, 0.07499999999998425, 0.04464285714637338, 0.030381944137085216, 0.022372173002005596,
          0.017352391265909227, 0.013971235301124539, 0.011478952690257387, 0.010324318288744113,
          0.00545087818772055, 0.017419357964884856, -0.014881409392818066, 0.02877844261259304),
    F32: (0.1666666567325592, 0.07500094920396805, 0.044599320739507675, 0.031101727858185768, 0.017143717035651207,
          0.03370072692632675),
}  # fmt: skip


def arctan(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits arctan(x) and returns it, from |x| / 1 or 1 / |x|, whichever is smaller."""
    size, one = fp.minimum(2.0 ** (fp.format.mantissa + 8), fp.absolute(x)), fp.number(1.0)
    steep = fp.compare(">", size, one)
    over, under = fp.select(steep, one, size), fp.select(steep, size, one)
    middle, t, rest = _quotient(fp, over, under)
    reflection = fp.select(steep, fp.sign(-1), fp.sign(1))

    def base(part: int) -> SsaValue:
        zero, one, two, _, _ = _parts(fp, part)
        return fp.select(middle, one, fp.select(steep, two, zero))

    return fp.with_sign(_reflected(fp, base, t, rest, reflection), x)


def arctan2(fp: FloatOperations, y: SsaValue, x: SsaValue) -> SsaValue:
    """Emits the angle of the point (x, y) and returns it, from the smaller size divided by the larger one; both are scaled if the
    quotient could overflow or underflow.
    """
    rise, run = fp.absolute(y), fp.absolute(x)
    steep = fp.compare(">", rise, run)
    over, under = fp.select(steep, run, rise), fp.select(steep, rise, run)
    one, bits = fp.number(1.0), 2 * fp.format.mantissa
    limit, shift = fp.format.bias - 3 - bits, 2.0**bits
    large = fp.compare(">", under, fp.number(2.0**limit))
    small = fp.compare("<", over, fp.number(2.0**-limit))
    scale = fp.select(large, fp.number(1 / shift), fp.choice(small, shift, 1.0))
    over, under = fp.op("fmul", over, scale), fp.op("fmul", under, scale)
    infinite = fp.both(*(fp.compare("==", size, fp.number(math.inf)) for size in (rise, run)))
    over, under = fp.select(infinite, one, over), fp.select(infinite, one, under)
    under = fp.select(fp.compare("==", under, fp.number(0.0)), one, under)
    middle, t, rest = _quotient(fp, over, under)
    rest = fp.select(fp.compare("==", rest, rest), rest, fp.number(0.0))  # it is NaN if the divisor is infinite
    back = fp.signs(x)
    left = fp.compare("!=", back, fp.sign(1))
    reflection = fp.op("xor", back, fp.select(steep, fp.sign(-1), fp.sign(1)))

    def base(part: int) -> SsaValue:
        zero, one, two, three, four = _parts(fp, part)
        even = fp.select(steep, two, fp.select(left, four, zero))
        return fp.select(middle, fp.select(left, three, one), even)

    return fp.with_sign(_reflected(fp, base, t, rest, reflection), y)


def _parts(fp: FloatOperations, part: int) -> list[SsaValue]:
    """Returns one part of each of the five multiples of pi / 4 from 0 to pi, which are sums of two constants: the large part for
    part = 0, the small one for 1.
    """
    return [fp.number(parts[part]) for parts in fp.format.pi]


def _quotient(fp: FloatOperations, over: SsaValue, under: SsaValue) -> tuple[SsaValue, SsaValue, SsaValue]:
    """Emits the argument reduction of arctan(over / under) to arctan(t + rest), plus pi / 4 if 2 * over > under; t is a quotient
    and rest its rounding error. Returns (whether 2 * over > under, t, rest).
    """
    middle = fp.compare(">", fp.op("fadd", over, over), under)
    total, lost = fp.fast_sum(under, over)
    over = fp.select(middle, fp.op("fsub", over, under), over)
    under = fp.select(middle, total, under)
    lost = fp.select(middle, lost, fp.number(0.0))
    inverse = fp.op("fdiv", fp.number(1.0), under)
    t = fp.op("fmul", over, inverse)
    left = fp.muladd(fp.negative(t), lost, fp.residual(over, t, under))
    return middle, t, fp.op("fmul", left, inverse)


def _reflected(fp: FloatOperations, base: Callable[[int], SsaValue], t: SsaValue, rest: SsaValue, reflection: SsaValue) -> SsaValue:
    """Emits angle + arctan(t + rest), or angle - arctan(t + rest) where the sign bit of `reflection` is set, and returns it.

    base: gives the angle, a multiple of pi / 4, as two numbers whose sum it is: base(0) emits the large one, base(1) the small one.
    """
    z = fp.op("fmul", t, t)
    tail = fp.muladd(fp.op("fmul", z, t), fp.polynomial(_ARCTAN[fp.dtype], z), rest)
    return fp.angle(base, fp.flipped(t, reflection), fp.flipped(tail, reflection))


def arcsin(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits arcsin(x) and returns it; where |x| > 1/2, as pi / 2 - 2 * arcsin(sqrt((1 - |x|) / 2))."""
    large, s, tail = _half_angle(fp, fp.absolute(x))
    factor = fp.choice(large, -2.0, 1.0)

    def base(part: int) -> SsaValue:
        zero, _, two, _, _ = _parts(fp, part)
        return fp.select(large, two, zero)

    return fp.with_sign(fp.angle(base, fp.op("fmul", factor, s), fp.op("fmul", factor, tail)), x)


def arccos(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits arccos(x) and returns it: pi / 2 - arcsin(x) where |x| <= 1/2, else 2 * arcsin(sqrt((1 - |x|) / 2)), or pi minus that
    for a negative x.
    """
    large, s, tail = _half_angle(fp, fp.absolute(x))
    factor = fp.flipped(fp.choice(large, 2.0, -1.0), fp.signs(x))
    negative = fp.compare("<", x, fp.number(0.0))

    def base(part: int) -> SsaValue:
        zero, _, two, _, four = _parts(fp, part)
        return fp.select(large, fp.select(negative, four, zero), two)

    return fp.angle(base, fp.op("fmul", factor, s), fp.op("fmul", factor, tail))


def _half_angle(fp: FloatOperations, size: SsaValue) -> tuple[SsaValue, SsaValue, SsaValue]:
    """Emits arcsin(size) or, if size > 1/2, arccos(size) / 2, as a sum s + tail. Returns (whether size > 1/2, s, tail)."""
    large = fp.compare(">", size, fp.number(0.5))
    half = fp.muladd(size, fp.number(-0.5), fp.number(0.5))
    root = fp.intrinsic("sqrt", half)
    rest = fp.op("fmul", fp.residual(half, root, root), fp.half_inverse_root(half))
    s = fp.select(large, root, size)
    z = fp.select(large, half, fp.op("fmul", size, size))
    rest = fp.select(large, rest, fp.number(0.0))
    return large, s, fp.muladd(fp.op("fmul", z, s), fp.polynomial(_ARCSIN[fp.dtype], z), rest)
