"""Where a simulator keeps its data: offsets in its state, and numbers of the counters of a reference.

One simulator has the levels that a thread has to itself; behind it, another one has the levels that threads share. The first sends
what leaves its last level to the second as a stream of requests (see `shared_requests`).

    state       the header's words (see `state_header`); by array and level, lines written on (i64); for each cache, a byte per line
                of memory that says whether it was there before, and the sets; the nodes of the stack, its length and tails; by line of
                memory and level, misses (i64), where these are counted
    counters    per reference (i64): accesses; then, for each level, compulsory misses, misses, misses of a fully associative cache
                of its size, misses of lines that writes of other threads invalidated
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyml.caches.simulator import state_header
from polyml.caches.simulator.fully_associative import FullyAssociative
from polyml.caches.simulator.set_associative import REPLACEMENTS, SimulatedLevel
from polyml.codegen.llvm.builder import FunctionBuilder
from polyml.machines.cpu import CacheLevel
from polyml.values import cached_property

NODE_BYTES = 12  # of the stack: next and previous (i32), where in the stack (i32)
ARRAY_BYTES, HOLDERS_BYTES, OWNER_BYTES = 2, 8, 1  # for each line of memory
MOST_WAYS = 16  # that are looked at together where there is one set; more are a list


@dataclass(frozen=True)
class StateLayout:
    """A StateLayout says where one simulator keeps its data.

    levels: all cache levels of the machine.
    numbers: the numbers of those levels that this simulator simulates.
    arrays, lines: how many arrays and cache lines the program has.
    threads: how many threads make accesses to it.
    stacked: levels for which misses of a fully associative cache that sees all accesses are counted too, by the stack of lines in
        the order of their last use.
    shadowed: levels for which misses of a fully associative cache that sees only what reaches the level are counted too.
    sends: whether another simulator is behind the last level.
    coherent: whether a write of one thread invalidates the line in the caches of others.
    by_line: whether the misses of each line of memory are counted too.
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
    by_line: bool = False

    accesses = 0  # number of a counter of a reference

    def cold(self, level: int) -> int:
        """Returns the index of the counter of compulsory misses of a level, among the counters of a reference."""
        return 1 + level

    def misses(self, level: int) -> int:
        """Returns the index of the counter of misses of a level, among the counters of a reference."""
        return 1 + len(self.levels) + level

    def fully_associative(self, level: int) -> int:
        """Returns the index, among a reference's counters, of that for misses in a fully associative cache of the level's size."""
        return 1 + 2 * len(self.levels) + level

    def invalidated(self, level: int) -> int:
        """Returns the index, among a reference's counters, of the one for misses of lines that a write of another thread had
        removed.
        """
        return 1 + 3 * len(self.levels) + level

    @property
    def counters(self) -> int:
        """Returns how many counters a reference has, for all levels."""
        return 1 + 4 * len(self.levels)

    @property
    def line_bytes(self) -> int:
        """Returns the bytes of a cache line, which are the same at all levels."""
        return self.levels[0].line_bytes

    @property
    def written(self) -> int:
        """Returns the byte offset of an array [array, level] of counters: how many lines of the array each level wrote back."""
        return state_header.HEADER_BYTES

    @property
    def seen_bytes(self) -> int:
        """Returns the size in bytes of a table with one byte for each line of memory, rounded up to whole lines of the host."""
        return state_header.rounded(self.lines)

    @cached_property
    def _offsets(self) -> dict[str | tuple[str, int], int]:
        """Returns {part: the byte offset at which it begins in the state}. A part has a name, or a name and a level's number; "end"
        is where the state ends.
        """
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
        end += state_header.rounded(8 + 4 * len(self.capacities))
        found["line misses"] = end
        found["end"] = end + 8 * self.lines * len(self.levels) * self.by_line
        return found

    def sharing(self, number: int) -> int:
        """Returns how many threads use one of the caches of level `number`."""
        return self.levels[number].sharing(self.threads)

    def instances(self, number: int) -> int:
        """Returns how many caches level `number` has."""
        return -(-self.threads // self.sharing(number))

    @cached_property
    def capacities(self) -> dict[int, tuple[int, ...]]:
        """Returns {capacity in lines: the numbers of the levels that have it}, ascending. It has the levels in `stacked`, for which
        misses of a fully associative cache of their size are counted by the stack of lines in the order of their last use.
        """
        found: dict[int, tuple[int, ...]] = {}
        for number in self.stacked:
            lines = self.levels[number].lines
            found[lines] = (*found.get(lines, ()), number)
        return dict(sorted(found.items()))

    def sets(self, number: int) -> SimulatedLevel:
        """Returns the object whose methods emit code that looks lines up in the caches of level `number`, inserts them and removes
        them.
        """
        return self._made(number, self._offsets["sets", number])

    def shadow(self, number: int) -> FullyAssociative:
        """Returns an object that emits the code of the fully associative caches that are simulated besides those of level `number`,
        for comparison.
        """
        return self._shadow(number, self._offsets["shadow", number])

    def seen(self, number: int) -> int:
        """Returns the byte offset of tables, one for each cache of a level, with a byte for each line of memory: 1 where the cache
        has had the line.
        """
        return self._offsets["seen", number]

    def lost(self, number: int) -> int:
        """Returns the byte offset of tables, one for each cache of a level, with a byte for each line of memory: 1 where the cache
        had the line until another thread wrote to it.
        """
        return self._offsets["lost", number]

    @property
    def holders(self) -> int:
        """Returns the byte offset of the table of holders: for each line, the threads that may have it, as bits (i64)."""
        return self._offsets["holders"]

    @property
    def owners(self) -> int:
        """Returns the byte offset of the table of owners: for each line, the thread that may have it dirty, plus 1, or 0 (i8)."""
        return self._offsets["owners"]

    @property
    def owed(self) -> int:
        """Returns the byte offset of tables, one for each thread, with a byte for each line of memory: 1 where an exclusive level
        gave the thread's own caches the line dirty.
        """
        return self._offsets["owed"]

    @property
    def stack(self) -> int:
        """Returns the byte offset of the nodes of the stack of lines; the first node stands for no line."""
        return self._offsets["stack"]

    @property
    def tails(self) -> int:
        """Returns the byte offset, in the state, of the number of lines in the LRU stack (i64). Behind it is, for each capacity, the
        number of the stack's node (an entry for one line) that is the least recently used one in a cache of this capacity (i32).
        """
        return self._offsets["tails"]

    @property
    def line_misses(self) -> int:
        """Returns the byte offset of an array [line, level] of counters of misses (i64), which is there with `by_line`."""
        return self._offsets["line misses"]

    @property
    def state_bytes(self) -> int:
        """Returns the size of the whole state in bytes."""
        return self._offsets["end"]

    def dirty(self, state: np.ndarray) -> np.ndarray:
        """Returns, for each line of memory, whether one of the caches has it dirty. state: what a run has left."""
        found, content = np.zeros(self.lines, bool), state.view(np.uint8)
        for number in self.numbers:
            sets, start = self.sets(number), self._offsets["sets", number]
            for begin in range(start, start + sets.size_bytes * self.instances(number), sets.size_bytes):
                words = sets.kept(content[begin : begin + sets.size_bytes].view(np.int32))
                found[words[words % 2 == 1] // 2 - 1] = True
        for thread in range(self.threads):
            owed = self.owed + thread * self.seen_bytes
            found |= content[owed : owed + self.lines] != 0
        return found

    def _made(self, number: int, offset: int) -> SimulatedLevel:
        """Returns an object that emits the code for the caches of a level, which begin at a byte offset; its class is that of the
        level's replacement policy.
        """
        level = self.levels[number]
        if level.sets == 1 and level.replacement == "lru" and level.lines > MOST_WAYS:
            return self._shadow(number, offset)
        return REPLACEMENTS[level.replacement](level, offset, self.instances(number), self.sharing(number))

    def _shadow(self, number: int, offset: int) -> FullyAssociative:
        """Returns an object that emits the code for fully associative caches of a level's size, which begin at a byte offset."""
        return FullyAssociative(self.levels[number], offset, self.instances(number), self.sharing(number), lines=self.lines)


def counter(fn: FunctionBuilder, base: str, number: int, by: str = "1") -> None:
    """Emits code that adds `by`, the name of an LLVM value, to counter `number`. base: the address of counter 0."""
    place = fn.emit(f"getelementptr i64, ptr {base}, i64 {number}")
    before = fn.emit(f"load i64, ptr {place}")
    fn.do(f"store i64 {fn.emit(f'add i64 {before}, {by}')}, ptr {place}")


def count_written(fn: FunctionBuilder, layout: StateLayout, number: int, line: str) -> None:
    """Emits code that counts a line that level `number` writes back, for the array that the line belongs to."""
    arrays = state_header.get(fn, state_header.ARRAYS, "ptr")
    array = fn.emit(f"load i16, ptr {fn.emit(f'getelementptr [{ARRAY_BYTES} x i8], ptr {arrays}, i64 {line}')}")
    row = fn.emit(f"zext i16 {array} to i64")
    table = fn.emit(f"getelementptr i8, ptr %state, i64 {layout.written}")
    place = fn.emit(f"getelementptr [{len(layout.levels)} x i64], ptr {table}, i64 {row}, i64 {number}")
    counter(fn, place, 0)


def count_line_miss(fn: FunctionBuilder, layout: StateLayout, number: int, line: str) -> None:
    """Emits code that counts a miss of level `number` for a line of memory."""
    table = fn.emit(f"getelementptr i8, ptr %state, i64 {layout.line_misses}")
    counter(fn, fn.emit(f"getelementptr [{len(layout.levels)} x i64], ptr {table}, i64 {line}, i64 {number}"), 0)
