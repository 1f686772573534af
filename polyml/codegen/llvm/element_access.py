"""Elements of arrays in one LLVM function: they are read from registers if they are there, otherwise from memory."""

from __future__ import annotations

from polyml.codegen.ir.program import CannotRunTogether
from polyml.codegen.llvm.addresses import Addresses, Module
from polyml.codegen.llvm.memory import MemoryEmitter
from polyml.codegen.llvm.registers import Location, Registers
from polyml.codegen.llvm.ssa_value import SsaValue


class ElementAccess(Addresses):
    """An ElementAccess emits the loads and stores of one function, and keeps elements in registers between them (scalar
    replacement).

    memory: emits the loads and stores themselves.
    registers: the elements that are in registers at this point of the code.
    """

    def __init__(self, module: Module, name: str, signature: str):
        super().__init__(module, name, signature)
        self.memory = MemoryEmitter(self)
        self.registers = Registers()

    def load(self, location: Location) -> SsaValue:
        """Returns the elements at a location: from a register if one has them, otherwise by a load that is emitted."""
        self._not_partial(location)
        if not self.module.arguments.aliased:
            known = self.registers.value(location)
            if known is not None:
                return known
            self._write_back(self.registers.overlapping(location), drop=False)
        if not self.module.arguments.aliased and self.memory.is_pair(location):
            return self._load_pair(location)
        value = self.memory.load(location)
        if not self.module.arguments.aliased:
            self.registers.put(location, value, dirty=False)
        return value

    def fetch(self, location: Location) -> None:
        """Emits a prefetch to the second-level cache of the cache line of the location's first element, which need not exist."""
        self.fetch_from(self.pointer(location.array, location.subscripts), 2)

    def fetch_from(self, pointer: str, locality: int) -> None:
        """Emits a prefetch of the cache line at an address. locality: LLVM's; 3 for all caches, 2 for the second-level cache"""
        self.declared.setdefault("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.fn.do(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 {locality}, i32 1)")

    def _load_pair(self, location: Location) -> SsaValue:
        """Emits one load of the real and imaginary parts of complex numbers. Returns the part at the location, and keeps both
        parts in registers.
        """
        other = self.memory.other_part(location)
        self._write_back(self.registers.overlapping(other), drop=False)
        parts = self.memory.loaded_pairs(location)
        for one in (location, other):
            if self.registers.value(one) is None:
                self.registers.put(one, parts[one], dirty=False)
        return parts[location]

    def store(self, location: Location, value: SsaValue) -> None:
        """Makes the value that of the location. It stays in a register until the region of straight code ends or another access may
        overlap it; if arrays may overlap, its store is emitted at once.
        """
        self._not_partial(location)
        value = self.math.splat(value, location.lanes)
        if self.module.arguments.aliased:
            self.memory.store(location, value)
            return
        self._write_back(self.registers.overlapping(location), drop=True)
        self.registers.put(location, value, dirty=True)

    def remember(self, location: Location, value: SsaValue) -> None:
        """Records that memory, or a register that will be stored, has this value at the location, so that it need not be loaded."""
        self.registers.put(location, value, dirty=False)

    def write_through(self, location: Location) -> None:
        """Emits the store of a location whose value memory does not have yet; the value stays in its register."""
        if self.registers.value(location) is not None and location not in self.registers.pinned:
            self._write_back([location], drop=False)

    def write_back(self, location: Location) -> None:
        """Emits stores of the values that overlap a location and that memory does not have yet, and forgets them."""
        own = [location] if self.registers.value(location) is not None and location not in self.registers.pinned else []
        self._write_back([*own, *self.registers.overlapping(location)], drop=True)

    def _not_partial(self, location: Location) -> None:
        """Raises CannotRunTogether if the location is a partial result of a reduction (one of several sums that make up an element,
        say) and not held in a register by a loop around: it has no memory.
        """
        if location.part is not None and location not in self.registers.pinned:
            raise CannotRunTogether(f"a partial result of {location.array} has no register")

    def _write_back(self, locations: list[Location], drop: bool) -> None:
        """Emits stores of those of the locations whose values memory does not have yet. drop: whether all of the locations are also
        removed from the registers; if not, their values stay there.
        """
        for location in locations:
            if self.registers.is_dirty(location):
                value = self.registers.known(location)
                self._store_held(location, value)
                self.registers.put(location, value, dirty=False)
            if drop:
                self.registers.drop(location)

    def _store_held(self, location: Location, value: SsaValue) -> None:
        """Emits the store of a location whose value is in a register. If memory does not have the other part of the same complex
        numbers yet either, both are stored together.
        """
        other = self.memory.other_part(location) if self.memory.is_pair(location) else None
        known = None if other is None else self.registers.value(other)
        if other is None or known is None or not self.registers.is_dirty(other) or other in self.registers.pinned:
            self.memory.store(location, value)
            return
        self.memory.store_pairs({location: value, other: known})
        self.registers.put(other, known, dirty=False)

    def flush(self) -> None:
        """Emits stores of all values in registers that memory does not have yet, and forgets what the registers hold, as the next
        straight-line code starts anew. Elements that enclosing loops keep in registers stay there.
        """
        self._write_back(self.registers.dirty(), drop=False)
        pinned = {p: self.registers.known(p) for p in self.registers.pinned}
        self.registers = Registers()
        for location, value in pinned.items():
            self.registers.put(location, value, dirty=True)
        self.registers.pinned = dict.fromkeys(pinned)
        self.math.forget()

    def row_of(self, location: Location) -> int | None:
        """Returns the dimension along which the location's lanes are neighbours in memory, so that they are one plain vector. None
        if there is none, if there is one lane alone, or for masked lanes, complex numbers and booleans.
        """
        array = self.scop.arrays[location.array]
        if location.lanes == 1 or location.last is not None or array.pairs or array.element.kind == "b":
            return None
        if self.memory.contiguous(location) != 1:
            return None
        return next(d for d, stride in enumerate(location.strides) if stride)
