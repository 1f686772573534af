"""Powers, cube roots and lengths.

x**y is 2**(y * log2 x). log2 x is the sum of two numbers, right to about 2**-65 of it (in float32 one float64 does):
2 * atanh(s) of s = f / (2 + f), whose first terms are such sums too, as in FDLIBM's e_pow.c (Sun Microsystems, 1993).
"""

from __future__ import annotations

import math

from polyml.codegen.analysis.instruction_costs import EASY_POWERS
from polyml.codegen.llvm.elementary.double_word import Steps
from polyml.codegen.llvm.elementary.logarithmic import split
from polyml.codegen.llvm.ssa_value import Val, literal
from polyml.dtypes import F64

_THIRD = (float.fromhex("0x1.5555555555555p-2"), float.fromhex("0x1.5555555555555p-56"))
_TWICE_PER_LN2 = (float.fromhex("0x1.71547652b82fep+1"), float.fromhex("0x1.777d0ffda0d24p-55"))
_LN2 = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))
# (atanh(s) / s - 1 - s**2 / 3) / s**4 in s**2, |s| < 0.172
_ATANH = (
    0.2, 0.14285714285714685, 0.11111111110827367, 0.0909090916782708, 0.07692297467298959, 0.06667403106050301,
    0.05853097844940682, 0.058618018114527055,
)  # fmt: skip
# log2(1 + f) / f in f, -0.293 < f < 0.415, in float64, and (2**r - 1) / r in r, |r| <= 0.5: for float32
_LOG2 = (
    1.442695040870834, -0.7213475209644591, 0.4808983602044458, -0.3606736550938465, 0.28853739155157215,
    -0.24045434592214343, 0.20617293297093778, -0.18027093203654848, 0.15878208021760354, -0.14348986373265535,
    0.14495851201673596, -0.1414566923547039, 0.07553485281554735,
)  # fmt: skip
_EXP2 = (
    0.6931471824645996, 0.24022650718688965, 0.055503569543361664, 0.009618082083761692,
    0.0013390886597335339, 0.00015453182277269661,
)  # fmt: skip


def power(steps: Steps, base: Val, exponent: Val) -> Val:
    known = next((e for e in EASY_POWERS if exponent.ssa.split(",")[0].endswith(literal(e, base.dtype))), None)
    return _general(steps, base, exponent) if known is None else _easy(steps, base, known)


def _easy(steps: Steps, base: Val, exponent: float) -> Val:
    """One of EASY_POWERS to one unit in the last place."""
    if exponent == 0.5:  # unlike the root, a power is never -0 and infinite at -inf
        root = steps.intrinsic("sqrt", steps.op("fadd", base, steps.number(0.0)))
        infinite = steps.compare("==", base, steps.number(-math.inf))
        return steps.select(infinite, steps.number(math.inf), root)
    if exponent == -1:
        return steps.plain("/", steps.number(1.0), base)
    if exponent == 2:
        return steps.plain("*", base, base)
    square, lost = steps.exact_product(base, base)
    cube = steps.op("fmul", square, base)
    exact = steps.product_and(square, base, steps.op("fmul", lost, base))
    usual = steps.compare("<", steps.absolute(cube), steps.number(math.inf))
    return steps.select(steps.both(usual, steps.compare("!=", cube, steps.number(0.0))), exact, cube)


def _general(steps: Steps, base: Val, exponent: Val) -> Val:
    """A negative base is seldom where the exponent is not a constant, whose sign and parity take no instructions."""
    size, varies = steps.absolute(base), exponent.ssa.startswith("%")
    result, usual = (_usual if steps.dtype == F64 else _usual_narrow)(steps, base if varies else size, exponent)
    if varies:
        return steps.where(usual, result, lambda: _signed(steps, base, exponent, _seldom(steps, size, exponent)))
    return _signed(steps, base, exponent, steps.where(usual, result, lambda: _seldom(steps, size, exponent)))


def _signed(steps: Steps, base: Val, exponent: Val, result: Val) -> Val:
    """From |base|**exponent: negative for a negative base and an odd exponent, NaN for one that is not an integer."""
    zero, infinity = steps.number(0.0), steps.number(math.inf)
    whole = steps.compare("==", steps.intrinsic("trunc", exponent), exponent)
    half = steps.op("fmul", exponent, steps.number(0.5))
    odd = steps.both(whole, steps.compare("!=", steps.intrinsic("trunc", half), half))
    result = steps.flipped(result, steps.select(odd, steps.signs(base), steps.integer(0)))
    finite = steps.both(steps.compare("<", base, zero), steps.compare("<", steps.absolute(base), infinity))
    broken = steps.both(finite, steps.compare("!=", steps.intrinsic("trunc", exponent), exponent))
    return steps.select(broken, steps.number(math.nan), result)


def _usual(steps: Steps, size: Val, exponent: Val) -> tuple[Val, Val]:
    """size**exponent, and whether it is right: where both are normal numbers, and positive."""
    high, low = _log2(steps, size)
    product, error = steps.exact_product(exponent, high)
    inside = steps.compare("<", steps.absolute(product), steps.number(1020.0))
    power, whole = _exp2(steps, product, steps.muladd(exponent, low, error))
    result = steps.op("fmul", power, steps.power_of_two(whole))
    return result, steps.both(inside, steps.is_normal(size))


def _seldom(steps: Steps, size: Val, exponent: Val) -> Val:
    """The same for all numbers, where the exponent is 0 or the size 1 whatever the other one is."""
    zero, one = steps.number(0.0), steps.number(1.0)
    size = steps.select(steps.compare("==", exponent, zero), one, size)
    exponent = steps.select(steps.compare("==", size, one), zero, exponent)
    wide, (x, y) = steps.in_double(size, exponent)
    own = wide.format
    tiny = wide.compare("<", x, wide.number(2.0 ** (1 - own.bias)))
    less = wide.choice(tiny, own.mantissa + 2.0, 0.0)
    scaled = wide.op("fmul", x, wide.number(2.0 ** (own.mantissa + 2)))
    high, low = _log2(wide, wide.select(tiny, scaled, x), less)
    high = wide.select(wide.compare("<", x, wide.number(math.inf)), high, x)
    high = wide.select(wide.compare("==", x, wide.number(0.0)), wide.number(-math.inf), high)
    product, error = wide.exact_product(y, high)
    inside = wide.compare("<", wide.absolute(product), wide.number(1100.0))
    error = wide.select(inside, wide.muladd(y, low, error), wide.number(0.0))
    power, whole = _exp2(wide, wide.most(-1100.0, wide.least(1100.0, product)), error)
    return steps.rounded_to(wide.scaled(power, whole))


def _exp2(steps: Steps, product: Val, error: Val) -> tuple[Val, Val]:
    """(p, n) with 2**(product + error) = p * 2**n."""
    times, whole = steps.rounded(product, 1.0)
    r, rest = steps.fast_sum(steps.op("fsub", product, times), error)
    scaled, lost = steps.exact_product(r, steps.number(_LN2[0]))
    lost = steps.muladd(r, steps.number(_LN2[1]), steps.muladd(rest, steps.number(_LN2[0]), lost))
    return steps.op("fadd", *steps.exponential(scaled, lost)), whole


def _log2(steps: Steps, x: Val, less: Val | None = None) -> tuple[Val, Val]:
    """log2 of a positive normal number, less an integer, as the sum of two numbers."""
    times, _, f = split(steps, x)
    times = times if less is None else steps.op("fsub", times, less)
    divisor, lost = steps.fast_sum(steps.number(2.0), f)
    inverse = steps.op("fdiv", steps.number(1.0), divisor)
    s = steps.op("fmul", f, inverse)
    left = steps.muladd(steps.negative(s), lost, steps.left_of(f, s, divisor))
    s_low = steps.op("fmul", left, inverse)
    z, error = steps.exact_product(s, s)
    z_low = steps.muladd(steps.op("fadd", s, s), s_low, error)
    tail = steps.op("fmul", steps.op("fmul", z, z), steps.polynomial(_ATANH, z))
    third, error = steps.exact_product(z, steps.number(_THIRD[0]))
    third_low = steps.muladd(z, steps.number(_THIRD[1]), steps.muladd(z_low, steps.number(_THIRD[0]), error))
    more, error = steps.fast_sum(third, tail)
    more_low = steps.op("fadd", error, third_low)
    factor, factor_low = (steps.number(part) for part in _TWICE_PER_LN2)
    first, error = steps.exact_product(s, factor)
    first_low = steps.muladd(s, factor_low, steps.muladd(s_low, factor, error))
    product, error = steps.exact_product(first, more)
    product_low = steps.muladd(first, more_low, steps.muladd(first_low, more, error))
    high, error = steps.fast_sum(first, product)
    low = steps.op("fadd", error, steps.op("fadd", first_low, product_low))
    total, error = steps.fast_sum(times, high)
    return total, steps.op("fadd", error, low)


def _usual_narrow(steps: Steps, size: Val, exponent: Val) -> tuple[Val, Val]:
    """size**exponent of float32, and whether it is right: only the logarithm and the product need float64."""
    times, _, f = split(steps, size)
    wide, (n, f, y) = steps.in_double(times, f, exponent)
    product = wide.op("fmul", y, wide.muladd(f, wide.polynomial(_LOG2, f), n))
    near, whole = wide.rounded(product, 1.0)
    r, whole = steps.rounded_to(wide.op("fsub", product, near)), steps.narrowed(whole)
    power = steps.muladd(r, steps.polynomial(_EXP2, r), steps.number(1.0))
    small = steps.compare("<", steps.absolute(exponent), steps.number(2.0**20))  # then the integer fits its type
    low = steps.compare(">", whole, steps.integer(-126))
    inside = steps.both(small, steps.both(low, steps.compare("<", whole, steps.integer(127))))
    return steps.op("fmul", power, steps.power_of_two(whole)), steps.both(inside, steps.is_normal(size))


def hypot(steps: Steps, x: Val, y: Val) -> Val:
    """sqrt(a * a + b * b) of sizes a >= b with what is left of the root; both scaled where squares leave the format."""
    x, y = steps.absolute(x), steps.absolute(y)
    swapped = steps.compare("<", x, y)
    a, b = steps.select(swapped, y, x), steps.select(swapped, x, y)
    far = steps.format.bias // 2 - 1
    shift = 2.0 ** (steps.format.bias // 2 + steps.format.mantissa + 2)
    large = steps.compare(">", a, steps.number(2.0**far))
    small = steps.compare("<", a, steps.number(2.0 ** (steps.format.mantissa + 2 - far)))
    scale = steps.select(large, steps.number(1 / shift), steps.choice(small, shift, 1.0))
    back = steps.select(large, steps.number(shift), steps.choice(small, 1 / shift, 1.0))
    a, b = steps.op("fmul", a, scale), steps.op("fmul", b, scale)
    square, error = steps.exact_product(a, a)
    other, other_error = steps.exact_product(b, b)
    total, lost = steps.fast_sum(square, other)
    error = steps.op("fadd", lost, steps.op("fadd", error, other_error))
    root = steps.intrinsic("sqrt", total)
    left = steps.op("fadd", steps.left_of(total, root, root), error)
    length = steps.op("fmul", steps.muladd(left, steps.half_inverse_root(total), root), back)
    infinity = steps.number(math.inf)
    infinite = steps.either(steps.compare("==", x, infinity), steps.compare("==", y, infinity))
    return steps.select(infinite, infinity, length)


def cbrt(steps: Steps, x: Val) -> Val:
    """Near the ends of the format, where products and their errors leave it, that of a scaled number."""
    size, third = steps.absolute(x), steps.format.mantissa // 3 + 1
    usual = steps.is_between(2.0 ** (steps.format.mantissa - steps.format.bias), size, 2.0**steps.format.bias)

    def of_others() -> Val:
        small = steps.compare("<", size, steps.number(1.0))
        root = _cbrt(steps, steps.op("fmul", size, steps.choice(small, 8.0**third, 8.0**-third)))
        root = steps.op("fmul", root, steps.choice(small, 2.0**-third, 2.0**third))
        root = steps.select(steps.compare("<", size, steps.number(math.inf)), root, size)
        return steps.select(steps.compare("==", size, steps.number(0.0)), size, root)

    return steps.with_sign(steps.where(usual, _cbrt(steps, size), of_others), x)


def _cbrt(steps: Steps, x: Val) -> Val:
    """x * y**2 of y near x**(-1/3), which starts from a third of the bits; corrected once by what is left."""
    inverse = steps.inverse_cube_root(x)
    for terms in steps.format.cube_root:
        product = steps.op("fmul", steps.op("fmul", x, inverse), steps.op("fmul", inverse, inverse))
        e = steps.op("fsub", steps.number(1.0), product)
        inverse = steps.muladd(steps.op("fmul", inverse, e), steps.polynomial(terms, e), inverse)
    square = steps.op("fmul", inverse, inverse)
    root = steps.op("fmul", x, square)
    power, error = steps.exact_product(root, root)
    left = steps.muladd(steps.negative(root), error, steps.left_of(x, root, power))
    return steps.muladd(steps.op("fmul", left, square), steps.number(1 / 3), root)
