"""log, log2, log10, log1p and the inverses of sinh, cosh and tanh: x = 2**n * (1 + f) with 1 + f around 1.

log(1 + f) = 2 * atanh(s) of s = f / (2 + f), summed so that only f counts in full precision, as in FDLIBM's e_log.c
(Sun Microsystems, 1993).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from polyml.codegen.llvm.elementary.double_word import Steps
from polyml.codegen.llvm.ssa_value import Val
from polyml.dtypes import F32, F64, DType

# (2 * atanh(s) / s - 2) / s**2 in s**2, |s| < 0.172
_LOG = (
    0.666666666666667, 0.3999999999989322, 0.28571428628810996, 0.22222210674238516, 0.18182922513515942,
    0.15330617306743305, 0.1463003136412286,
)  # fmt: skip
# (log(1 + f) - f + f**2 / 2) / f**3 in f, -0.293 < f < 0.415: for float32, where a division takes as long
_NARROW_LOG = (
    0.3333333134651184, -0.2499999701976776, 0.20000717043876648, -0.16667808592319489, 0.14249008893966675,
    -0.12425486743450165, 0.11685719341039658, -0.11481477320194244, 0.06973070651292801,
)  # fmt: skip
# (atanh(s) / s - 1) / s**2 in s**2, |s| < 0.272
_ATANH = {
    F64: (0.33333333333333337, 0.1999999999999277, 0.14285714288314377, 0.11111110751839036, 0.09090933896206455,
          0.0769134918151539, 0.0668829071990451, 0.05601409771579318, 0.07173571048660402),
    F32: (0.3333333134651184, 0.20001044869422913, 0.1421583741903305, 0.12581858038902283),
}  # fmt: skip


# 1 / log(2), 1 / log(10) and log10(2) in two parts, the first one of the last so short that n times it is exact
_PER_LN2 = {
    F64: (float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.777d0ffda0d24p-56")),
    F32: (float.fromhex("0x1.715476p+0"), float.fromhex("0x1.4ae0bf85ddf44p-26")),
}
_PER_LN10 = {
    F64: (float.fromhex("0x1.bcb7b1526e50ep-2"), float.fromhex("0x1.95355baaafad3p-57")),
    F32: (float.fromhex("0x1.bcb7bp-2"), float.fromhex("0x1.526e50e32a6abp-26")),
}
_LOG10_OF_2 = {
    F64: (float.fromhex("0x1.34413509f78p-2"), float.fromhex("0x1.fef311f12b358p-46")),
    F32: (float.fromhex("0x1.344p-2"), float.fromhex("0x1.3509f79fef312p-18")),
}


def log(steps: Steps, x: Val) -> Val:
    def of(times: Val, f: Val) -> Val:
        return _sum(steps, times, f, *_parts(steps, f))

    return _of_any(steps, x, of)


def log2(steps: Steps, x: Val) -> Val:
    """n + f / log(2) with what the product loses, and the rest of log(1 + f)."""
    return _of_any(steps, x, lambda times, f: steps.op("fadd", times, _divided(steps, f, _PER_LN2)))


def log10(steps: Steps, x: Val) -> Val:
    def of(times: Val, f: Val) -> Val:
        high, low = (steps.number(part) for part in _LOG10_OF_2[steps.dtype])
        return steps.muladd(times, high, steps.muladd(times, low, _divided(steps, f, _PER_LN10)))

    return _of_any(steps, x, of)


def log1p(steps: Steps, x: Val) -> Val:
    result = _log_of_sum(steps, x)
    result = steps.select(steps.compare("<", x, steps.number(math.inf)), result, x)
    pole = steps.compare("==", x, steps.number(-1.0))
    outside = steps.choice(pole, -math.inf, math.nan)
    result = steps.select(steps.compare("<=", x, steps.number(-1.0)), outside, result)
    return steps.with_sign(result, x)


def arcsinh(steps: Steps, x: Val) -> Val:
    """log(1 + |x| + (sqrt(1 + x**2) - 1)); a large |x| is doubled instead, as 2**n."""
    size, large, doublings = _large(steps, steps.absolute(x))
    square = steps.op("fmul", size, size)
    root = steps.intrinsic("sqrt", steps.op("fadd", square, steps.number(1.0)))
    more = steps.op("fdiv", square, steps.op("fadd", root, steps.number(1.0)))
    total, error = steps.fast_sum(size, steps.select(large, steps.number(0.0), more))
    result = _log_of_sum(steps, total, error, doublings)
    result = steps.select(steps.compare("<", size, steps.number(math.inf)), result, x)
    return steps.with_sign(result, x)


def arccosh(steps: Steps, x: Val) -> Val:
    """log(1 + t + sqrt(t * (t + 2))) of t = x - 1, with what is left of the root."""
    size, large, doublings = _large(steps, x)
    t = steps.op("fsub", size, steps.number(1.0))
    factor, lost = steps.exact_sum(t, steps.number(2.0))
    product, error = steps.exact_product(t, factor)
    root = steps.intrinsic("sqrt", product)
    left = steps.op("fadd", steps.left_of(product, root, root), steps.muladd(t, lost, error))
    rest = steps.op("fmul", left, steps.half_inverse_root(product))
    zero = steps.number(0.0)
    total, error = steps.fast_sum(steps.select(large, t, root), steps.select(large, zero, t))
    error = steps.select(large, zero, steps.op("fadd", error, rest))
    result = _log_of_sum(steps, total, error, doublings)
    result = steps.select(steps.compare("<", x, steps.number(math.inf)), result, x)
    return steps.select(steps.compare("<", x, steps.number(1.0)), steps.number(math.nan), result)


def _large(steps: Steps, size: Val) -> tuple[Val, Val, Val]:
    large = steps.compare(">", size, steps.number(2.0**60))
    return size, large, steps.choice(large, 1.0, 0.0)


def arctanh(steps: Steps, x: Val) -> Val:
    """n * ln 2 / 2 + atanh(s), where 2**n is near (1 + |x|) / (1 - |x|) and s what remains: |x| itself where n is 0."""
    own, size, one = steps.format, steps.absolute(x), steps.number(1.0)
    above, above_low = steps.fast_sum(one, size)
    below, below_low = steps.fast_sum(one, steps.negative(size))
    near = steps.op("sub", steps.bits(above), steps.bits(below))
    near = steps.op("add", near, steps.integer(1 << (own.mantissa - 2)))  # n is 0 until |x| is 1/4
    exponent = steps.op("ashr", near, steps.integer(own.mantissa))
    power = steps.power_of_two(exponent)
    minus = steps.negative(power)
    over = steps.op("fadd", steps.muladd(minus, below, above), steps.muladd(minus, below_low, above_low))
    under = steps.op("fadd", steps.muladd(power, below, above), steps.muladd(power, below_low, above_low))
    s = steps.op("fdiv", over, under)
    z = steps.op("fmul", s, s)
    times = steps.as_number(exponent)
    high, low = (part / 2 for part in own.ln2)
    rest = steps.op("fmul", steps.op("fmul", z, s), steps.polynomial(_ATANH[steps.dtype], z))
    total, error = steps.fast_sum(steps.op("fmul", times, steps.number(high)), s)
    error = steps.op("fadd", error, steps.muladd(times, steps.number(low), rest))
    result = steps.op("fadd", total, error)
    result = steps.select(steps.compare("==", size, one), steps.number(math.inf), result)
    result = steps.select(steps.compare(">", size, one), steps.number(math.nan), result)
    return steps.with_sign(result, x)


def split(steps: Steps, x: Val) -> tuple[Val, Val, Val]:
    """(n, n, f) of a normal x: n as a number and as an integer, sqrt(1/2) <= 1 + f < sqrt(2)."""
    own = steps.format
    half = steps.bits(steps.number(math.sqrt(0.5)))
    above = steps.op("sub", steps.bits(x), half)
    exponent = steps.op("ashr", above, steps.integer(own.mantissa))
    mantissa = steps.op("and", above, steps.integer((1 << own.mantissa) - 1))
    f = steps.op("fsub", steps.of_bits(steps.op("add", mantissa, half)), steps.number(1.0))
    return steps.as_number(exponent), exponent, f


def _of_any(steps: Steps, x: Val, of: Callable[[Val, Val], Val]) -> Val:
    """A logarithm from n and f of x, also of numbers that are not normal."""
    times, _, f = split(steps, x)

    def of_others() -> Val:
        zeros = steps.format.mantissa + 2.0
        times, _, f = split(steps, steps.op("fmul", x, steps.number(2.0**zeros)))
        result = of(steps.op("fsub", times, steps.number(zeros)), f)
        result = steps.select(steps.compare("<", x, steps.number(math.inf)), result, x)
        outside = steps.choice(steps.compare("==", x, steps.number(0.0)), -math.inf, math.nan)
        return steps.select(steps.compare(">", x, steps.number(0.0)), result, outside)

    return steps.where(steps.is_normal(x), of(times, f), of_others)


def _parts(steps: Steps, f: Val) -> tuple[Val, Val]:
    """(a, b) with log(1 + f) = f - a + b."""
    square = steps.op("fmul", f, f)
    half = steps.op("fmul", square, steps.number(0.5))
    if steps.dtype == F32:
        return half, steps.op("fmul", steps.op("fmul", square, f), steps.polynomial(_NARROW_LOG, f))
    s = steps.op("fdiv", f, steps.op("fadd", f, steps.number(2.0)))
    z = steps.op("fmul", s, s)
    rest = steps.op("fmul", z, steps.polynomial(_LOG, z))
    return half, steps.op("fmul", s, steps.op("fadd", half, rest))


def _sum(steps: Steps, times: Val, f: Val, square: Val, more: Val) -> Val:
    """times * ln 2 + f - square + more."""
    high, low = steps.format.ln2
    small = steps.muladd(times, steps.number(low), more)
    return steps.muladd(times, steps.number(high), steps.op("fsub", f, steps.op("fsub", square, small)))


def _divided(steps: Steps, f: Val, factors: dict[DType, tuple[float, float]]) -> Val:
    """log(1 + f) times a number in two parts."""
    square, more = _parts(steps, f)
    factor, factor_low = (steps.number(part) for part in factors[steps.dtype])
    rest = steps.op("fmul", steps.op("fsub", more, square), factor)
    return steps.product_and(f, factor, steps.muladd(f, factor_low, rest))


def _log_of_sum(steps: Steps, x: Val, rest: Val | None = None, doublings: Val | None = None) -> Val:
    """log((1 + x + rest) * 2**doublings) of a finite x > -1 and a rest of its rounding."""
    total, error = steps.exact_sum(steps.number(1.0), x)
    times, exponent, near = split(steps, total)
    limit = steps.integer(steps.format.bias - 2)
    exponent = steps.select(steps.compare("<", exponent, limit), exponent, limit)
    inverse = steps.power_of_two(steps.op("sub", steps.integer(0), exponent))
    error = steps.op("fmul", error if rest is None else steps.op("fadd", error, rest), inverse)
    f, lost = steps.fast_sum(near, error)
    square, more = _parts(steps, f)
    more = steps.muladd(lost, steps.muladd(f, steps.number(-0.8), steps.number(1.0)), more)
    times = times if doublings is None else steps.op("fadd", times, doublings)
    return _sum(steps, times, f, square, more)
