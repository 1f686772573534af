"""Loads and stores of locations in memory: of one element, or of lanes that are neighbours, far apart, under a mask, or in
pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyml.codegen.costs.instruction_costs import LONGEST_SHORT_STRIDE
from polyml.codegen.ir.jams import Copy
from polyml.codegen.ir.program import CannotRunTogether
from polyml.codegen.llvm.addresses import Addresses
from polyml.codegen.llvm.registers import Location
from polyml.codegen.llvm.ssa_value import SsaValue, literal, memory_type, name_suffix, vector_type
from polyml.dtypes import I64, U16, U32, U64, DType
from polyml.model.core.scop import Gather
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class _MaskedRow:
    """A _MaskedRow is a row of neighbouring elements in memory, of which a mask says which ones are accessed.

    address: of the first element.
    kind: the LLVM type of an element in memory.
    lanes: the number of elements.
    align: the alignment in bytes.
    bits: the mask, <lanes x i1>.
    """

    address: str
    kind: str
    lanes: int
    align: int
    bits: str


class MemoryEmitter:
    """A MemoryEmitter emits the loads and stores of one function; which elements are in registers is left to `ElementAccess`."""

    def __init__(self, body: Addresses):
        self._body, self._fn, self._math = body, body.fn, body.math

    def _alignment(self, array: str) -> int:
        """Returns the alignment in bytes that all elements of the array are known to have."""
        return 1 if self._body.module.layout.unaligned(array) else self._body.scop.arrays[array].element.size_bytes

    def contiguous(self, location: Location) -> int:
        """Returns 1 if the location's lanes are neighbours in memory, -1 if they are neighbours in reverse order, else 0."""
        steps = self._body.module.layout.strides(location.array)
        moving = [(s, t) for s, t in zip(location.strides, steps) if s]
        if len(moving) != 1 or self.word(location.array) > 1:
            return 0
        lane_step, stride = moving[0]
        return lane_step if stride == self._body.scop.arrays[location.array].element.size_bytes and abs(lane_step) == 1 else 0

    def word(self, array: str) -> int:
        """Returns how many elements of the array lie side by side as one word (`Window.word`), 1 for most arrays."""
        window = self._body.module.program.windows.get(array)
        return 1 if window is None else window.word

    def _short_stride(self, location: Location) -> int:
        """Returns the distance in elements from one lane to the next if it is 2 to 4 (LONGEST_SHORT_STRIDE), along the dimension in
        which elements are neighbours in memory; else 0.
        """
        size_bytes = self._body.scop.arrays[location.array].element.size_bytes
        moving = [(s, t) for s, t in zip(location.strides, self._body.module.layout.strides(location.array)) if s]
        (step, stride), *others = moving
        if self.word(location.array) > 1:
            return 0
        return step if not others and stride == size_bytes and 2 <= step <= LONGEST_SHORT_STRIDE else 0

    def _load_short_stride(self, location: Location, stride: int) -> str:
        """Emits a load of lanes at a short stride, and returns the vector's SSA name: the row from the first to the last lane is
        loaded, and a shuffle takes every stride-th element.
        """
        kind, total = memory_type(self._body.scop.arrays[location.array].element), stride * location.lanes
        last = Affine(stride * (location.lanes - 1)) if location.last is None else location.last * stride
        bits, address = Mask(self._body, total, last).bits, self._body.pointer(location.array, location.subscripts)
        row = self._masked_load(_MaskedRow(address, kind, total, self._alignment(location.array), bits))
        order = ", ".join(f"i32 {stride * lane}" for lane in range(location.lanes))
        wide = vector_type(kind, total)
        return self._fn.emit(f"shufflevector {wide} {row}, {wide} poison, <{location.lanes} x i32> <{order}>")

    def is_pair(self, location: Location) -> bool:
        """Returns whether the location's lanes are the same part, real or imaginary, of complex numbers that are neighbours in
        memory.
        """
        array = self._body.scop.arrays[location.array]
        if not array.pairs or location.lanes == 1 or not location.subscripts[0].is_constant or location.part is not None:
            return False
        moving = [(s, t) for s, t in zip(location.strides, self._body.module.layout.strides(location.array)) if s]
        return moving == [(1, 2 * array.element.size_bytes)]

    def other_part(self, location: Location) -> Location:
        """Returns the location of the imaginary parts of the complex numbers whose real parts are at this location, or the
        reverse.
        """
        first, *rest = location.subscripts
        return replace(location, subscripts=(Affine(1 - first.constant), *rest))

    def loaded_pairs(self, location: Location) -> dict[Location, SsaValue]:
        """Emits one load of both parts of neighbouring complex numbers, and two shuffles. Returns { location of the real or
        imaginary parts -> their values }.

        location: that of either part.
        """
        first, second = self._in_order(location)
        element, lanes = self._body.scop.arrays[location.array].element, location.lanes
        kind, align, mask = memory_type(element), self._alignment(location.array), self._mask(location)
        address, wide = self._body.pointer(location.array, first.subscripts), vector_type(kind, 2 * lanes)
        if mask is None:
            both = self._fn.emit(f"load {wide}, ptr {address}, align {align}")
        else:
            both = self._masked_load(_MaskedRow(address, kind, 2 * lanes, align, mask.doubled()))
        parts = {}
        for one, start in ((first, 0), (second, 1)):
            order = ", ".join(f"i32 {start + 2 * lane}" for lane in range(lanes))
            ssa = self._fn.emit(f"shufflevector {wide} {both}, {wide} poison, <{lanes} x i32> <{order}>")
            parts[one] = SsaValue(ssa, element, lanes)
        return parts

    def _in_order(self, location: Location) -> tuple[Location, Location]:
        """Returns the locations of the real and of the imaginary parts, given either of them."""
        other = self.other_part(location)
        return (location, other) if location.subscripts[0].constant == 0 else (other, location)

    def store_pairs(self, parts: dict[Location, SsaValue]) -> None:
        """Emits one shuffle and one store of both parts of neighbouring complex numbers.

        parts: { location of the real or imaginary parts -> their values }.
        """
        first, second = self._in_order(next(iter(parts)))
        element, lanes = self._body.scop.arrays[first.array].element, first.lanes
        kind, align, mask = memory_type(element), self._alignment(first.array), self._mask(first)
        address = self._body.pointer(first.array, first.subscripts)
        narrow, wide = vector_type(kind, lanes), vector_type(kind, 2 * lanes)
        order = ", ".join(f"i32 {lane}, i32 {lanes + lane}" for lane in range(lanes))
        values = ", ".join(f"{narrow} {self._math.splat(parts[one], lanes).ssa}" for one in (first, second))
        both = self._fn.emit(f"shufflevector {values}, <{2 * lanes} x i32> <{order}>")
        if mask is None:
            self._fn.do(f"store {wide} {both}, ptr {address}, align {align}")
        else:
            self._masked_store(both, _MaskedRow(address, kind, 2 * lanes, align, mask.doubled()))

    def _mask(self, location: Location) -> Mask | None:
        """Returns the mask of the location's lanes; None if all lanes are accessed."""
        return None if location.last is None else Mask(self._body, location.lanes, location.last)

    def load(self, location: Location) -> SsaValue:
        """Emits the load of the location's element, or of one element per lane, and returns the value."""
        mask = self._mask(location)
        element = self._body.scop.arrays[location.array].element
        kind, align = memory_type(element), self._alignment(location.array)
        if location.lanes == 1:
            address = self._body.pointer(location.array, location.subscripts)
            return self._from_memory(self._fn.emit(f"load {kind}, ptr {address}, align {align}"), element, 1)
        if self.is_pair(location):
            return self.loaded_pairs(location)[location]
        direction = self.contiguous(location)
        wide = vector_type(kind, location.lanes)
        if direction == 1:
            address = self._body.pointer(location.array, location.subscripts)
            if mask is None:
                loaded = self._fn.emit(f"load {wide}, ptr {address}, align {align}")
            else:
                loaded = self._masked_load(_MaskedRow(address, kind, location.lanes, align, mask.bits))
            return self._from_memory(loaded, element, location.lanes)
        if stride := self._short_stride(location):
            return self._from_memory(self._load_short_stride(location, stride), element, location.lanes)
        if direction == -1:
            address = self._body.pointer(location.array, self._lane(location, location.lanes - 1))
            if mask is None:
                loaded = self._fn.emit(f"load {wide}, ptr {address}, align {align}")
            else:
                loaded = self._masked_load(_MaskedRow(address, kind, location.lanes, align, mask.reversed()))
            order = ", ".join(f"i32 {i}" for i in reversed(range(location.lanes)))
            reordered = self._fn.emit(f"shufflevector {wide} {loaded}, {wide} poison, <{location.lanes} x i32> <{order}>")
            return self._from_memory(reordered, element, location.lanes)
        numbers = []
        for lane in range(location.lanes):
            address = self._lane_pointer(location, lane, mask)
            loaded = self._fn.emit(f"load {kind}, ptr {address}, align {align}")
            numbers.append(self._from_memory(loaded, element, 1))
        return self._math.vector(numbers)

    def load_word(self, location: Location, length: int) -> SsaValue:
        """Emits the load of so many neighbours, of which the location is the first one, as one integer, and returns it."""
        element = self._body.scop.arrays[location.array].element
        kind = {16: U16, 32: U32, 64: U64}[length * element.bits]
        address = self._body.pointer(location.array, location.subscripts, begins_word=self.word(location.array) > 1)
        return SsaValue(self._fn.emit(f"load {memory_type(kind)}, ptr {address}, align {self._alignment(location.array)}"), kind)

    def load_words(self, location: Location, length: int) -> str:
        """Emits the load of the words that begin at the location's lanes (`Window.word`), and returns the vector's SSA name."""
        row = self._word_row(location, length)
        if location.last is not None:
            return self._masked_load(row)
        return self._fn.emit(f"load {vector_type(row.kind, row.lanes)}, ptr {row.address}, align {row.align}")

    def store_words(self, location: Location, length: int, words: str) -> None:
        """Emits the store of the words that begin at the location's lanes (`Window.word`). words: the SSA name of their vector."""
        row = self._word_row(location, length)
        if location.last is not None:
            self._masked_store(words, row)
        else:
            self._fn.do(f"store {vector_type(row.kind, row.lanes)} {words}, ptr {row.address}, align {row.align}")

    def _word_row(self, location: Location, length: int) -> _MaskedRow:
        """Returns the words that begin at the location's lanes."""
        element, mask = self._body.scop.arrays[location.array].element, self._mask(location)
        address = self._body.pointer(location.array, location.subscripts, begins_word=True)
        bits = "" if mask is None else mask.bits
        return _MaskedRow(address, f"i{length * element.bits}", location.lanes, self._alignment(location.array), bits)

    def gather(self, e: Gather, indices: list[SsaValue], copy: Copy) -> SsaValue:
        """Emits the load of an element at computed indices, or of one per lane, and returns the value. An index beyond the last
        element reads the last one.

        indices: by dimension, a scalar or a vector.
        copy: the iterations in the lanes, with their mask.
        """
        array = self._body.scop.arrays[e.array]
        kind, align = memory_type(array.element), self._alignment(e.array)
        offset = SsaValue(literal(0, I64), I64)
        for index, extent, stride in zip(indices, array.shape, self._body.module.layout.strides(e.array)):
            step = self._body.stride(stride)
            inside = self._no_further(index, SsaValue(self._body.integer(self._body.module.table.affine(extent) - 1), I64))
            moved = self._math.plain("*", *self._math.broadcast(inside, SsaValue(step, I64)))
            offset = self._math.plain("+", *self._math.broadcast(offset, moved))
        base, lanes = self._body.base(e.array), offset.lanes
        addresses = self._fn.emit(f"getelementptr i8, ptr {base}, {offset.type} {offset.ssa}")
        if lanes == 1:
            return self._from_memory(self._fn.emit(f"load {kind}, ptr {addresses}, align {align}"), array.element, 1)
        wide = vector_type(kind, lanes)
        mask = "splat (i1 true)" if copy.last is None else self._body.lanes_up_to(copy.last, lanes)
        name = f"llvm.masked.gather.v{lanes}{name_suffix(kind)}.v{lanes}p0"
        self._body.declared.setdefault(name, f"declare {wide} @{name}(<{lanes} x ptr>, <{lanes} x i1>, {wide})")
        loaded = self._fn.emit(
            f"call {wide} @{name}(<{lanes} x ptr> align {align} {addresses}, <{lanes} x i1> {mask}, {wide} zeroinitializer)"
        )
        return self._from_memory(loaded, array.element, lanes)

    def _no_further(self, index: SsaValue, last: SsaValue) -> SsaValue:
        """Emits the smaller of the index and the last one, as unsigned integers, and returns it. So no access leaves the array,
        even if another thread changes the index array after it was checked.
        """
        index, last = self._math.broadcast(index, last)
        name = "llvm.umin.i64" if index.lanes == 1 else f"llvm.umin.v{index.lanes}i64"
        self._body.declared.setdefault(name, f"declare {index.type} @{name}({index.type}, {index.type})")
        nearest = self._math.once(f"call {index.type} @{name}({index.type} {index.ssa}, {index.type} {last.ssa})")
        return SsaValue(nearest, I64, index.lanes)

    def _lane_pointer(self, location: Location, lane: int, mask: Mask | None) -> str:
        """Emits the address of one lane's element, and returns its SSA name; for a lane that the mask leaves out, that of the last
        lane in the mask.
        """
        if mask is None:
            return self._body.pointer(location.array, self._lane(location, lane))
        word = self.word(location.array)
        if word > 1 and location.strides[-2]:
            raise CannotRunTogether(f"{location.array}: lanes go along words")
        first = self._body.pointer(location.array, location.subscripts)
        index = mask.clamped(lane)
        offset = None
        strides = self._body.module.layout.strides(location.array)
        for lane_step, stride in zip((*location.strides[:-1], word * location.strides[-1]), strides):
            if not lane_step:
                continue
            step = self._body.stride(stride)
            moved = self._math.once(f"mul i64 {index}, {step}")
            if lane_step != 1:
                moved = self._math.once(f"mul i64 {moved}, {lane_step}")
            offset = moved if offset is None else self._math.once(f"add i64 {offset}, {moved}")
        return self._math.once(f"getelementptr i8, ptr {first}, i64 {offset}")

    def _lane(self, location: Location, lane: int) -> tuple[Affine, ...]:
        """Returns the subscripts of one lane's element."""
        return tuple(e + s * lane for e, s in zip(location.subscripts, location.strides))

    def _masked_load(self, row: _MaskedRow) -> str:
        """Emits the load of the elements that the mask has, with zeros for the others, and returns the vector's SSA name."""
        lanes, wide = row.lanes, vector_type(row.kind, row.lanes)
        name = f"llvm.masked.load.v{lanes}{name_suffix(row.kind)}.p0"
        self._body.declared.setdefault(name, f"declare {wide} @{name}(ptr, <{lanes} x i1>, {wide})")
        pointer = f"ptr align {row.align} {row.address}"
        return self._fn.emit(f"call {wide} @{name}({pointer}, <{lanes} x i1> {row.bits}, {wide} zeroinitializer)")

    def _masked_store(self, ssa: str, row: _MaskedRow) -> None:
        """Emits the store of those elements of a vector that the mask has. ssa: the SSA name of the vector."""
        lanes, wide = row.lanes, vector_type(row.kind, row.lanes)
        name = f"llvm.masked.store.v{lanes}{name_suffix(row.kind)}.p0"
        self._body.declared.setdefault(name, f"declare void @{name}({wide}, ptr, <{lanes} x i1>)")
        self._fn.do(f"call void @{name}({wide} {ssa}, ptr align {row.align} {row.address}, <{lanes} x i1> {row.bits})")

    def _from_memory(self, ssa: str, element: DType, lanes: int) -> SsaValue:
        """Returns loaded elements as a value; bools, which are bytes in memory, are converted to i1."""
        if element.kind == "b":
            ssa = self._fn.emit(f"icmp ne {vector_type('i8', lanes)} {ssa}, {'0' if lanes == 1 else 'zeroinitializer'}")
        return SsaValue(ssa, element, lanes)

    def store(self, location: Location, value: SsaValue) -> None:
        """Emits the store of the value to the location, in every lane if the value is a scalar."""
        mask = self._mask(location)
        element = self._body.scop.arrays[location.array].element
        kind, align = memory_type(element), self._alignment(location.array)
        value = self._math.splat(value, location.lanes)
        ssa = value.ssa
        if element.kind == "b":
            ssa = self._fn.emit(f"zext {value.type} {ssa} to {vector_type('i8', location.lanes)}")
        if location.lanes == 1:
            self._fn.do(f"store {kind} {ssa}, ptr {self._body.pointer(location.array, location.subscripts)}, align {align}")
            return
        wide, direction = vector_type(kind, location.lanes), self.contiguous(location)
        if direction == -1:
            order = ", ".join(f"i32 {i}" for i in reversed(range(location.lanes)))
            ssa = self._fn.emit(f"shufflevector {wide} {ssa}, {wide} poison, <{location.lanes} x i32> <{order}>")
            address = self._body.pointer(location.array, self._lane(location, location.lanes - 1))
            if mask is None:
                self._fn.do(f"store {wide} {ssa}, ptr {address}, align {align}")
            else:
                self._masked_store(ssa, _MaskedRow(address, kind, location.lanes, align, mask.reversed()))
        elif direction == 1:
            address = self._body.pointer(location.array, location.subscripts)
            if mask is None:
                self._fn.do(f"store {wide} {ssa}, ptr {address}, align {align}")
            else:
                self._masked_store(ssa, _MaskedRow(address, kind, location.lanes, align, mask.bits))
        elif mask is None:
            for lane in range(location.lanes):
                number = self._fn.emit(f"extractelement {wide} {ssa}, i32 {lane}")
                address = self._body.pointer(location.array, self._lane(location, lane))
                self._fn.do(f"store {kind} {number}, ptr {address}, align {align}")
        else:
            self._scatter(location, ssa, mask)

    def _scatter(self, location: Location, ssa: str, mask: Mask) -> None:
        """Emits the store of each lane that the mask has to an address of its own. ssa: the SSA name of the vector."""
        lanes, kind = location.lanes, memory_type(self._body.scop.arrays[location.array].element)
        wide, align = vector_type(kind, lanes), self._alignment(location.array)
        addresses = "poison"
        for lane in range(lanes):
            pointer = self._lane_pointer(location, lane, mask)
            addresses = self._fn.emit(f"insertelement <{lanes} x ptr> {addresses}, ptr {pointer}, i32 {lane}")
        name = f"llvm.masked.scatter.v{lanes}{name_suffix(kind)}.v{lanes}p0"
        self._body.declared.setdefault(name, f"declare void @{name}({wide}, <{lanes} x ptr>, <{lanes} x i1>)")
        self._fn.do(f"call void @{name}({wide} {ssa}, <{lanes} x ptr> align {align} {addresses}, <{lanes} x i1> {mask.bits})")


class Mask:
    """A Mask says which lanes of a vector are computed where fewer iterations are left than it has lanes: those up to index `last`.

    bits: the mask's SSA name, of type <lanes x i1>.
    """

    def __init__(self, body: Addresses, lanes: int, last: Affine):
        self._body, self.lanes = body, lanes
        self.last = body.integer(last)
        self.bits = body.lanes_up_to(last, lanes)

    def doubled(self) -> str:
        """Emits the mask for twice as many elements, of which two belong to each lane, and returns its SSA name."""
        order = ", ".join(f"i32 {lane}, i32 {lane}" for lane in range(self.lanes))
        kind = f"<{self.lanes} x i1>"
        return self._body.math.once(f"shufflevector {kind} {self.bits}, {kind} poison, <{2 * self.lanes} x i32> <{order}>")

    def reversed(self) -> str:
        """Emits the mask for lanes in reverse order, and returns its SSA name."""
        math = self._body.math
        first = math.once(f"sub i64 {self.lanes - 1}, {self.last}")
        limit = math.splat(SsaValue(first, I64), self.lanes)
        index = f"<{', '.join(f'i64 {i}' for i in range(self.lanes))}>"
        return math.once(f"icmp sge <{self.lanes} x i64> {index}, {limit.ssa}")

    def clamped(self, lane: int) -> str:
        """Emits the smaller of the lane and the last lane in the mask, and returns its SSA name."""
        name = "llvm.smin.i64"
        self._body.declared.setdefault(name, f"declare i64 @{name}(i64, i64)")
        return self._body.math.once(f"call i64 @{name}(i64 {lane}, i64 {self.last})")
