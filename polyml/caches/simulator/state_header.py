"""The header of a simulator's state, 64-bit words with fixed numbers, and access to them from LLVM code."""

from __future__ import annotations

from polyml.codegen.llvm.builder import FunctionBuilder

# The array of each line (ptr to i16); the thread whose request is served; how many uses the thread made before this one, and
# until now; where its next request goes, where requests begin and end; whom to tell that they are full; its counters
ARRAYS, THREAD, TIME, USES, NEXT, BEGIN, END, TELL, COUNTERS = range(9)
HEADER_BYTES = 128
_ALIGNMENT = 64


def word(fn: FunctionBuilder, number: int) -> str:
    """Emits code for the address of a word of the header of a simulator's state. number: one of this module's constants, such as
    TIME.
    """
    return fn.emit(f"getelementptr i64, ptr %state, i64 {number}")


def get(fn: FunctionBuilder, number: int, kind: str = "i64") -> str:
    """Emits a load of a word of the header of a simulator's state.

    number: the word, one of this module's constants, such as TIME.
    kind: the LLVM type that is loaded.
    """
    return fn.emit(f"load {kind}, ptr {word(fn, number)}")


def put(fn: FunctionBuilder, number: int, value: str, kind: str = "i64") -> None:
    """Emits a store to a word of the header of a simulator's state.

    number: the word, one of this module's constants, such as TIME.
    kind: the LLVM type of the value.
    """
    fn.do(f"store {kind} {value}, ptr {word(fn, number)}")


def rounded(size_bytes: int) -> int:
    """Returns a number of bytes, rounded up to a multiple of the host's cache line."""
    return -(-size_bytes // _ALIGNMENT) * _ALIGNMENT
