"""Which lanes are at a place of the code: masks in memory, which LLVM's passes make registers of."""

from __future__ import annotations

from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.ssa_value import SsaValue, vector_type
from polyml.dtypes import BOOL


class Masks:
    """A Masks holds the masks of the lanes of one group of instances.

    lanes: how many there are
    """

    def __init__(self, body: ElementAccess, lanes: int):
        self._body, self.lanes = body, lanes
        self._kind = vector_type("i1", lanes)
        self._live = self._alloca()

    @property
    def live(self) -> SsaValue:
        """The lanes that are at this place of the code."""
        return self.at(self._live)

    @live.setter
    def live(self, mask: SsaValue) -> None:
        self.keep(mask, self._live)

    def new(self) -> str:
        """Emits memory for a mask, without lanes at first, and returns the SSA name of its address."""
        place = self._alloca()
        self._body.fn.do(f"store {self._kind} zeroinitializer, ptr {place}")
        return place

    def at(self, place: str) -> SsaValue:
        """Emits the load of a mask, and returns it."""
        return SsaValue(self._body.fn.emit(f"load {self._kind}, ptr {place}"), BOOL, self.lanes)

    def keep(self, mask: SsaValue, place: str) -> None:
        """Emits the store of a mask."""
        self._body.fn.do(f"store {mask.type} {mask.ssa}, ptr {place}")

    def among(self, mask: SsaValue, truth: SsaValue) -> SsaValue:
        """Emits the lanes of a mask of which something is true, and returns them."""
        truth = self._body.math.splat(truth, self.lanes)
        return SsaValue(
            self._body.fn.emit(f"select {self._kind} {mask.ssa}, {self._kind} {truth.ssa}, {self._kind} zeroinitializer"),
            BOOL,
            self.lanes,
        )

    def any(self, mask: SsaValue) -> str:
        """Emits whether a mask has lanes, and returns the SSA name of an i1."""
        bits = self._body.fn.emit(f"bitcast {mask.type} {mask.ssa} to i{self.lanes}")
        return self._body.fn.emit(f"icmp ne i{self.lanes} {bits}, 0")

    def add(self, place: str, mask: SsaValue) -> None:
        """Emits the union of the mask at a place with another one, which becomes the mask at the place."""
        before = self.at(place)
        self.keep(SsaValue(self._body.fn.emit(f"or {self._kind} {before.ssa}, {mask.ssa}"), BOOL, self.lanes), place)

    def join(self, place: str) -> None:
        """Emits that the lanes of the mask at a place go on together with those that are here."""
        self.add(self._live, self.at(place))

    def _alloca(self) -> str:
        return self._body.fn.emit(f"alloca {self._kind}", self._body.fn.blocks[0])
