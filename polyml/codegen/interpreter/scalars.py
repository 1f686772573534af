"""Typed values of statements, computed with NumPy scalars of exactly their types.

A Python int (PYINT) is a Python int that must stay in 64 bits; every other value is a NumPy scalar, PYFLOAT a float64
and PYBOOL a NumPy bool. Floating results are IEEE's; an integer divided by zero is 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polyml.dtypes import PYINT, DType
from polyml.errors import PolymlOverflowError
from polyml.frontend import syntax
from polyml.frontend.elementwise_functions import MATH_NAMES
from polyml.numpy_dtypes import numpy_dtype

Scalar = Any  # a NumPy scalar or a number of Python: NumPy's types do not say which operations give which

_COMPARE: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def typed(value: Scalar, dtype: DType) -> Scalar:
    """Returns the value, which must be of the type already, as a Python int if the type is Python's int (PYINT), else as a NumPy
    scalar.

    Raises TypeError for a value of another type.
    """
    if dtype == PYINT:
        if not isinstance(value, (int, np.integer)):
            raise TypeError(f"{value!r} is not of type {dtype}")
        return python_int(value)
    if isinstance(value, (bool, float)):
        value = np.bool_(value) if isinstance(value, bool) else np.float64(value)
    if not isinstance(value, np.generic) or value.dtype != numpy_dtype(dtype):
        raise TypeError(f"{value!r} is not of type {dtype}")
    return value


def python_int(value: Scalar) -> int:
    """Returns the number as a Python int. Raises PolymlOverflowError outside 64 bits."""
    value = int(value)
    if not -(2**63) <= value < 2**63:
        raise PolymlOverflowError(f"the Python int {value} leaves 64 bits")
    return value


def cast(value: Scalar, to: DType) -> Scalar:
    """Returns the value converted to a type as NumPy's astype does it.

    Raises PolymlOverflowError for a Python int that does not fit an integer type, as in NumPy 2.
    """
    if to == PYINT:
        if isinstance(value, np.generic) and not np.isfinite(value):
            raise PolymlOverflowError(f"{value} has no value as a Python int")
        return python_int(value)
    if isinstance(value, int) and to.is_integer:
        limits = np.iinfo(to.numpy_name)
        if not limits.min <= value <= limits.max:
            raise PolymlOverflowError(f"the Python int {value} does not fit {to}")
        return numpy_dtype(to).type(value)
    number = np.int64(value) if isinstance(value, int) else value
    return number.astype(numpy_dtype(to))


def constant(node: syntax.Const) -> Scalar:
    """Returns the value of a constant as a scalar of the constant's type."""
    if node.dtype == PYINT:
        return python_int(node.value)
    if isinstance(node.value, int) and node.dtype.is_integer:
        return cast(node.value, node.dtype)
    return numpy_dtype(node.dtype).type(node.value)


def unary(op: str, value: Scalar) -> Scalar:
    """Returns the value of the unary operator `op`, as in Python; a NumPy bool for `not`."""
    if op == "not":
        return np.bool_(not value)
    return _UNARY[op](value)


def binary(op: str, a: Scalar, b: Scalar) -> Scalar:
    """Returns `a op b` by Python's rules: // and % round down; min and max return `a` unless `b` is strictly smaller or larger."""
    if op == "min":
        return b if b < a else a
    if op == "max":
        return b if b > a else a
    if isinstance(a, int) and isinstance(b, int):
        return _python_integers(op, a, b)
    return _NUMPY[op](a, b)


def compare(op: str, a: Scalar, b: Scalar) -> np.bool_:
    """Returns whether `a op b` holds."""
    return np.bool_(_COMPARE[op](a, b))


def call(function: str, module: str, args: Sequence[Scalar]) -> Scalar:
    """Returns the value of a function of Python's builtins, of math or of NumPy for scalar arguments.

    function: its name; `f.real` or `f.imag` is a part of what a function of complex numbers returns, whose arguments are parts too.
    """
    function, _, part = function.partition(".")
    if part:  # of a function of complex numbers, whose arguments are parts too
        numbers = [np.complex128(complex(*pair)) for pair in zip(args[::2], args[1::2])]
        return getattr(call(function, module, numbers), part)
    if module == "builtins":
        return abs(*args) if function == "abs" else binary("**", *args)
    if module == "math" or function in _OF_THE_C_LIBRARY:
        return _math(function, args)
    return getattr(np, {"pow": "power"}.get(function, function))(*args)


_OF_THE_C_LIBRARY = frozenset({"erf", "erfc", "tgamma", "lgamma"})
_UNARY: dict[str, Callable[[Scalar], Scalar]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_NUMPY: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip


def _python_integers(op: str, a: int, b: int) -> Scalar:
    """Returns `a op b` of Python ints. By zero, // and % give 0, and / gives NaN or an infinity. Raises PolymlOverflowError for
    a ** b and a << b where b is above 64, unless a is -1, 0 or 1.
    """
    if op == "/":
        return np.float64(a) / np.float64(b)
    if op in ("//", "%") and b == 0:
        return 0
    if op in ("**", "<<") and b > 64 and a not in (-1, 0, 1):
        raise PolymlOverflowError(f"the Python int {a} {op} {b} leaves 64 bits")
    return _NUMPY[op](a, b)


def _math(function: str, args: Sequence[Scalar]) -> Scalar:
    """Returns the value of a function of Python's math. Where that does not exist or raises an error, the value is that of NumPy's
    function, which IEEE 754 defines.
    """
    known = getattr(math, MATH_NAMES.get(function, function), None)
    if known is not None:
        try:
            return known(*args)
        except (ValueError, OverflowError):
            pass
    if function in _OF_THE_C_LIBRARY:  # of the gamma function, where it has poles or is too great
        return np.float64(np.nan if function == "tgamma" and args[0] < 0 else np.copysign(np.inf, args[0] if args[0] == 0 else 1))
    return getattr(np, {"pow": "power"}.get(function, function))(*args)
