"""Misses of fully associative LRU caches of several capacities in one pass, as LLVM code: the stack of all lines by their last use.

An access hits in a capacity where its line is that near to the top. The stack is a circular list of nodes; node 0 stands for no
line, and is before the top and behind the bottom. Each node knows its region, one more than the number of capacities that do not
reach it, or 0 while it is not in the stack; each capacity knows its tail, the lowest node that it reaches. Source: Mattson, Gecsei,
Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
"""

from __future__ import annotations

from polyml.caches.simulator.state_layout import NODE_BYTES, StateLayout, counter
from polyml.codegen.llvm.builder import FunctionBuilder, Unit

_NEXT, _PREVIOUS, _REGION = 0, 4, 8  # byte offsets in a node


def touch(fn: FunctionBuilder, line: str, count: str, layout: StateLayout, when: str) -> None:
    """Emits code for one access to the stack, which has all lines in the order of their last use. Nothing happens where the line is
    on top.

    count: the address of the reference's counters.
    when: the name of an i1 value; where it is 0, the access is left out. "": the access is always made.
    """
    node = _node_of(fn, line)
    slow, done = fn.block("under"), fn.block("top")
    if when:
        look = fn.block("look")
        fn.branch(when, look, done)
        fn.current = look
    fn.branch(fn.emit(f"icmp eq i32 {_Nodes(fn, layout).get('0', _NEXT)}, {node}"), done, slow)
    fn.current = slow
    fn.do(f"call fastcc void @use(ptr %state, ptr {count}, i32 {node})")
    fn.jump(done)
    fn.current = done


def unit(layout: StateLayout) -> Unit:
    """Returns the LLVM function `use`, which makes the access to a line: it moves the line to the top of the stack, and counts a
    miss for each fully associative cache that is too small to have kept the line until then.
    """
    fn = FunctionBuilder("internal fastcc void @use(ptr %state, ptr %count, i32 %node)")
    fn.attributes = "nounwind noinline"
    nodes, count = _Nodes(fn, layout), len(layout.capacities)
    stored = nodes.get("%node", _REGION)
    region = fn.emit(f"sub i32 {stored}, 1")  # unsigned: beyond all of a line that is new
    known, put = fn.block("known"), fn.block("put")
    new = fn.block("new")
    fn.branch(fn.emit(f"icmp eq i32 {stored}, 0"), new, known)
    # a node of the stack leaves its place, where a tail is then the one above it
    fn.current = known
    above, below = nodes.get("%node", _PREVIOUS), nodes.get("%node", _NEXT)
    nodes.set(above, _NEXT, below)
    nodes.set(below, _PREVIOUS, above)
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
    top = nodes.get("0", _NEXT)
    nodes.set("%node", _NEXT, top)
    nodes.set("%node", _PREVIOUS, "0")
    nodes.set(top, _PREVIOUS, "%node")
    nodes.set("0", _NEXT, "%node")
    nodes.set("%node", _REGION, "1")
    lines = fn.emit(f"load i64, ptr {_length(fn, layout)}")
    for number, (capacity, levels) in enumerate(layout.capacities.items()):
        out, done = fn.block("out"), fn.block("next")
        full, begins, on = fn.block("full"), fn.block("begins"), fn.block("on")
        # it came from below this capacity: what was the lowest node within is pushed out
        fn.branch(fn.emit(f"icmp ugt i32 {region}, {number}"), out, done)
        fn.current = out
        for level in levels:
            counter(fn, "%count", layout.fully_associative(level))
        tail = fn.emit(f"load i32, ptr {_tail(fn, layout, number)}")
        fn.branch(fn.emit(f"icmp ne i32 {tail}, 0"), full, begins)
        fn.current = full
        nodes.set(tail, _REGION, str(number + 2))
        fn.do(f"store i32 {nodes.get(tail, _PREVIOUS)}, ptr {_tail(fn, layout, number)}")
        fn.jump(done)
        fn.current = begins
        fn.branch(fn.emit(f"icmp eq i64 {lines}, {capacity}"), on, done)
        fn.current = on
        fn.do(f"store i32 {nodes.get('0', _PREVIOUS)}, ptr {_tail(fn, layout, number)}")
        fn.jump(done)
        fn.current = done
    fn.current.terminator = "ret void"
    text = fn.text()
    return Unit("use", text, {}, len(text))


def _node_of(fn: FunctionBuilder, line: str) -> str:
    """Emits code for the number of a line's node in the stack."""
    return fn.emit(f"trunc i64 {fn.emit(f'add i64 {line}, 1')} to i32")


class _Nodes:
    """A _Nodes emits loads and stores of the fields of nodes of the stack, each of which stands for a line."""

    def __init__(self, fn: FunctionBuilder, layout: StateLayout):
        self._fn, self._offset = fn, layout.stack

    def _field(self, node: str, field: int) -> str:
        """Emits code for the address of a field of one of the stack's nodes. node: its number. field: the field's byte offset."""
        number = "0" if node == "0" else self._fn.emit(f"zext i32 {node} to i64")
        start = self._fn.emit(f"getelementptr i8, ptr %state, i64 {self._offset}")
        return self._fn.emit(f"getelementptr [{NODE_BYTES} x i8], ptr {start}, i64 {number}, i64 {field}")

    def get(self, node: str, field: int) -> str:
        """Emits a load of a field of one of the stack's nodes. node: its number. field: the field's byte offset."""
        return self._fn.emit(f"load i32, ptr {self._field(node, field)}")

    def set(self, node: str, field: int, value: str) -> None:
        """Emits a store to a field of one of the stack's nodes. node: its number. field: the field's byte offset."""
        self._fn.do(f"store i32 {value}, ptr {self._field(node, field)}")


def _length(fn: FunctionBuilder, layout: StateLayout) -> str:
    """Emits code for the address of the number of nodes in the stack."""
    return fn.emit(f"getelementptr i8, ptr %state, i64 {layout.tails}")


def _tail(fn: FunctionBuilder, layout: StateLayout, number: int) -> str:
    """Emits code for the address at which the state keeps the tail of capacity number `number`: the lowest node of the stack that a
    cache of this capacity still holds.
    """
    return fn.emit(f"getelementptr i8, ptr %state, i64 {layout.tails + 8 + 4 * number}")
