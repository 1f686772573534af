"""Where the elements of an array are drawn: rows and columns of cells, in planes where the array has more than two dimensions.

A[6, 4]: 6 rows of 4 cells; x[100]: rows of 32 elements that follow one another; A[3, 6, 4]: 3 planes of 6 rows; large arrays: cells of several elements
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from polyml.values import cached_property

WRAP = 32  # elements of an array of one dimension in a row
MOST_PLANES = 6  # that are drawn of an array
LEAST_CELLS = 100  # that an array may have, however many arrays there are

Index = tuple[int, ...]


@dataclass(frozen=True, order=True)
class Cell:
    """A cell of a grid: its plane, row and column."""

    plane: int
    row: int
    column: int


@dataclass(frozen=True)
class Grid:
    """A grid draws the elements of one array.

    shape: of the array.
    step: how many elements a cell has along the rows and along the columns.
    """

    array: str
    shape: Index
    step: int = 1

    @cached_property
    def planes(self) -> tuple[Index, ...]:
        """The leading indices of each plane that is drawn: of many planes, some at equal distances."""
        every = [*product(*map(range, self.shape[:-2]))] if self.shape[:-2] else [()]
        if len(every) <= MOST_PLANES:
            return tuple(every)
        return tuple(every[number * (len(every) - 1) // (MOST_PLANES - 1)] for number in range(MOST_PLANES))

    @property
    def planes_left_out(self) -> int:
        """How many planes are not drawn."""
        return prod(self.shape[:-2]) - len(self.planes)

    @property
    def is_wrapped(self) -> bool:
        """Whether an array of one dimension is drawn as several rows."""
        return len(self.shape) == 1 and self.shape[0] > WRAP

    @property
    def sides(self) -> tuple[int, int]:
        """How many elements a plane has along its columns and its rows."""
        if self.is_wrapped:
            return -(-self.shape[0] // self._wrap), self._wrap
        rows, columns = (1, 1, *self.shape)[-2:]
        return rows, columns

    @property
    def _wrap(self) -> int:
        """How many elements of an array of one dimension are in a row."""
        return WRAP if self.shape[0] <= WRAP * WRAP else WRAP * math.ceil(math.sqrt(self.shape[0]) / WRAP)

    @property
    def rows(self) -> int:
        """How many cells a plane has from top to bottom."""
        return -(-self.sides[0] // self.step)

    @property
    def columns(self) -> int:
        """How many cells a plane has from left to right."""
        return -(-self.sides[1] // self.step)

    @cached_property
    def _number(self) -> dict[Index, int]:
        return {plane: number for number, plane in enumerate(self.planes)}

    def cell(self, index: Index) -> Cell | None:
        """Returns the cell of an element; None where its plane is not drawn."""
        if len(self.shape) < 2:
            row, column = divmod(index[0] if index else 0, self._wrap) if self.is_wrapped else (0, index[0] if index else 0)
            return Cell(0, row // self.step, column // self.step)
        plane = self._number.get(index[:-2])
        return None if plane is None else Cell(plane, index[-2] // self.step, index[-1] // self.step)

    def elements(self, cell: Cell) -> Iterator[Index]:
        """Yields the elements of a cell."""
        rows, columns = (
            range(at * self.step, min((at + 1) * self.step, side)) for at, side in zip((cell.row, cell.column), self.sides)
        )
        for row, column in product(rows, columns):
            if len(self.shape) >= 2:
                yield (*self.planes[cell.plane], row, column)
            elif self.is_wrapped:
                if row * self._wrap + column < self.shape[0]:
                    yield (row * self._wrap + column,)
            else:
                yield (column,) if self.shape else ()

    def cells(self) -> Iterator[Cell]:
        """Yields all cells that have elements."""
        for cell in product(range(len(self.planes)), range(self.rows), range(self.columns)):
            if next(self.elements(Cell(*cell)), None) is not None:
                yield Cell(*cell)

    def title(self, plane: int) -> str:
        """Returns the array's name with the leading indices of a plane, such as "A[2, :, :]"."""
        return f"{self.array}[{', '.join([*map(str, self.planes[plane]), ':', ':'])}]" if len(self.shape) > 2 else self.array


def grid(array: str, shape: Index, most: int) -> Grid:
    """Returns the grid of an array with at most about so many cells: those of a large array have several elements each."""
    step = 1
    while True:
        found = Grid(array, shape, step)
        if step > max((1, *shape)) or len(found.planes) * found.rows * found.columns <= max(most, LEAST_CELLS):
            return found
        step += 1


def element_text(array: str, index: Index) -> str:
    """Returns an element as the source writes it, such as "A[1, 2]"; a scalar is its name."""
    return f"{array}[{', '.join(map(str, index))}]" if index else array
