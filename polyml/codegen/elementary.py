"""exp, exp2, log and tanh as instructions that run in lanes; numbers take the same way, so that lanes change nothing.

Arguments are reduced as in Cody and Waite, "Software Manual for the Elementary Functions" (1980), with multiply-adds;
the rest is a polynomial, interpolated at Chebyshev's points to less than a seventh of a unit in the last place. exp,
exp2 and log are right to one unit, tanh to two. Fast-math flags do not apply here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from polyml.codegen.values import Arithmetic, Val, literal, register_type, vector_type
from polyml.dtypes import F32, F64, I32, I64, DType


@dataclass(frozen=True)
class _Format:
    """What a floating type needs.

    ln2: in two parts, the first so short that its product with an exponent is exact. least, most: exp is 0 below and
    infinite above. one: from there on tanh(x / 2) is 1. exp: (e**r - 1 - r) / r**2 in r, ascending; log:
    (2 * atanh(s) / s - 2) / s**2 in s**2.
    """

    integer: DType
    mantissa: int  # bits of it that are stored
    bias: int
    ln2: tuple[float, float]
    least: float
    most: float
    one: float
    exp: tuple[float, ...]
    log: tuple[float, ...]


_FORMATS = {
    F64: _Format(
        I64, 52, 1023, (float.fromhex("0x1.62e42fefa38p-1"), float.fromhex("0x1.ef35793c76730p-45")), -746.0, 710.0, 44.0,
        (0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333325544, 0.0013888888888883327,
         0.00019841269876864356, 2.4801587327007187e-05, 2.755725283351691e-06, 2.75572718102198e-07,
         2.5106274733573296e-08, 2.0915442297780116e-09),
        (0.666666666666667, 0.3999999999989322, 0.28571428628810996, 0.22222210674238516, 0.18182922513515942,
         0.15330617306743305, 0.1463003136412286),
    ),
    F32: _Format(
        I32, 23, 127, (float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cf79abcap-20")), -104.0, 89.0, 20.0,
        (0.5, 0.16666573381900845, 0.04166655011030512, 0.008363773874405574, 0.0013926926614021907),
        (0.6666668560327356, 0.39988550988935756, 0.29590317357160395),
    ),
}  # fmt: skip


class _Steps:
    """Operations without fast-math flags, on as many lanes as the argument has."""

    def __init__(self, arithmetic: Arithmetic, value: Val):
        self._math, self._dtype, self._lanes = arithmetic, value.dtype, value.lanes
        self.format = _FORMATS[value.dtype]

    def number(self, value: float) -> Val:
        return self._math.splat(Val(literal(value, self._dtype), self._dtype), self._lanes)

    def integer(self, value: int) -> Val:
        dtype = self.format.integer
        return self._math.splat(Val(literal(value, dtype), dtype), self._lanes)

    def op(self, name: str, left: Val, right: Val) -> Val:
        return Val(self._math.once(f"{name} {left.type} {left.ssa}, {right.ssa}"), left.dtype, left.lanes)

    def muladd(self, a: Val, b: Val, c: Val) -> Val:
        """a * b + c, in one rounding where the processor can."""
        return self._math.intrinsic("fmuladd", a, b, c)

    def bits(self, value: Val) -> Val:
        return self._cast(value, self.format.integer)

    def of_bits(self, value: Val) -> Val:
        return self._cast(value, self._dtype)

    def _cast(self, value: Val, to: DType) -> Val:
        target = vector_type(register_type(to), self._lanes)
        return Val(self._math.once(f"bitcast {value.type} {value.ssa} to {target}"), to, self._lanes)

    def least(self, limit: float, value: Val) -> Val:
        """min(limit, value), NaN where value is."""
        bound = self.number(limit)
        return self.select(self.compare("<", bound, value), bound, value)

    def most(self, limit: float, value: Val) -> Val:
        bound = self.number(limit)
        return self.select(self.compare(">", bound, value), bound, value)

    def compare(self, op: str, left: Val, right: Val) -> Val:
        return self._math.compare(op, left, right)

    def select(self, condition: Val, then: Val, orelse: Val) -> Val:
        return self._math.select(condition, then, orelse)

    def absolute(self, value: Val) -> Val:
        return self._math.intrinsic("fabs", value)

    def negative(self, value: Val) -> Val:
        return Val(self._math.once(f"fneg {value.type} {value.ssa}"), value.dtype, value.lanes)

    def with_sign(self, value: Val, sign: Val) -> Val:
        return self._math.intrinsic("copysign", value, sign)

    def rounded(self, value: Val, factor: float) -> tuple[Val, Val]:
        """The integer next to value * factor, as a number and as an integer. It must be small."""
        shift = self.number(1.5 * 2.0**self.format.mantissa)
        shifted = self.muladd(value, self.number(factor), shift)
        return self.op("fsub", shifted, shift), self.op("sub", self.bits(shifted), self.bits(shift))

    def polynomial(self, coefficients: tuple[float, ...], x: Val) -> Val:
        """Ascending coefficients, by halves: as many operations side by side as Estrin's scheme has."""
        terms, power = [self.number(c) for c in coefficients], x
        while len(terms) > 1:
            pairs = [self.muladd(b, power, a) for a, b in zip(terms[::2], terms[1::2])]
            terms = pairs + terms[len(pairs) * 2 :]
            power = self.op("fmul", power, power) if len(terms) > 1 else power
        return terms[0]

    def power_of_two(self, exponent: Val) -> Val:
        """2 ** exponent for a normal result."""
        biased = self.op("add", exponent, self.integer(self.format.bias))
        return self.of_bits(self.op("shl", biased, self.integer(self.format.mantissa)))

    def scaled(self, value: Val, exponent: Val) -> Val:
        """value * 2 ** exponent, in two steps so that neither factor leaves the format."""
        half = self.op("ashr", exponent, self.integer(1))
        first = self.op("fmul", value, self.power_of_two(half))
        return self.op("fmul", first, self.power_of_two(self.op("sub", exponent, half)))

    def reduced(self, x: Val) -> tuple[Val, Val]:
        """(r, n) with x = n * ln 2 + r and r small."""
        times, exponent = self.rounded(x, 1 / math.log(2))
        high, low = self.format.ln2
        r = self.muladd(times, self.number(-high), x)
        return self.muladd(times, self.number(-low), r), exponent

    def exponential(self, r: Val) -> tuple[Val, Val]:
        """e**r of a small r, as the sum of a number near it and a small one."""
        near = self.op("fadd", self.number(1.0), r)
        lost = self.op("fsub", r, self.op("fsub", near, self.number(1.0)))
        return near, self.muladd(self.op("fmul", r, r), self.polynomial(self.format.exp, r), lost)


def _exp(steps: _Steps, x: Val) -> Val:
    inside = steps.most(steps.format.least, steps.least(steps.format.most, x))
    r, exponent = steps.reduced(inside)
    return steps.scaled(steps.op("fadd", *steps.exponential(r)), exponent)


def _exp2(steps: _Steps, x: Val) -> Val:
    limits = (limit / math.log(2) for limit in (steps.format.least, steps.format.most))
    least, most = map(math.floor, limits)
    inside = steps.most(float(least), steps.least(float(most + 1), x))
    times, exponent = steps.rounded(inside, 1.0)
    r = steps.op("fmul", steps.op("fsub", inside, times), steps.number(math.log(2)))
    return steps.scaled(steps.op("fadd", *steps.exponential(r)), exponent)


def _log(steps: _Steps, x: Val) -> Val:
    """x = 2**n * (1 + f) with 1 + f around 1, and log(1 + f) = 2 * atanh(s) of s = f / (2 + f)."""
    own = steps.format
    tiny = steps.compare("<", x, steps.number(2.0 ** (1 - own.bias)))
    normal = steps.select(tiny, steps.op("fmul", x, steps.number(2.0 ** (own.mantissa + 2))), x)
    half = steps.bits(steps.number(math.sqrt(0.5)))
    above = steps.op("sub", steps.bits(normal), half)
    exponent = steps.op("ashr", above, steps.integer(own.mantissa))
    mantissa = steps.op("and", above, steps.integer((1 << own.mantissa) - 1))
    f = steps.op("fsub", steps.of_bits(steps.op("add", mantissa, half)), steps.number(1.0))
    shift = steps.number(1.5 * 2.0**own.mantissa)
    times = steps.op("fsub", steps.of_bits(steps.op("add", exponent, steps.bits(shift))), shift)
    less = steps.select(tiny, steps.number(own.mantissa + 2.0), steps.number(0.0))
    times = steps.op("fsub", times, less)
    s = steps.op("fdiv", f, steps.op("fadd", f, steps.number(2.0)))
    z = steps.op("fmul", s, s)
    rest = steps.op("fmul", z, steps.polynomial(own.log, z))
    square = steps.op("fmul", steps.op("fmul", f, f), steps.number(0.5))
    high, low = own.ln2
    small = steps.muladd(s, steps.op("fadd", square, rest), steps.op("fmul", times, steps.number(low)))
    result = steps.muladd(times, steps.number(high), steps.op("fsub", f, steps.op("fsub", square, small)))
    result = steps.select(steps.compare("<", x, steps.number(math.inf)), result, x)
    zero = steps.compare("==", x, steps.number(0.0))
    outside = steps.select(zero, steps.number(-math.inf), steps.number(math.nan))
    return steps.select(steps.compare(">", x, steps.number(0.0)), result, outside)


def _tanh(steps: _Steps, x: Val) -> Val:
    """t / (t + 2) of t = e**(2 |x|) - 1, the quotient corrected once by what is left of it."""
    doubled = steps.op("fadd", steps.absolute(x), steps.absolute(x))
    r, exponent = steps.reduced(steps.least(steps.format.one, doubled))
    power = steps.power_of_two(exponent)
    near, rest = steps.exponential(r)
    t = steps.muladd(power, rest, steps.muladd(power, near, steps.number(-1.0)))
    two = steps.number(2.0)
    divisor = steps.op("fadd", t, two)
    lost = steps.op("fsub", t, steps.op("fsub", divisor, two))
    inverse = steps.op("fdiv", steps.number(1.0), divisor)
    quotient = steps.op("fmul", t, inverse)
    minus = steps.negative(quotient)
    left = steps.muladd(minus, lost, steps.muladd(minus, divisor, t))
    return steps.with_sign(steps.muladd(left, inverse, quotient), x)


def power(arithmetic: Arithmetic, base: Val, exponent: Val) -> Val | None:
    """base ** exponent to one unit in the last place, where the exponent is one of EASY_POWERS; else None."""
    known = next((e for e in EASY_POWERS if exponent.ssa.split(",")[0].endswith(literal(e, base.dtype))), None)
    steps = _Steps(arithmetic, base)
    if known == 0.5:  # unlike the root, a power is never -0 and infinite at -inf
        root = arithmetic.intrinsic("sqrt", steps.op("fadd", base, steps.number(0.0)))
        infinite = steps.compare("==", base, steps.number(-math.inf))
        return steps.select(infinite, steps.number(math.inf), root)
    if known == -1:
        return arithmetic.plain("/", steps.number(1.0), base)
    if known is None:
        return None
    if known == 2:
        return arithmetic.plain("*", base, base)
    square = steps.op("fmul", base, base)
    cube = steps.op("fmul", square, base)
    lost = steps.muladd(base, base, steps.negative(square))
    exact = steps.muladd(square, base, steps.op("fmul", lost, base))
    return steps.select(steps.compare("<", steps.absolute(cube), steps.number(math.inf)), exact, cube)


EASY_POWERS = (2, 3, -1, 0.5)
OPERATIONS = {"exp": 24.0, "exp2": 22.0, "log": 36.0, "tanh": 44.0}  # simple instructions, a division as eight
FUNCTIONS = {"exp": _exp, "exp2": _exp2, "log": _log, "tanh": _tanh}


def function(arithmetic: Arithmetic, name: str, value: Val) -> Val:
    """One of FUNCTIONS of a float or of lanes of them."""
    return FUNCTIONS[name](_Steps(arithmetic, value), value)
