"""Numbers and types of a text.

    constant = True | False | ["-"] NUMBER | ["-"] np.inf | ["-"] np.nan | complex STRING | np.TYPE "(" constant ")"
    type     = TYPE | TYPE "=" INTEGER | TYPE "[" {size ","} "]"        size = ":" | INTEGER
    TYPE     = f64 f32 f16 bf16 c128 c64 i8 ... i64 u8 ... u64 bool, and int float complex pybool, which are Python's

A constant is read as what was written: 1, 1.0, True and np.float32(1.0) are four. A type is that of an argument: a number, a
number of a known value, an array.

>>> [text(value) for value in (1, -0.5, float("inf"), 1 + 2j, np.float32(0.5))]
['1', '-0.5', 'np.inf', 'complex "(1+2j)"', 'np.float32(0.5)']
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyml.dtypes import BY_NUMPY_NAME, FIXED, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT, DType
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.numpy_dtypes import numpy_dtype
from polyml.reading.text_scanner import Line, string

TYPES = {dtype.name: dtype for dtype in (*FIXED, PYINT, PYFLOAT, PYCOMPLEX, PYBOOL)}


def text(value: object) -> str:
    """Returns a number (a bool, int, float, complex or NumPy scalar) as the texts of kernels have it; `read` reads it back."""
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({text(value.item())})"
    if isinstance(value, complex):
        return f"complex {string(repr(value))}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{'-' if math.copysign(1, value) < 0 else ''}np.{'nan' if math.isnan(value) else 'inf'}"
    return repr(value)


def is_next(line: Line) -> bool:
    """Returns whether the next tokens of the line are a constant."""
    first = 1 if line.is_at("-") else 0
    token = line.peek(first)
    if token.kind == "number":
        return True
    if token.is_one_of("np"):
        return line.peek(first + 2).text in ("inf", "nan", *BY_NUMPY_NAME)
    return not first and (line.is_at("True", "False") or line.is_at("complex") and line.peek(1).kind == "string")


def read(line: Line) -> Any:
    """Reads a constant from the line and returns its value: a bool, int, float, complex or NumPy scalar.

    Raises TextError where something else is next.
    """
    if not is_next(line):
        raise line.wrong("a number")
    if line.accepts("-"):
        return -read(line)
    if line.is_at("True", "False"):
        return line.take().text == "True"
    if line.token.kind == "number":
        digits = line.take().text
        return int(digits) if digits.isdecimal() else float(digits)
    if line.accepts("complex"):
        return _complex(line)
    line.expect("np")
    line.expect(".")
    name = line.name("inf, nan or the name of a NumPy type")
    return float(name) if name in ("inf", "nan") else _scalar(line, name)


def _complex(line: Line) -> complex:
    token = line.token
    try:
        return complex(line.string())
    except ValueError:
        raise line.wrong('a complex number, such as complex "(1+2j)"', token) from None


def _scalar(line: Line, name: str) -> np.generic:
    kind, token = numpy_dtype(BY_NUMPY_NAME[name]).type, line.peek(1)
    line.expect("(")
    value = read(line)
    line.expect(")")
    try:
        return kind(value)
    except (OverflowError, TypeError, ValueError):
        raise line.wrong(f"a number of {name}", token) from None


def dtype(line: Line) -> DType:
    """Reads the type of a number, such as `f64`, from the line and returns it.

    Raises TextError where something else is next.
    """
    if line.token.text not in TYPES:
        raise line.wrong(f"a type: {', '.join(TYPES)}")
    return TYPES[line.take().text]


def arg_type(line: Line) -> ArgType:
    """Reads the type of an argument, such as `f64[:, 3]` or `int=3`, from the line and returns it."""
    element = dtype(line)
    if line.accepts("="):
        return ScalarType(element, line.integer())
    if not line.accepts("["):
        return ScalarType(element)
    sizes = line.listed(lambda: None if line.accepts(":") else line.integer("`:` or a size"), "]")
    return ArrayType(element, len(sizes), frozenset((dim, size) for dim, size in enumerate(sizes) if size is not None))
