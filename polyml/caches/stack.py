"""Fully associative caches of several capacities at once, as LLVM code: the stack of all lines by their last use (Mattson et al.,
"Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970).

A use hits in a capacity where the line is that near to the top. The stack is a ring of nodes; the node that stands for no line is
before the top and behind the bottom. Each node knows its region: how many of the capacities do not reach it; each capacity knows
its tail, the lowest node that it reaches.
"""

from __future__ import annotations

from polyml.caches.layout import NEXT, NODE_BYTES, PREVIOUS, REGION, Layout, counter
from polyml.codegen.ir import Function, Unit


def touch(fn: Function, line: str, count: str) -> None:
    """One use, by code that leaves at once where the line is on top."""
    node = _node_of(fn, line)
    slow, done = fn.block("under"), fn.block("top")
    fn.branch(fn.emit(f"icmp eq i32 {_get(fn, '0', NEXT)}, {node}"), done, slow)
    fn.current = slow
    fn.do(f"call fastcc void @use(ptr %state, ptr %lines, ptr {count}, i32 {node})")
    fn.jump(done)
    fn.current = done


def unit(layout: Layout) -> Unit:
    fn = Function("internal fastcc void @use(ptr %state, ptr %lines, ptr %count, i32 %node)")
    fn.attributes = "nounwind noinline"
    count = len(layout.capacities)
    region = _get(fn, "%node", REGION)
    known, put = fn.block("known"), fn.block("put")
    new = fn.block("new")
    fn.branch(fn.emit(f"icmp sgt i32 {region}, {count}"), new, known)
    # a node of the stack leaves its place, where a tail is then the one above it
    fn.current = known
    above, below = _get(fn, "%node", PREVIOUS), _get(fn, "%node", NEXT)
    _set(fn, above, NEXT, below)
    _set(fn, below, PREVIOUS, above)
    for number in range(count):
        tail = fn.emit(f"load i32, ptr {_tail(fn, layout, number)}")
        moved = fn.emit(f"select i1 {fn.emit(f'icmp eq i32 {tail}, %node')}, i32 {above}, i32 {tail}")
        fn.do(f"store i32 {moved}, ptr {_tail(fn, layout, number)}")
    fn.jump(put)
    fn.current = new
    length = fn.emit(f"load i64, ptr {_length(fn, layout)}")
    longer = fn.emit(f"add i64 {length}, 1")
    fn.do(f"store i64 {longer}, ptr {_length(fn, layout)}")
    fn.jump(put)
    fn.current = put
    top = _get(fn, "0", NEXT)
    _set(fn, "%node", NEXT, top)
    _set(fn, "%node", PREVIOUS, "0")
    _set(fn, top, PREVIOUS, "%node")
    _set(fn, "0", NEXT, "%node")
    _set(fn, "%node", REGION, "0")
    lines = fn.emit(f"load i64, ptr {_length(fn, layout)}")
    for number, capacity in enumerate(layout.capacities):
        out, done = fn.block("out"), fn.block("next")
        full, begins, on = fn.block("full"), fn.block("begins"), fn.block("on")
        # it came from below this capacity: what was the lowest node within is pushed out
        fn.branch(fn.emit(f"icmp sgt i32 {region}, {number}"), out, done)
        fn.current = out
        counter(fn, "%count", layout.far + number)
        tail = fn.emit(f"load i32, ptr {_tail(fn, layout, number)}")
        fn.branch(fn.emit(f"icmp ne i32 {tail}, 0"), full, begins)
        fn.current = full
        _set(fn, tail, REGION, str(number + 1))
        fn.do(f"store i32 {_get(fn, tail, PREVIOUS)}, ptr {_tail(fn, layout, number)}")
        fn.jump(done)
        fn.current = begins
        fn.branch(fn.emit(f"icmp eq i64 {lines}, {capacity}"), on, done)
        fn.current = on
        fn.do(f"store i32 {_get(fn, '0', PREVIOUS)}, ptr {_tail(fn, layout, number)}")
        fn.jump(done)
        fn.current = done
    fn.current.terminator = "ret void"
    text = fn.text()
    return Unit("use", text, {}, len(text))


def _node_of(fn: Function, line: str) -> str:
    return fn.emit(f"trunc i64 {fn.emit(f'add i64 {line}, 1')} to i32")


def _field(fn: Function, node: str, field: int) -> str:
    number = "0" if node == "0" else fn.emit(f"zext i32 {node} to i64")
    return fn.emit(f"getelementptr [{NODE_BYTES} x i8], ptr %lines, i64 {number}, i64 {field}")


def _get(fn: Function, node: str, field: int) -> str:
    return fn.emit(f"load i32, ptr {_field(fn, node, field)}")


def _set(fn: Function, node: str, field: int, value: str) -> None:
    fn.do(f"store i32 {value}, ptr {_field(fn, node, field)}")


def _length(fn: Function, layout: Layout) -> str:
    return fn.emit(f"getelementptr i8, ptr %state, i64 {layout.stack}")


def _tail(fn: Function, layout: Layout, number: int) -> str:
    return fn.emit(f"getelementptr i8, ptr %state, i64 {layout.stack + 8 + 4 * number}")
