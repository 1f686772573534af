"""Terms t(x, m) of sums that can be corrected where m changes: t(x, m) = t(x, k) * g(k, m).

    exp(x - m) = exp(x - k) * exp(k - m)

A sum of terms for k, times g(k, m), so is the sum of the terms for m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.model.core.scop import Value


@dataclass(frozen=True)
class CorrectionRule:
    """A CorrectionRule is a form of terms, and the factor that corrects sums of them.

    text: the rule in words, for `explain`.
    operands: from a value to (x, m) where it is t(x, m), else None.
    factor: from (k, m) and their type to g(k, m), by which a sum of terms t(x, k) becomes that of t(x, m).
    """

    text: str
    operands: Callable[[Value], tuple[Value, Value] | None]
    factor: Callable[[Value, Value, DType], Value]


def _of_difference(function: str) -> CorrectionRule:
    """Returns the rule for function(x - m), where the function of a sum is the product of the functions."""

    def operands(value: Value) -> tuple[Value, Value] | None:
        if not (isinstance(value, syntax.Call) and value.function == function):
            return None
        inside = value.args[0]
        return (inside.left, inside.right) if isinstance(inside, syntax.Binary) and inside.op == "-" else None

    def factor(old: Value, new: Value, element: DType) -> Value:
        return syntax.Call(function, (syntax.Binary("-", old, new, dtype=element),), dtype=element)

    return CorrectionRule(f"{function}(x - m) = {function}(x - k) * {function}(k - m)", operands, factor)


RULES = tuple(map(_of_difference, ("exp", "exp2")))
