"""NumPy's elementary functions as instructions that run in lanes. Scalars are computed in the same way, so that vectorization
changes no bit of a result.
"""

from __future__ import annotations

from collections.abc import Callable

from polyml.codegen.llvm.arithmetic import Arithmetic
from polyml.codegen.llvm.elementary import exponential, inverse_trigonometric, logarithmic, powers, trigonometric
from polyml.codegen.llvm.elementary.double_word import FloatOperations
from polyml.codegen.llvm.ssa_value import SsaValue

__all__ = ["FUNCTIONS", "function", "power_of_all"]

FUNCTIONS: dict[str, Callable[..., SsaValue]] = {
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1,
    "sinh": exponential.sinh, "cosh": exponential.cosh, "tanh": exponential.tanh,
    "log": logarithmic.log, "log2": logarithmic.log2, "log10": logarithmic.log10, "log1p": logarithmic.log1p,
    "arcsinh": logarithmic.arcsinh, "arccosh": logarithmic.arccosh, "arctanh": logarithmic.arctanh,
    "sin": trigonometric.sin, "cos": trigonometric.cos, "tan": trigonometric.tan,
    "arcsin": inverse_trigonometric.arcsin, "arccos": inverse_trigonometric.arccos, "arctan": inverse_trigonometric.arctan, "arctan2": inverse_trigonometric.arctan2,
    "pow": powers.power, "hypot": powers.hypot, "cbrt": powers.cbrt,
}  # fmt: skip


def function(arithmetic: Arithmetic, name: str, *values: SsaValue) -> SsaValue:
    """Emits one of NumPy's elementary functions, such as "exp", on floats of one type or on vectors of them, and returns its
    result.

    name: the function, a key of FUNCTIONS.
    """
    return FUNCTIONS[name](FloatOperations(arithmetic, values[0]), *values)


def power_of_all(arithmetic: Arithmetic, base: SsaValue, exponent: SsaValue) -> SsaValue:
    """Emits base**exponent of floats of one type, whose exponent is one number in the whole call, and returns the result.

    base: a number, or a vector of them.
    """
    return powers.power_of_all(FloatOperations(arithmetic, base), base, exponent)
