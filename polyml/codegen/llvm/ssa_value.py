"""SSA values of LLVM code, with the types that they have in registers and in memory."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from polyml.dtypes import BF16, DType


@dataclass(frozen=True)
class SsaValue:
    """An SsaValue is an SSA value or a constant.

    ssa: its SSA name, or the constant's text.
    dtype: the type of an element.
    lanes: the number of elements of a vector; 1 for a scalar.
    """

    ssa: str
    dtype: DType
    lanes: int = 1

    @property
    def type(self) -> str:
        """The value's LLVM type."""
        return vector_type(register_type(self.dtype), self.lanes)


def register_type(dtype: DType) -> str:
    """Returns the LLVM type of a value in a register: of a bool i1, of a bfloat16 that of its bits, i16."""
    if dtype.kind == "b":
        return "i1"
    if dtype == BF16:
        return "i16"
    return {64: "double", 32: "float", 16: "half"}[dtype.bits] if dtype.is_float else f"i{dtype.bits}"


def memory_type(dtype: DType) -> str:
    """Returns the LLVM type of an element in memory: of a bool i8, of others as in a register."""
    return "i8" if dtype.kind == "b" else register_type(dtype)


def vector_type(element: str, lanes: int) -> str:
    """Returns the LLVM type of a vector of so many elements, or the element's own type for a single one."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def name_suffix(kind: str) -> str:
    """Returns what an LLVM type is called in the names of intrinsics: f64, f32, f16, i32."""
    return {"double": "f64", "float": "f32", "half": "f16"}.get(kind, kind)


def literal(value: float, dtype: DType) -> str:
    """Returns the text of the value as an LLVM constant of the type; integers wrap around."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.is_float:
        number = float(value)
        if dtype == BF16:
            return str(struct.unpack("<I", struct.pack("<f", number))[0] >> 16)
        if dtype.bits == 16:
            return f"0xH{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"
        if dtype.bits == 32:  # LLVM's text has a float as the double of the same value
            number = struct.unpack("f", struct.pack("f", number))[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    wrapped = int(value) & ((1 << dtype.bits) - 1)
    return str(wrapped - (1 << dtype.bits) if wrapped >> (dtype.bits - 1) else wrapped)
