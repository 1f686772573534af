"""Planes of arrays as SVG: cells in rows and columns, with numbers along them, and outlines around some."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from polyml.drawing.style import CHARACTER
from polyml.drawing.svg import Font, path, text
from polyml.pictures.arrays.grids import Cell, Grid

WIDEST = 480.0  # of a row of planes, in pixels
LETTERS = 60  # of a line of words below a picture, which is legible in a window of 400 pixels
LARGEST, SMALLEST, LONGEST = 16.0, 4.0, 170.0  # pixels: of a cell, and of a row of cells
LEFT, HEAD, BELOW, RIGHT = 40.0, 40.0, 40.0, 16.0  # around the cells: for numbers and the name
_NUMBERS = 8  # along a side at most


@dataclass(frozen=True)
class PlanePanel:
    """A panel draws one plane of an array.

    note: what stands behind its name.
    left, top: of the panel, in pixels.
    """

    grid: Grid
    plane: int
    note: str = ""
    left: float = 0.0
    top: float = 0.0

    @property
    def side(self) -> float:
        """The width and height of a cell, in pixels."""
        return max(min(LARGEST, LONGEST / max(self.grid.columns, self.grid.rows)), SMALLEST)

    @property
    def title(self) -> str:
        """The name of the plane, with the note."""
        return f"{self.grid.title(self.plane)}{self.note}"

    @property
    def size(self) -> tuple[float, float]:
        """The width and the height of the panel, in pixels."""
        width = max(self.grid.columns * self.side, CHARACTER * len(self.title) - LEFT + 8, 40)
        return LEFT + width + RIGHT, HEAD + self.grid.rows * self.side + BELOW

    def place(self, cell: Cell) -> tuple[float, float]:
        """Returns the upper left corner of a cell, in pixels."""
        return self.left + LEFT + cell.column * self.side, self.top + HEAD + cell.row * self.side

    def axes(self) -> Iterator[str]:
        """Yields the name of the plane, and the numbers of rows and columns."""
        grid, side = self.grid, self.side
        yield text(self.left + 14, self.top + 12, self.title, "mono")
        right, bottom = self.place(Cell(self.plane, grid.rows, 0))[1], 0.0
        bottom, right = right, self.left + LEFT + grid.columns * side
        for column in _some(grid.columns):
            x, y = self.place(Cell(self.plane, 0, column))
            yield text(x + side / 2, y - 5, str(column * grid.step), "faint", anchor="middle", font=Font(10))
        if not grid.shape:
            return
        if len(grid.shape) > 1 or grid.is_wrapped:
            for row in _some(grid.rows):
                x, y = self.place(Cell(self.plane, row, 0))
                number = row * grid.step * (grid.sides[1] if grid.is_wrapped else 1)
                yield text(x - 5, y + side / 2 + 3.5, str(number), "faint", anchor="end", font=Font(10))
        words = _axes_words(grid)
        yield text(self.left + LEFT, bottom + 15, words, "faint", font=Font(10))
        if grid.step > 1:
            yield text(self.left + LEFT, bottom + 28, f"one cell: {_elements_of(grid)} elements", "faint", font=Font(10))

    def cells(self, drawn: Callable[[Cell], tuple[str, str, str, str]]) -> Iterator[str]:
        """Yields a rectangle for each cell of the plane.

        drawn: returns a cell's classes, attributes, what shows when the pointer is on it, and the text of further elements above it.
        """
        side, gap = self.side, 1.0 if self.side > 6 else 0.4
        for cell in self.grid.cells():
            if cell.plane == self.plane:
                kind, told, hint, above = drawn(cell)
                x, y = self.place(cell)
                yield (
                    f'<rect class="cell {kind}" x="{x + gap / 2:.1f}" y="{y + gap / 2:.1f}" width="{side - gap:.1f}" '
                    f'height="{side - gap:.1f}"{told}><title>{hint}</title></rect>{above}'
                )

    def outline(self, inside: Set[Cell], hint: str) -> Iterator[str]:
        """Yields the outline of some cells: their sides towards other cells."""
        own = {(cell.row, cell.column) for cell in inside if cell.plane == self.plane}
        side, sides = self.side, []
        for row, column in sorted(own):
            x, y = self.place(Cell(self.plane, row, column))
            for (down, across), (from_x, from_y), way in (
                ((-1, 0), (0, 0), f"h{side:.1f}"),
                ((1, 0), (0, side), f"h{side:.1f}"),
                ((0, -1), (0, 0), f"v{side:.1f}"),
                ((0, 1), (side, 0), f"v{side:.1f}"),
            ):
                if (row + down, column + across) not in own:
                    sides.append(f"M{x + from_x:.1f},{y + from_y:.1f}{way}")
        if sides:
            yield path("".join(sides), "outline-back")
            yield path("".join(sides), "outline", hint=hint)


def _axes_words(grid: Grid) -> str:
    if len(grid.shape) == 1:
        return "element →" + (f", rows of {grid.sides[1]}" if grid.is_wrapped else "")
    return "row ↓  column →"


def _some(count: int) -> Sequence[int]:
    """Returns numbers of cells at equal distances, few enough to be read."""
    return range(0, count, max(1, math.ceil(count / _NUMBERS)))


def extent(panels: Sequence[PlanePanel], top: float) -> tuple[float, float]:
    """Returns how far right and down panels reach, in pixels."""
    return max([0.0, *(each.left + each.size[0] for each in panels)]), max([top, *(each.top + each.size[1] for each in panels)])


def _elements_of(grid: Grid) -> str:
    """Returns how many elements a cell has, in words."""
    return str(grid.step) if len(grid.shape) < 2 and not grid.is_wrapped else f"{grid.step} x {grid.step}"


def notes(grids: Sequence[Grid]) -> Iterator[str]:
    """Yields what a picture leaves out or puts together of large arrays."""
    for each in grids:
        if each.step > 1:
            yield f"{each.array} is large: each cell stands for {_elements_of(each)} elements"
        if each.planes_left_out:
            total = len(each.planes) + each.planes_left_out
            yield f"{each.array} has {total:,} planes: {len(each.planes)} at equal distances are drawn"
