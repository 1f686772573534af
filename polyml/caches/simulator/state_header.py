"""The first words of a simulator's state."""

from __future__ import annotations

from polyml.codegen.llvm.builder import Function

# The array of each line (ptr to i16); the thread whose request is served; how many uses the thread made before this one, and
# until now; where its next request goes, where requests begin and end; whom to tell that they are full; its counters
ARRAYS, THREAD, TIME, USES, NEXT, BEGIN, END, TELL, COUNTERS = range(9)
HEADER_BYTES = 128
_ALIGNMENT = 64


def word(fn: Function, number: int) -> str:
    """The address of a word."""
    return fn.emit(f"getelementptr i64, ptr %state, i64 {number}")


def get(fn: Function, number: int, kind: str = "i64") -> str:
    return fn.emit(f"load {kind}, ptr {word(fn, number)}")


def put(fn: Function, number: int, value: str, kind: str = "i64") -> None:
    fn.do(f"store {kind} {value}, ptr {word(fn, number)}")


def rounded(size_bytes: int) -> int:
    """To whole lines of the host."""
    return -(-size_bytes // _ALIGNMENT) * _ALIGNMENT
