"""Coherence as LLVM code: a write removes the line from other threads' caches, a read makes another thread's dirty line clean.

For each line it is known which threads may have it, and which one may have it dirty, so that most accesses need not search. A
dirty line goes to the nearest cache that both threads use, else to memory: the last level above counts it as sent on. A thread
to which an exclusive level hands a dirty line up has it dirty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polyml.caches.simulator import state_header
from polyml.caches.simulator.state_layout import HOLDERS_BYTES, OWNER_BYTES, StateLayout, count_written
from polyml.codegen.llvm.builder import BasicBlock, FunctionBuilder, Unit

MOST_THREADS = 64


def units(layout: StateLayout) -> Iterator[Unit]:
    """Yields two LLVM functions, which make the caches of several threads coherent: each thread finds what others wrote.

    `cohere(line, write)` is called before each access of a thread; `deliver(line, thread)` writes back a line that `thread` had
    dirty.
    """
    yield _unit("cohere", "i32 %write", _cohere, layout)
    yield _unit("deliver", "i64 %other", _deliver, layout)


def hand_up(fn: FunctionBuilder, layout: StateLayout, dirty: str) -> None:
    """Emits code that records that the current thread has the line `%line` dirty, if the value `dirty` is not 0.

    It is used where an exclusive cache level gives the line to a nearer level, and keeps it no longer.
    """
    place = _owner(fn, layout)
    own = fn.emit(f"trunc i64 {fn.emit(f'add i64 {state_header.get(fn, state_header.THREAD)}, 1')} to i8")
    before = fn.emit(f"load i8, ptr {place}")
    test = fn.emit(f"icmp ne i32 {dirty}, 0")
    fn.do(f"store i8 {fn.emit(f'select i1 {test}, i8 {own}, i8 {before}')}, ptr {place}")


def _unit(name: str, argument: str, define: Callable[[FunctionBuilder, StateLayout], None], layout: StateLayout) -> Unit:
    """Returns the LLVM function `name`, whose body `define` emits.

    argument: the declaration of the function's last argument, such as "i32 %write"; it stands behind the state, the counters and
        the line.
    """
    fn = FunctionBuilder(f"internal fastcc void @{name}(ptr %state, ptr %count, i64 %line, {argument})")
    fn.attributes = "nounwind noinline"
    define(fn, layout)
    text = fn.text()
    return Unit(name, text, {}, len(text))


def _cohere(fn: FunctionBuilder, layout: StateLayout) -> None:
    """Emits the body of `cohere`. A write removes the line from the caches of other threads. A read of a line that is dirty in
    another thread's cache writes it back, so that it is clean there.
    """
    several = _several(layout)
    thread = state_header.get(fn, state_header.THREAD)
    bit = fn.emit(f"shl i64 1, {thread}")
    table = fn.emit(f"getelementptr i8, ptr %state, i64 {layout.holders}")
    holders_at = fn.emit(f"getelementptr [{HOLDERS_BYTES} x i8], ptr {table}, i64 %line")
    holders, owner_at = fn.emit(f"load i64, ptr {holders_at}"), _owner(fn, layout)
    owner = fn.emit(f"zext i8 {fn.emit(f'load i8, ptr {owner_at}')} to i64")
    own = fn.emit(f"add i64 {thread}, 1")
    other = fn.emit(f"sub i64 {owner}, 1")
    writes, reads, done = fn.block("writes"), fn.block("reads"), fn.block("done")
    fn.branch(fn.emit("icmp ne i32 %write, 0"), writes, reads)
    done.terminator = "ret void"

    fn.current = writes
    fn.do(f"store i64 {bit}, ptr {holders_at}")
    fn.do(f"store i8 {fn.emit(f'trunc i64 {own} to i8')}, ptr {owner_at}")
    taking = fn.block("taking")
    fn.branch(fn.emit(f"icmp eq i64 {fn.emit(f'or i64 {holders}, {bit}')}, {bit}"), done, taking)
    fn.current = taking
    dirty = [fn.emit(f"call fastcc i32 @take_{number}(ptr %state, i64 %line)") for number in several]
    _deliver_if(fn, dirty, other, done)

    fn.current = reads
    fn.do(f"store i64 {fn.emit(f'or i64 {holders}, {bit}')}, ptr {holders_at}")
    cleaning = fn.block("cleaning")
    none, mine = fn.emit(f"icmp eq i64 {owner}, 0"), fn.emit(f"icmp eq i64 {owner}, {own}")
    fn.branch(fn.emit(f"or i1 {none}, {mine}"), done, cleaning)
    fn.current = cleaning
    found, near = [], "false"  # where both threads use one of several caches, that may have it dirty from then on
    for number in several:
        clean, on = fn.block("clean"), fn.block("on")
        theirs, ours = _instance(fn, layout, number, other), _instance(fn, layout, number, thread)
        before, same = fn.current, fn.emit(f"icmp eq i64 {theirs}, {ours}")
        near = fn.emit(f"or i1 {near}, {same}")
        fn.branch(same, on, clean)
        fn.current = clean
        had = fn.emit(f"call fastcc i32 @clean_{number}(ptr %state, i64 %line, i64 {theirs})")
        fn.jump(on)
        fn.current = on
        found.append(fn.name())
        on.phis.append(f"{found[-1]} = phi i32 [ 0, %{before.label} ], [ {had}, %{clean.label} ]")
    kept = fn.emit(f"select i1 {near}, i64 {own}, i64 0")
    fn.do(f"store i8 {fn.emit(f'trunc i64 {kept} to i8')}, ptr {owner_at}")
    _deliver_if(fn, found, other, done)


def _deliver_if(fn: FunctionBuilder, dirty: list[str], other: str, done: BasicBlock) -> None:
    """Emits a jump to the block `done`, and before it, where one of the values `dirty` is not 0, a call of the LLVM function
    `deliver`, which writes back a line that another thread had dirty.

    other: that thread.
    """
    some, deliver = dirty[0], fn.block("deliver")
    for each in dirty[1:]:
        some = fn.emit(f"or i32 {some}, {each}")
    fn.branch(fn.emit(f"icmp ne i32 {some}, 0"), deliver, done)
    fn.current = deliver
    fn.do(f"call fastcc void @deliver(ptr %state, ptr %count, i64 %line, i64 {other})")
    fn.jump(done)


def _deliver(fn: FunctionBuilder, layout: StateLayout) -> None:
    """Emits the body of `deliver`: a line that thread `%other` had dirty is written to the nearest cache that it shares with the
    current thread, or else to memory.
    """
    thread = state_header.get(fn, state_header.THREAD)
    for number in layout.numbers:
        if number == 0:  # each has its own, or there is nothing to deliver
            continue
        here, further = fn.block("here"), fn.block("further")
        theirs, ours = _instance(fn, layout, number, "%other"), _instance(fn, layout, number, thread)
        fn.branch(fn.emit(f"icmp eq i64 {theirs}, {ours}"), here, further)
        fn.current = here
        count_written(fn, layout, number - 1, "%line")
        fn.emit(f"call fastcc i32 @written_{number}(ptr %state, ptr %count, i64 %line)")
        fn.current.terminator = "ret void"
        fn.current = further
    count_written(fn, layout, layout.numbers[-1], "%line")
    fn.current.terminator = "ret void"


def _several(layout: StateLayout) -> list[int]:
    """Returns the numbers of those cache levels that this simulator simulates and that have more than one cache."""
    return [number for number in layout.numbers if layout.instances(number) > 1]


def _instance(fn: FunctionBuilder, layout: StateLayout, number: int, thread: str) -> str:
    """Emits code for the number of the cache that a thread uses at level `number`; returns that value's name."""
    return "0" if layout.instances(number) == 1 else fn.emit(f"udiv i64 {thread}, {layout.sharing(number)}")


def _owner(fn: FunctionBuilder, layout: StateLayout) -> str:
    """Emits code for the address of the byte that tells which thread may have the line `%line` dirty: its number plus 1, 0 for
    none.
    """
    table = fn.emit(f"getelementptr i8, ptr %state, i64 {layout.owners}")
    return fn.emit(f"getelementptr [{OWNER_BYTES} x i8], ptr {table}, i64 %line")
