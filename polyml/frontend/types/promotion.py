"""Promotion: the type of an operation's result, by NumPy 2's rules (NEP 50), asked of NumPy itself, and by Python's own.

A rule takes the types that the operands have when the program runs, so PYINT, PYFLOAT and PYBOOL are Python numbers here:
two of them follow Python, one beside a NumPy scalar is weak. Each rule returns (type of the operands while computing,
type of the result).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from polyml.dtypes import BF16, BOOL, BY_NUMPY_NAME, F16, FIXED, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT, DType
from polyml.numpy_dtypes import numpy_dtype

UFUNCS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.remainder,
    "**": np.power, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<<": np.left_shift, ">>": np.right_shift,
}  # fmt: skip
_UNARY_UFUNCS = {"-": np.negative, "+": np.positive, "~": np.invert, "abs": np.absolute}
_BITS = ("&", "|", "^", "<<", ">>")
_OF_COMPLEX = ("+", "-", "*", "/", "**")
_BY_EXAMPLE: dict[str, Callable[..., Any]] = {  # functions with rules of their own, which only NumPy's results tell
    "where": lambda then, orelse: np.where(True, then, orelse),
    "clip": np.clip,
    "matmul": lambda left, right: np.matmul([left], [right]),
    "einsum": lambda *factors: np.einsum(",".join("i" * len(factors)) + "->", *([factor] for factor in factors)),
}


class NoRule(Exception):
    """The exception that says that an operation does not exist for the types of its operands; its text says why."""


@cache
def binary(op: str, left: DType, right: DType) -> tuple[DType, DType]:
    """Returns (type to compute in, type of the result) of an arithmetic or bit operator.

    Raises NoRule where the operator does not take these types.

    >>> binary("+", BY_NUMPY_NAME["float32"], PYFLOAT)[1].name
    'f32'
    """
    if left.weak and right.weak:
        return _python_binary(op, left, right)
    return _numpy(UFUNCS[op], left, right)


def _python_binary(op: str, left: DType, right: DType) -> tuple[DType, DType]:
    if op in ("&", "|", "^") and left == right == PYBOOL:
        return PYBOOL, PYBOOL
    if PYCOMPLEX in (left, right):
        if op not in _OF_COMPLEX:
            raise NoRule(f"Python has no {op} of a complex")
        return PYCOMPLEX, PYCOMPLEX
    floats = PYFLOAT in (left, right)
    if op in _BITS and floats:
        raise NoRule(f"Python has no {op} of a float")
    if op == "/":
        return PYFLOAT, PYFLOAT
    common = PYFLOAT if floats else PYINT
    return common, common


@cache
def unary(op: str, operand: DType) -> tuple[DType, DType]:
    """Returns (type to compute in, type of the result) of an operator of one operand: "-" "+" "~", or "abs" for the builtin.

    Raises NoRule where the operator does not take this type.
    """
    if not operand.weak:
        return _numpy(_UNARY_UFUNCS[op], operand)
    if op == "~" and operand in (PYFLOAT, PYCOMPLEX):
        raise NoRule(f"Python has no ~ of a {operand}")
    result = operand if operand in (PYFLOAT, PYCOMPLEX) else PYINT
    return result, PYFLOAT if op == "abs" and operand == PYCOMPLEX else result


@cache
def function(name: str, operands: tuple[DType, ...]) -> tuple[DType, DType]:
    """Returns (type to compute in, type of the result) of a NumPy function, by its name: a ufunc, where, clip, matmul or einsum.

    Called with Python numbers alone, the function gives a NumPy scalar. Raises NoRule where it does not take these types.
    """
    if name in _BY_EXAMPLE:
        return _from_example(name, operands)
    return _numpy(getattr(np, {"pow": "power"}.get(name, name)), *operands)


@cache
def comparison(op: str, left: DType, right: DType) -> tuple[DType | None, DType]:
    """Returns (type to compare in, type of the result) of a comparison.

    The first is None for integers of which no type of the language holds both: i64 or int with u64. A Python int and an integer of
    NumPy's are compared by value, also where the Python int does not fit the other's type. Raises NoRule for < <= > >= of Python's
    complex numbers.
    """
    result = PYBOOL if left.weak and right.weak else BOOL
    kinds = {left.kind, right.kind}
    if left.weak and right.weak and "c" in kinds:
        if op not in ("==", "!="):
            raise NoRule(f"Python has no {op} of a complex")
        return PYCOMPLEX, result
    if left.weak and right.weak or kinds <= set("iub"):
        return _common_integer(left, right) if "f" not in kinds else PYFLOAT, result
    return _numpy(np.less, left, right)[0], result


def _common_integer(left: DType, right: DType) -> DType | None:
    if left.kind == right.kind == "b":
        return BOOL
    weak = [d for d in (left, right) if d.weak]
    candidates = [PYINT] if len(weak) == 2 else [d for d in (*FIXED, PYINT) if d.is_integer]
    holding = [d for d in candidates if all(embeds(x, d) for x in (left, right))]
    return min(holding, key=lambda d: d.bits, default=None)


def embeds(inner: DType, outer: DType) -> bool:
    """Returns whether type `outer` holds every value of type `inner` exactly.

    >>> embeds(BY_NUMPY_NAME["uint32"], BY_NUMPY_NAME["float64"]), embeds(PYINT, PYFLOAT)
    (True, False)
    """
    if outer.is_complex:
        return embeds(inner.part, outer.part)
    if inner.kind == outer.kind:
        return inner.bits <= outer.bits and {inner, outer} != {F16, BF16}
    if inner.kind == "b":
        return True
    if outer.kind == "f":
        mantissa_bits = 8 if outer == BF16 else {64: 53, 32: 24, 16: 11}[outer.bits]
        return inner.is_integer and inner.bits - (inner.kind == "i") <= mantissa_bits
    return inner.kind == "u" and outer.kind == "i" and inner.bits < outer.bits


@cache
def join(dtypes: frozenset[DType]) -> DType | None:
    """Returns the smallest fixed type that holds every value of all the fixed types in a set, or None where there is none."""
    holding = [d for d in FIXED if all(embeds(x, d) for x in dtypes)]
    return min(holding, key=lambda d: (d not in dtypes, d.is_complex, d.bits, d.is_float), default=None)


def _from_example(name: str, operands: tuple[DType, ...]) -> tuple[DType, DType]:
    """Returns (type to compute in, type of the result); both are the type that NumPy gives for ones of the operands' types.

    name: one of the functions np.where, clip, matmul and einsum, which are no ufuncs and so are tried. Raises NoRule where it does
        not take these types.
    """
    try:
        made = BY_NUMPY_NAME[_BY_EXAMPLE[name](*map(_one, operands)).dtype.name]
    except TypeError as problem:
        what = "common type" if name == "where" else name
        raise NoRule(f"NumPy has no {what} of {' and '.join(map(_spelled, operands))}") from problem
    return made, made


def _numpy(ufunc: np.ufunc, *operands: DType) -> tuple[DType, DType]:
    try:
        *inputs, result = ufunc.resolve_dtypes((*map(_resolvable, operands), None))
    except TypeError as problem:
        raise NoRule(f"NumPy has no {ufunc.__name__} of {' and '.join(map(_spelled, operands))}") from problem
    if inputs[0].name not in BY_NUMPY_NAME or result.name not in BY_NUMPY_NAME:
        given = " and ".join(map(_spelled, operands))
        raise NoRule(f"NumPy computes {ufunc.__name__} of {given} in {inputs[0].name}, which is not a type of the language")
    return BY_NUMPY_NAME[inputs[0].name], BY_NUMPY_NAME[result.name]


def _resolvable(dtype: DType):
    if dtype.weak and dtype != PYBOOL:  # NumPy takes a Python bool for its own bool
        return {PYCOMPLEX: complex, PYFLOAT: float, PYINT: int}[dtype]
    return numpy_dtype(dtype)


def _one(dtype: DType) -> object:
    kind = _resolvable(dtype)
    return kind.type(1) if isinstance(kind, np.dtype) else kind(1)


def _spelled(dtype: DType) -> str:
    return f"a Python {dtype.kind == 'b' and 'bool' or dtype.name}" if dtype.weak else dtype.numpy_name
