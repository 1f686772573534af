"""The elements of arrays that are in registers while straight code runs."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class Location:
    """A Location is one element of an array, or a vector of elements.

    array: the array's name.
    subscripts: of the element, or of the first lane.
    lanes: the number of elements.
    strides: by how much each subscript grows from lane to lane.
    part: the number of a partial result of a reduction; None for the element itself.
    last: the index of the last lane that is computed; None if all are.
    """

    array: str
    subscripts: tuple[Affine, ...]
    lanes: int = 1
    strides: tuple[int, ...] = ()
    part: int | None = None
    last: Affine | None = None

    def __hash__(self) -> int:
        known = self.__dict__.get("_hash")
        if known is None:
            known = self.__dict__["_hash"] = hash((self.array, self.subscripts, self.lanes, self.strides, self.part, self.last))
        return known


def disjoint(a: Location, b: Location) -> bool:
    """Returns whether the locations are known to have no element in common: they are in different arrays, or in some dimension
    their subscripts differ by a constant that keeps them apart.
    """
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
    """Returns the smallest and the largest offset of a lane's subscript, in one dimension, from that of the first lane."""
    if location.lanes == 1:
        return 0, 0
    last = location.lanes - 1
    if location.last is not None and location.last.is_constant:
        last = min(last, location.last.constant)
    span = location.strides[dim] * last
    return min(0, span), max(0, span)


@dataclass
class Register:
    """A Register is the value of a location in a register. dirty: whether memory does not have the value yet."""

    value: SsaValue
    dirty: bool


class Registers:
    """A Registers holds the locations that are in registers, with their values.

    pinned: locations, in order, that loops around hold in registers, so that they are not written back here.
    """

    def __init__(self) -> None:
        self._registers: dict[Location, Register] = {}
        self.pinned: dict[Location, None] = {}

    def value(self, location: Location) -> SsaValue | None:
        """Returns the value of a location, or None if it is in no register."""
        cell = self._registers.get(location)
        return cell.value if cell else None

    def known(self, location: Location) -> SsaValue:
        """Returns the value of a location that is in a register."""
        return self._registers[location].value

    def overlapping(self, location: Location) -> list[Location]:
        """Returns the other locations in registers, without pinned ones, that may have an element in common with this one."""
        return [p for p in self._registers if p != location and p not in self.pinned and not disjoint(p, location)]

    def dirty(self) -> list[Location]:
        """Returns the locations, without pinned ones, whose values memory does not have yet."""
        return [p for p, cell in self._registers.items() if cell.dirty and p not in self.pinned]

    def is_dirty(self, location: Location) -> bool:
        """Returns whether memory does not have the location's value yet."""
        return self._registers[location].dirty

    def put(self, location: Location, value: SsaValue, dirty: bool) -> None:
        """Puts a value into the location's register. dirty: whether memory does not have it yet."""
        self._registers[location] = Register(value, dirty)

    def drop(self, location: Location) -> None:
        """Forgets the value of the location, which is then in no register."""
        del self._registers[location]
