"""Elements of arrays in the code of one LLVM function: in registers where they are there, else in memory."""

from __future__ import annotations

from polyml.codegen.ir.program import CannotRunTogether
from polyml.codegen.llvm.addresses import Addresses, Module
from polyml.codegen.llvm.arithmetic import Val
from polyml.codegen.llvm.memory import Memory
from polyml.codegen.llvm.registers import Cells, Place


class ElementAccess(Addresses):
    """Loads and stores of one function, through registers that hold elements."""

    def __init__(self, module: Module, name: str, signature: str):
        super().__init__(module, name, signature)
        self.memory = Memory(self)
        self.cells = Cells()

    def load(self, place: Place) -> Val:
        """The elements of a place, from registers where they are there."""
        self._not_partial(place)
        if not self.module.aliased:
            held = self.cells.value(place)
            if held is not None:
                return held
            self._write_back(self.cells.overlapping(place), drop=False)
        if not self.module.aliased and self.memory.is_pair(place):
            return self._load_pair(place)
        value = self.memory.load(place)
        if not self.module.aliased:
            self.cells.put(place, value, dirty=False)
        return value

    def fetch(self, place: Place) -> None:
        """Bring the first element of a place, which need not exist, to the second cache."""
        self.declared.setdefault("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.fn.do(f"call void @llvm.prefetch.p0(ptr {self.pointer(place.array, place.subscripts)}, i32 0, i32 2, i32 1)")

    def _load_pair(self, place: Place) -> Val:
        """The same of complex numbers, of which both parts are loaded together."""
        other = self.memory.other_part(place)
        self._write_back(self.cells.overlapping(other), drop=False)
        parts = self.memory.loaded_pairs(place)
        for one in (place, other):
            if self.cells.value(one) is None:
                self.cells.put(one, parts[one], dirty=False)
        return parts[place]

    def store(self, place: Place, value: Val) -> None:
        """Give the place a new value, in a register until the region ends or something may share its elements."""
        self._not_partial(place)
        value = self.math.splat(value, place.lanes)
        if self.module.aliased:
            self.memory.store(place, value)
            return
        self._write_back(self.cells.overlapping(place), drop=True)
        self.cells.put(place, value, dirty=True)

    def remember(self, place: Place, value: Val) -> None:
        """Memory, or a register that is to be stored, has this value at the place."""
        self.cells.put(place, value, dirty=False)

    def _not_partial(self, place: Place) -> None:
        """A partial result is in a register of the loop around or nowhere: memory has the element alone."""
        if place.part is not None and place not in self.cells.pinned:
            raise CannotRunTogether(f"a partial result of {place.array} has no register")

    def _write_back(self, places: list[Place], drop: bool) -> None:
        for place in places:
            if self.cells.is_dirty(place):
                value = self.cells.value(place)
                self._store_held(place, value)
                self.cells.put(place, value, dirty=False)
            if drop:
                self.cells.drop(place)

    def _store_held(self, place: Place, value: Val) -> None:
        """Store what a register holds, with the other part of complex numbers if that is to be stored as well."""
        other = self.memory.other_part(place) if self.memory.is_pair(place) else None
        if other is None or self.cells.value(other) is None or not self.cells.is_dirty(other) or other in self.cells.pinned:
            self.memory.store(place, value)
            return
        held = self.cells.value(other)
        self.memory.store_pairs({place: value, other: held})
        self.cells.put(other, held, dirty=False)

    def flush(self) -> None:
        """Write everything back that is only in registers, and start a new region."""
        self._write_back(self.cells.dirty(), drop=False)
        pinned = {p: self.cells.value(p) for p in self.cells.pinned}
        self.cells = Cells()
        for place, value in pinned.items():
            self.cells.put(place, value, dirty=True)
        self.cells.pinned = dict.fromkeys(pinned)
        self.math.forget()

    def row_of(self, place: Place) -> int | None:
        """The dimension along which all lanes lie side by side in memory; None where there is none, or not all lanes happen."""
        array = self.scop.arrays[place.array]
        if place.lanes == 1 or place.last is not None or array.pairs or array.element.kind == "b":
            return None
        if self.memory.contiguous(place) != 1:
            return None
        return next(d for d, stride in enumerate(place.strides) if stride)
