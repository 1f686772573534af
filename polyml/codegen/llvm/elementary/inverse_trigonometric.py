"""arcsin, arccos, arctan and arctan2: polynomials on half or all of [0, 1], reflected to the rest."""

from __future__ import annotations

import math
from collections.abc import Callable

from polyml.codegen.llvm.elementary.double_word import Steps
from polyml.codegen.llvm.ssa_value import Val
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


def arctan(steps: Steps, x: Val) -> Val:
    """The arctan of |x| / 1 or 1 / |x|, whichever is smaller."""
    size, one = steps.least(2.0 ** (steps.format.mantissa + 8), steps.absolute(x)), steps.number(1.0)
    steep = steps.compare(">", size, one)
    over, under = steps.select(steep, one, size), steps.select(steep, size, one)
    middle, t, rest = _quotient(steps, over, under)
    turned = steps.select(steep, steps.sign(-1), steps.sign(1))

    def base(part: int) -> Val:
        zero, one, two, _, _ = _parts(steps, part)
        return steps.select(middle, one, steps.select(steep, two, zero))

    return steps.with_sign(_reflected(steps, base, t, rest, turned), x)


def arctan2(steps: Steps, y: Val, x: Val) -> Val:
    """The arctan of the smaller size divided by the larger one, both scaled where quotients leave the format."""
    rise, run = steps.absolute(y), steps.absolute(x)
    steep = steps.compare(">", rise, run)
    over, under = steps.select(steep, run, rise), steps.select(steep, rise, run)
    one, bits = steps.number(1.0), 2 * steps.format.mantissa
    far, shift = steps.format.bias - 3 - bits, 2.0**bits
    large = steps.compare(">", under, steps.number(2.0**far))
    small = steps.compare("<", over, steps.number(2.0**-far))
    scale = steps.select(large, steps.number(1 / shift), steps.choice(small, shift, 1.0))
    over, under = steps.op("fmul", over, scale), steps.op("fmul", under, scale)
    infinite = steps.both(*(steps.compare("==", size, steps.number(math.inf)) for size in (rise, run)))
    over, under = steps.select(infinite, one, over), steps.select(infinite, one, under)
    under = steps.select(steps.compare("==", under, steps.number(0.0)), one, under)
    middle, t, rest = _quotient(steps, over, under)
    rest = steps.select(steps.compare("==", rest, rest), rest, steps.number(0.0))  # where the divisor is infinite
    back = steps.signs(x)
    left = steps.compare("!=", back, steps.sign(1))
    turned = steps.op("xor", back, steps.select(steep, steps.sign(-1), steps.sign(1)))

    def base(part: int) -> Val:
        zero, one, two, three, four = _parts(steps, part)
        even = steps.select(steep, two, steps.select(left, four, zero))
        return steps.select(middle, steps.select(left, three, one), even)

    return steps.with_sign(_reflected(steps, base, t, rest, turned), y)


def _parts(steps: Steps, part: int) -> list[Val]:
    """That part of the multiples of pi / 4."""
    return [steps.number(parts[part]) for parts in steps.format.pi]


def _quotient(steps: Steps, over: Val, under: Val) -> tuple[Val, Val, Val]:
    """(whether 2 * over > under, t, rest) with arctan(over / under) = arctan(t + rest), or pi / 4 more than that."""
    middle = steps.compare(">", steps.op("fadd", over, over), under)
    total, lost = steps.fast_sum(under, over)
    over = steps.select(middle, steps.op("fsub", over, under), over)
    under = steps.select(middle, total, under)
    lost = steps.select(middle, lost, steps.number(0.0))
    inverse = steps.op("fdiv", steps.number(1.0), under)
    t = steps.op("fmul", over, inverse)
    left = steps.muladd(steps.negative(t), lost, steps.left_of(over, t, under))
    return middle, t, steps.op("fmul", left, inverse)


def _reflected(steps: Steps, base: Callable[[int], Val], t: Val, rest: Val, turned: Val) -> Val:
    """base + arctan(t + rest), or - where the sign bit is set."""
    z = steps.op("fmul", t, t)
    tail = steps.muladd(steps.op("fmul", z, t), steps.polynomial(_ARCTAN[steps.dtype], z), rest)
    return steps.angle(base, steps.flipped(t, turned), steps.flipped(tail, turned))


def arcsin(steps: Steps, x: Val) -> Val:
    """pi / 2 - 2 * arcsin(sqrt((1 - |x|) / 2)) where |x| > 1/2."""
    large, s, tail = _half_angle(steps, steps.absolute(x))
    factor = steps.choice(large, -2.0, 1.0)

    def base(part: int) -> Val:
        zero, _, two, _, _ = _parts(steps, part)
        return steps.select(large, two, zero)

    return steps.with_sign(steps.angle(base, steps.op("fmul", factor, s), steps.op("fmul", factor, tail)), x)


def arccos(steps: Steps, x: Val) -> Val:
    """2 * arcsin(sqrt((1 - |x|) / 2)), from pi for a negative x; pi / 2 - arcsin(x) where |x| <= 1/2."""
    large, s, tail = _half_angle(steps, steps.absolute(x))
    factor = steps.flipped(steps.choice(large, 2.0, -1.0), steps.signs(x))
    negative = steps.compare("<", x, steps.number(0.0))

    def base(part: int) -> Val:
        zero, _, two, _, four = _parts(steps, part)
        return steps.select(large, steps.select(negative, four, zero), two)

    return steps.angle(base, steps.op("fmul", factor, s), steps.op("fmul", factor, tail))


def _half_angle(steps: Steps, size: Val) -> tuple[Val, Val, Val]:
    """(whether size > 1/2, s, tail): arcsin(size), or half of arccos(size) if it is larger, as s + tail."""
    large = steps.compare(">", size, steps.number(0.5))
    half = steps.muladd(size, steps.number(-0.5), steps.number(0.5))
    root = steps.intrinsic("sqrt", half)
    rest = steps.op("fmul", steps.left_of(half, root, root), steps.half_inverse_root(half))
    s = steps.select(large, root, size)
    z = steps.select(large, half, steps.op("fmul", size, size))
    rest = steps.select(large, rest, steps.number(0.0))
    return large, s, steps.muladd(steps.op("fmul", z, s), steps.polynomial(_ARCSIN[steps.dtype], z), rest)
