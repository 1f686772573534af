"""Elements of arrays held in registers: what a stretch of straight code has loaded or not yet stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class Location:
    """One element, or `lanes` elements: subscripts of the first, and by how much each grows from lane to lane.

    part: which partial result of a reduction this is, None for the element itself.
    last: index of the last lane that happens, None when all do.
    """

    array: str
    subscripts: tuple[Affine, ...]
    lanes: int = 1
    strides: tuple[int, ...] = ()
    part: int | None = None
    last: Affine | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.array, self.subscripts, self.lanes, self.strides, self.part, self.last))


def disjoint(a: Location, b: Location) -> bool:
    """Whether the locations share no element, as far as constant differences show."""
    if a.array != b.array:
        return True
    for d, (x, y) in enumerate(zip(a.subscripts, b.subscripts)):
        if x.terms != y.terms:
            continue
        difference = y.constant - x.constant
        low, high = _reach(a, d)
        other_low, other_high = _reach(b, d)
        if difference + other_low > high or difference + other_high < low:
            return True
    return False


def _reach(location: Location, dim: int) -> tuple[int, int]:
    """The smallest and largest offset of a lane in one dimension."""
    if location.lanes == 1:
        return 0, 0
    span = location.strides[dim] * (location.lanes - 1)
    return min(0, span), max(0, span)


@dataclass
class Register:
    value: SsaValue
    dirty: bool


class Registers:
    """Which locations are in registers. `pinned` ones, in order, belong to an enclosing loop and are never written back
    here.
    """

    def __init__(self) -> None:
        self._registers: dict[Location, Register] = {}
        self.pinned: dict[Location, None] = {}

    def value(self, location: Location) -> SsaValue | None:
        cell = self._registers.get(location)
        return cell.value if cell else None

    def known(self, location: Location) -> SsaValue:
        """The value of a location that is in a register."""
        return self._registers[location].value

    def overlapping(self, location: Location) -> list[Location]:
        """Other locations in registers that may share an element with it."""
        return [p for p in self._registers if p != location and p not in self.pinned and not disjoint(p, location)]

    def dirty(self) -> list[Location]:
        return [p for p, cell in self._registers.items() if cell.dirty and p not in self.pinned]

    def is_dirty(self, location: Location) -> bool:
        return self._registers[location].dirty

    def put(self, location: Location, value: SsaValue, dirty: bool) -> None:
        self._registers[location] = Register(value, dirty)

    def drop(self, location: Location) -> None:
        del self._registers[location]
