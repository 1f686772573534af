"""Requests of the threads' own caches to the shared ones: written down with their times, served in the order of all threads.

A request has 16 bytes: how many accesses the thread made before it since the last barrier (i64); the line (i32); and (i32)
where the counters of the reference begin, in bytes, with the kind of request in its last bits: USE, USE | 1 for a write,
WRITTEN, INSERT, INSERT | 1 for a dirty line. A barrier has time BARRIER, the end DONE.

Requests are served in the order of their times, those of the same time in the order of the threads, and a barrier when all
threads have come to it: as if, between barriers, each thread in turn made one access, and those that have finished none. Since
what is served never changes a thread's own caches, all threads can run ahead, each as far as its buffers reach.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyml.caches.simulator import state_header
from polyml.caches.simulator.state_layout import StateLayout
from polyml.codegen.llvm.builder import FunctionBuilder, Unit

BYTES = 16
USE, WRITTEN, INSERT = 0, 2, 4
BARRIER, DONE = 2**48, 2**49
MOST_THREADS = 2**10
ENTRY = "polyml_serve"
_KIND = 7  # the bits of a kind


def units(number: int, is_exclusive: bool) -> Iterator[Unit]:
    """Yields LLVM functions that are called like those of cache level `number`, which threads share, but append a request to the
    thread's buffer; another simulator, which has the level, serves it later.
    """
    yield _note()
    yield _request(f"touch_{number}", "i32 %write", f"or i32 %write, {USE}")
    if number:
        yield _request(f"written_{number}", "", f"or i32 0, {WRITTEN}")
    if is_exclusive:
        yield _request(f"insert_{number}", "i32 %dirty", f"or i32 %dirty, {INSERT}")


def mark(fn: FunctionBuilder, time: int) -> None:
    """Emits code that appends a request which says that the thread has come to a barrier, or to its end.

    time: the constant BARRIER or DONE, which is written where other requests have their time.
    """
    state_header.put(fn, state_header.TIME, str(time))
    fn.do("call fastcc void @note(ptr %state, ptr %counters, i64 0, i32 0)")
    state_header.put(fn, state_header.USES, "0")


def _request(name: str, argument: str, kind: str) -> Unit:
    """Returns an LLVM function `name` that appends a request of one kind to the thread's buffer.

    argument: the declaration of the function's last argument; "" for none.
    kind: the LLVM expression of the request's kind.
    """
    arguments = ", ".join(filter(None, ("ptr %state, ptr %count, i64 %line", argument)))
    fn = FunctionBuilder(f"internal fastcc i32 @{name}({arguments})")
    fn.do(f"call fastcc void @note(ptr %state, ptr %count, i64 %line, i32 {fn.emit(kind)})")
    fn.current.terminator = "ret i32 0"
    text = fn.text()
    return Unit(name, text, {}, len(text))


def _note() -> Unit:
    """Returns the LLVM function that appends a request to the thread's buffer; where the buffer is then full, or the thread has
    ended, it passes the buffer on to be served.
    """
    fn = FunctionBuilder("internal fastcc void @note(ptr %state, ptr %count, i64 %line, i32 %kind)")
    fn.attributes = "nounwind noinline"
    place = state_header.get(fn, state_header.NEXT, "ptr")
    fn.do(f"store i64 {state_header.get(fn, state_header.TIME)}, ptr {place}")
    line, what = (fn.emit(f"getelementptr i8, ptr {place}, i64 {offset}") for offset in (8, 12))
    fn.do(f"store i32 {fn.emit('trunc i64 %line to i32')}, ptr {line}")
    counters = fn.emit(f"ptrtoint ptr {state_header.get(fn, state_header.COUNTERS, 'ptr')} to i64")
    distance = fn.emit(f"sub i64 {fn.emit('ptrtoint ptr %count to i64')}, {counters}")
    offset = fn.emit(f"trunc i64 {distance} to i32")
    fn.do(f"store i32 {fn.emit(f'or i32 {offset}, %kind')}, ptr {what}")
    following = fn.emit(f"getelementptr i8, ptr {place}, i64 {BYTES}")
    state_header.put(fn, state_header.NEXT, following, "ptr")
    full, done = fn.block("full"), fn.block("done")
    at_end = fn.emit(f"icmp eq ptr {following}, {state_header.get(fn, state_header.END, 'ptr')}")
    is_last = fn.emit(f"icmp eq i64 {state_header.get(fn, state_header.TIME)}, {DONE}")
    fn.branch(fn.emit(f"or i1 {at_end}, {is_last}"), full, done)
    fn.current = full
    fn.do(f"call void {state_header.get(fn, state_header.TELL, 'ptr')}()")
    state_header.put(fn, state_header.NEXT, state_header.get(fn, state_header.BEGIN, "ptr"), "ptr")
    fn.jump(done)
    done.terminator = "ret void"
    text = fn.text()
    return Unit("note", text, {}, len(text))


def serve(layout: StateLayout) -> Unit:
    """Returns the LLVM function `i64 @polyml_serve(ptr state, ptr heads)`, which serves the requests of all threads until one
    thread's buffer is empty. It returns that thread's number, or -1 when all threads have ended.

    heads: four words for each thread: the address of its next request, the end of its requests, the address of its counters, and
        one that the function uses itself.
    """
    every_use = layout.numbers.start == 0
    lines = f"""define i64 @{ENTRY}(ptr %state, ptr %heads) nounwind {{
{_each_in_turn(layout) if every_use else _by_time(layout)}
barrier: ; all are there
  %b = phi i64 [ 0, %running ], [ %b.next, %barrier ]
  %b.head = getelementptr [4 x i64], ptr %heads, i64 %b
  %b.place = load ptr, ptr %b.head
  %b.behind = getelementptr i8, ptr %b.place, i64 {BYTES}
  store ptr %b.behind, ptr %b.head
  %b.next = add i64 %b, 1
  %b.more = icmp ult i64 %b.next, {layout.threads}
  br i1 %b.more, label %barrier, label %choose
finished:
  ret i64 -1
serve:
  %own.head = getelementptr [4 x i64], ptr %heads, i64 %best
  %own.end.at = getelementptr i64, ptr %own.head, i64 1
  %own.counters.at = getelementptr i64, ptr %own.head, i64 2
  %own.begin = load ptr, ptr %own.head
  %own.end = load ptr, ptr %own.end.at
  %counters = load ptr, ptr %own.counters.at
  %thread.at = getelementptr i64, ptr %state, i64 {state_header.THREAD}
  store i64 %best, ptr %thread.at
  br label %each
{_served_request(layout)}
served:
  %p.next = getelementptr i8, ptr %p, i64 {BYTES}
  store ptr %p.next, ptr %own.head
{_TO_THE_NEXT if every_use else _ON_WHILE_FIRST.format(threads=layout.threads)}}}"""
    return Unit(ENTRY, lines, {}, len(lines))


_TO_THE_NEXT = """  br label %pass
"""
_ON_WHILE_FIRST = """  %empty = icmp eq ptr %p.next, %own.end
  br i1 %empty, label %choose, label %later
later:
  %time.next = load i64, ptr %p.next
  %scaled.next = mul i64 %time.next, {threads}
  %key.next = add i64 %scaled.next, %best
  %still = icmp slt i64 %key.next, %limit
  br i1 %still, label %again, label %choose
again:
  br label %each
"""


def _by_time(layout: StateLayout) -> str:
    """Returns LLVM blocks that choose the thread whose next request has the earliest time, and compute the earliest time of the
    others' next requests; the chosen thread is served up to that time.
    """
    threads = layout.threads
    return f"""entry:
  br label %choose
choose:
  br label %scan
scan:
  %t = phi i64 [ 0, %choose ], [ %t.next, %compared ]
  %best.before = phi i64 [ 0, %choose ], [ %best, %compared ]
  %key.before = phi i64 [ {2**62}, %choose ], [ %key, %compared ]
  %limit.before = phi i64 [ {BARRIER * threads}, %choose ], [ %limit, %compared ]
  %head = getelementptr [4 x i64], ptr %heads, i64 %t
  %head.end = getelementptr i64, ptr %head, i64 1
  %place = load ptr, ptr %head
  %end = load ptr, ptr %head.end
  %none = icmp eq ptr %place, %end
  br i1 %none, label %wanting, label %compared
wanting:
  ret i64 %t
compared:
  %time = load i64, ptr %place
  %scaled = mul i64 %time, {threads}
  %own = add i64 %scaled, %t
  %less = icmp slt i64 %own, %key.before
  %other = select i1 %less, i64 %key.before, i64 %own
  %key = select i1 %less, i64 %own, i64 %key.before
  %best = select i1 %less, i64 %t, i64 %best.before
  %nearer = icmp slt i64 %other, %limit.before
  %limit = select i1 %nearer, i64 %other, i64 %limit.before
  %t.next = add i64 %t, 1
  %more = icmp ult i64 %t.next, {threads}
  br i1 %more, label %scan, label %chosen
chosen:
  %over = icmp sge i64 %key, {DONE * threads}
  br i1 %over, label %finished, label %running
running:
  %together = icmp sge i64 %key, {BARRIER * threads}
  br i1 %together, label %barrier, label %serve"""


def _each_in_turn(layout: StateLayout) -> str:
    """Returns LLVM blocks that choose the thread to serve next, in turn, passing over threads that are at a barrier.

    They are used where every access is a request, so that threads can simply alternate. Of the four words that each thread has, the
    last word of thread 0 keeps whose turn it is, and that of thread 1 how many threads in a row were at a barrier.
    """
    return f"""entry:
  %turn.at = getelementptr i64, ptr %heads, i64 3
  %waiting.at = getelementptr i64, ptr %heads, i64 7
  %turn = load i64, ptr %turn.at
  %waiting.then = load i64, ptr %waiting.at
  br label %look
choose: ; behind a barrier
  br label %look
look:
  %best = phi i64 [ %turn, %entry ], [ 0, %choose ], [ %best.next, %on ]
  %waiting = phi i64 [ %waiting.then, %entry ], [ 0, %choose ], [ %waiting.next, %on ]
  %head = getelementptr [4 x i64], ptr %heads, i64 %best
  %head.end = getelementptr i64, ptr %head, i64 1
  %place = load ptr, ptr %head
  %end = load ptr, ptr %head.end
  %none = icmp eq ptr %place, %end
  br i1 %none, label %wanting, label %some
wanting:
  store i64 %best, ptr %turn.at
  store i64 %waiting, ptr %waiting.at
  ret i64 %best
some:
  %time = load i64, ptr %place
  %stops = icmp sge i64 %time, {BARRIER}
  br i1 %stops, label %stopped, label %serve
stopped:
  %waiting.more = add i64 %waiting, 1
  %together = icmp eq i64 %waiting.more, {layout.threads}
  br i1 %together, label %all, label %on
pass:
  br label %on
on:
  %waiting.next = phi i64 [ %waiting.more, %stopped ], [ 0, %pass ]
  %following = add i64 %best, 1
  %around = icmp eq i64 %following, {layout.threads}
  %best.next = select i1 %around, i64 0, i64 %following
  br label %look
all:
  %over = icmp sge i64 %time, {DONE}
  br i1 %over, label %finished, label %running
running:
  br label %barrier"""


def _served_request(layout: StateLayout) -> str:
    """Returns LLVM blocks that serve one request: they call the function of the first shared level for its kind."""
    first = layout.numbers.start
    exclusive = first > 0 and layout.levels[first].contents == "exclusive"
    others = [f"i32 {WRITTEN}, label %written"] if first else []
    others += [f"i32 {INSERT + dirty}, label %insert" for dirty in (0, 1)] if exclusive else []
    target = "ptr %state, ptr %count, i64 %line"
    cohere = f"  call fastcc void @cohere({target}, i32 %bit)\n" if layout.coherent else ""
    owed = f"""  %owed.all = getelementptr i8, ptr %state, i64 {layout.owed}
  %owed.own = getelementptr [{layout.seen_bytes} x i8], ptr %owed.all, i64 %best
  %owed = getelementptr i8, ptr %owed.own, i64 %line
"""
    kept = f"""{owed}  %dirty.up = trunc i32 %up to i8
  store i8 %dirty.up, ptr %owed
"""
    lines = f"""each:
  %p = phi ptr [ %own.begin, %serve ]{"" if first == 0 else ", [ %p.next, %again ]"}
  %line.at = getelementptr i8, ptr %p, i64 8
  %what.at = getelementptr i8, ptr %p, i64 12
  %line32 = load i32, ptr %line.at
  %what = load i32, ptr %what.at
  %line = zext i32 %line32 to i64
  %kind = and i32 %what, {_KIND}
  %distance32 = and i32 %what, {~_KIND}
  %distance = zext i32 %distance32 to i64
  %count = getelementptr i8, ptr %counters, i64 %distance
  %bit = and i32 %what, 1
  switch i32 %kind, label %use [{" ".join(others)}]
use:
{cohere}  %up = call fastcc i32 @touch_{first}({target}, i32 %bit)
{kept if exclusive else ""}  br label %served"""
    if first:
        lines += f"""
written:
  %passed = call fastcc i32 @written_{first}({target})
  br label %served"""
    if exclusive:
        lines += f"""
insert:
{owed.replace("%owed", "%back")}  %back.before = load i8, ptr %back
  store i8 0, ptr %back
  %back.dirty = zext i8 %back.before to i32
  %dirty = or i32 %bit, %back.dirty
  %inserted = call fastcc i32 @insert_{first}({target}, i32 %dirty)
  br label %served"""
    return lines
