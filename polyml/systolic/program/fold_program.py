"""What the PEs of an array do in one fold, as a value: links between them, what comes from memories, and what goes there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from polyml import polyhedra
from polyml.dtypes import DType
from polyml.model.core.nest import children, with_children
from polyml.model.core.scop import Access, Index, Load, Scop, Statement, Value
from polyml.systolic.program.events import Events, Row, StridedEvents, UnitsByCycle

Register = tuple[str, int]  # a statement, and the number of its read, or RESULT


@dataclass(frozen=True)
class Link:
    """A Link brings the value that a register of another PE, or of the same one, had some cycles before.

    source: the register whose value it brings.
    cycles: how many cycles before; 0 for sums that are added up along a row or a column.
    steps: the steps from the other PE to this one, along each coordinate.
    offset: the number of this PE minus that of the other PE.
    """

    source: Register
    cycles: int
    steps: tuple[int, ...]
    offset: int

    @property
    def along(self) -> int:
        """Returns 0 for a link from row to row, down a column, and 1 for one from column to column, along a row. `Broadcast.along`
        uses the same numbers.
        """
        return line_axis(self.steps)


def line_axis(steps: Sequence[int]) -> int:
    """Returns 0 for steps down a column, 1 for steps along a row; an array of one dimension is a row."""
    return int(len(steps) == 1 or not steps[0])


@dataclass(frozen=True, eq=False)
class Broadcast:
    """A Broadcast puts the value of one PE of a row or column, the driver, into all PEs of that line.

    along: 0 down columns, 1 along rows.
    drivers: the drivers of each cycle, at most one of a line; the PEs of a line without a driver keep what they have.
    """

    along: int
    drivers: UnitsByCycle

    def lines(self, columns: int) -> UnitsByCycle:
        """Returns, by cycle, the numbers of the rows (or columns, where values go down columns) that have a driver.

        columns: how many columns the array has.
        """
        units = self.drivers.units
        return UnitsByCycle(self.drivers.starts, units // columns if self.along else units % columns)


@dataclass(frozen=True, eq=False)
class Operand:
    """An Operand says where the values of one register come from, in all PEs of a fold.

    link: the link of all PEs; None where the register only has what is loaded.
    transfers: links of some PEs in some cycles, which take precedence over `link`.
    loads: elements of memories, which take precedence over both.
    broadcasts: values that wires bring, after the others have been taken, to all PEs of a row or column.
    """

    link: Link | None
    transfers: tuple[tuple[Link, UnitsByCycle], ...]
    loads: tuple[Events | StridedEvents, ...]
    broadcasts: tuple[Broadcast, ...] = ()

    @property
    def links(self) -> list[Link]:
        """Returns all links by which the register gets values: the one of all PEs, then those that only some PEs use in some
        cycles.
        """
        return [*([self.link] if self.link else []), *(link for link, _ in self.transfers)]


@dataclass(frozen=True, eq=False)
class FoldProgram:
    """A FoldProgram is what all PEs do in one fold.

    number: which fold this is: the values of the outer loops, then the positions of its block of rows and of its block of columns.
    cycles: how many cycles there are from the first instance to the last.
    preload_cycles: how many cycles come before, in which stationary operands are shifted in.
    operands: by register, where its values come from.
    stores: (name of a statement, which PEs store its value in which cycle to which elements of a memory).
    used: for each coordinate, the least and the greatest of the PEs that have an instance in some cycle.
    active: how many PEs have an instance, by cycle.
    """

    number: tuple[int, ...]
    cycles: int
    preload_cycles: int
    operands: Mapping[Register, Operand]
    stores: tuple[tuple[str, Events | StridedEvents], ...]
    used: tuple[tuple[int, int], ...]
    active: np.ndarray

    def loaded(self, register: Register) -> int:
        """Returns how many elements a register gets from memory, over all PEs and cycles."""
        return sum(events.number for events in self.operands[register].loads)

    @property
    def stored(self) -> int:
        """Returns how many values go to memory, each counted once."""
        found: dict[str, list[Events | StridedEvents]] = {}
        for name, events in self.stores:
            found.setdefault(name, []).append(events)
        return sum(each[0].number if len(each) == 1 else self._distinct_stores(each) for each in found.values())

    def _distinct_stores(self, stores: Sequence[Events | StridedEvents]) -> int:
        """Returns how many values the stores take from PEs. A value is what one PE has in one cycle; it counts once, even if
        several of the stores write it.
        """
        found = []
        for places in (events.listed().units_by_cycle for events in stores):
            cycles = np.repeat(np.arange(self.cycles), np.diff(places.starts))
            found.append(np.column_stack([cycles, places.units]))
        return len(np.unique(np.concatenate(found), axis=0))


@dataclass(frozen=True, eq=False)
class Datapath:
    """A Datapath is what every PE computes for one statement.

    value: the expression. Its leaves are `Load`s of registers and numbers; register k has the value of the statement's k-th read,
        and the registers after those of the reads have the integers in `indices`.
    types: the type of each register.
    result: the type of the value.
    indices: the integers that the statement computes from its iterators, such as i + 1; PEs get them as if they were loaded.
    """

    statement: Statement
    value: Value
    types: tuple[DType, ...]
    result: DType
    indices: tuple[Index, ...]


def datapath(scop: Scop, statement: Statement) -> Datapath:
    """Returns the expression that PEs compute for a statement, and the registers that it reads."""
    types = [scop.arrays[access.array].element for access in statement.reads]
    indices: list[Index] = []

    def plain(value: Value) -> Value:
        """Returns the value with a load of one more register in place of each integer that is computed from the iterators; appends
        the integer to `indices`, and its type to `types`.
        """
        if isinstance(value, Index):
            indices.append(value)
            types.append(value.dtype)
            return Load(len(types) - 1, dtype=value.dtype)
        return with_children(value, tuple(map(plain, children(value))))

    value = plain(statement.value)
    return Datapath(statement, value, tuple(types), scop.arrays[statement.write.array].element, tuple(indices))


def element(scop: Scop, access: Access, sizes: Mapping[str, int]) -> Row:
    """Returns the position of an accessed element in its array, row by row, as an affine function of the statement's iterators."""
    shape = [polyhedra.value_at(length, sizes) for length in scop.arrays[access.array].shape]
    row, start = [0] * polyhedra.dimensions(access.relation.domain()), 0
    for k, subscript in enumerate(access.subscripts):
        found, stride = polyhedra.linear_row(subscript), prod(shape[k + 1 :])
        if found is None:
            raise ValueError(f"a subscript of {access.array} has alternatives")
        terms, constant = found
        start += stride * constant
        for name, factor in terms.items():
            if isinstance(name, str):
                start += stride * factor * sizes[name]
            elif isinstance(name, int):
                row[name] += stride * factor
            else:
                raise ValueError(f"a subscript of {access.array} has a quotient")
    return tuple(row), start
