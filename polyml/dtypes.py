"""The number types of the language."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any


@dataclass(frozen=True)
class DType:
    """A DType is a type of numbers: one of NumPy's fixed-size types, or one of Python's own numbers, which are weak.

    A weak type takes part in NumPy's promotion (NEP 50) without widening the other operand. `PYINT` is held in 64 bits and checked
    for overflow, since a Python int never wraps.

    name: how polyml prints the type, such as "f64" or "int".
    kind: "c" complex, "f" float, "i" signed, "u" unsigned, "b" bool.
    bits: the width of a number in bits.
    weak: whether it is one of Python's own types.
    """

    name: str
    kind: str  # "c" complex, "f" float, "i" signed, "u" unsigned, "b" bool
    bits: int
    weak: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def size_bytes(self) -> int:
        """Returns the size of one number of the type in bytes."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        """Returns whether the type is a real floating-point type."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Returns whether the type is complex."""
        return self.kind == "c"

    @property
    def part(self) -> DType:
        """Returns the type of the real and imaginary parts of a complex type; the type itself where it is real."""
        return {128: F64, 64: F32}[self.bits] if self.is_complex else self

    @property
    def is_integer(self) -> bool:
        """Returns whether the type is a signed or unsigned integer type."""
        return self.kind in "iu"

    @property
    def numpy_name(self) -> str:
        """Returns NumPy's name of the type, such as "float64", "int32" or "bool"; "bfloat16" is the name of ml_dtypes."""
        stem = {"c": "complex", "f": "float", "i": "int", "u": "uint", "b": "bool"}[self.kind]
        brain = "b" if self.name == "bf16" else ""
        return "bool" if self.kind == "b" else f"{brain}{stem}{self.bits}"

    @property
    def limits(self) -> tuple[Any, Any]:
        """Returns the least and the greatest value of the type, in NumPy's order; infinities where it has them.

        >>> I8.limits, F32.limits, BOOL.limits, C64.limits
        ((-128, 127), (-inf, inf), (False, True), ((-inf-infj), (inf+infj)))
        """
        if self.is_complex:
            return complex(-inf, -inf), complex(inf, inf)
        if self.is_float:
            return -inf, inf
        if self.kind == "b":
            return False, True
        low = 0 if self.kind == "u" else -(2 ** (self.bits - 1))
        return low, low + 2**self.bits - 1


C128, C64 = (DType(f"c{b}", "c", b) for b in (128, 64))
F64, F32, F16 = (DType(f"f{b}", "f", b) for b in (64, 32, 16))
BF16 = DType("bf16", "f", 16)  # ml_dtypes'
I8, I16, I32, I64 = (DType(f"i{b}", "i", b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (DType(f"u{b}", "u", b) for b in (8, 16, 32, 64))
BOOL = DType("bool", "b", 8)
PYINT = DType("int", "i", 64, weak=True)
PYFLOAT = DType("float", "f", 64, weak=True)
PYCOMPLEX = DType("complex", "c", 128, weak=True)
PYBOOL = DType("pybool", "b", 8, weak=True)

OF_PYTHON = {bool: PYBOOL, int: PYINT, float: PYFLOAT, complex: PYCOMPLEX}  # Python's types of numbers
HALVES = (F16, BF16)  # computed in F32
FIXED = (C128, C64, F64, F32, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64, BOOL)
ACCEPTED = "complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool"
BY_PART = {d.part: d for d in (C128, C64)}  # the type of a part -> the complex type
BY_NUMPY_NAME = {d.numpy_name: d for d in FIXED}
