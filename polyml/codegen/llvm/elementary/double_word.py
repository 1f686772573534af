"""Building blocks of the elementary functions: exact sums and products, argument reduction, and polynomials, on scalars or
vectors.

Arguments are reduced as in Cody and Waite, "Software Manual for the Elementary Functions" (1980), with multiply-adds. Constants
whose product with a small integer has to be exact are short, so that it is exact in two roundings too. Sums and products with
their errors are those of Dekker, "A floating-point technique for extending the available precision" (1971), and of Knuth, "The
Art of Computer Programming", volume 2. Fast-math flags do not apply here.

All polynomials of this package interpolate their function at the Chebyshev points of the interval. They have the fewest
coefficients that leave an error of at most a seventh of a unit in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from polyml.codegen.llvm.arithmetic import Arithmetic
from polyml.codegen.llvm.ssa_value import SsaValue, literal, register_type, vector_type
from polyml.dtypes import F32, F64, I32, I64, DType


@dataclass(frozen=True)
class Format:
    """A Format holds the constants of a floating-point type.

    integer: the integer type of the same width.
    mantissa: the stored bits of the mantissa.
    bias: the exponent's bias.
    ln2: log(2) in two parts; the first is so short that its product with an exponent is exact.
    pi: the multiples of pi / 4 from 0 to 4, each in two parts.
    exp_zero_below, exp_infinite_above: exp is 0 below the first and infinite above the second.
    inverse_root: the bits from which half the bits of x are subtracted for an estimate of 1 / sqrt(x).
    inverse_cube_root: the bits from which a third of the bits of x are subtracted for an estimate of x**(-1/3).
    cube_root: for each step that improves this estimate y, coefficients of ((1 - e)**(-1/3) - 1) / e in e, ascending, where e is 1
        - x * y**3.
    exp: the coefficients of (e**r - 1 - r) / r**2 in r, ascending, for |r| < 0.35.
    """

    integer: DType
    mantissa: int
    bias: int
    ln2: tuple[float, float]
    pi: tuple[tuple[float, float], ...]
    exp_zero_below: float
    exp_infinite_above: float
    inverse_root: int
    inverse_cube_root: int
    cube_root: tuple[tuple[float, ...], ...]
    exp: tuple[float, ...]


def _quarters(first: str, third: str) -> tuple[tuple[float, float], ...]:
    """Returns the multiples of pi / 4 from 0 to 4, each in two parts, computed from the parts of 1 and of 3 times pi / 4.

    first, third: two numbers in C's hexadecimal form, the parts of pi / 4 and of 3 * pi / 4.
    """
    (a, b), (c, d) = (map(float.fromhex, text.split()) for text in (first, third))
    return (0.0, 0.0), (a, b), (2 * a, 2 * b), (c, d), (4 * a, 4 * b)


FORMATS = {
    F64: Format(
        I64, 52, 1023, (float.fromhex("0x1.62e42fefa38p-1"), float.fromhex("0x1.ef35793c76730p-45")),
        _quarters("0x1.921fb54442d18p-1 0x1.1a62633145c07p-55", "0x1.2d97c7f3321d2p+1 0x1.a79394c9e8a0ap-54"),
        -746.0, 710.0, 0x5FE6EB50C7B537A9, 0x553EE940, ((1 / 3, 2 / 9, 14 / 81), (1 / 3,)),
        (0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333325544, 0.0013888888888883327,
         0.00019841269876864356, 2.4801587327007187e-05, 2.755725283351691e-06, 2.75572718102198e-07,
         2.5106274733573296e-08, 2.0915442297780116e-09),
    ),
    F32: Format(
        I32, 23, 127, (float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cf79abcap-20")),
        _quarters("0x1.921fb6p-1 -0x1.777a5cp-26", "0x1.2d97c8p+1 -0x1.99bc5b961b1adp-28"), -104.0, 89.0,
        0x5F3759DF, 0x54A1F600, ((1 / 3, 2 / 9, 14 / 81),),
        (0.5, 0.16666573381900845, 0.04166655011030512, 0.008363773874405574, 0.0013926926614021907),
    ),
}  # fmt: skip


class FloatOperations:
    """A FloatOperations emits floating-point operations without fast-math flags. They are on floats of one type, scalars or
    vectors: type and number of lanes are those of the value that its constructor gets.
    """

    def __init__(self, arithmetic: Arithmetic, value: SsaValue):
        self._math, self._dtype, self._lanes = arithmetic, value.dtype, value.lanes
        self.format = FORMATS[value.dtype]

    @property
    def dtype(self) -> DType:
        """The floating-point type that the operations are on."""
        return self._dtype

    def in_double(self, *values: SsaValue) -> tuple[FloatOperations, list[SsaValue]]:
        """Returns the operations on float64, and the values after a conversion to float64."""
        wide = [self._math.convert(v, F64) for v in values]
        return FloatOperations(self._math, wide[0]), wide

    def rounded_to(self, value: SsaValue) -> SsaValue:
        """Emits the conversion of a float64 to the type of these operations, and returns the result."""
        return self._math.convert(value, self._dtype)

    def narrowed(self, integer: SsaValue) -> SsaValue:
        """Emits the conversion of a small integer, as wide as float64, to one as wide as the type of these operations, and returns
        it.
        """
        return self._math.convert(integer, self.format.integer)

    def number(self, value: float) -> SsaValue:
        """Returns a floating-point constant, the same in all lanes."""
        return self._math.splat(SsaValue(literal(value, self._dtype), self._dtype), self._lanes)

    def in_lanes(self, value: SsaValue) -> SsaValue:
        """Returns a value in each of the lanes of these operations."""
        return self._math.splat(value, self._lanes)

    def integer(self, value: int) -> SsaValue:
        """Returns an integer constant, as wide as the floating-point type and the same in all lanes."""
        dtype = self.format.integer
        return self._math.splat(SsaValue(literal(value, dtype), dtype), self._lanes)

    def op(self, name: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits an LLVM instruction with two operands, such as fadd, and returns its result."""
        return SsaValue(self._math.once(f"{name} {left.type} {left.ssa}, {right.ssa}"), left.dtype, left.lanes)

    def muladd(self, a: SsaValue, b: SsaValue, c: SsaValue) -> SsaValue:
        """Emits a * b + c and returns it, rounded once if the processor has such an instruction."""
        return self._math.intrinsic("fmuladd", a, b, c)

    def intrinsic(self, name: str, value: SsaValue) -> SsaValue:
        """Emits a call of LLVM's intrinsic of this name, such as sqrt, and returns its result."""
        return self._math.intrinsic(name, value)

    def bits(self, value: SsaValue) -> SsaValue:
        """Emits a bitcast of a floating-point number to an integer, and returns this."""
        return self._cast(value, self.format.integer)

    def from_bits(self, value: SsaValue) -> SsaValue:
        """Emits a bitcast of an integer to a floating-point number, and returns this."""
        return self._cast(value, self._dtype)

    def _cast(self, value: SsaValue, to: DType) -> SsaValue:
        """Emits a bitcast of the value to another type, and returns the result."""
        target = vector_type(register_type(to), self._lanes)
        return SsaValue(self._math.once(f"bitcast {value.type} {value.ssa} to {target}"), to, self._lanes)

    def minimum(self, limit: float, value: SsaValue) -> SsaValue:
        """Emits the smaller of the limit and the value, and returns it; NaN if the value is NaN."""
        bound = self.number(limit)
        return self.select(self.compare("<", bound, value), bound, value)

    def maximum(self, limit: float, value: SsaValue) -> SsaValue:
        """Emits the larger of the limit and the value, and returns it; NaN if the value is NaN."""
        bound = self.number(limit)
        return self.select(self.compare(">", bound, value), bound, value)

    def compare(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits `left op right`, and returns its truth value."""
        return self._math.compare(op, left, right)

    def select(self, condition: SsaValue, then: SsaValue, orelse: SsaValue) -> SsaValue:
        """Emits a choice of `then` in the lanes where the condition holds and `orelse` in the others, and returns it."""
        return self._math.select(condition, then, orelse)

    def absolute(self, value: SsaValue) -> SsaValue:
        """Emits |value| and returns it."""
        return self._math.intrinsic("fabs", value)

    def negative(self, value: SsaValue) -> SsaValue:
        """Emits -value and returns it."""
        return SsaValue(self._math.once(f"fneg {value.type} {value.ssa}"), value.dtype, value.lanes)

    def with_sign(self, value: SsaValue, sign: SsaValue) -> SsaValue:
        """Emits |value| with the sign of `sign`, and returns it."""
        return self._math.intrinsic("copysign", value, sign)

    def fast_sum(self, large: SsaValue, small: SsaValue) -> tuple[SsaValue, SsaValue]:
        """Emits the sum of two numbers and its rounding error, and returns both. `large` has to be 0 or not smaller in size than
        `small`.
        """
        total = self.op("fadd", large, small)
        return total, self.op("fsub", small, self.op("fsub", total, large))

    def exact_sum(self, a: SsaValue, b: SsaValue) -> tuple[SsaValue, SsaValue]:
        """Emits the sum of any two numbers and its rounding error, and returns both."""
        total = self.op("fadd", a, b)
        part = self.op("fsub", total, a)
        rest = self.op("fsub", a, self.op("fsub", total, part))
        return total, self.op("fadd", rest, self.op("fsub", b, part))

    def exact_product(self, a: SsaValue, b: SsaValue) -> tuple[SsaValue, SsaValue]:
        """Emits the product and its rounding error, and returns both. The error comes from a multiply-add that rounds once, or
        else from products of the numbers' halves.
        """
        product = self.op("fmul", a, b)
        if self._math.fused:
            return product, self.muladd(a, b, self.negative(product))
        (a_high, a_low), (b_high, b_low) = self._halves(a), self._halves(b)
        error = self.op("fsub", self.op("fmul", a_high, b_high), product)
        error = self.op("fadd", error, self.op("fmul", a_high, b_low))
        error = self.op("fadd", error, self.op("fmul", a_low, b_high))
        return product, self.op("fadd", error, self.op("fmul", a_low, b_low))

    def _halves(self, value: SsaValue) -> tuple[SsaValue, SsaValue]:
        """Emits the number with the lower half of its mantissa cleared, and the rest of the number, and returns both."""
        high = self.truncated(value, self.format.mantissa // 2 + 1)
        return high, self.op("fsub", value, high)

    def truncated(self, value: SsaValue, zeros: int) -> SsaValue:
        """Emits the number with its last `zeros` bits cleared, and returns it."""
        return self.from_bits(self.op("and", self.bits(value), self.integer(-(1 << zeros))))

    def residual(self, whole: SsaValue, a: SsaValue, b: SsaValue) -> SsaValue:
        """Emits whole - a * b and returns it; if the product is close to `whole`, the result is accurate, since the product's
        rounding error is taken into account.
        """
        if self._math.fused:
            return self.muladd(self.negative(a), b, whole)
        product, error = self.exact_product(a, b)
        return self.op("fsub", self.op("fsub", whole, product), error)

    def accurate_muladd(self, a: SsaValue, b: SsaValue, c: SsaValue) -> SsaValue:
        """Emits a * b + c and returns it; if the product is larger than c, the error is about that of a single rounding."""
        if self._math.fused:
            return self.muladd(a, b, c)
        product, error = self.exact_product(a, b)
        return self.op("fadd", product, self.op("fadd", error, c))

    def half_inverse_root(self, value: SsaValue) -> SsaValue:
        """Emits an estimate of 1 / (2 * sqrt(value)), with an error of at most four percent, and returns it. The correction of a
        computed root of the value is this times (value - root**2).
        """
        bits = self.op("lshr", self.bits(value), self.integer(1))
        own = self.format
        return self.from_bits(self.op("sub", self.integer(own.inverse_root - (1 << own.mantissa)), bits))

    def inverse_cube_root(self, value: SsaValue) -> SsaValue:
        """Emits value**(-1/3) with an error of at most four percent, for a positive normal number, and returns it."""
        bits, shift = self.bits(value), self.format.integer.bits - 32
        if shift:
            third = self.op("lshr", self.op("mul", self.op("lshr", bits, self.integer(32)), self.integer(0x55555556)),
                            self.integer(32))  # fmt: skip
            return self.from_bits(self.op("shl", self.op("sub", self.integer(self.format.inverse_cube_root), third),
                                        self.integer(32)))  # fmt: skip
        third = self._math.convert(self.op("fmul", self._math.convert(bits, F32), self.number(1 / 3)), bits.dtype)
        return self.from_bits(self.op("sub", self.integer(self.format.inverse_cube_root), third))

    def sign(self, of: int) -> SsaValue:
        """Returns an integer constant with the sign bit of `of`, which is 1 or -1, and no other bits."""
        return self.integer(0 if of > 0 else 1 << (self._dtype.bits - 1))

    def signs(self, value: SsaValue) -> SsaValue:
        """Emits integers with the sign bits of the numbers and no other bits, and returns them."""
        return self.op("and", self.bits(value), self.integer(1 << (self._dtype.bits - 1)))

    def flipped(self, value: SsaValue, signs: SsaValue) -> SsaValue:
        """Emits the number, negated in lanes where the sign bit of `signs` is set, and returns it."""
        return self.from_bits(self.op("xor", self.bits(value), signs))

    def plain(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits an operator as `Arithmetic.plain` does, with the fast-math flags of the kernel's mode, and returns the result."""
        return self._math.plain(op, left, right)

    def either(self, first: SsaValue, second: SsaValue) -> SsaValue:
        """Emits whether one of two conditions holds, and returns the truth value."""
        return self._math.logical("or", first, second)

    def both(self, first: SsaValue, second: SsaValue) -> SsaValue:
        """Emits whether both conditions hold, and returns the truth value."""
        return self._math.logical("and", first, second)

    def choice(self, condition: SsaValue, then: float, orelse: float) -> SsaValue:
        """Emits a choice of the constant `then` where the condition holds, else of `orelse`, and returns it."""
        return self.select(condition, self.number(then), self.number(orelse))

    def is_normal(self, value: SsaValue) -> SsaValue:
        """Emits whether a number is positive, finite and not subnormal, and returns the truth value."""
        return self.is_between(2.0 ** (1 - self.format.bias), value, math.inf)

    def is_between(self, least: float, value: SsaValue, limit: float) -> SsaValue:
        """Emits whether least <= value < limit, and returns the truth value."""
        above = self.compare(">=", value, self.number(least))
        return self.both(above, self.compare("<", value, self.number(limit)))

    def unless(self, seldom: SsaValue, result: SsaValue, other: Callable[[], SsaValue]) -> SsaValue:
        """Emits a choice and returns it: `result`, but, in the lanes in which the condition `seldom` holds, the value that `other`
        emits, which is computed behind a branch if there is such a lane.
        """
        return self._math.where_any(seldom, result, lambda: self.select(seldom, other(), result))

    def either_side(self, condition: SsaValue, then: Callable[[], SsaValue], orelse: Callable[[], SsaValue]) -> SsaValue:
        """Emits a branch on one truth value, as `Arithmetic.either_side` does, and returns the value of the side that ran."""
        return self._math.either_side(condition, then, orelse)

    def from_library(self, seldom: SsaValue, name: str, result: SsaValue, x: SsaValue) -> SsaValue:
        """Emits a choice and returns it: `result`, but, in the lanes in which the condition `seldom` holds, the C library's
        function of x, which is called behind a branch if there is such a lane. name: that of the function for doubles.
        """

        def call() -> SsaValue:
            return self._math.library(name, self.select(seldom, x, self.number(0.0)))

        return self.unless(seldom, result, call)

    def where(self, usual: SsaValue, result: SsaValue, other: Callable[[], SsaValue]) -> SsaValue:
        """Emits a choice and returns it: `result` in the lanes in which the condition `usual` holds, and in the others the value
        that `other` emits, which is computed behind a branch if there is such a lane.
        """
        return self.unless(self._math.invert(usual), result, other)

    def angle(self, quarters: Callable[[int], SsaValue], high: SsaValue, low: SsaValue) -> SsaValue:
        """Emits base + high + low and returns the sum. The base is a multiple of pi / 4 that is 0 or at least as large in size as
        `high` and as `low`.

        quarters: a function that returns the base in two parts, whose sum it is: the first for the argument 0, the second for 1.
        """
        total, error = self.fast_sum(quarters(0), high)
        return self.op("fadd", total, self.op("fadd", error, self.op("fadd", quarters(1), low)))

    def rounded(self, value: SsaValue, factor: float) -> tuple[SsaValue, SsaValue]:
        """Emits the integer nearest to value * factor and returns it, as a float and as an integer of the same width. It has to be
        small enough for the mantissa.
        """
        shift = self.number(1.5 * 2.0**self.format.mantissa)
        shifted = self.muladd(value, self.number(factor), shift)
        return self.op("fsub", shifted, shift), self.op("sub", self.bits(shifted), self.bits(shift))

    def as_number(self, exponent: SsaValue) -> SsaValue:
        """Emits the conversion of a small integer to a float, and returns it."""
        shift = self.number(1.5 * 2.0**self.format.mantissa)
        return self.op("fsub", self.from_bits(self.op("add", exponent, self.bits(shift))), shift)

    def polynomial(self, coefficients: tuple[float, ...], x: SsaValue) -> SsaValue:
        """Emits the value of a polynomial in x and returns it. Neighbouring terms are joined in pairs, again and again (Estrin's
        scheme), so that many operations are independent.

        coefficients: in ascending order, the constant first.
        """
        terms, power = [self.number(c) for c in coefficients], x
        while len(terms) > 1:
            pairs = [self.muladd(b, power, a) for a, b in zip(terms[::2], terms[1::2])]
            terms = pairs + terms[len(pairs) * 2 :]
            power = self.op("fmul", power, power) if len(terms) > 1 else power
        return terms[0]

    def power_of_two(self, exponent: SsaValue) -> SsaValue:
        """Emits 2**exponent, which has to be a normal number, and returns it. exponent: an integer."""
        biased = self.op("add", exponent, self.integer(self.format.bias))
        return self.from_bits(self.op("shl", biased, self.integer(self.format.mantissa)))

    def scaled(self, value: SsaValue, exponent: SsaValue) -> SsaValue:
        """Emits value * 2**exponent, in two steps so that neither factor overflows, and returns it. exponent: an integer."""
        half = self.op("ashr", exponent, self.integer(1))
        first = self.op("fmul", value, self.power_of_two(half))
        return self.op("fmul", first, self.power_of_two(self.op("sub", exponent, half)))

    def reduced(self, x: SsaValue) -> tuple[SsaValue, SsaValue]:
        """Emits the argument reduction x = n * ln 2 + r, where r is small and n is an integer, and returns (r, n)."""
        times, exponent = self.rounded(x, 1 / math.log(2))
        high, low = self.format.ln2
        r = self.muladd(times, self.number(-high), x)
        return self.muladd(times, self.number(-low), r), exponent

    def reduced_exactly(self, x: SsaValue) -> tuple[SsaValue, SsaValue, SsaValue]:
        """Emits the argument reduction x = n * ln 2 + r + rest, where r is small, rest is its rounding error and n is an integer.
        Returns (r, rest, n).
        """
        times, exponent = self.rounded(x, 1 / math.log(2))
        high, low = self.format.ln2
        first = self.muladd(times, self.number(-high), x)
        r = self.muladd(times, self.number(-low), first)
        return r, self.muladd(times, self.number(-low), self.op("fsub", first, r)), exponent

    def exponential(self, r: SsaValue, rest: SsaValue | None = None) -> tuple[SsaValue, SsaValue]:
        """Emits e**(r + rest), where r is small and rest its rounding error, and returns two numbers whose sum it is: 1 + r,
        rounded, and a small one.
        """
        near, lost = self.fast_sum(self.number(1.0), r)
        lost = lost if rest is None else self.op("fadd", lost, rest)
        return near, self.muladd(self.op("fmul", r, r), self.polynomial(self.format.exp, r), lost)
