"""Space and time of an array of one dimension: PEs across, cycles down, what runs where and how elements travel."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from polyml.drawing.style import CHARACTER, heading, heading_width, lane, picture
from polyml.drawing.svg import Svg, path, rect, text
from polyml.systolic.report.pictures.array import label
from polyml.systolic.report.text import mapping_text, moves_text
from polyml.systolic.simulate.frames import Frames, PEIndex, PEState, StatementInstance

MOST_CYCLES = 48
HEIGHT = 26  # pixels of a unit
GAP = 18  # between cycles
ACROSS = 30  # between units
LEFT, TOP, RIGHT = 64, 84, 24
LEGEND = 18
APART = 5  # ways of different lanes
LEAST_WIDTH = 470


def spacetime_svg(frames: Frames) -> Svg:
    """Returns the SVG picture of the first fold on an array of one dimension: PEs from left to right, cycles from top to bottom.
    Only the first 48 cycles are drawn.
    """
    return _Diagram(frames).svg()


class _Diagram:
    """A _Diagram draws PEs across and cycles down, with the instances that they run and how elements travel."""

    def __init__(self, frames: Frames):
        fold = [f for f in frames.frames if f.fold == 0 and f.phase == "compute"]
        self._frames, self._plan, self._shown = frames, frames.plan, fold[:MOST_CYCLES]
        number = frames.plan.folds.number
        cut = f", its first {MOST_CYCLES} cycles" if len(fold) > MOST_CYCLES else ""
        self._words = mapping_text(frames.plan) + (f", the first of {number:,} folds" if number > 1 else "") + cut
        heads = [label(self._plan, cell.instance) for f in self._shown for cell in f.pe_states.values() if cell.instance]
        self._wide = max(36.0, max(map(len, heads)) * CHARACTER + 12)
        needed = LEFT + frames.shape[0] * (self._wide + ACROSS) + RIGHT
        self._width = max(LEAST_WIDTH, needed, heading_width("", self._words))
        self._left = LEFT + (self._width - needed) / 2
        self._height = TOP + len(self._shown) * (HEIGHT + GAP) + LEGEND * len(frames.lanes) + 20

    def svg(self) -> Svg:
        """Returns the SVG picture."""
        parts = [*heading("Space and time", self._words), *self._numbers(), *self._moves(), *self._stays()]
        for frame in self._shown:
            for unit, cell in frame.pe_states.items():
                if cell.instance is not None:
                    parts += self._instance(unit, frame.t, cell, cell.instance)
        name = f"{mapping_text(self._plan)}: units across, cycles down"
        return picture([*parts, *self._legend()], self._width, self._height, name, "spacetime")

    def _at(self, unit: PEIndex, t: int) -> tuple[float, float]:
        """Returns the position of the middle of a PE in a cycle."""
        x = self._left + unit[0] * (self._wide + ACROSS) + self._wide / 2
        return x, TOP + (t - self._shown[0].t) * (HEIGHT + GAP) + HEIGHT / 2

    def _lane_offset(self, number: int) -> float:
        """Returns how far from the middle of a PE the paths of the stream with this number are drawn."""
        return APART * (number - (len(self._frames.lanes) - 1) / 2)

    def _numbers(self) -> Iterator[str]:
        """Yields SVG texts with the numbers of PEs and cycles."""
        for unit in self._frames.units():
            yield text(self._at(unit, 0)[0], TOP - 14, f"x = {unit[0]}", "faint", anchor="middle")
        left = self._left - 14
        yield text(left, TOP - 14, "t", "faint", anchor="end")
        for frame in self._shown:
            yield text(left, self._at((0,), frame.t)[1] + 4, str(frame.t), "faint", anchor="end")

    def _moves(self) -> Iterator[str]:
        """Yields SVG paths of the elements that go from PE to PE."""
        last = self._shown[-1].t
        for frame in self._shown:
            for move in (m for m in frame.moves if not m.step and frame.t + m.cycles <= last):
                yield self._way(move.lane, move.element, (move.source, frame.t), (move.target, frame.t + move.cycles))

    def _stays(self) -> Iterator[str]:
        """Yields SVG paths of the elements that stay in a PE from one use to the next. The two uses may be by different reads, and
        so in different streams; the path has the colour of the later one.
        """
        arrives = {(m.target, m.lane, f.t + m.cycles) for f in self._shown for m in f.moves if not m.step}
        before: dict[tuple[PEIndex, str], int] = {}
        for frame in self._shown:
            for unit, cell in frame.pe_states.items():
                used = [r for r in cell.registers if r.used]
                for register in used:
                    last = before.get((unit, register.element))
                    if last is not None and not register.enters and (unit, register.lane, frame.t) not in arrives:
                        yield self._way(register.lane, register.element, (unit, last), (unit, frame.t))
                before |= {(unit, register.element): frame.t for register in used}

    def _way(self, number: int, element: str, source: tuple[PEIndex, int], target: tuple[PEIndex, int]) -> str:
        """Returns the SVG path along which an element is drawn from one (PE, cycle) to another, in the colour of the stream with
        this number.
        """
        (x, y), (to_x, to_y) = self._at(*source), self._at(*target)
        offset = self._lane_offset(number)
        right, down = (0.0, offset) if y == to_y else (offset, 0.0)  # along a wire, in one cycle
        way = f"M{x + right:.1f},{y + down:.1f} L{to_x + right:.1f},{to_y + down:.1f}"
        return path(way, f"wire on w{lane(number)}", hint=element)

    def _instance(self, unit: PEIndex, t: int, state: PEState, instance: StatementInstance) -> Iterator[str]:
        """Yields the SVG elements of an instance in its PE and cycle t."""
        x, y = self._at(unit, t)
        elements = ", ".join(r.element for r in state.registers)
        yield f'<g class="active"><title>{escape(f"{instance}: {elements}")}</title>'
        yield rect(x - self._wide / 2, y - HEIGHT / 2, self._wide, HEIGHT, round=4)
        yield text(x, y + 4, label(self._plan, instance), "head mono", anchor="middle") + "</g>"

    def _legend(self) -> Iterator[str]:
        """Yields the SVG texts of the legend."""
        longest = max(len(stream.use.text) for stream in self._frames.lanes)
        for number, stream in enumerate(self._frames.lanes):
            y = self._height - LEGEND * (len(self._frames.lanes) - number)
            yield text(14, y, stream.use.text, f"mono s{lane(number)}")
            yield text(20 + (longest + 1) * CHARACTER, y, f"{stream.use.kind}, {moves_text(self._plan, stream)}", "faint")
