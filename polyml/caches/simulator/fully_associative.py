"""Fully associative LRU caches as LLVM code: a list of lines in the order of their last use.

Each line of memory has a node, whose number is the line's plus 1. It holds the next node, the previous node, and the line's word,
which is 2 * (line + 1), plus 1 where it is dirty, or 0 where the cache lacks the line. The list is circular; node 0 is its start
and holds the number of lines in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyml.caches.simulator import state_header
from polyml.caches.simulator.set_associative import Lookup, SimulatedLevel
from polyml.codegen.llvm.builder import FunctionBuilder

NODE_BYTES = 12
_NEXT, _PREVIOUS, _WORD = 0, 4, 8  # byte offsets in a node


@dataclass(frozen=True, kw_only=True)
class FullyAssociative(SimulatedLevel):
    """A FullyAssociative level has caches in which a line may be anywhere, with LRU replacement. Each cache is a linked list of
    nodes, one for each line that it holds, the line used last in front.

    lines: how many lines memory has; there is space for a node of each.
    """

    lines: int

    @property
    def size_bytes(self) -> int:
        """Returns how many bytes one cache takes in the simulator's state: a node for each line of memory, and one where the list
        begins.
        """
        return state_header.rounded(NODE_BYTES * (self.lines + 1))

    def kept(self, content: np.ndarray) -> np.ndarray:
        """Returns the words of all nodes but the first, which is the list's start. content: the cache in the state, as 32-bit words."""
        return content[: NODE_BYTES // 4 * (self.lines + 1)].reshape(-1, NODE_BYTES // 4)[1:, _WORD // 4]

    def address(self, fn: FunctionBuilder, line: str, instance: str = "") -> str:
        """Emits code for the address of a line's node. Each line of memory has one; it is linked into the list only while the cache
        holds the line.
        """
        return fn.emit(f"getelementptr [{NODE_BYTES} x i8], ptr {self.begin(fn, instance)}, i64 {fn.emit(f'add i64 {line}, 1')}")

    def look(self, fn: FunctionBuilder, line: str, instance: str = "") -> Lookup:
        """Emits code that looks for a line in a cache, and returns what it finds: the line's word is 2 * (line + 1), plus 1 where
        it is dirty, or 0 where the cache lacks the line.
        """
        address = self.address(fn, line, instance)
        word = _get(fn, address, _WORD)
        return Lookup(address, word, "", fn.emit(f"icmp ne i32 {word}, 0"), instance)

    def word(self, fn: FunctionBuilder, found: Lookup) -> str:
        """Returns the value that `look` loaded: 2 * (line + 1), plus 1 where the line that was found is dirty."""
        return found.words

    def make_dirty(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that marks a line that was found as dirty, and keeps its place in the list."""
        _set(fn, found.address, _WORD, fn.emit(f"or i32 {found.words}, 1"))

    def make_clean(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that marks a line that was found as clean, and keeps its place in the list."""
        _set(fn, found.address, _WORD, fn.emit(f"and i32 {found.words}, -2"))

    def is_newest(self, fn: FunctionBuilder, line: str, dirty: bool) -> str:
        """Emits code that tells whether a line is the first of the list, which is the last used one, and, if `dirty` is True, also
        dirty.
        """
        begin = self.begin(fn)
        number = fn.emit(f"trunc i64 {fn.emit(f'add i64 {line}, 1')} to i32")
        same = fn.emit(f"icmp eq i32 {_get(fn, begin, _NEXT)}, {number}")
        if not dirty:
            return same
        bit = fn.emit(f"and i32 {_get(fn, self.address(fn, line), _WORD)}, 1")
        return fn.emit(f"and i1 {same}, {fn.emit(f'icmp ne i32 {bit}, 0')}")

    def use(self, fn: FunctionBuilder, found: Lookup, dirty: str) -> None:
        """Emits code that moves a line that was found to the front of the list, and makes it dirty where the value `dirty` is 1."""
        begin = self.begin(fn, found.instance)
        self._unlink(fn, begin, found.address)
        self._link(fn, begin, found.address)
        _set(fn, found.address, _WORD, fn.emit(f"or i32 {found.words}, {dirty}"))

    def put(self, fn: FunctionBuilder, address: str, word: str) -> str:
        """Emits code that puts a line in front of the list; if the cache is full, the last line is removed. Returns the name of the
        value of the removed line's word, which is 0 where none was removed.

        address: of the new line's node.
        word: that of the new line: 2 * (line + 1), plus 1 where it is dirty.
        """
        begin = self.begin(fn)
        length = _get(fn, begin, _WORD)
        full, room, on = fn.block("full"), fn.block("room"), fn.block("on")
        fn.branch(fn.emit(f"icmp eq i32 {length}, {self.level.lines}"), full, room)
        fn.current = full
        oldest = _node(fn, begin, _get(fn, begin, _PREVIOUS))
        gone = _get(fn, oldest, _WORD)
        self._unlink(fn, begin, oldest)
        _set(fn, oldest, _WORD, "0")
        fn.jump(on)
        fn.current = room
        _set(fn, begin, _WORD, fn.emit(f"add i32 {length}, 1"))
        fn.jump(on)
        fn.current = on
        went = fn.name()
        on.phis.append(f"{went} = phi i32 [ {gone}, %{full.label} ], [ 0, %{room.label} ]")
        self._link(fn, begin, address)
        _set(fn, address, _WORD, word)
        return went

    def remove(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that takes a line that was found out of the list."""
        begin = self.begin(fn, found.instance)
        self._unlink(fn, begin, found.address)
        _set(fn, found.address, _WORD, "0")
        _set(fn, begin, _WORD, fn.emit(f"sub i32 {_get(fn, begin, _WORD)}, 1"))

    def declarations(self) -> dict[str, str]:
        """Returns {}: the emitted code calls no function that LLVM has to be told of."""
        return {}

    def _unlink(self, fn: FunctionBuilder, begin: str, node: str) -> None:
        """Emits code that takes a node out of the list. begin, node: addresses of the list's start and of the node."""
        above, below = _get(fn, node, _PREVIOUS), _get(fn, node, _NEXT)
        _set(fn, _node(fn, begin, above), _NEXT, below)
        _set(fn, _node(fn, begin, below), _PREVIOUS, above)

    def _link(self, fn: FunctionBuilder, begin: str, node: str) -> None:
        """Emits code that puts a node in front of the list. begin, node: addresses of the list's start and of the node."""
        top = _get(fn, begin, _NEXT)
        distance = fn.emit(f"sub i64 {fn.emit(f'ptrtoint ptr {node} to i64')}, {fn.emit(f'ptrtoint ptr {begin} to i64')}")
        number = fn.emit(f"trunc i64 {fn.emit(f'udiv exact i64 {distance}, {NODE_BYTES}')} to i32")
        _set(fn, node, _NEXT, top)
        _set(fn, node, _PREVIOUS, "0")
        _set(fn, _node(fn, begin, top), _PREVIOUS, number)
        _set(fn, begin, _NEXT, number)


def _node(fn: FunctionBuilder, begin: str, number: str) -> str:
    """Emits code for the address of the node with a given number, in the list that starts at `begin`."""
    return fn.emit(f"getelementptr [{NODE_BYTES} x i8], ptr {begin}, i64 {fn.emit(f'zext i32 {number} to i64')}")


def _get(fn: FunctionBuilder, node: str, field: int) -> str:
    """Emits a load of a field of a node. node: its address. field: the field's byte offset."""
    return fn.emit(f"load i32, ptr {fn.emit(f'getelementptr i8, ptr {node}, i64 {field}')}")


def _set(fn: FunctionBuilder, node: str, field: int, value: str) -> None:
    """Emits a store to a field of a node. node: its address. field: the field's byte offset."""
    fn.do(f"store i32 {value}, ptr {fn.emit(f'getelementptr i8, ptr {node}, i64 {field}')}")
