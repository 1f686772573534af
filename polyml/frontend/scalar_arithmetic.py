"""Python's and NumPy's arithmetic on single numbers, as the language has it.

Where it departs from Python, `interpreter` lists the departure. Values are typed Any, since int, float, complex and NumPy's scalars
have no type in common.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from polyml.dtypes import PYBOOL, PYCOMPLEX, PYFLOAT, PYINT, DType
from polyml.errors import PolymlOverflowError
from polyml.numpy_dtypes import numpy_dtype

_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "min": min, "max": max,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_ORDERS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
_UNARY: dict[str, Callable[..., Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}
_MATH = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "abs": "fabs", "tgamma": "gamma",
}  # fmt: skip
_GAMMA: dict[str, Callable[[float], float]] = {  # where Python raises
    "lgamma": lambda x: math.inf,
    "tgamma": lambda x: math.copysign(math.inf, x) if x == 0 or x > 0 else math.nan,
}
_NUMPY = {"pow": "power"}
_PYTHON = (bool, int, float, complex)
HALVES = ("float16", "bfloat16")


def unary(op: str, value: Any) -> Any:
    """Returns the result of one of the operators - + ~ and not by the language's rules.

    Raises PolymlOverflowError for a Python int that leaves 64 bits.
    """
    if op == "not" or type(value) not in _PYTHON:
        with np.errstate(all="ignore"):
            return _UNARY[op](value)
    return _in_range(_UNARY[op](value if isinstance(value, (float, complex)) else int(value)))


def binary(op: str, left: Any, right: Any) -> Any:
    """Returns the result of an arithmetic operator, a comparison, min or max by the language's rules.

    Raises PolymlOverflowError for a Python int that leaves 64 bits.
    """
    if type(left) in _PYTHON and type(right) in _PYTHON:
        return _in_range(_python_binary(op, left, right))
    if type(left) is complex and type(right) is np.float64:
        left = np.complex128(left)
    with np.errstate(all="ignore"):
        is_order = op in _ORDERS or op in ("min", "max")
        if is_order and (isinstance(left, np.complexfloating) or isinstance(right, np.complexfloating)):
            return _ordered(op, left, right)
        return _OPERATORS[op](left, right)


def _ordered(op: str, left, right):
    """Returns the result of <, <=, >, >=, min or max of complex numbers, in the order that NumPy has for elements of arrays."""
    if op in ("min", "max"):
        return right if _ordered("<" if op == "min" else ">", right, left) else left
    return _ORDERS[op](left, right)


def _python_binary(op: str, left, right):
    a, b = left, right
    if isinstance(left, complex) or isinstance(right, complex):
        return _complex_binary(op, left, right)
    if op == "/" or isinstance(left, float) or isinstance(right, float):
        a, b = _float(left), _float(right)
    if op in ("min", "max"):
        chosen = b < a if op == "min" else b > a
        return right if chosen else left
    if op == "**":
        return _python_power(a, b)
    if op == "<<" and a != 0 and b > 64:
        raise _too_large()
    try:
        return _OPERATORS[op](a, b)
    except ZeroDivisionError:
        if isinstance(a, float):
            return _as_ieee(_OPERATORS[op], a, b)
        raise


def _complex_binary(op: str, left, right):
    """Returns the result of an operator on complex numbers as a Python complex, by NumPy's rules, which define x / 0."""
    if op in ("==", "!="):
        return _OPERATORS[op](left, right)
    with np.errstate(all="ignore"):
        return complex(_OPERATORS[op](np.complex128(left), np.complex128(right)))


def _python_power(a, b):
    if isinstance(a, int) and b < 0:
        a, b = _float(a), _float(b)
    if isinstance(a, int) and b > 64 and abs(a) > 1:
        raise _too_large()
    try:
        result = a**b
    except (ZeroDivisionError, OverflowError):
        return _as_ieee(np.power, a, b)
    return _as_ieee(np.power, a, b) if isinstance(result, complex) else result


def _as_ieee(function, *operands: float) -> float:
    """Returns the result of a function of float64 numbers by IEEE's rules: inf or NaN where Python would raise."""
    with np.errstate(all="ignore"):
        return float(function(*map(np.float64, operands)))


def _float(value) -> float:
    try:
        return float(value)
    except OverflowError as problem:
        raise _too_large() from problem


def _in_range(value):
    """Returns the value itself.

    Raises PolymlOverflowError for a Python int that does not fit 64 bits.
    """
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise _too_large()
    return value


def _too_large() -> PolymlOverflowError:
    return PolymlOverflowError("a Python int leaves 64 bits", notes=["accepted: np.int64(x), which wraps, or float(x)"])


def call(module: str, function: str, args: list) -> Any:
    """Returns the result of a function of numbers.

    module: whose rules the function follows, as in `syntax.Call`
    function: its name, as in `syntax.Call`
    """
    if function == "where":
        return np.where(*args)[()]
    if function == "wide":
        return np.float32(args[0]) if np.asarray(args[0]).dtype.name in HALVES else args[0]
    if function == "matmul":
        return np.matmul([args[0]], [args[1]])
    if function == "einsum":
        return np.einsum(",".join("i" * len(args)) + "->", *([a] for a in args))
    if function == "root_power":
        return np.power(*args) if module == "numpy" else (np.full(1, args[0]) ** args[1])[0]
    if function in ("real", "imag"):
        return getattr(args[0], function)
    if function == "complex":
        return complex(*args)
    if function == "item":
        return args[0].item()
    if function == "converted":
        with np.errstate(all="ignore"):
            return np.asarray(args[0]).astype(np.asarray(args[1]).dtype).item()
    if function == "of_type":
        return True
    if function == "index":
        return operator.index(args[0])
    if function == "position":
        return operator.index(args[0]) if len(args) == 1 else range(args[1])[operator.index(args[0])]
    if function == "intp":
        return int(args[0])
    if function in ("double", "float64"):
        return float(args[0])
    if function == "inexact":
        return args[0] if isinstance(args[0], (float, complex, np.inexact)) else np.float64(args[0])
    if function == "round":
        return round(*args) if module == "builtins" else np.round(*args)
    if function == "angle":
        return np.angle(args[0])
    if module == "method":
        return args[0].conj() if isinstance(args[0], np.generic) else args[0].conjugate()
    if function == "norm":
        return np.real(args[0] * np.conj(args[0])) if np.iscomplexobj(args[0]) else np.square(args[0])
    if module == "builtins":
        return _in_range(abs(args[0]))
    if module == "cmath":
        with np.errstate(all="ignore"):
            return complex(getattr(np, function)(np.complex128(args[0])))
    if module == "scipy":
        least = function == "lgamma" and args[0] == -math.inf
        made = -math.inf if least else _math(function, [float(args[0])])
        return np.float32(made) if isinstance(args[0], np.float32) else np.float64(made)
    if module == "math":
        return _math(function, args)
    with np.errstate(all="ignore"):
        return getattr(np, _NUMPY.get(function, function))(*args)


def cast(to: DType, value: Any) -> Any:
    """Returns the value converted to the type `to`, as a Python number or a NumPy scalar."""
    if to == PYFLOAT:
        return _float(value)
    if to == PYCOMPLEX:
        return complex(value)
    if to == PYINT:
        return _in_range(int(value))
    if to == PYBOOL:
        return bool(value)
    with np.errstate(all="ignore"):
        return numpy_dtype(to).type(value)


def _math(function: str, args: list) -> Any:
    if function == "rint":
        return _in_range(round(args[0]))
    try:
        return _in_range(getattr(math, _MATH.get(function, function))(*args))
    except (ValueError, OverflowError):
        if function in ("floor", "ceil", "trunc"):  # an int, which has no infinity and no NaN
            raise
    if function in _GAMMA:
        return _GAMMA[function](float(args[0]))
    return _as_ieee(getattr(np, _NUMPY.get(function, function)), *map(_float, args))
