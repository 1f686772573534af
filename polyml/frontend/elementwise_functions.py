"""The functions of NumPy, math and the builtins that a kernel may call on numbers and elements, and what each of them means."""

from __future__ import annotations

import builtins
import cmath
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from polyml.dtypes import BF16, BY_NUMPY_NAME, F64, PYFLOAT, DType

UNARY = (
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh "
    "floor ceil trunc rint abs fabs sign cbrt isnan isinf isfinite reciprocal square conj negative positive invert "
    "logical_not "
    "deg2rad rad2deg"
).split()
BINARY = (
    "power arctan2 hypot fmod minimum maximum fmin fmax copysign add subtract multiply true_divide floor_divide remainder "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_xor less less_equal greater "
    "greater_equal equal not_equal"
).split()
OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "true_divide": "/", "floor_divide": "//", "remainder": "%",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>", "pow": "**",
    "negative": "-", "invert": "~", "logical_and": "&", "logical_or": "|", "logical_xor": "^",
}  # fmt: skip
TESTS = ("isnan", "isinf", "isfinite")  # of one number, which is a float once typed; they give truth values
COMPARISONS = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
OUTER = (  # the functions whose `outer` a kernel may call, as in np.add.outer(x, y)
    "add", "subtract", "multiply", "true_divide", "maximum", "minimum", "hypot", "arctan2", *COMPARISONS,
)  # fmt: skip
UPDATES = "add subtract multiply true_divide maximum minimum fmax fmin bitwise_and bitwise_or bitwise_xor".split()  # np.add.at

# NumPy's name -> math's, where the two differ.
MATH_NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "abs": "fabs", "tgamma": "gamma",
}  # fmt: skip
_MATH_UNARY = (
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh "
    "floor ceil trunc abs cbrt erf erfc tgamma lgamma isnan isinf isfinite"
).split()
_MATH_BINARY = "pow arctan2 hypot fmod copysign".split()

_OF_CMATH = "sqrt exp log log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh".split()
_SPECIAL = {"erf": "erf", "erfc": "erfc", "gamma": "tgamma", "gammaln": "lgamma"}  # SciPy's names -> those of the C library

ALLOCATIONS = {
    np.zeros: "zeros", np.empty: "empty", np.ones: "ones", np.full: "full", np.zeros_like: "zeros_like",
    np.empty_like: "empty_like", np.ones_like: "ones_like", np.full_like: "full_like",
}  # fmt: skip


def _table() -> dict[object, tuple[str, str, int]]:
    """Returns the functions that kernels may call: function object -> (NumPy's name, module, number of operands)."""
    known: dict[object, tuple[str, str, int]] = {}
    for names, operands in ((UNARY, 1), (BINARY, 2)):
        for name in names:
            known[getattr(np, name)] = ({"power": "pow", "fabs": "fabs"}.get(name, name), "numpy", operands)
    for names, operands in ((_MATH_UNARY, 1), (_MATH_BINARY, 2)):
        for name in names:
            function = getattr(math, MATH_NAMES.get(name, name), None)
            if function is not None:  # exp2 and cbrt are new in Python 3.11
                known[function] = (name, "math", operands)
    for name in _OF_CMATH:
        known[getattr(cmath, MATH_NAMES.get(name, name))] = (name, "cmath", 1)
    known[np.fix] = ("trunc", "numpy", 1)
    known[builtins.round] = ("rint", "math", 1)
    known[operator.index] = ("index", "builtins", 1)
    known[builtins.abs] = ("abs", "builtins", 1)
    known[builtins.pow] = ("pow", "builtins", 2)
    return known


FUNCTIONS = _table()


def special_function(value: object) -> tuple[str, str, int] | None:
    """Returns the entry, as FUNCTIONS has them, for a function of scipy.special, which is not imported for that; None for all else."""
    module = sys.modules.get("scipy.special")
    if module is None or not isinstance(value, np.ufunc):
        return None
    names = {getattr(module, scipys, None): name for scipys, name in _SPECIAL.items()}
    return (names[value], "scipy", 1) if value in names else None


def dtype_of(value: Any) -> DType | None:  # Any, since a kernel may give anything for dtype=
    """Returns the type that NumPy's `dtype=value` means, or None if the language does not have it."""
    try:
        dtype = np.dtype(value)
    except TypeError:
        return None
    if not dtype.isnative:
        return None
    return BY_NUMPY_NAME.get(dtype.name)


def is_numpy_type(value: object) -> bool:
    """Returns whether `value` is a scalar type of NumPy, such as np.float32."""
    return isinstance(value, type) and issubclass(value, np.generic)


# what the texts of the library ask of the type of numbers -> whether a type is so; bfloat16 is none of NumPy's own
ASKED: dict[str, Callable[[DType], bool]] = {
    "is_integer": lambda kind: kind.kind in "iub",
    "is_real": lambda kind: kind.kind in "iubf" and kind != BF16,
    "is_number": lambda kind: kind.kind in "iufc" and kind != BF16,
    "is_own": lambda kind: kind.weak,
    "is_float64": lambda kind: kind in (F64, PYFLOAT),
    "is_wide": lambda kind: kind.kind in "iub" or kind in (F64, PYFLOAT),
}
