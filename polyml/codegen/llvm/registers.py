"""Elements of arrays held in registers: what a stretch of straight code has loaded or not yet stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polyml.codegen.ir.linexpr import Lin
from polyml.codegen.llvm.arithmetic import Val


@dataclass(frozen=True)
class Place:
    """One element, or `lanes` elements: subscripts of the first, and by how much each grows from lane to lane.

    part: which partial result of a reduction this is, None for the element itself.
    last: index of the last lane that happens, None when all do.
    """

    array: str
    subscripts: tuple[Lin, ...]
    lanes: int = 1
    strides: tuple[int, ...] = ()
    part: int | None = None
    last: Lin | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.array, self.subscripts, self.lanes, self.strides, self.part, self.last))


def disjoint(a: Place, b: Place) -> bool:
    """Whether the places share no element, as far as constant differences show."""
    if a.array != b.array:
        return True
    for d, (x, y) in enumerate(zip(a.subscripts, b.subscripts)):
        if x.terms != y.terms:
            continue
        difference = y.const - x.const
        low, high = _reach(a, d)
        other_low, other_high = _reach(b, d)
        if difference + other_low > high or difference + other_high < low:
            return True
    return False


def _reach(place: Place, dim: int) -> tuple[int, int]:
    """The smallest and largest offset of a lane in one dimension."""
    if place.lanes == 1:
        return 0, 0
    span = place.strides[dim] * (place.lanes - 1)
    return min(0, span), max(0, span)


@dataclass
class Cell:
    value: Val
    dirty: bool


class Cells:
    """Which places are in registers. `pinned` ones, in order, belong to an enclosing loop and are never written back
    here.
    """

    def __init__(self):
        self._cells: dict[Place, Cell] = {}
        self.pinned: dict[Place, None] = {}

    def value(self, place: Place) -> Val | None:
        cell = self._cells.get(place)
        return cell.value if cell else None

    def overlapping(self, place: Place) -> list[Place]:
        """Other places in registers that may share an element with it."""
        return [p for p in self._cells if p != place and p not in self.pinned and not disjoint(p, place)]

    def dirty(self) -> list[Place]:
        return [p for p, cell in self._cells.items() if cell.dirty and p not in self.pinned]

    def is_dirty(self, place: Place) -> bool:
        return self._cells[place].dirty

    def put(self, place: Place, value: Val, dirty: bool) -> None:
        self._cells[place] = Cell(value, dirty)

    def drop(self, place: Place) -> None:
        del self._cells[place]
