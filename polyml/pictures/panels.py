"""Where the instances of a statement are drawn: a panel for each statement, and a place in it for each point.

one loop: from left to right; two: the outer one downwards, so that rows are read as the source runs them; three: the outermost one obliquely
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from polyml.drawing.style import CHARACTER
from polyml.pictures.nest_values import SCHEDULE, THREADS, WAVEFRONTS, NestPicture, StatementPoints
from polyml.values import cached_property

CELL, LEAST = 34.0, 7.0  # pixels between neighbours, at most and at least
LONGEST = 340.0  # pixels of a loop, so that a panel is legible in a window of 400,, as far as neighbours can be told apart
OBLIQUE = (
    0.30,
    -0.22,
)  # of a cell, from one iteration of the outermost of three loops to the next one: ten fall between the others
DRAWN = 3  # loops of a panel
MOST_LAYERS = 6
RADIUS = {1: 10.0, 2: 10.0, 3: 4.5}  # of a point, by the number of loops that are drawn
SMALLEST_NUMBERED = 8.0  # radius
MARGIN, HEAD = 44.0, 48.0  # of a panel: at the left and below for numbers, and above for the statement
TITLE, LINE = 52, 16.0  # characters of a line of the statement, and pixels from one to the next

Point = tuple[int, ...]


@dataclass(frozen=True)
class Panel:
    """A panel draws the instances of one statement.

    statement: with its points.
    fixed: values of the outermost loops, of which the panel shows one iteration; () where it shows all.
    is_layer: whether other panels show the other iterations of those loops.
    arcs: how far arrows rise above the points, in pixels.
    left, top: of the panel, in pixels.
    """

    statement: StatementPoints
    fixed: tuple[int, ...]
    is_layer: bool = False
    arcs: float = 0.0
    left: float = 0.0
    top: float = 0.0

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The points that are drawn."""
        return tuple(p for p in self.statement.points if p[: len(self.fixed)] == self.fixed)

    @property
    def iterators(self) -> tuple[str, ...]:
        """The loops that are drawn, outermost first."""
        return self.statement.iterators[len(self.fixed) :]

    @cached_property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest value of each loop that is drawn."""
        own = [p[len(self.fixed) :] for p in self.points]
        return tuple((min(values), max(values)) for values in zip(*own)) if own else ((0, 0),) * len(self.iterators)

    @property
    def size(self) -> tuple[float, float]:
        """The width and the height of the panel, in pixels."""
        spans = [(high - low) / self.statement.stride for low, high in self.bounds]
        across, down, oblique = [*reversed(spans), 0, 0, 0][:3]
        width = (across + oblique * OBLIQUE[0]) * self.cell
        height = (down - oblique * OBLIQUE[1]) * self.cell
        return max(width + 2 * MARGIN, CHARACTER * max(map(len, self.title)) + 28), height + self.head + MARGIN

    @cached_property
    def cell(self) -> float:
        """Pixels between neighbours: fewer where a loop has many iterations."""
        return max(min(CELL, LONGEST / max([1, *((high - low) / self.statement.stride for low, high in self.bounds)])), LEAST)

    @cached_property
    def title(self) -> list[str]:
        """The statement with its name, as it stands above the panel, in lines."""
        layer = ", ".join(map(" = ".join, zip(self.statement.iterators, map(str, self.fixed)))) if self.is_layer else ""
        words = f"{self.statement.name}, {layer}" if layer else f"{self.statement.name}: {self.statement.text}"
        return wrap(words, TITLE, subsequent_indent="    ", break_long_words=False)

    @property
    def head(self) -> float:
        """How far below the panel's top its points begin, in pixels."""
        return HEAD + LINE * (len(self.title) - 1) + (20 if len(self.iterators) == DRAWN else 0) + self.arcs

    @cached_property
    def places(self) -> dict[Point, tuple[float, float]]:
        """Where each point is drawn, in pixels."""
        return {point: self._place(point) for point in self.points}

    @cached_property
    def _first(self) -> tuple[float, float]:
        """Where the point with the least value of each loop is drawn, in pixels."""
        oblique = (self.bounds[0][1] - self.bounds[0][0]) / self.statement.stride if len(self.bounds) == DRAWN else 0
        return self.left + MARGIN, self.top + self.head - self.cell * oblique * OBLIQUE[1]

    @cached_property
    def _steps(self) -> list[tuple[float, float]]:
        """How far one iteration of each loop leads across and down, in pixels."""
        cell = self.cell / self.statement.stride
        return [(cell * OBLIQUE[0], cell * OBLIQUE[1]), (0.0, cell), (cell, 0.0)][DRAWN - len(self.bounds) :]

    def _place(self, point: Point) -> tuple[float, float]:
        """Returns where a point is drawn, in pixels, or where it would be."""
        x, y = self._first
        for value, (low, _), (across, down) in zip(point[len(self.fixed) :], self.bounds, self._steps):
            x, y = x + (value - low) * across, y + (value - low) * down
        return x, y

    def place(self, point: Point) -> tuple[float, float]:
        """Returns where a point is drawn, in pixels; of values that are none of the statement's instances, where it would be."""
        return self.places.get(point) or self._place(point)


def panels(statement: StatementPoints, in_layers: bool = False, arcs: float = 0.0) -> list[Panel]:
    """Returns the panels of a statement: one, and of more than three loops that of an iteration in the middle of the outermost ones.

    in_layers: whether three loops are drawn as a panel for each iteration of the outermost one, unless these are more than MOST_LAYERS.
    arcs: how far arrows rise above the points of a single loop, in pixels.
    """
    hidden = max(len(statement.iterators) - DRAWN, 0)
    if in_layers and len(statement.iterators) == DRAWN and len(layers := sorted({p[:1] for p in statement.points})) <= MOST_LAYERS:
        return [Panel(statement, each, True) for each in layers]
    if not statement.points:
        return [Panel(statement, (0,) * hidden)]
    if not hidden:
        return [Panel(statement, (), arcs=arcs if len(statement.iterators) == 1 else 0.0)]
    outer = sorted({p[:hidden] for p in statement.points})
    return [Panel(statement, outer[len(outer) // 2])]


def point_radius(own: Panel, shown: NestPicture) -> float:
    """Returns the radius of a panel's points, in pixels."""
    radius = RADIUS[max(len(own.iterators), 1)]
    return (radius if shown.times is not None else min(radius, 6.0)) * own.cell / CELL


def is_numbered(own: Panel, shown: NestPicture) -> bool:
    """Returns whether points have room for their numbers."""
    return point_radius(own, shown) > SMALLEST_NUMBERED and shown.subject in (SCHEDULE, THREADS, WAVEFRONTS)
