"""log, log2, log10, log1p, and the inverses of sinh, cosh and tanh: x = 2**n * (1 + f), where 1 + f is around 1.

log(1 + f) = 2 * atanh(s) of s = f / (2 + f). The sum is arranged so that only f counts in full precision, as in FDLIBM's
e_log.c (Sun Microsystems, 1993).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from polyml.codegen.llvm.elementary.double_word import FloatOperations
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.dtypes import F32, F64, DType

# (2 * atanh(s) / s - 2) / s**2 in s**2, |s| < 0.172
_LOG = (
    0.666666666666667, 0.3999999999989322, 0.28571428628810996, 0.22222210674238516, 0.18182922513515942,
    0.15330617306743305, 0.1463003136412286,
)  # fmt: skip
# (log(1 + f) - f + f**2 / 2) / f**3 in f, -0.293 < f < 0.415: for float32, where a division would take as long
_LOG_FLOAT32 = (
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


def log(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits log(x) and returns it, as n * ln 2 + log(1 + f) where x = 2**n * (1 + f)."""

    def of(times: SsaValue, f: SsaValue) -> SsaValue:
        return _sum(fp, times, f, *_parts(fp, f))

    return _of_any(fp, x, of)


def log2(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits log2(x) and returns it, as n + log(1 + f) / log(2) where x = 2**n * (1 + f). The error of the product of f and 1 /
    log(2) is added.
    """
    return _of_any(fp, x, lambda times, f: fp.op("fadd", times, _divided(fp, f, _PER_LN2)))


def log10(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits log10(x) and returns it, as n * log10(2) + log(1 + f) / log(10) where x = 2**n * (1 + f)."""

    def of(times: SsaValue, f: SsaValue) -> SsaValue:
        high, low = (fp.number(part) for part in _LOG10_OF_2[fp.dtype])
        return fp.muladd(times, high, fp.muladd(times, low, _divided(fp, f, _PER_LN10)))

    return _of_any(fp, x, of)


def log1p(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits log(1 + x) and returns it."""
    result = _log_of_sum(fp, x)
    result = fp.select(fp.compare("<", x, fp.number(math.inf)), result, x)
    pole = fp.compare("==", x, fp.number(-1.0))
    outside = fp.choice(pole, -math.inf, math.nan)
    result = fp.select(fp.compare("<=", x, fp.number(-1.0)), outside, result)
    return fp.with_sign(result, x)


def arcsinh(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits arcsinh(x) and returns it, as log(1 + |x| + (sqrt(1 + x**2) - 1)), or as log(1 + |x|) + log(2) for a large |x|."""
    size, large, doublings = _large(fp, fp.absolute(x))
    square = fp.op("fmul", size, size)
    root = fp.intrinsic("sqrt", fp.op("fadd", square, fp.number(1.0)))
    more = fp.op("fdiv", square, fp.op("fadd", root, fp.number(1.0)))
    total, error = fp.fast_sum(size, fp.select(large, fp.number(0.0), more))
    result = _log_of_sum(fp, total, error, doublings)
    result = fp.select(fp.compare("<", size, fp.number(math.inf)), result, x)
    return fp.with_sign(result, x)


def arccosh(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits arccosh(x) and returns it, as log(1 + t + sqrt(t * (t + 2))) where t = x - 1, with the root's rounding error added."""
    size, large, doublings = _large(fp, x)
    t = fp.op("fsub", size, fp.number(1.0))
    factor, lost = fp.exact_sum(t, fp.number(2.0))
    product, error = fp.exact_product(t, factor)
    root = fp.intrinsic("sqrt", product)
    left = fp.op("fadd", fp.residual(product, root, root), fp.muladd(t, lost, error))
    rest = fp.op("fmul", left, fp.half_inverse_root(product))
    zero = fp.number(0.0)
    total, error = fp.fast_sum(fp.select(large, t, root), fp.select(large, zero, t))
    error = fp.select(large, zero, fp.op("fadd", error, rest))
    result = _log_of_sum(fp, total, error, doublings)
    result = fp.select(fp.compare("<", x, fp.number(math.inf)), result, x)
    return fp.select(fp.compare("<", x, fp.number(1.0)), fp.number(math.nan), result)


def _large(fp: FloatOperations, size: SsaValue) -> tuple[SsaValue, SsaValue, SsaValue]:
    """Returns (size, whether it is larger than 2**60, 1.0 where it is and 0.0 where it is not). For such numbers arcsinh and
    arccosh are log(size) + log(2), rounded; the third value says how many times log(2) is to be added.

    size: |x| for arcsinh, x for arccosh.
    """
    large = fp.compare(">", size, fp.number(2.0**60))
    return size, large, fp.choice(large, 1.0, 0.0)


def arctanh(fp: FloatOperations, x: SsaValue) -> SsaValue:
    """Emits arctanh(x) and returns it, as n * ln 2 / 2 + arctanh(s), where 2**n is near q = (1 + |x|) / (1 - |x|) and s = (q -
    2**n) / (q + 2**n), which is |x| if n is 0; the sign is that of x.
    """
    own, size, one = fp.format, fp.absolute(x), fp.number(1.0)
    above, above_low = fp.fast_sum(one, size)
    below, below_low = fp.fast_sum(one, fp.negative(size))
    near = fp.op("sub", fp.bits(above), fp.bits(below))
    near = fp.op("add", near, fp.integer(1 << (own.mantissa - 2)))  # so that n is 0 for |x| < 1/4
    exponent = fp.op("ashr", near, fp.integer(own.mantissa))
    power = fp.power_of_two(exponent)
    minus = fp.negative(power)
    over = fp.op("fadd", fp.muladd(minus, below, above), fp.muladd(minus, below_low, above_low))
    under = fp.op("fadd", fp.muladd(power, below, above), fp.muladd(power, below_low, above_low))
    s = fp.op("fdiv", over, under)
    z = fp.op("fmul", s, s)
    times = fp.as_number(exponent)
    high, low = (part / 2 for part in own.ln2)
    rest = fp.op("fmul", fp.op("fmul", z, s), fp.polynomial(_ATANH[fp.dtype], z))
    total, error = fp.fast_sum(fp.op("fmul", times, fp.number(high)), s)
    error = fp.op("fadd", error, fp.muladd(times, fp.number(low), rest))
    result = fp.op("fadd", total, error)
    result = fp.select(fp.compare("==", size, one), fp.number(math.inf), result)
    result = fp.select(fp.compare(">", size, one), fp.number(math.nan), result)
    return fp.with_sign(result, x)


def split(fp: FloatOperations, x: SsaValue) -> tuple[SsaValue, SsaValue, SsaValue]:
    """Emits the split x = 2**n * (1 + f) of a normal x, with sqrt(1/2) <= 1 + f < sqrt(2). Returns (n, n, f), where n is first a
    float and then an integer.
    """
    own = fp.format
    half = fp.bits(fp.number(math.sqrt(0.5)))
    above = fp.op("sub", fp.bits(x), half)
    exponent = fp.op("ashr", above, fp.integer(own.mantissa))
    mantissa = fp.op("and", above, fp.integer((1 << own.mantissa) - 1))
    f = fp.op("fsub", fp.from_bits(fp.op("add", mantissa, half)), fp.number(1.0))
    return fp.as_number(exponent), exponent, f


def _of_any(fp: FloatOperations, x: SsaValue, of: Callable[[SsaValue, SsaValue], SsaValue]) -> SsaValue:
    """Emits a logarithm of any x, and returns it: also of a subnormal one, an infinity, a NaN (itself), zero (minus infinity) and a
    negative number (NaN).

    of: emits the logarithm of a normal number x = 2**n * (1 + f) from n and f; its base is that of the result.
    """
    times, _, f = split(fp, x)

    def of_others() -> SsaValue:
        zeros = fp.format.mantissa + 2.0
        times, _, f = split(fp, fp.op("fmul", x, fp.number(2.0**zeros)))
        result = of(fp.op("fsub", times, fp.number(zeros)), f)
        result = fp.select(fp.compare("<", x, fp.number(math.inf)), result, x)
        outside = fp.choice(fp.compare("==", x, fp.number(0.0)), -math.inf, math.nan)
        return fp.select(fp.compare(">", x, fp.number(0.0)), result, outside)

    return fp.where(fp.is_normal(x), of(times, f), of_others)


def _parts(fp: FloatOperations, f: SsaValue) -> tuple[SsaValue, SsaValue]:
    """Emits the terms a = f * f / 2 and b, a polynomial or quotient of f, of the sum log(1 + f) = f - a + b. Returns (a, b)."""
    square = fp.op("fmul", f, f)
    half = fp.op("fmul", square, fp.number(0.5))
    if fp.dtype == F32:
        return half, fp.op("fmul", fp.op("fmul", square, f), fp.polynomial(_LOG_FLOAT32, f))
    s = fp.op("fdiv", f, fp.op("fadd", f, fp.number(2.0)))
    z = fp.op("fmul", s, s)
    rest = fp.op("fmul", z, fp.polynomial(_LOG, z))
    return half, fp.op("fmul", s, fp.op("fadd", half, rest))


def _sum(fp: FloatOperations, times: SsaValue, f: SsaValue, square: SsaValue, more: SsaValue) -> SsaValue:
    """Emits the logarithm of 2**times * (1 + f), and returns it: times * ln 2 + f - square + more.

    square, more: the terms a and b that `_parts` returns for f.
    """
    high, low = fp.format.ln2
    small = fp.muladd(times, fp.number(low), more)
    return fp.muladd(times, fp.number(high), fp.op("fsub", f, fp.op("fsub", square, small)))


def _divided(fp: FloatOperations, f: SsaValue, factors: dict[DType, tuple[float, float]]) -> SsaValue:
    """Emits log(1 + f) times a constant, and returns it.

    factors: { type of f -> two numbers whose sum the constant is, the large one first }.
    """
    square, more = _parts(fp, f)
    factor, factor_low = (fp.number(part) for part in factors[fp.dtype])
    rest = fp.op("fmul", fp.op("fsub", more, square), factor)
    return fp.accurate_muladd(f, factor, fp.muladd(f, factor_low, rest))


def _log_of_sum(fp: FloatOperations, x: SsaValue, rest: SsaValue | None = None, doublings: SsaValue | None = None) -> SsaValue:
    """Emits log((1 + x + rest) * 2**doublings), and returns it.

    x: finite and above -1.
    rest: the rounding error of x; None for 0.
    doublings: an integer, as a float; None for 0.
    """
    total, error = fp.exact_sum(fp.number(1.0), x)
    times, exponent, near = split(fp, total)
    limit = fp.integer(fp.format.bias - 2)
    exponent = fp.select(fp.compare("<", exponent, limit), exponent, limit)
    inverse = fp.power_of_two(fp.op("sub", fp.integer(0), exponent))
    error = fp.op("fmul", error if rest is None else fp.op("fadd", error, rest), inverse)
    f, lost = fp.fast_sum(near, error)
    square, more = _parts(fp, f)
    more = fp.muladd(lost, fp.muladd(f, fp.number(-0.8), fp.number(1.0)), more)
    times = times if doublings is None else fp.op("fadd", times, doublings)
    return _sum(fp, times, f, square, more)
