"""The number types of the language."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DType:
    """A scalar type: NumPy's fixed-size types, and Python's own numbers, which are weak.

    A weak type takes part in NumPy 2 promotion (NEP 50) without widening the other operand.
    `PYINT` is held in 64 bits and checked for overflow, since a Python int never wraps.
    """

    name: str
    kind: str  # "f" float, "i" signed, "u" unsigned, "b" bool
    bits: int
    weak: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def size_bytes(self) -> int:
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def numpy_name(self) -> str:
        """The name of NumPy's type: "float64", "int32", "bool"; of ml_dtypes' "bfloat16"."""
        stem = {"f": "float", "i": "int", "u": "uint", "b": "bool"}[self.kind]
        brain = "b" if self.name == "bf16" else ""
        return "bool" if self.kind == "b" else f"{brain}{stem}{self.bits}"


F64, F32, F16 = (DType(f"f{b}", "f", b) for b in (64, 32, 16))
BF16 = DType("bf16", "f", 16)  # ml_dtypes'
I8, I16, I32, I64 = (DType(f"i{b}", "i", b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (DType(f"u{b}", "u", b) for b in (8, 16, 32, 64))
BOOL = DType("bool", "b", 8)
PYINT = DType("int", "i", 64, weak=True)
PYFLOAT = DType("float", "f", 64, weak=True)
PYBOOL = DType("pybool", "b", 8, weak=True)

HALVES = (F16, BF16)  # computed in F32
FIXED = (F64, F32, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64, BOOL)
BY_NUMPY_NAME = {d.numpy_name: d for d in FIXED}
