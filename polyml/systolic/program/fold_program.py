"""What the units of an array do in one fold, as a value: wires between them, what comes from memories, what goes there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from polyml import polyhedra
from polyml.dtypes import DType
from polyml.model.core.nest import children, with_children
from polyml.model.core.scop import Access, Index, Load, Scop, Statement, Value
from polyml.systolic.program.events import Events, Places, Row, Runs

RESULT = -1  # in place of the number of a read
Register = tuple[str, int]  # a statement, and the number of its read, or RESULT


@dataclass(frozen=True)
class Wire:
    """What `source` had so many cycles before, at the unit `steps` back: `offset` by number. cycles: 0 of sums that are added up along
    a row or a column.
    """

    source: Register
    cycles: int
    steps: tuple[int, ...]
    offset: int

    @property
    def along(self) -> int:
        """0 for wires down a column, 1 along a row."""
        return line(self.steps)


def line(steps: Sequence[int]) -> int:
    """0 of steps down a column, 1 of those along a row, which an array of one dimension is."""
    return int(len(steps) == 1 or not steps[0])


@dataclass(frozen=True, eq=False)
class Broadcast:
    """A line's units all take what its driver has. along: 0 down columns, 1 along rows. drivers: by cycle, at most one of a line;
    in lines that have none nothing changes.
    """

    along: int
    drivers: Places

    def lines(self, columns: int) -> Places:
        """Numbers of the rows or columns, of an array of so many columns."""
        units = self.drivers.units
        return Places(self.drivers.starts, units // columns if self.along else units % columns)


@dataclass(frozen=True, eq=False)
class Operand:
    """Where a register's values come from. wire: in all units, None where it only has what is loaded. Transfers and loads count
    where they are, broadcasts after them.
    """

    wire: Wire | None
    transfers: tuple[tuple[Wire, Places], ...]
    loads: tuple[Events | Runs, ...]
    broadcasts: tuple[Broadcast, ...] = ()

    @property
    def wires(self) -> list[Wire]:
        return [*([self.wire] if self.wire else []), *(wire for wire, _ in self.transfers)]


@dataclass(frozen=True, eq=False)
class FoldProgram:
    """One fold. number: of the outer loops, and the block of rows and columns. preload_cycles: before the first cycle.
    used: of each coordinate, the least and the greatest of units that ever have an instance. active: those that have one, by cycle.
    """

    number: tuple[int, ...]
    cycles: int
    preload_cycles: int
    operands: Mapping[Register, Operand]
    stores: tuple[tuple[str, Events | Runs], ...]
    used: tuple[tuple[int, int], ...]
    active: np.ndarray

    def loaded(self, register: Register) -> int:
        """Elements that come from memory."""
        return sum(events.number for events in self.operands[register].loads)

    @property
    def stored(self) -> int:
        """Values that go to memory, each counted once."""
        found: dict[str, list[Events | Runs]] = {}
        for name, events in self.stores:
            found.setdefault(name, []).append(events)
        return sum(each[0].number if len(each) == 1 else self._together(each) for each in found.values())

    def _together(self, stores: Sequence[Events | Runs]) -> int:
        """Units and cycles of any of them."""
        found = []
        for places in (events.listed().places for events in stores):
            cycles = np.repeat(np.arange(self.cycles), np.diff(places.starts))
            found.append(np.column_stack([cycles, places.units]))
        return len(np.unique(np.concatenate(found), axis=0))


@dataclass(frozen=True, eq=False)
class Cell:
    """What every unit computes for a statement. value: over `Load`s of registers alone, those of its reads and behind them one
    for each of the `indices`. types: of the registers; result: of the value.
    """

    statement: Statement
    value: Value
    types: tuple[DType, ...]
    result: DType
    indices: tuple[Index, ...]


def cell(scop: Scop, statement: Statement) -> Cell:
    types = [scop.arrays[access.array].element for access in statement.reads]
    indices: list[Index] = []

    def plain(value: Value) -> Value:
        if isinstance(value, Index):
            indices.append(value)
            types.append(value.dtype)
            return Load(len(types) - 1, dtype=value.dtype)
        return with_children(value, tuple(map(plain, children(value))))

    value = plain(statement.value)
    return Cell(statement, value, tuple(types), scop.arrays[statement.write.array].element, tuple(indices))


def element(scop: Scop, access: Access, sizes: Mapping[str, int]) -> Row:
    """The number of the accessed element in its array, row by row, as a sum of the statement's loops."""
    shape = [polyhedra.value_at(length, sizes) for length in scop.arrays[access.array].shape]
    row, start = [0] * polyhedra.dimensions(access.relation.domain()), 0
    for k, subscript in enumerate(access.subscripts):
        stride, (terms, constant) = prod(shape[k + 1 :]), polyhedra.linear_row(subscript)
        start += stride * constant
        for name, factor in terms.items():
            if isinstance(name, str):
                start += stride * factor * sizes[name]
            else:
                row[name] += stride * factor
    return tuple(row), start
