"""Python's floats rounded to decimals, exactly: the float that is nearest to the decimal number that is nearest to it.

The product p of a number and a power of ten is rounded. Where it is not halfway between two whole numbers, neither is the exact product, which
is on the same side, as its distance to p is no more than half of that between p and the next float. Where p is halfway, the sign of
the exact product minus p decides, and if that is zero, the even number is taken. The whole number divided by the power, both of which are exact, is
then rounded once. A product of 2**53 or more has decimals that are finer than floats, so that the number stays as it is.

The exact product is a sum of two products that are exact: of the first 24 bits of the number, and of the other 29, with a power of ten that has
24 bits besides its factors of two (Dekker, "A floating-point technique for extending the available precision", 1971). So its sign is exact
whether or not the operations become multiply-adds.
"""

from __future__ import annotations

from polyml.dtypes import BOOL, F32, F64
from polyml.frontend import syntax
from polyml.frontend.syntax import Expr
from polyml.source import Loc

MOST_DECIMALS = 10  # 5**10 has 24 bits
_LARGE = 2.0**53


def rounded(number: Expr, decimals: int, loc: Loc | None) -> Expr:
    """Returns the typed value of `round(number, decimals)` for a Python float. decimals: from -10 to 10"""
    scale = 10.0 ** abs(decimals)

    def binary(op: str, left: Expr, right: Expr) -> Expr:
        return syntax.Binary(op, left, right, dtype=F64, loc=loc)

    def call(name: str, *args: Expr) -> Expr:
        return syntax.Call(name, args, dtype=F64, loc=loc)

    def times(value: Expr, factor: float) -> Expr:
        return binary("*", value, _constant(factor))

    def scaled(value: Expr) -> Expr:
        return times(value, scale) if decimals >= 0 else binary("/", value, _constant(scale))

    product, twice = scaled(number), scaled(times(number, 2.0))
    whole, halves = call("rint", product), call("rint", twice)
    middle = times(halves, 0.5)
    split = number if decimals >= 0 else middle
    high = syntax.Cast(syntax.Cast(split, F32, dtype=F32, loc=loc), F64, dtype=F64, loc=loc)
    low = binary("-", split, high)
    first, second = times(high, scale), times(low, scale)
    of_product, of_quotient = binary("+", binary("-", first, middle), second), binary("-", binary("-", number, first), second)
    beyond = of_product if decimals >= 0 else of_quotient
    below = _chosen(_compared("<", beyond, _constant(0.0)), binary("-", middle, _constant(0.5)), whole, loc)
    nearest = _chosen(_compared(">", beyond, _constant(0.0)), binary("+", middle, _constant(0.5)), below, loc)
    apart = call("abs", binary("-", halves, binary("+", whole, whole)))
    is_halfway = _compared("==", apart, _constant(1.0))
    is_exact = _compared("==", halves, twice)
    taken = _chosen(is_exact, _chosen(is_halfway, nearest, whole, loc), whole, loc)
    back = binary("/", taken, _constant(scale)) if decimals >= 0 else times(taken, scale)
    return _chosen(_compared("<", call("abs", product), _constant(_LARGE)), back, number, loc)


def _constant(value: float) -> syntax.Const:
    return syntax.Const(value, dtype=F64)


def _compared(op: str, left: Expr, right: Expr) -> Expr:
    return syntax.Compare(op, left, right, dtype=BOOL)


def _chosen(condition: Expr, then: Expr, orelse: Expr, loc: Loc | None) -> Expr:
    return syntax.IfExp(condition, then, orelse, dtype=F64, loc=loc)
