"""One set-associative cache as LLVM code: a line is looked up, becomes the newest of its set, takes another one's way.

A set is a vector of 32-bit words, one per way: a line's word, 0 where there is none. The word of line n is 2 * (n + 1), plus 1
where the line is dirty; n < 2**30. Behind the words of a PLRU set lies its tree: bit n says to which half of what is below node
n the next line goes, 0 to the left; node 1 is the root, nodes 2n and 2n + 1 are below n. Behind the tree lies the word of the
line that was used last, 0 where that is not known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from polyml.caches.simulator import state_header
from polyml.codegen.llvm.builder import Function
from polyml.machines.cpu import CacheLevel

LARGEST_LINE = 2**30  # no line has this number, or a greater one


@dataclass(frozen=True)
class Found:
    """A set that was looked at for a line. address: of the set. words: what it holds. same: which ways have the line (<n x i1>).
    hit: whether one has. instance: of the caches, where it was said which one.
    """

    address: str
    words: str
    same: str
    hit: str
    instance: str = ""


@dataclass(frozen=True)
class Level(ABC):
    """The caches of one level, at byte `offset` of the simulator's state. instances: how many there are. sharing: how many
    threads that follow one another use the same one.
    """

    level: CacheLevel
    offset: int
    instances: int = 1
    sharing: int = 1

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """Of one of them in the state."""

    def begin(self, fn: Function, instance: str = "") -> str:
        """The address of one of them, if left out that of the thread whose request is served."""
        start = fn.emit(f"getelementptr i8, ptr %state, i64 {self.offset}")
        if self.instances == 1:
            return start
        number = instance or self.instance(fn)
        return fn.emit(f"getelementptr [{self.size_bytes} x i8], ptr {start}, i64 {number}")

    def instance(self, fn: Function) -> str:
        """The number of the one that this thread uses."""
        return "0" if self.instances == 1 else fn.emit(f"udiv i64 {state_header.get(fn, state_header.THREAD)}, {self.sharing}")


@dataclass(frozen=True)
class Sets(Level):
    """Caches of sets."""

    @property
    def ways(self) -> int:
        return self.level.ways or self.level.lines

    @property
    def count(self) -> int:
        return self.level.sets

    @property
    def size_bytes(self) -> int:
        return state_header.rounded(self.count * self.stride)

    @property
    def stride(self) -> int:
        """Bytes from one set to the next."""
        return 4 * self.ways

    @property
    def type(self) -> str:
        return f"<{self.ways} x i32>"

    @property
    def mask(self) -> str:
        return f"<{self.ways} x i1>"

    def address(self, fn: Function, line: str, instance: str = "") -> str:
        """Of the set that a line belongs to."""
        if self.count & (self.count - 1) == 0:
            number = fn.emit(f"and i64 {line}, {self.count - 1}")
        else:
            number = fn.emit(f"urem i64 {line}, {self.count}")
        return fn.emit(f"getelementptr [{self.stride} x i8], ptr {self.begin(fn, instance)}, i64 {number}")

    def look(self, fn: Function, line: str, instance: str = "") -> Found:
        address = self.address(fn, line, instance)
        words = self.words(fn, address)
        clean = fn.emit(f"and {self.type} {words}, splat (i32 -2)")
        same = fn.emit(f"icmp eq {self.type} {clean}, {self._splat(fn, word_of(fn, line))}")
        return Found(address, words, same, fn.emit(f"icmp ne i{self.ways} {self._bits(fn, same)}, 0"), instance)

    def words(self, fn: Function, address: str) -> str:
        return fn.emit(f"load {self.type}, ptr {address}, align 4")

    def word(self, fn: Function, found: Found) -> str:
        """The word of the line that was found."""
        alone = fn.emit(f"select {self.mask} {found.same}, {self.type} {found.words}, {self.type} zeroinitializer")
        return fn.emit(f"call i32 @llvm.vector.reduce.or.v{self.ways}i32({self.type} {alone})")

    def make_dirty(self, fn: Function, found: Found) -> None:
        """The line that was found, where it is."""
        one = fn.emit(f"zext {self.mask} {found.same} to {self.type}")
        self._store(fn, found.address, fn.emit(f"or {self.type} {found.words}, {one}"))

    def make_clean(self, fn: Function, found: Found) -> None:
        """The same."""
        one = fn.emit(f"zext {self.mask} {found.same} to {self.type}")
        kept = fn.emit(f"xor {self.type} {one}, splat (i32 -1)")
        self._store(fn, found.address, fn.emit(f"and {self.type} {found.words}, {kept}"))

    def declarations(self) -> dict[str, str]:
        name = f"llvm.vector.reduce.or.v{self.ways}i32"
        return {name: f"declare i32 @{name}({self.type})"}

    def _store(self, fn: Function, address: str, words: str) -> None:
        fn.do(f"store {self.type} {words}, ptr {address}, align 4")

    def _splat(self, fn: Function, word: str) -> str:
        first = fn.emit(f"insertelement {self.type} poison, i32 {word}, i32 0")
        return fn.emit(f"shufflevector {self.type} {first}, {self.type} poison, {self.type} zeroinitializer")

    def _bits(self, fn: Function, mask: str) -> str:
        return fn.emit(f"bitcast {self.mask} {mask} to i{self.ways}")


class Lru(Sets):
    """The oldest line gives way. Words are in the order of their last use, the newest first, none last."""

    def is_newest(self, fn: Function, line: str, dirty: bool) -> str:
        """Whether nothing changes when the line is used, for a write where `dirty`."""
        return _is_word(fn, fn.emit(f"load i32, ptr {self.address(fn, line)}, align 4"), line, dirty)

    def use(self, fn: Function, found: Found, dirty: str) -> None:
        """The line that was found becomes the newest one, and dirty where `dirty` is 1."""
        newest = fn.emit(f"or i32 {self.word(fn, found)}, {dirty}")
        one = self._first(fn, found)
        up_to = fn.emit(f"or i{self.ways} {fn.emit(f'sub i{self.ways} {one}, 1')}, {one}")
        lanes = fn.emit(f"bitcast i{self.ways} {up_to} to {self.mask}")
        moved = self._behind(fn, newest, found.words)
        self._store(fn, found.address, fn.emit(f"select {self.mask} {lanes}, {self.type} {moved}, {self.type} {found.words}"))

    def put(self, fn: Function, address: str, word: str) -> str:
        """A new line takes a way; gives the word that was there."""
        words = self.words(fn, address)
        self._store(fn, address, self._behind(fn, word, words))
        return fn.emit(f"extractelement {self.type} {words}, i32 {self.ways - 1}")

    def remove(self, fn: Function, found: Found) -> None:
        order = ", ".join(f"i32 {way}" for way in range(1, self.ways + 1))
        moved = fn.emit(f"shufflevector {self.type} {found.words}, {self.type} zeroinitializer, <{self.ways} x i32> <{order}>")
        from_it = fn.emit(f"sub i{self.ways} 0, {self._first(fn, found)}")
        lanes = fn.emit(f"bitcast i{self.ways} {from_it} to {self.mask}")
        self._store(fn, found.address, fn.emit(f"select {self.mask} {lanes}, {self.type} {moved}, {self.type} {found.words}"))

    def _first(self, fn: Function, found: Found) -> str:
        """The bit of the way that has the line."""
        return self._bits(fn, found.same)

    def _behind(self, fn: Function, newest: str, words: str) -> str:
        """The words, one place further back, behind the newest."""
        first = fn.emit(f"insertelement {self.type} poison, i32 {newest}, i32 0")
        order = ", ".join(f"i32 {way}" for way in (self.ways, *range(self.ways - 1)))
        return fn.emit(f"shufflevector {self.type} {words}, {self.type} {first}, <{self.ways} x i32> <{order}>")


class Plru(Sets):
    """A way without a line is taken first, else the one that the tree leads to; each use turns the tree away from the line."""

    @property
    def stride(self) -> int:
        return 4 * self.ways + 8

    def is_newest(self, fn: Function, line: str, dirty: bool) -> str:
        """Whether nothing changes when the line is used, for a write where `dirty`."""
        return _is_word(fn, fn.emit(f"load i32, ptr {self._last(fn, self.address(fn, line))}, align 4"), line, dirty)

    def use(self, fn: Function, found: Found, dirty: str) -> None:
        written = self._splat(fn, dirty)
        one = fn.emit(f"select {self.mask} {found.same}, {self.type} {written}, {self.type} zeroinitializer")
        self._store(fn, found.address, fn.emit(f"or {self.type} {found.words}, {one}"))
        self._turn(fn, found.address, self._way(fn, found.same))
        fn.do(f"store i32 {fn.emit(f'or i32 {self.word(fn, found)}, {dirty}')}, ptr {self._last(fn, found.address)}, align 4")

    def put(self, fn: Function, address: str, word: str) -> str:
        words = self.words(fn, address)
        free = fn.emit(f"icmp eq {self.type} {words}, zeroinitializer")
        some = fn.emit(f"icmp ne i{self.ways} {self._bits(fn, free)}, 0")
        way = fn.emit(f"select i1 {some}, i32 {self._way(fn, free)}, i32 {self._led_to(fn, address)}")
        self._store(fn, address, fn.emit(f"insertelement {self.type} {words}, i32 {word}, i32 {way}"))
        self._turn(fn, address, way)
        fn.do(f"store i32 {word}, ptr {self._last(fn, address)}, align 4")
        return fn.emit(f"extractelement {self.type} {words}, i32 {way}")

    def remove(self, fn: Function, found: Found) -> None:
        self._store(
            fn,
            found.address,
            fn.emit(f"select {self.mask} {found.same}, {self.type} zeroinitializer, {self.type} {found.words}"),
        )
        fn.do(f"store i32 0, ptr {self._last(fn, found.address)}, align 4")

    def make_clean(self, fn: Function, found: Found) -> None:
        super().make_clean(fn, found)
        fn.do(f"store i32 0, ptr {self._last(fn, found.address)}, align 4")

    def declarations(self) -> dict[str, str]:
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
        """The nodes above a way, as bits, and those of them whose bit must be set to lead elsewhere."""
        node, mask, bits = way + self.ways, 0, 0
        while node > 1:
            mask |= 1 << node // 2
            bits |= (1 - node % 2) << node // 2
            node //= 2
        return mask, bits

    def _way(self, fn: Function, mask: str) -> str:
        """The first way of a mask."""
        bits = self._bits(fn, mask)
        number = fn.emit(f"call i{self.ways} @llvm.cttz.i{self.ways}(i{self.ways} {bits}, i1 false)")
        if self.ways == 32:
            return number
        return fn.emit(f"{'zext' if self.ways < 32 else 'trunc'} i{self.ways} {number} to i32")

    def _led_to(self, fn: Function, address: str) -> str:
        tree, node = self._tree(fn, address), "1"
        for _ in range(self.ways.bit_length() - 1):
            side = fn.emit(f"and i32 {fn.emit(f'lshr i32 {tree}, {node}')}, 1")
            node = fn.emit(f"or i32 {fn.emit(f'shl i32 {node}, 1')}, {side}")
        return fn.emit(f"sub i32 {node}, {self.ways}")

    def _turn(self, fn: Function, address: str, way: str) -> None:
        tree, found = self._tree(fn, address), []
        for table in ("path", "away"):
            place = fn.emit(f"getelementptr i32, ptr @plru_{table}_{self.ways}, i32 {way}")
            found.append(fn.emit(f"load i32, ptr {place}"))
        kept = fn.emit(f"and i32 {tree}, {found[0]}")
        place = fn.emit(f"getelementptr i8, ptr {address}, i64 {4 * self.ways}")
        fn.do(f"store i32 {fn.emit(f'or i32 {kept}, {found[1]}')}, ptr {place}, align 4")

    def _last(self, fn: Function, address: str) -> str:
        """The address of the word of the line that was used last."""
        return fn.emit(f"getelementptr i8, ptr {address}, i64 {4 * self.ways + 4}")

    def _tree(self, fn: Function, address: str) -> str:
        place = fn.emit(f"getelementptr i8, ptr {address}, i64 {4 * self.ways}")
        return fn.emit(f"load i32, ptr {place}, align 4")


REPLACEMENTS = {"lru": Lru, "plru": Plru}


def word_of(fn: Function, line: str) -> str:
    """The word of a clean line."""
    doubled = fn.emit(f"shl i32 {fn.emit(f'trunc i64 {line} to i32')}, 1")
    return fn.emit(f"add i32 {doubled}, 2")


def _is_word(fn: Function, word: str, line: str, dirty: bool) -> str:
    """Whether it is the line's, where `dirty` that of the dirty line."""
    if dirty:
        return fn.emit(f"icmp eq i32 {word}, {fn.emit(f'or i32 {word_of(fn, line)}, 1')}")
    return fn.emit(f"icmp eq i32 {fn.emit(f'and i32 {word}, -2')}, {word_of(fn, line)}")


def line_of(fn: Function, word: str) -> str:
    """The line of a word."""
    number = fn.emit(f"sub i32 {fn.emit(f'lshr i32 {word}, 1')}, 1")
    return fn.emit(f"zext i32 {number} to i64")
