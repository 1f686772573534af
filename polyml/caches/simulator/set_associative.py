"""Set-associative caches as LLVM code.

A set is a vector of 32-bit words, one for each way, which is 0 where the way is free. The word of line n is 2 * (n + 1), plus 1
where the line is dirty; n < 2**30. Behind the words of a PLRU set there is its tree, one bit per node: bit n says in which half
below node n the next line is replaced, 0 for the left; node 1 is the root, and nodes 2n and 2n + 1 are below n. Behind the tree
there is the word of the line that was used last, 0 where that is not known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from polyml.caches.simulator import state_header
from polyml.codegen.llvm.builder import FunctionBuilder
from polyml.machines.cpu import CacheLevel

LARGEST_LINE = 2**30  # no line has this number, or a greater one


@dataclass(frozen=True)
class Lookup:
    """A Lookup is the result of looking for a line in a cache. Its fields are names of LLVM values.

    address: the address of the line's set, or of its node in a fully associative cache.
    words: the content of the set or node: for each line in it a 32-bit word, 2 * (line + 1), plus 1 where the line is dirty.
    same: for each way of the set, whether it has the line (<n x i1>).
    hit: whether the cache has the line.
    instance: the cache's number; "" for the cache of the thread whose access is made.
    """

    address: str
    words: str
    same: str
    hit: str
    instance: str = ""


@dataclass(frozen=True)
class SimulatedLevel(ABC):
    """A SimulatedLevel emits the LLVM code that uses the caches of one level.

    A cache keeps a 32-bit word for each line in it: 2 * (line + 1), plus 1 where the line is dirty. Methods that emit code for a
    value return its name.

    level: the description of the hardware.
    offset: where the caches begin in the simulator's state, in bytes.
    instances: how many caches the level has.
    sharing: how many consecutive threads use one of them.
    """

    level: CacheLevel
    offset: int
    instances: int = 1
    sharing: int = 1

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """Returns how many bytes one cache takes in the simulator's state."""

    @abstractmethod
    def kept(self, content: np.ndarray) -> np.ndarray:
        """Returns the words of a cache's lines, with 0 for free places. content: the cache in the state, as 32-bit words."""

    def begin(self, fn: FunctionBuilder, instance: str = "") -> str:
        """Emits code for the address at which a cache of the level begins in the simulator's state.

        instance: the cache's number; by default that of the thread whose access is made.
        """
        start = fn.emit(f"getelementptr i8, ptr %state, i64 {self.offset}")
        if self.instances == 1:
            return start
        number = instance or self.instance(fn)
        return fn.emit(f"getelementptr [{self.size_bytes} x i8], ptr {start}, i64 {number}")

    def instance(self, fn: FunctionBuilder) -> str:
        """Emits code for the number of the cache that the thread whose access is made uses."""
        return "0" if self.instances == 1 else fn.emit(f"udiv i64 {state_header.get(fn, state_header.THREAD)}, {self.sharing}")

    @abstractmethod
    def address(self, fn: FunctionBuilder, line: str, instance: str = "") -> str:
        """Emits code for the address of what the cache keeps for a line: its set, or its node."""

    @abstractmethod
    def look(self, fn: FunctionBuilder, line: str, instance: str = "") -> Lookup:
        """Emits code that looks for a line in a cache; this is no access, so the order in which lines are replaced stays as it is.

        instance: the cache's number; by default that of the thread whose access is made.
        """

    @abstractmethod
    def word(self, fn: FunctionBuilder, found: Lookup) -> str:
        """Emits code for the word that the cache keeps for a line that was found: 2 * (line + 1), plus 1 where the line is dirty."""

    @abstractmethod
    def is_newest(self, fn: FunctionBuilder, line: str, dirty: bool) -> str:
        """Emits code that tells whether an access to a line would change nothing: it was used last, and, if `dirty` is True, it is
        dirty.
        """

    @abstractmethod
    def use(self, fn: FunctionBuilder, found: Lookup, dirty: str) -> None:
        """Emits code that makes a line that was found the newest one, and dirty where the value `dirty` is 1."""

    @abstractmethod
    def put(self, fn: FunctionBuilder, address: str, word: str) -> str:
        """Emits code that inserts a line that the cache lacks; returns the word of the line that is evicted, 0 for none.

        address: of the line's set or node.
        word: 2 * (line + 1), plus 1 where the line is dirty.
        """

    @abstractmethod
    def remove(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that removes a line that was found from the cache."""

    @abstractmethod
    def make_dirty(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that marks a line that was found as dirty; this is no access, which would change what is replaced next."""

    @abstractmethod
    def make_clean(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that marks a line that was found as clean; this is no access, which would change what is replaced next."""

    @abstractmethod
    def declarations(self) -> dict[str, str]:
        """Returns the LLVM declarations that the emitted code needs, by name."""


@dataclass(frozen=True)
class SetAssociative(SimulatedLevel):
    """A SetAssociative level has caches made of sets; subclasses decide which line of a set is replaced."""

    @property
    def ways(self) -> int:
        """Returns how many lines a set has; all lines of the cache where the level's description does not say."""
        return self.level.ways or self.level.lines

    @property
    def count(self) -> int:
        """Returns the number of sets of one cache."""
        return self.level.sets

    @property
    def size_bytes(self) -> int:
        """Returns how many bytes one cache takes in the simulator's state."""
        return state_header.rounded(self.count * self.stride)

    def kept(self, content: np.ndarray) -> np.ndarray:
        """Returns the words of all ways of all sets. content: the cache in the state, as 32-bit words."""
        return content[: self.count * self.stride // 4].reshape(self.count, -1)[:, : self.ways]

    @property
    def stride(self) -> int:
        """Returns the distance in bytes of two consecutive sets in the simulator's state."""
        return 4 * self.ways

    @property
    def type(self) -> str:
        """Returns the LLVM type of a set: a vector with a word for each way."""
        return f"<{self.ways} x i32>"

    @property
    def mask(self) -> str:
        """Returns the LLVM type of a vector with one bit for each way."""
        return f"<{self.ways} x i1>"

    def address(self, fn: FunctionBuilder, line: str, instance: str = "") -> str:
        """Emits code for the address of the set that a line belongs to."""
        if self.count & (self.count - 1) == 0:
            number = fn.emit(f"and i64 {line}, {self.count - 1}")
        else:
            number = fn.emit(f"urem i64 {line}, {self.count}")
        return fn.emit(f"getelementptr [{self.stride} x i8], ptr {self.begin(fn, instance)}, i64 {number}")

    def look(self, fn: FunctionBuilder, line: str, instance: str = "") -> Lookup:
        """Emits code that looks for a line by comparing it with all ways of its set at once."""
        address = self.address(fn, line, instance)
        words = self.words(fn, address)
        clean = fn.emit(f"and {self.type} {words}, splat (i32 -2)")
        same = fn.emit(f"icmp eq {self.type} {clean}, {self._splat(fn, word_of(fn, line))}")
        return Lookup(address, words, same, fn.emit(f"icmp ne i{self.ways} {self._bits(fn, same)}, 0"), instance)

    def words(self, fn: FunctionBuilder, address: str) -> str:
        """Emits a load of a set: a vector with the word of the line in each way, 0 for a free way."""
        return fn.emit(f"load {self.type}, ptr {address}, align 4")

    def word(self, fn: FunctionBuilder, found: Lookup) -> str:
        """Emits code for the word that the cache keeps for a line that was found: 2 * (line + 1), plus 1 where the line is dirty."""
        alone = fn.emit(f"select {self.mask} {found.same}, {self.type} {found.words}, {self.type} zeroinitializer")
        return fn.emit(f"call i32 @llvm.vector.reduce.or.v{self.ways}i32({self.type} {alone})")

    def make_dirty(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that marks a line that was found as dirty, and keeps its place in the set."""
        one = fn.emit(f"zext {self.mask} {found.same} to {self.type}")
        self._store(fn, found.address, fn.emit(f"or {self.type} {found.words}, {one}"))

    def make_clean(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that marks a line that was found as clean, and keeps its place in the set."""
        one = fn.emit(f"zext {self.mask} {found.same} to {self.type}")
        kept = fn.emit(f"xor {self.type} {one}, splat (i32 -1)")
        self._store(fn, found.address, fn.emit(f"and {self.type} {found.words}, {kept}"))

    def declarations(self) -> dict[str, str]:
        """Returns the LLVM declaration of the vector reduction that the method `word` uses, by its name."""
        name = f"llvm.vector.reduce.or.v{self.ways}i32"
        return {name: f"declare i32 @{name}({self.type})"}

    def _store(self, fn: FunctionBuilder, address: str, words: str) -> None:
        """Emits a store of a set: a vector with a word for each way."""
        fn.do(f"store {self.type} {words}, ptr {address}, align 4")

    def _splat(self, fn: FunctionBuilder, word: str) -> str:
        """Emits code for a vector whose elements, one for each way, are all `word`."""
        first = fn.emit(f"insertelement {self.type} poison, i32 {word}, i32 0")
        return fn.emit(f"shufflevector {self.type} {first}, {self.type} poison, {self.type} zeroinitializer")

    def _bits(self, fn: FunctionBuilder, mask: str) -> str:
        """Emits code that converts a vector with one bit for each way (`mask`) to an integer with these bits."""
        return fn.emit(f"bitcast {self.mask} {mask} to i{self.ways}")


class Lru(SetAssociative):
    """An Lru level replaces the least recently used line of a set.

    The words of a set are in the order of their lines' last use, the newest first, zeros last.
    """

    def is_newest(self, fn: FunctionBuilder, line: str, dirty: bool) -> str:
        """Emits code that tells whether a line is the first (the newest) of its set, and, if `dirty` is True, also dirty."""
        return _is_word(fn, fn.emit(f"load i32, ptr {self.address(fn, line)}, align 4"), line, dirty)

    def use(self, fn: FunctionBuilder, found: Lookup, dirty: str) -> None:
        """Emits code that moves a line that was found to the front of its set, and makes it dirty where the value `dirty` is 1."""
        newest = fn.emit(f"or i32 {self.word(fn, found)}, {dirty}")
        one = self._first(fn, found)
        up_to = fn.emit(f"or i{self.ways} {fn.emit(f'sub i{self.ways} {one}, 1')}, {one}")
        lanes = fn.emit(f"bitcast i{self.ways} {up_to} to {self.mask}")
        moved = self._behind(fn, newest, found.words)
        self._store(fn, found.address, fn.emit(f"select {self.mask} {lanes}, {self.type} {moved}, {self.type} {found.words}"))

    def put(self, fn: FunctionBuilder, address: str, word: str) -> str:
        """Emits code that makes a line the first (the newest) of its set, and returns the word of the line that this drops from the
        end of the set, 0 if that way was free. address: of the set. word: that of the new line, 2 * (line + 1) plus the dirty bit.
        """
        words = self.words(fn, address)
        self._store(fn, address, self._behind(fn, word, words))
        return fn.emit(f"extractelement {self.type} {words}, i32 {self.ways - 1}")

    def remove(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that removes a line that was found; the lines behind it move up by one way."""
        order = ", ".join(f"i32 {way}" for way in range(1, self.ways + 1))
        moved = fn.emit(f"shufflevector {self.type} {found.words}, {self.type} zeroinitializer, <{self.ways} x i32> <{order}>")
        from_it = fn.emit(f"sub i{self.ways} 0, {self._first(fn, found)}")
        lanes = fn.emit(f"bitcast i{self.ways} {from_it} to {self.mask}")
        self._store(fn, found.address, fn.emit(f"select {self.mask} {lanes}, {self.type} {moved}, {self.type} {found.words}"))

    def _first(self, fn: FunctionBuilder, found: Lookup) -> str:
        """Emits code for an integer with one bit for each way of the set: 1 for the way with the line that was found, 0 for the
        others.
        """
        return self._bits(fn, found.same)

    def _behind(self, fn: FunctionBuilder, newest: str, words: str) -> str:
        """Emits code for a set's words moved back by one way: the word `newest` comes first, and the last one is dropped."""
        first = fn.emit(f"insertelement {self.type} poison, i32 {newest}, i32 0")
        order = ", ".join(f"i32 {way}" for way in (self.ways, *range(self.ways - 1)))
        return fn.emit(f"shufflevector {self.type} {words}, {self.type} {first}, <{self.ways} x i32> <{order}>")


class Plru(SetAssociative):
    """A Plru level (tree-PLRU) keeps, for each set, a binary tree over the ways, with a bit in each node that leads to one half of
    the ways below it. Bits lead from the root to one way, whose line is replaced next.

    A free way is taken first. Each use of a line sets the bits on the path to it so that they lead elsewhere.
    """

    @property
    def stride(self) -> int:
        """Returns the bytes from one set to the next: a word for each way, the tree, and the word of the line used last."""
        return 4 * self.ways + 8

    def is_newest(self, fn: FunctionBuilder, line: str, dirty: bool) -> str:
        """Emits code that tells whether the line is the last used one of its set, and, if `dirty` is True, also dirty."""
        return _is_word(fn, fn.emit(f"load i32, ptr {self._last(fn, self.address(fn, line))}, align 4"), line, dirty)

    def use(self, fn: FunctionBuilder, found: Lookup, dirty: str) -> None:
        """Emits code that makes a line the last used one, dirty where `dirty` is 1, and sets the tree's bits to lead elsewhere."""
        written = self._splat(fn, dirty)
        one = fn.emit(f"select {self.mask} {found.same}, {self.type} {written}, {self.type} zeroinitializer")
        self._store(fn, found.address, fn.emit(f"or {self.type} {found.words}, {one}"))
        self._turn(fn, found.address, self._way(fn, found.same))
        fn.do(f"store i32 {fn.emit(f'or i32 {self.word(fn, found)}, {dirty}')}, ptr {self._last(fn, found.address)}, align 4")

    def put(self, fn: FunctionBuilder, address: str, word: str) -> str:
        """Emits code that puts a line into a free way, or else into the way to which the tree's bits lead, and sets these to lead
        elsewhere. Returns the word that was in this way, 0 if it was free. address: of the set. word: that of the new line, twice
        (line + 1) plus the dirty bit.
        """
        words = self.words(fn, address)
        free = fn.emit(f"icmp eq {self.type} {words}, zeroinitializer")
        some = fn.emit(f"icmp ne i{self.ways} {self._bits(fn, free)}, 0")
        way = fn.emit(f"select i1 {some}, i32 {self._way(fn, free)}, i32 {self._led_to(fn, address)}")
        self._store(fn, address, fn.emit(f"insertelement {self.type} {words}, i32 {word}, i32 {way}"))
        self._turn(fn, address, way)
        fn.do(f"store i32 {word}, ptr {self._last(fn, address)}, align 4")
        return fn.emit(f"extractelement {self.type} {words}, i32 {way}")

    def remove(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that frees the way of a line that was found; the tree is not changed."""
        self._store(
            fn,
            found.address,
            fn.emit(f"select {self.mask} {found.same}, {self.type} zeroinitializer, {self.type} {found.words}"),
        )
        fn.do(f"store i32 0, ptr {self._last(fn, found.address)}, align 4")

    def make_clean(self, fn: FunctionBuilder, found: Lookup) -> None:
        """Emits code that marks a line as clean, and notes that it is not known which line of its set was used last."""
        super().make_clean(fn, found)
        fn.do(f"store i32 0, ptr {self._last(fn, found.address)}, align 4")

    def declarations(self) -> dict[str, str]:
        """Returns LLVM declarations by name: of called functions, and of tables that say, by way, which bits of the tree a use
        changes.
        """
        away = [self._away(way) for way in range(self.ways)]
        path = ", ".join(f"i32 {~mask}" for mask, _ in away)
        value = ", ".join(f"i32 {bits}" for _, bits in away)
        kind, cttz = f"[{self.ways} x i32]", f"llvm.cttz.i{self.ways}"
        return super().declarations() | {
            f"plru_path_{self.ways}": f"@plru_path_{self.ways} = internal constant {kind} [{path}]",
            f"plru_away_{self.ways}": f"@plru_away_{self.ways} = internal constant {kind} [{value}]",
            cttz: f"declare i{self.ways} @{cttz}(i{self.ways}, i1)",
        }

    def _away(self, way: int) -> tuple[int, int]:
        """Returns (nodes, bits), two masks with a bit for each node of the tree: the nodes on the path to a way, and those of them
        that must be 1 to lead away from it; the other nodes on the path must be 0.
        """
        node, mask, bits = way + self.ways, 0, 0
        while node > 1:
            mask |= 1 << node // 2
            bits |= (1 - node % 2) << node // 2
            node //= 2
        return mask, bits

    def _way(self, fn: FunctionBuilder, mask: str) -> str:
        """Emits code for the number of the first way whose bit is 1. mask: a vector with one bit for each way."""
        bits = self._bits(fn, mask)
        number = fn.emit(f"call i{self.ways} @llvm.cttz.i{self.ways}(i{self.ways} {bits}, i1 false)")
        if self.ways == 32:
            return number
        return fn.emit(f"{'zext' if self.ways < 32 else 'trunc'} i{self.ways} {number} to i32")

    def _led_to(self, fn: FunctionBuilder, address: str) -> str:
        """Emits code for the number of the way to which the bits of a set's tree lead. address: the set's address."""
        tree, node = self._tree(fn, address), "1"
        for _ in range(self.ways.bit_length() - 1):
            side = fn.emit(f"and i32 {fn.emit(f'lshr i32 {tree}, {node}')}, 1")
            node = fn.emit(f"or i32 {fn.emit(f'shl i32 {node}, 1')}, {side}")
        return fn.emit(f"sub i32 {node}, {self.ways}")

    def _turn(self, fn: FunctionBuilder, address: str, way: str) -> None:
        """Emits code that sets the bits of the tree of the set at `address` so that they lead away from way number `way`."""
        tree, found = self._tree(fn, address), []
        for table in ("path", "away"):
            place = fn.emit(f"getelementptr i32, ptr @plru_{table}_{self.ways}, i32 {way}")
            found.append(fn.emit(f"load i32, ptr {place}"))
        kept = fn.emit(f"and i32 {tree}, {found[0]}")
        place = fn.emit(f"getelementptr i8, ptr {address}, i64 {4 * self.ways}")
        fn.do(f"store i32 {fn.emit(f'or i32 {kept}, {found[1]}')}, ptr {place}, align 4")

    def _last(self, fn: FunctionBuilder, address: str) -> str:
        """Emits code for the address of the word of the line that was used last in a set. address: of the set."""
        return fn.emit(f"getelementptr i8, ptr {address}, i64 {4 * self.ways + 4}")

    def _tree(self, fn: FunctionBuilder, address: str) -> str:
        """Emits a load of the bits of a set's tree. address: of the set."""
        place = fn.emit(f"getelementptr i8, ptr {address}, i64 {4 * self.ways}")
        return fn.emit(f"load i32, ptr {place}, align 4")


REPLACEMENTS = {"lru": Lru, "plru": Plru}


def word_of(fn: FunctionBuilder, line: str) -> str:
    """Emits code for the 32-bit word by which caches keep a clean line: 2 * (line + 1)."""
    doubled = fn.emit(f"shl i32 {fn.emit(f'trunc i64 {line} to i32')}, 1")
    return fn.emit(f"add i32 {doubled}, 2")


def _is_word(fn: FunctionBuilder, word: str, line: str, dirty: bool) -> str:
    """Emits code that tells whether `word`, 2 * (line + 1) plus the dirty bit, is that of a line, and, if `dirty` is True, dirty
    too.
    """
    if dirty:
        return fn.emit(f"icmp eq i32 {word}, {fn.emit(f'or i32 {word_of(fn, line)}, 1')}")
    return fn.emit(f"icmp eq i32 {fn.emit(f'and i32 {word}, -2')}, {word_of(fn, line)}")


def line_of(fn: FunctionBuilder, word: str) -> str:
    """Emits code for the number (i64) of the line that a cache keeps as `word`: 2 * (line + 1), plus 1 where it is dirty."""
    number = fn.emit(f"sub i32 {fn.emit(f'lshr i32 {word}, 1')}, 1")
    return fn.emit(f"zext i32 {number} to i64")
