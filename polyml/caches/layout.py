"""Where the simulator keeps what it knows: its state, a node for each line of memory, counters for each reference.

    state       lines written on, per array and level (i64); the sets of each level; the stack's length and tails
    lines       a node of 16 bytes per line, the first one for no line: the stack's next and previous (i32) and where in the stack
                (i32), the array (i8), whether the line has never been used (i8)
    counters    per reference (i64): uses; first uses of lines; misses of each level; uses from further down the stack than
                each capacity
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polyml.caches.sets import REPLACEMENTS, Sets
from polyml.codegen.ir import Function
from polyml.machine import CacheLevel

NODE_BYTES = 16
NEXT, PREVIOUS, REGION, ARRAY, COLD = 0, 4, 8, 12, 13  # byte offsets in a node
_ALIGNMENT = 64


@dataclass(frozen=True)
class Layout:
    """levels: those that are simulated. capacities: of the stack, in lines, ascending. arrays: how many there are."""

    levels: tuple[CacheLevel, ...]
    capacities: tuple[int, ...]
    arrays: int

    @property
    def line_bytes(self) -> int:
        return self.levels[0].line_bytes

    written = 0  # byte offset in the state
    accesses, cold, misses = 0, 1, 2  # numbers of counters of a reference

    @property
    def far(self) -> int:
        return self.misses + len(self.levels)

    @property
    def counters(self) -> int:
        """Of one reference."""
        return self.far + len(self.capacities)

    @cached_property
    def sets(self) -> tuple[Sets, ...]:
        found: list[Sets] = []
        offset = _rounded(8 * self.arrays * len(self.levels))
        for level in self.levels:
            found.append(REPLACEMENTS[level.replacement](level, offset))
            offset = _rounded(offset + found[-1].count * found[-1].stride)
        return tuple(found)

    @property
    def stack(self) -> int:
        """Byte offset of the stack's length (i64), and of its tails (i32), one per capacity."""
        last = self.sets[-1]
        return _rounded(last.offset + last.count * last.stride)

    @property
    def state_bytes(self) -> int:
        return _rounded(self.stack + 8 + 4 * len(self.capacities))


def _rounded(size_bytes: int) -> int:
    return -(-size_bytes // _ALIGNMENT) * _ALIGNMENT


def node_field(fn: Function, line: str, field: int) -> str:
    """The address of a field of a line's node."""
    return fn.emit(f"getelementptr [{NODE_BYTES} x i8], ptr %lines, i64 {line}, i64 {NODE_BYTES + field}")


def counter(fn: Function, base: str, number: int, by: str = "1") -> None:
    """Count in one of the numbers behind `base`."""
    place = fn.emit(f"getelementptr i64, ptr {base}, i64 {number}")
    before = fn.emit(f"load i64, ptr {place}")
    fn.do(f"store i64 {fn.emit(f'add i64 {before}, {by}')}, ptr {place}")
