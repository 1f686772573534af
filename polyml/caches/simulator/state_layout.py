"""Where a simulator keeps what it knows: its state, and counters for each reference.

One simulator has the levels of one thread or, behind those, the levels that threads share; the first sends what leaves its last
level to the second as a stream of requests (see `requests`).

    state       the header's words (see `header`); lines written on, per array and level (i64); of each cache, whether it had each
                line of memory before, and its sets; the stack's nodes, length and tails
    counters    per reference (i64): uses; of each level: first uses of lines, misses, misses of a fully associative cache of its
                size, misses of lines that writes of other threads took
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polyml.caches.simulator import state_header
from polyml.caches.simulator.fully_associative import Full
from polyml.caches.simulator.set_associative import REPLACEMENTS, Sets
from polyml.codegen.llvm.builder import Function
from polyml.machines.cpu import CacheLevel

NODE_BYTES = 12  # of the stack: next and previous (i32), where in the stack (i32)
ARRAY_BYTES, HOLDERS_BYTES, OWNER_BYTES = 2, 8, 1  # for each line of memory
MOST_WAYS = 16  # that are looked at together where there is one set; more are a list


@dataclass(frozen=True)
class Layout:
    """levels: of the hierarchy. numbers: those that are simulated here. arrays, lines: how many. threads: whose requests come.
    stacked, shadowed: the levels of whose sizes fully associative caches are simulated, for all uses by the stack, and for
    what reaches the level. sends: whether there is another simulator behind the last level. coherent: whether what one thread
    writes leaves the caches of others.
    """

    levels: tuple[CacheLevel, ...]
    numbers: range
    arrays: int
    lines: int
    threads: int = 1
    stacked: tuple[int, ...] = ()
    shadowed: tuple[int, ...] = ()
    sends: bool = False
    coherent: bool = False

    accesses = 0  # number of a counter of a reference

    def cold(self, level: int) -> int:
        return 1 + level

    def misses(self, level: int) -> int:
        return 1 + len(self.levels) + level

    def far(self, level: int) -> int:
        return 1 + 2 * len(self.levels) + level

    def taken(self, level: int) -> int:
        return 1 + 3 * len(self.levels) + level

    @property
    def counters(self) -> int:
        """Of one reference."""
        return 1 + 4 * len(self.levels)

    @property
    def line_bytes(self) -> int:
        return self.levels[0].line_bytes

    @property
    def written(self) -> int:
        """Byte offset in the state."""
        return state_header.HEADER_BYTES

    @property
    def seen_bytes(self) -> int:
        """Of one table: a byte for each line."""
        return state_header.rounded(self.lines)

    @cached_property
    def _offsets(self) -> dict[str | tuple[str, int], int]:
        """Where the parts of the state begin, and "end"."""
        found: dict[str | tuple[str, int], int] = {}
        end = self.written + state_header.rounded(8 * self.arrays * len(self.levels))
        for number in self.numbers:
            found["seen", number] = end
            end += self.seen_bytes * self.instances(number)
            found["sets", number] = end
            end += self._made(number, 0).size_bytes * self.instances(number)
            found["shadow", number] = end
            if number in self.shadowed:
                end += self._shadow(number, 0).size_bytes * self.instances(number)
            found["lost", number] = end
            end += self.seen_bytes * self.instances(number) * self.coherent
        found["owed"] = end
        end += self.seen_bytes * self.threads
        found["holders"] = end
        end += state_header.rounded(HOLDERS_BYTES * self.lines) * self.coherent
        found["owners"] = end
        end += state_header.rounded(OWNER_BYTES * self.lines) * self.coherent
        found["stack"] = end
        end += state_header.rounded(NODE_BYTES * (self.lines + 1))
        found["tails"] = end
        found["end"] = end + state_header.rounded(8 + 4 * len(self.capacities))
        return found

    def sharing(self, number: int) -> int:
        """How many threads use one of the level's caches."""
        return self.levels[number].sharing(self.threads)

    def instances(self, number: int) -> int:
        """How many caches the level has."""
        return -(-self.threads // self.sharing(number))

    @cached_property
    def capacities(self) -> dict[int, tuple[int, ...]]:
        """Of the stack: lines, ascending, each with the levels that have so many."""
        found: dict[int, tuple[int, ...]] = {}
        for number in self.stacked:
            lines = self.levels[number].lines
            found[lines] = (*found.get(lines, ()), number)
        return dict(sorted(found.items()))

    def sets(self, number: int) -> Sets | Full:
        return self._made(number, self._offsets["sets", number])

    def shadow(self, number: int) -> Full:
        return self._shadow(number, self._offsets["shadow", number])

    def seen(self, number: int) -> int:
        """Byte offset of the tables of lines that the level's caches had before."""
        return self._offsets["seen", number]

    def lost(self, number: int) -> int:
        """Byte offset of the tables of lines that writes of other threads took from the level's caches."""
        return self._offsets["lost", number]

    @property
    def holders(self) -> int:
        """Byte offset of the threads, as bits, that may have a line (i64 each)."""
        return self._offsets["holders"]

    @property
    def owners(self) -> int:
        """Byte offset of the number, plus 1, of the thread that may have a line dirty (i8 each); 0: none."""
        return self._offsets["owners"]

    @property
    def owed(self) -> int:
        """Byte offset of the tables, one per thread, of lines that were handed up dirty."""
        return self._offsets["owed"]

    @property
    def stack(self) -> int:
        """Byte offset of the stack's nodes, the first for no line."""
        return self._offsets["stack"]

    @property
    def tails(self) -> int:
        """Byte offset of the stack's length (i64), and of its tails (i32), one per capacity."""
        return self._offsets["tails"]

    @property
    def state_bytes(self) -> int:
        return self._offsets["end"]

    def _made(self, number: int, offset: int) -> Sets | Full:
        level = self.levels[number]
        if level.sets == 1 and level.replacement == "lru" and level.lines > MOST_WAYS:
            return self._shadow(number, offset)
        return REPLACEMENTS[level.replacement](level, offset, self.instances(number), self.sharing(number))

    def _shadow(self, number: int, offset: int) -> Full:
        return Full(self.levels[number], offset, self.instances(number), self.sharing(number), lines=self.lines)


def counter(fn: Function, base: str, number: int, by: str = "1") -> None:
    """Count in one of the numbers behind `base`."""
    place = fn.emit(f"getelementptr i64, ptr {base}, i64 {number}")
    before = fn.emit(f"load i64, ptr {place}")
    fn.do(f"store i64 {fn.emit(f'add i64 {before}, {by}')}, ptr {place}")


def count_written(fn: Function, layout: Layout, number: int, line: str) -> None:
    """A level sends the line on; by the line's array."""
    arrays = state_header.get(fn, state_header.ARRAYS, "ptr")
    array = fn.emit(f"load i16, ptr {fn.emit(f'getelementptr [{ARRAY_BYTES} x i8], ptr {arrays}, i64 {line}')}")
    row = fn.emit(f"zext i16 {array} to i64")
    table = fn.emit(f"getelementptr i8, ptr %state, i64 {layout.written}")
    place = fn.emit(f"getelementptr [{len(layout.levels)} x i64], ptr {table}, i64 {row}, i64 {number}")
    counter(fn, place, 0)
