"""Levels of caches as LLVM functions that call one another: what an access asks of a level, it asks of the next where it must.

    touch_k(line, write)    the line is used; gives 1 where the level hands a dirty line up (exclusive ones do)
    written_k(line)         a dirty line, or a write, comes from above
    drop_k(line)            the line must go; gives 1 where it was dirty
    insert_k(line, dirty)   a line that the level above let go (exclusive ones)

All get the simulator's state, the lines' nodes (see `layout`) and the counters of the reference behind the access. The first
level is looked up by every access, the others where the one above has not got the line. Memory is behind the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polyml.caches.layout import ARRAY, COLD, Layout, counter, node_field
from polyml.caches.sets import Found, Sets, line_of, word_of
from polyml.codegen.ir import Function, Unit

_ATTRIBUTES = "nounwind noinline"


def units(layout: Layout) -> Iterator[Unit]:
    """The functions of all levels."""
    for number in range(len(layout.sets)):
        yield from _Level(layout, number).units()


def touch(fn: Function, line: str, count: str, write: bool, first: Sets) -> None:
    """One access, by code that leaves at once where nothing changes."""
    slow, done = fn.block("slow"), fn.block("go")
    if first.level.writes == "through" and write:
        fn.jump(slow)
    else:
        fn.branch(first.is_newest(fn, line, write), done, slow)
    fn.current = slow
    fn.emit(f"call fastcc i32 @touch_0(ptr %state, ptr %lines, ptr {count}, i64 {line}, i32 {int(write)})")
    fn.jump(done)
    fn.current = done


@dataclass(frozen=True)
class _Level:
    layout: Layout
    number: int

    @property
    def sets(self) -> Sets:
        return self.layout.sets[self.number]

    @property
    def is_last(self) -> bool:
        return self.number + 1 == len(self.layout.sets)

    @property
    def below(self) -> Sets | None:
        return None if self.is_last else self.layout.sets[self.number + 1]

    def is_(self, **wanted: str) -> bool:
        return all(getattr(self.sets.level, name) == value for name, value in wanted.items())

    def units(self) -> Iterator[Unit]:
        yield self._unit("touch", "i32", "ptr %count, i64 %line, i32 %write", self._touch)
        if self.number:
            yield self._unit("written", "i32", "ptr %count, i64 %line", self._written)
        if any(s.level.contents == "inclusive" for s in self.layout.sets[self.number + 1 :]):
            yield self._unit("drop", "i32", "i64 %line", self._drop)
        if self.is_(contents="exclusive"):
            yield self._unit("insert", "i32", "ptr %count, i64 %line, i32 %dirty", self._insert)

    def _unit(self, name: str, result: str, arguments: str, define) -> Unit:
        full = f"{name}_{self.number}"
        fn = Function(f"internal fastcc {result} @{full}(ptr %state, ptr %lines, {arguments})")
        fn.attributes = _ATTRIBUTES
        define(fn)
        text = fn.text()
        return Unit(full, text, self.sets.declarations(), len(text))

    def _touch(self, fn: Function) -> None:
        found = self.sets.look(fn, "%line")
        hit, miss = fn.block("hit"), fn.block("miss")
        fn.branch(found.hit, hit, miss)
        fn.current = hit
        self._hit(fn, found)
        fn.current = miss
        self._miss(fn, found)

    def _hit(self, fn: Function, found: Found) -> None:
        if self.is_(contents="exclusive"):
            dirty = fn.emit(f"and i32 {self.sets.word(fn, found)}, 1")
            self.sets.remove(fn, found)
            fn.current.terminator = f"ret i32 {dirty}"
            return
        if self.is_(writes="through"):
            self.sets.use(fn, found, "0")
            self._write_on(fn)
        else:
            self.sets.use(fn, found, "%write")
        fn.current.terminator = "ret i32 0"

    def _miss(self, fn: Function, found: Found) -> None:
        counter(fn, "%count", self.layout.misses + self.number)
        if self.number == 0:
            self._count_cold(fn)
        given = self._touch_below(fn, "0")
        if self.is_(contents="exclusive"):
            fn.current.terminator = f"ret i32 {given}"
            return
        dirty = given
        if self.is_(writes="through"):
            self._write_on(fn)
        else:
            dirty = fn.emit(f"or i32 {given}, %write")
        word = fn.emit(f"or i32 {word_of(fn, '%line')}, {dirty}")
        self._let_go(fn, self.sets.put(fn, found.address, word))
        fn.current.terminator = "ret i32 0"

    def _count_cold(self, fn: Function) -> None:
        """The first time that the line is used at all."""
        place = node_field(fn, "%line", COLD)
        cold = fn.emit(f"load i8, ptr {place}")
        fn.do(f"store i8 0, ptr {place}")
        counter(fn, "%count", self.layout.cold, fn.emit(f"zext i8 {cold} to i64"))

    def _touch_below(self, fn: Function, write: str) -> str:
        if self.is_last:
            return "0"
        return fn.emit(
            f"call fastcc i32 @touch_{self.number + 1}(ptr %state, ptr %lines, ptr %count, i64 %line, i32 {write})"
        )

    def _write_on(self, fn: Function) -> None:
        """A write goes to the next level at once."""
        writes, done = fn.block("writes"), fn.block("on")
        fn.branch(fn.emit("icmp ne i32 %write, 0"), writes, done)
        fn.current = writes
        self._count_written(fn, "%line")
        if not self.is_last:
            self._touch_below(fn, "1")
        fn.jump(done)
        fn.current = done

    def _let_go(self, fn: Function, word: str) -> None:
        """A line has lost its way."""
        some, done = fn.block("some"), fn.block("done")
        fn.branch(fn.emit(f"icmp ne i32 {word}, 0"), some, done)
        fn.current = some
        line, dirty = line_of(fn, word), fn.emit(f"and i32 {word}, 1")
        if self.is_(contents="inclusive"):
            for above in range(self.number):
                had = fn.emit(f"call fastcc i32 @drop_{above}(ptr %state, ptr %lines, i64 {line})")
                dirty = fn.emit(f"or i32 {dirty}, {had}")
        if self.below is not None and self.below.level.contents == "exclusive":
            number = self.number + 1
            fn.emit(f"call fastcc i32 @insert_{number}(ptr %state, ptr %lines, ptr %count, i64 {line}, i32 {dirty})")
            fn.jump(done)
        else:
            goes_on = fn.block("dirty")
            fn.branch(fn.emit(f"icmp ne i32 {dirty}, 0"), goes_on, done)
            fn.current = goes_on
            self._pass_on(fn, line)
            fn.jump(done)
        fn.current = done

    def _pass_on(self, fn: Function, line: str) -> None:
        """A dirty line goes to the next level."""
        self._count_written(fn, line)
        if not self.is_last:
            fn.emit(f"call fastcc i32 @written_{self.number + 1}(ptr %state, ptr %lines, ptr %count, i64 {line})")

    def _count_written(self, fn: Function, line: str) -> None:
        """By the array of the line, whichever access it is that makes the line go."""
        array = fn.emit(f"load i8, ptr {node_field(fn, line, ARRAY)}")
        row = fn.emit(f"zext i8 {array} to i64")
        table = fn.emit(f"getelementptr i8, ptr %state, i64 {self.layout.written}")
        place = fn.emit(f"getelementptr [{len(self.layout.sets)} x i64], ptr {table}, i64 {row}, i64 {self.number}")
        counter(fn, place, 0)

    def _written(self, fn: Function) -> None:
        found = self.sets.look(fn, "%line")
        hit, miss = fn.block("hit"), fn.block("miss")
        fn.branch(found.hit, hit, miss)
        fn.current = hit
        if self.is_(writes="back"):
            self.sets.make_dirty(fn, found)
        else:
            self._pass_on(fn, "%line")
        fn.current.terminator = "ret i32 0"
        fn.current = miss
        self._pass_on(fn, "%line")
        fn.current.terminator = "ret i32 0"

    def _drop(self, fn: Function) -> None:
        found = self.sets.look(fn, "%line")
        hit, miss = fn.block("hit"), fn.block("miss")
        fn.branch(found.hit, hit, miss)
        miss.terminator = "ret i32 0"
        fn.current = hit
        dirty = fn.emit(f"and i32 {self.sets.word(fn, found)}, 1")
        self.sets.remove(fn, found)
        fn.current.terminator = f"ret i32 {dirty}"

    def _insert(self, fn: Function) -> None:
        word = fn.emit(f"or i32 {word_of(fn, '%line')}, %dirty")
        self._let_go(fn, self.sets.put(fn, self.sets.address(fn, "%line"), word))
        fn.current.terminator = "ret i32 0"
