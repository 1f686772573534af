"""The levels of a cache hierarchy as LLVM functions that call one another: a level that lacks a line calls the next one.

    touch_k(line, write)    an access to the line; returns 1 where the level hands a dirty line up (exclusive ones do)
    written_k(line)         a dirty line, or a write, comes from the level above
    insert_k(line, dirty)   the level above evicted the line (exclusive levels only)
    drop_k(line, from, to)  the line is removed from caches from ... to - 1 of the level; returns 1 where it was dirty
    fill_k(line)            an access, in the fully associative cache beside the level
    take_k(line)            another thread writes the line; returns 1 where it was dirty in a cache that is not this thread's
    clean_k(line, cache)    another thread reads the line; returns 1 where it was dirty in that cache

All of them take the simulator's state (see `state_layout`) and the counters of the reference that makes the access. Every access
looks the line up in the first level, and in another one where the level above lacks it. Behind the last level is memory, or another
simulator, for which requests are written down (see `shared_requests`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polyml.caches.simulator import coherence, shared_requests
from polyml.caches.simulator.set_associative import Lookup, SimulatedLevel, line_of, word_of
from polyml.caches.simulator.state_layout import StateLayout, count_line_miss, count_written, counter
from polyml.codegen.llvm.builder import FunctionBuilder, Unit

_ATTRIBUTES = "nounwind noinline"


def units(layout: StateLayout) -> Iterator[Unit]:
    """Yields the LLVM functions of all cache levels that a simulator has. If the level behind these belongs to another simulator,
    there are also functions that send it requests.
    """
    for number in layout.numbers:
        yield from _LevelFunctions(layout, number).units()
    if layout.coherent:
        yield from coherence.units(layout)
    if layout.sends:
        yield from shared_requests.units(layout.numbers.stop, layout.levels[layout.numbers.stop].contents == "exclusive")


def touch(fn: FunctionBuilder, line: str, count: str, write: bool, layout: StateLayout, prepare: Callable[[], None]) -> None:
    """Emits code for one access to the first cache level. Where the line is the one used last, the access changes nothing, and the
    level's function is not called.

    line, count: names of LLVM values: the line's number, and the address of the reference's counters.
    prepare: emits what has to come before the call.
    """
    call = f"call fastcc i32 @touch_0(ptr %state, ptr {count}, i64 {line}, i32 {int(write)})"
    if not layout.numbers:
        prepare()
        fn.emit(call)
        return
    slow, done = fn.block("slow"), fn.block("go")
    first = layout.sets(0)
    if first.level.writes == "through" and write:
        fn.jump(slow)
    else:
        fn.branch(first.is_newest(fn, line, write), done, slow)
    fn.current = slow
    prepare()
    fn.emit(call)
    fn.jump(done)
    fn.current = done


@dataclass(frozen=True)
class _LevelFunctions:
    """A _LevelFunctions emits the LLVM functions of level `number` of the cache hierarchy."""

    layout: StateLayout
    number: int

    @property
    def sets(self) -> SimulatedLevel:
        """Returns the object whose methods emit code that looks lines up in the level's caches, inserts them and removes them."""
        return self.layout.sets(self.number)

    @property
    def is_last(self) -> bool:
        """Returns whether the level is the last of the machine, with memory behind it."""
        return self.number + 1 == len(self.layout.levels)

    def is_(self, **wanted: str) -> bool:
        """Returns whether fields of the level's description, a CacheLevel, have the given values, such as writes="through"."""
        return all(getattr(self.sets.level, name) == value for name, value in wanted.items())

    def units(self) -> Iterator[Unit]:
        """Yields those of the functions `touch_k`, `written_k`, ... of level k that are called in this hierarchy."""
        layout, number = self.layout, self.number
        yield self._unit("touch", "i32", "ptr %count, i64 %line, i32 %write", self._touch)
        if number:
            yield self._unit("written", "i32", "ptr %count, i64 %line", self._written)
        if any(layout.levels[below].contents == "inclusive" for below in layout.numbers if below > number):
            yield self._unit("drop", "i32", "i64 %line, i64 %from, i64 %to", self._drop)
        if self.is_(contents="exclusive"):
            yield self._unit("insert", "i32", "ptr %count, i64 %line, i32 %dirty", self._insert)
        if layout.coherent and self.sets.instances > 1:
            yield self._unit("take", "i32", "i64 %line", self._take)
            yield self._unit("clean", "i32", "i64 %line, i64 %cache", self._clean)
        if number in layout.shadowed:
            yield self._unit("fill", "void", "ptr %count, i64 %line", self._fill)

    def _unit(self, name: str, result: str, arguments: str, define) -> Unit:
        """Returns an LLVM function `name_k`, where k is the number of the level, whose body `define` emits.

        result: the LLVM type of the function's result.
        arguments: the declarations of its arguments after the simulator's state.
        """
        full = f"{name}_{self.number}"
        fn = FunctionBuilder(f"internal fastcc {result} @{full}(ptr %state, {arguments})")
        fn.attributes = _ATTRIBUTES
        define(fn)
        text = fn.text()
        return Unit(full, text, self.sets.declarations(), len(text))

    def _touch(self, fn: FunctionBuilder) -> None:
        """Emits the body of `touch_k`, an access to level k: it looks the line up and does what is due where the level has it, or
        lacks it.
        """
        if self.number in self.layout.shadowed:
            fn.do(f"call fastcc void @fill_{self.number}(ptr %state, ptr %count, i64 %line)")
        found = self.sets.look(fn, "%line")
        hit, miss = fn.block("hit"), fn.block("miss")
        fn.branch(found.hit, hit, miss)
        fn.current = hit
        self._hit(fn, found)
        fn.current = miss
        self._miss(fn, found)

    def _hit(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code for an access to a line that the level has: the line becomes the last used one. An exclusive level, though,
        removes the line, since the level above takes it and only one of the two keeps it.
        """
        if self.is_(contents="exclusive"):
            dirty = fn.emit(f"and i32 {self.sets.word(fn, found)}, 1")
            self.sets.remove(fn, found)
            if self.layout.coherent:
                coherence.hand_up(fn, self.layout, dirty)
            fn.current.terminator = f"ret i32 {dirty}"
            return
        if self.is_(writes="through"):
            self.sets.use(fn, found, "0")
            self._write_on(fn)
        else:
            self.sets.use(fn, found, "%write")
        fn.current.terminator = "ret i32 0"

    def _miss(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code for an access to a line that the level lacks: it counts a miss, and takes the line from the next level."""
        counter(fn, "%count", self.layout.misses(self.number))
        if self.layout.by_line:
            count_line_miss(fn, self.layout, self.number, "%line")
        self._count_cold(fn)
        if self.layout.coherent and self.sets.instances > 1:
            lost = self._lost(fn, self.sets.instance(fn))
            counter(
                fn, "%count", self.layout.invalidated(self.number), fn.emit(f"zext i8 {fn.emit(f'load i8, ptr {lost}')} to i64")
            )
            fn.do(f"store i8 0, ptr {lost}")
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

    def _count_cold(self, fn: FunctionBuilder) -> None:
        """Emits code that counts a compulsory miss if the line is new to this cache: no thread that uses the cache has used it."""
        table = fn.emit(f"getelementptr i8, ptr %state, i64 {self.layout.seen(self.number)}")
        own = fn.emit(f"getelementptr [{self.layout.seen_bytes} x i8], ptr {table}, i64 {self.sets.instance(fn)}")
        place = fn.emit(f"getelementptr i8, ptr {own}, i64 %line")
        cold = fn.emit(f"xor i8 {fn.emit(f'load i8, ptr {place}')}, 1")
        fn.do(f"store i8 1, ptr {place}")
        counter(fn, "%count", self.layout.cold(self.number), fn.emit(f"zext i8 {cold} to i64"))

    def _touch_below(self, fn: FunctionBuilder, write: str) -> str:
        """Emits an access to the line `%line` in the next level, which is a write where the value `write` is 1. Returns the name of
        a value, 1 where that level hands the line up dirty and keeps it no longer; "0" where memory is next.
        """
        if self.is_last:
            return "0"
        return fn.emit(f"call fastcc i32 @touch_{self.number + 1}(ptr %state, ptr %count, i64 %line, i32 {write})")

    def _write_on(self, fn: FunctionBuilder) -> None:
        """Emits code for a level that writes through: if the access is a write, it is made in the next level too, at once, and
        counted as one that this level passed on.
        """
        writes, done = fn.block("writes"), fn.block("on")
        fn.branch(fn.emit("icmp ne i32 %write, 0"), writes, done)
        fn.current = writes
        self._count_written(fn, "%line")
        if not self.is_last:
            self._touch_below(fn, "1")
        fn.jump(done)
        fn.current = done

    def _let_go(self, fn: FunctionBuilder, word: str) -> None:
        """Emits code for what happens to a line that this level evicts.

        An inclusive level removes the line from the levels above too. If the next level is exclusive, it takes the line; otherwise
        the line is written to the next level if it is dirty.

        word: 2 * (line + 1), plus 1 where the line is dirty; 0 where none was evicted.
        """
        some, done = fn.block("some"), fn.block("done")
        fn.branch(fn.emit(f"icmp ne i32 {word}, 0"), some, done)
        fn.current = some
        line, dirty = line_of(fn, word), fn.emit(f"and i32 {word}, 1")
        if self.is_(contents="inclusive"):
            for above in range(self.layout.numbers.start, self.number):
                first, past = self._above(fn, above)
                had = fn.emit(f"call fastcc i32 @drop_{above}(ptr %state, i64 {line}, i64 {first}, i64 {past})")
                dirty = fn.emit(f"or i32 {dirty}, {had}")
        if not self.is_last and self.layout.levels[self.number + 1].contents == "exclusive":
            number = self.number + 1
            fn.emit(f"call fastcc i32 @insert_{number}(ptr %state, ptr %count, i64 {line}, i32 {dirty})")
            fn.jump(done)
        else:
            goes_on = fn.block("dirty")
            fn.branch(fn.emit(f"icmp ne i32 {dirty}, 0"), goes_on, done)
            fn.current = goes_on
            self._pass_on(fn, line)
            fn.jump(done)
        fn.current = done

    def _above(self, fn: FunctionBuilder, above: int) -> tuple[str, str]:
        """Emits code for which caches of level `above`, nearer to the threads, are used by the threads that share the current cache
        of this level. Returns the names of two values: the number of the first of these caches, and one more than that of the last.
        """
        own, theirs = self.sets, self.layout.sets(above)
        if own.instances == 1:
            return "0", str(theirs.instances)
        thread = fn.emit(f"mul i64 {own.instance(fn)}, {own.sharing}")
        past = fn.emit(f"add i64 {thread}, {own.sharing + theirs.sharing - 1}")
        last = fn.emit(f"udiv i64 {past}, {theirs.sharing}")
        fewer = fn.emit(f"icmp ult i64 {last}, {theirs.instances}")
        return fn.emit(f"udiv i64 {thread}, {theirs.sharing}"), fn.emit(f"select i1 {fewer}, i64 {last}, i64 {theirs.instances}")

    def _pass_on(self, fn: FunctionBuilder, line: str) -> None:
        """Emits code that writes a dirty line to the next level, and counts this write for the array that the line belongs to."""
        self._count_written(fn, line)
        if not self.is_last:
            fn.emit(f"call fastcc i32 @written_{self.number + 1}(ptr %state, ptr %count, i64 {line})")

    def _count_written(self, fn: FunctionBuilder, line: str) -> None:
        """Emits code that counts, for the array that a line belongs to, that this level wrote the line to the next one."""
        count_written(fn, self.layout, self.number, line)

    def _written(self, fn: FunctionBuilder) -> None:
        """Emits the body of `written_k`: level k gets from the level above a dirty line that is written back, or a write that is
        passed on.
        """
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

    def _drop(self, fn: FunctionBuilder) -> None:
        """Emits the body of `drop_k`: a line is removed from caches %from ... %to - 1 of level k; returns 1 where it was dirty in
        one.
        """
        self._remove(fn, "%from", "%to", "-1", lambda instance: None)

    def _take(self, fn: FunctionBuilder) -> None:
        """Emits the body of `take_k`: a line is removed from all caches of level k but the current thread's; returns 1 where it was
        dirty in one. For each cache that had it, it is recorded that the write of another thread took it.
        """

        def note(instance: str) -> None:
            fn.do(f"store i8 1, ptr {self._lost(fn, instance)}")

        self._remove(fn, "0", str(self.sets.instances), self.sets.instance(fn), note)

    def _remove(self, fn: FunctionBuilder, first: str, past: str, but: str, note: Callable[[str], None]) -> None:
        """Emits the body of a function that removes a line from the caches first ... past - 1 of the level, except cache `but`. The
        function returns 1 where the line was dirty in one of them.

        note: called with a cache's number; emits code that records that this cache had the line.
        """
        start, each, other, here = fn.current, fn.block("each"), fn.block("other"), fn.block("here")
        gone, following, done = fn.block("gone"), fn.block("next"), fn.block("done")
        instance, before, dirty = fn.name(), fn.name(), fn.name()
        fn.jump(each)
        fn.current = each
        fn.branch(fn.emit(f"icmp ult i64 {instance}, {past}"), other, done)
        fn.current = other
        fn.branch(fn.emit(f"icmp eq i64 {instance}, {but}"), following, here)
        fn.current = here
        found = self.sets.look(fn, "%line", instance)
        fn.branch(found.hit, gone, following)
        fn.current = gone
        had = fn.emit(f"or i32 {before}, {fn.emit(f'and i32 {self.sets.word(fn, found)}, 1')}")
        self.sets.remove(fn, found)
        note(instance)
        fn.jump(following)
        fn.current = following
        without = f"[ {before}, %{other.label} ], [ {before}, %{here.label} ]"
        following.phis.append(f"{dirty} = phi i32 {without}, [ {had}, %{gone.label} ]")
        more = fn.emit(f"add i64 {instance}, 1")
        fn.jump(each)
        each.phis.append(f"{instance} = phi i64 [ {first}, %{start.label} ], [ {more}, %{following.label} ]")
        each.phis.append(f"{before} = phi i32 [ 0, %{start.label} ], [ {dirty}, %{following.label} ]")
        done.terminator = f"ret i32 {before}"

    def _clean(self, fn: FunctionBuilder) -> None:
        """Emits the body of `clean_k`: a line becomes clean in cache `%cache` of level k, if it is there; returns 1 where it was
        dirty.
        """
        found = self.sets.look(fn, "%line", "%cache")
        hit, miss = fn.block("hit"), fn.block("miss")
        fn.branch(found.hit, hit, miss)
        miss.terminator = "ret i32 0"
        fn.current = hit
        dirty = fn.emit(f"and i32 {self.sets.word(fn, found)}, 1")
        self.sets.make_clean(fn, found)
        fn.current.terminator = f"ret i32 {dirty}"

    def _lost(self, fn: FunctionBuilder, instance: str) -> str:
        """Emits code for the address of a byte that is 1 if cache `instance` lost the line `%line` because another thread wrote to
        it.
        """
        table = fn.emit(f"getelementptr i8, ptr %state, i64 {self.layout.lost(self.number)}")
        own = fn.emit(f"getelementptr [{self.layout.seen_bytes} x i8], ptr {table}, i64 {instance}")
        return fn.emit(f"getelementptr i8, ptr {own}, i64 %line")

    def _insert(self, fn: FunctionBuilder) -> None:
        """Emits the body of `insert_k`: level k, an exclusive one, takes a line that the level above evicted.

        Where several threads share the level, it may have the line already, from another of them.
        """
        if self.sets.sharing > 1:
            found = self.sets.look(fn, "%line")
            there, new = fn.block("there"), fn.block("new")
            fn.branch(found.hit, there, new)
            fn.current = there
            self.sets.use(fn, found, "%dirty")
            fn.current.terminator = "ret i32 0"
            fn.current = new
        word = fn.emit(f"or i32 {word_of(fn, '%line')}, %dirty")
        self._let_go(fn, self.sets.put(fn, self.sets.address(fn, "%line"), word))
        fn.current.terminator = "ret i32 0"

    def _fill(self, fn: FunctionBuilder) -> None:
        """Emits the body of `fill_k`: the access is also made to a fully associative cache of the size of level k, whose misses are
        counted to tell capacity misses from conflict misses.
        """
        shadow = self.layout.shadow(self.number)
        found = shadow.look(fn, "%line")
        hit, miss = fn.block("hit"), fn.block("miss")
        fn.branch(found.hit, hit, miss)
        fn.current = hit
        shadow.use(fn, found, "0")
        fn.current.terminator = "ret void"
        fn.current = miss
        counter(fn, "%count", self.layout.fully_associative(self.number))
        shadow.put(fn, found.address, word_of(fn, "%line"))
        fn.current.terminator = "ret void"
