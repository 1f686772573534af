"""A picture of the array in one cycle: what each PE runs and has, what is in transit, what is about to enter and what has left.

Rows go down and columns to the right; an array of one dimension is a row. Elements that move along one coordinate wait outside
the array, a place further away for each cycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from polyml.drawing.style import CHARACTER, PHASES, heading, heading_width, lane, picture
from polyml.drawing.svg import Font, Svg, path, rect, text
from polyml.systolic.mapping.axis_names import axis_names
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.spacetime import Vector
from polyml.systolic.report.pictures.wire_geometry import (
    WireKey,
    arrow_head,
    delta_between,
    further,
    is_across,
    is_vertical,
    side_of,
    signs_of,
    stub,
)
from polyml.systolic.report.text import mapping_text, moves_text
from polyml.systolic.simulate.frames import (
    MOST_AHEAD,
    BoundaryElement,
    CycleFrame,
    Frames,
    HeldElement,
    PEIndex,
    PEState,
    StatementInstance,
    Transit,
)

HEAD, SLOT = 22, 17  # pixels: of a unit's first line, of the others
WIRE = 32  # between units, without what is on its way for more than a cycle
LABEL = 44  # beside the array, of its rows' and columns' numbers
TITLE = 54  # above all
LEGEND = 18
LEAST_WIDTH = 470
SIDES = ("left", "right", "top", "bottom")

Position = tuple[float, float]


@dataclass(frozen=True)
class PlacedText:
    """A PlacedText is a text at a position in the picture, in pixels. It has the colour of a stream: of the one with the number
    `lane`.
    """

    x: float
    y: float
    text: str
    lane: int


@dataclass(frozen=True)
class SceneState:
    """A SceneState is what changes in the picture from cycle to cycle.

    title, caption: the two lines of text above the array.
    cells: by the number of a PE, (its CSS class, the text of its first line, for each stream the (text, CSS class) of its line).
    wires: the numbers of the wires that are in use.
    texts: the elements that are drawn outside PEs.
    """

    title: str
    caption: str
    cells: dict[int, tuple[str, str, tuple[tuple[str, str], ...]]]
    wires: Vector
    texts: tuple[PlacedText, ...]


class Scene:
    """A Scene draws the array as it is in some cycle, as SVG. PEs and wires have the same places in the pictures of all cycles.

    frames: the states of the array, by cycle, that can be drawn.
    shown: the states that will be drawn; the picture is made large enough for the elements outside the array in these.
    """

    def __init__(self, frames: Frames, shown: Sequence[CycleFrame]):
        self.frames, self._shown = frames, shown
        self.units = frames.units()
        self._number = {unit: n for n, unit in enumerate(self.units)}
        self._rows, self._columns = frames.shape if len(frames.shape) == 2 else (1, frames.shape[0])
        every = frames.frames
        cells = [cell for f in every for cell in f.pe_states.values()]
        lengths = [len(_joined(cell.registers, n)[0]) for cell in cells for n in range(len(frames.lanes))]
        heads = [len(self._head(cell)) for cell in cells]
        tokens = [len(o.element) for f in every for o in f.outside] + [len(m.element) for f in every for m in f.moves]
        self._width = max([52.0, *(length * CHARACTER + 14 for length in (*lengths, *heads))])
        self._height = HEAD + SLOT * len(frames.lanes) + 5
        self._token = max([24.0, *(length * CHARACTER + 12 for length in tokens)])
        self._vertical = self._lanes_down()
        crowds = [Counter(self._gap(m) for m in f.moves if m.step) for f in every]
        self._slots = max((count for crowd in crowds for count in crowd.values()), default=0)
        self._gap_x = WIRE + self._slots * self._token
        self._gap_y = WIRE + self._slots * (SLOT + 4) * max(1, len(self._vertical))
        self._queued = {side: sorted({o.lane for f in shown for o in f.outside if side_of(o) == side}) for side in SIDES}
        self._sides = self._extents()
        self._has_stubs_below = any(side_of(o) == "bottom" for f in every for o in f.outside)
        left = self._sides["left"] * self._token + WIRE
        top = self._sides["top"] * SLOT * len(self._queued["top"]) + WIRE
        right = left + self._columns * self._width + (self._columns - 1) * self._gap_x
        needed = right + LABEL + self._sides["right"] * self._token + 8
        scope_text = [(self.title(f), self.caption(f)) for f in every]
        self.width = max(LEAST_WIDTH, needed, max(heading_width(*each) for each in scope_text))
        self._corner = (left + (self.width - needed) / 2, TITLE + top)
        self._right = right + (self.width - needed) / 2
        self._bottom = TITLE + top + self._rows * self._height + (self._rows - 1) * self._gap_y
        self._legend = self._bottom + LABEL + self._sides["bottom"] * SLOT * len(self._queued["bottom"]) + 14
        self._has_outside = any(self._sides.values())
        self.height = self._legend + LEGEND * (len(frames.lanes) + 2 + self._has_outside) + 14
        self._paths: dict[WireKey, str] = {}
        for frame in every:
            for move in frame.moves:
                for key in self._wires_of(move):
                    if key not in self._paths:
                        self._paths[key] = self._path(key)
            for each in frame.outside:
                key = stub(each.lane, each.unit, each.cycles > 0)
                if key not in self._paths:
                    self._paths[key] = self._stub_path(each)
        self._wires = {key: n for n, key in enumerate(self._paths)}

    # Places

    def _at(self, unit: PEIndex) -> Position:
        """Returns the position of the upper left corner of a PE."""
        row, column = unit if len(unit) == 2 else (0, unit[0])
        x, y = self._corner
        return x + column * (self._width + self._gap_x), y + row * (self._height + self._gap_y)

    def _line(self, number: int) -> float:
        """Returns how far below a PE's top the middle of a stream's line of text is."""
        return HEAD + SLOT * number + SLOT / 2

    def _lanes_down(self) -> list[int]:
        """Returns the numbers of the streams of which some element moves or waits up or down."""
        found = set()
        for frame in self.frames.frames:
            found |= {m.lane for m in frame.moves if is_vertical(delta_between(m.source, m.target))}
            found |= {o.lane for o in frame.outside if is_vertical(o.signs)}
        return sorted(found)

    def _lane_offset(self, number: int) -> float:
        """Returns how far right of a PE's middle, in pixels, the vertical wires of a stream are drawn."""
        spacing = min(16, (self._width - 12) / max(1, len(self._vertical) - 1))
        return (self._vertical.index(number) - (len(self._vertical) - 1) / 2) * spacing

    def _extents(self) -> dict[str, int]:
        """Returns, by side of the array ("left", "right", "top" and "bottom"), how many elements in a row the picture needs room
        for there. An element that enters in n cycles, or left n cycles ago, is drawn n positions from the array.
        """
        found = dict.fromkeys(SIDES, 0)
        for frame in self._shown:
            for each in frame.outside:
                side = side_of(each)
                found[side] = max(found[side], abs(each.cycles))
        return found

    def _gap(self, move: Transit) -> tuple[int, PEIndex, Vector]:
        """Returns (number of the stream, PE, direction) for an element in transit: it is drawn between this PE, which it has just
        passed, and the next one in the direction, a sign for each coordinate.
        """
        delta = delta_between(move.source, move.target)
        return move.lane, further(move.source, delta, move.step * max(map(abs, delta)) // move.cycles), signs_of(delta)

    def _wires_of(self, move: Transit) -> list[WireKey]:
        """Returns the keys of the wires that an element in transit uses in this cycle: the one link that it is on, or all links
        from its source to its target if it goes along a wire, within one cycle.
        """
        delta = delta_between(move.source, move.target)
        if is_across(delta):
            return [WireKey("across", move.lane, move.source, delta)]
        if move.cycles:
            return [WireKey("along", *self._gap(move))]
        reached = (further(move.source, delta, links) for links in range(max(map(abs, delta))))
        return [WireKey("along", move.lane, unit, signs_of(delta)) for unit in reached]

    def _path(self, key: WireKey) -> str:
        """Returns the SVG path of a wire between PEs, with an arrow head."""
        kind, number, here, way = key
        if kind == "across":
            (x, y), (to_x, to_y) = self._corners(here, tuple(a + b for a, b in zip(here, way)))
            return f"M{x:.1f},{y:.1f} L{to_x:.1f},{to_y:.1f}" + arrow_head(to_x - x, to_y - y)
        x, y = self._at(here)
        if is_vertical(way):
            down = way[0]
            x, y = x + self._width / 2 + self._lane_offset(number), y + (self._height if down > 0 else 0)
            return f"M{x:.1f},{y:.1f} v{down * self._gap_y:.1f}" + arrow_head(0, down)
        right = way[-1]
        x, y = x + (self._width if right > 0 else 0), y + self._line(number)
        return f"M{x:.1f},{y:.1f} h{right * self._gap_x:.1f}" + arrow_head(right, 0)

    def _corners(self, source: PEIndex, target: PEIndex) -> tuple[Position, Position]:
        """Returns the positions of the nearest corners of two PEs, from which a diagonal wire starts and at which it ends."""
        (x, y), (to_x, to_y) = self._at(source), self._at(target)
        x, to_x = (x + self._width, to_x) if to_x > x else (x, to_x + self._width)
        y, to_y = (y + self._height, to_y) if to_y > y else (y, to_y + self._height)
        return (x, y), (to_x, to_y)

    def _stub_path(self, each: BoundaryElement) -> str:
        """Returns the SVG path of the short wire by which an element enters the array at a PE, or leaves it there."""
        x, y = self._at(each.unit)
        out, length = each.cycles > 0, WIRE - 6
        if is_vertical(each.signs):
            down = each.signs[0] or 1
            x += self._width / 2 + self._lane_offset(each.lane)
            y += self._height * ((down > 0) == out) - (0 if out else down * length)
            return f"M{x:.1f},{y:.1f} v{down * length}" + arrow_head(0, down)
        right = each.signs[-1]
        x += self._width * ((right > 0) == out) - (0 if out else right * length)
        return f"M{x:.1f},{y + self._line(each.lane):.1f} h{right * length}" + arrow_head(right, 0)

    def _between(self, move: Transit) -> PlacedText | None:
        """Returns the text of an element in transit, at its position; None before it has started."""
        if not move.step:
            return None
        delta = delta_between(move.source, move.target)
        if is_across(delta):
            (x, y), (to_x, to_y) = self._corners(move.source, move.target)
            share = move.step / move.cycles
            return PlacedText(x + share * (to_x - x), y + share * (to_y - y) + 4, move.element, move.lane)
        _, here, way = self._gap(move)
        slot = move.step * max(map(abs, delta)) % move.cycles * self._slots // move.cycles
        x, y = self._at(here)
        if is_vertical(way):
            down, lanes = way[0], len(self._vertical)
            share = (slot * lanes + self._vertical.index(move.lane) + 0.5) / (self._slots * lanes)
            y += (self._height if down > 0 else 0) + down * share * self._gap_y + 4
            return PlacedText(x + self._width / 2 + self._lane_offset(move.lane), y, move.element, move.lane)
        right = way[-1]
        x += (self._width if right > 0 else 0) + right * (slot + 0.5) / self._slots * self._gap_x
        return PlacedText(x, y + self._line(move.lane) + 4, move.element, move.lane)

    def _waiting(self, each: BoundaryElement) -> PlacedText:
        """Returns the text of an element outside the array, at its position."""
        side, away = side_of(each), abs(each.cycles) - 0.5
        x, y = self._at(each.unit)
        if side in ("left", "right"):
            away *= self._token
            edge = self._corner[0] - WIRE - away if side == "left" else self._right + LABEL + away
            return PlacedText(edge, y + self._line(each.lane) + 4, each.element, each.lane)
        lanes = self._queued[side]
        away = ((abs(each.cycles) - 1) * len(lanes) + lanes.index(each.lane) + 0.5) * SLOT
        edge = self._corner[1] - WIRE - away if side == "top" else self._bottom + LABEL + away
        return PlacedText(x + self._width / 2, edge + 4, each.element, each.lane)

    # Texts

    def _head(self, cell: PEState) -> str:
        """Returns the text in the first line of a drawn PE: the instance that it runs, "" where it runs none."""
        return "" if cell.instance is None else label(self.frames.plan, cell.instance)

    def state(self, frame: CycleFrame) -> SceneState:
        """Returns what the picture shows in a cycle: title, PEs, wires in use, and elements outside PEs."""
        cells, wires = {}, []
        for unit, cell in frame.pe_states.items():
            phase = "active" if cell.instance else frame.phase if frame.phase != "compute" else "idle"
            lines = tuple(_joined(cell.registers, n) for n in range(len(self.frames.lanes)))
            cells[self._number[unit]] = phase, self._head(cell), lines
            wires += [stub(r.lane, unit, False) for r in cell.registers if r.enters]
            wires += [stub(r.lane, unit, True) for r in cell.registers if r.leaves]
        wires += (key for move in frame.moves for key in self._wires_of(move))
        texts = [*filter(None, map(self._between, frame.moves)), *map(self._waiting, frame.outside)]
        on = sorted({self._wires[key] for key in wires if key in self._wires})
        return SceneState(self.title(frame), self.caption(frame), cells, tuple(on), tuple(texts))

    def title(self, frame: CycleFrame) -> str:
        """Returns the picture's title for a cycle: its number, and how many PEs run an instance."""
        folds = self.frames.plan.folds
        last = folds.cycles + folds.drain_cycles - 1
        drain = " with the drain" if folds.drain_cycles else ""
        return f"Cycle {frame.cycle} of 0 to {last}{drain}: {frame.active} of {len(self.units)} units run an instance"

    def caption(self, frame: CycleFrame) -> str:
        """Returns the line below the title of a cycle: its phase or time, and the fold."""
        plan = self.frames.plan
        words = {"preload": "what stays is shifted in", "compute": f"t = {frame.t}", "drain": "results are shifted out"}
        if plan.folds.number == 1:
            return words[frame.phase]
        outer = [f"{axis_names(plan.recurrence.nest)[loop]} = {v}" for loop, v in zip(plan.recurrence.outer, frame.number)]
        blocks = frame.number[len(outer) :]
        where = ", ".join([*outer, f"block {', '.join(map(str, blocks))}"])
        return f"{words[frame.phase]}, fold {frame.fold + 1} of {plan.folds.number} ({where})"

    # Parts

    def svg(self, frame: CycleFrame, *, focusable: bool = False) -> Svg:
        """Returns the SVG picture of a cycle.

        focusable: whether users can choose PEs in it with mouse or keyboard, as on the page; else it is a plain image.
        """
        state = self.state(frame)
        name = f"{mapping_text(self.frames.plan)}. {state.title}, {state.caption}"
        role = "group" if focusable else "img"
        return picture(self._parts(state, focusable), self.width, self.height, name, "array", role)

    def _parts(self, state: SceneState, focusable: bool) -> Iterator[str]:
        """Yields the SVG elements of the picture of a cycle."""
        yield from heading(state.title, state.caption)
        yield from self._indices()
        yield '<g class="wires">'
        on = set(state.wires)
        for key, number in self._wires.items():
            yield path(self._paths[key], f"wire {'on ' * (number in on)}w{lane(key.lane)}")
        yield '</g><g class="cells">'
        for number, unit in enumerate(self.units):
            yield from self._cell(number, unit, state, focusable)
        yield '</g><g class="tokens" text-anchor="middle">'
        for each in state.texts:
            yield text(each.x, each.y, each.text, f"token mono halo s{lane(each.lane)}")
        yield "</g>"
        yield from self._legend_parts()

    def _indices(self) -> Iterator[str]:
        """Yields SVG texts with the numbers of rows, at the right, and of columns, below the array."""
        below = self._bottom + (39 if self._has_stubs_below else 18)
        is_row = len(self.frames.shape) == 1
        for row in range(0 if is_row else self._rows):
            yield text(self._right + 6, self._at((row, 0))[1] + 15, f"row {row}", "faint")
        for column in range(self._columns):
            x, _ = self._at((column,) if is_row else (0, column))
            yield text(x + self._width / 2, below, f"x = {column}" if is_row else f"column {column}", "faint", anchor="middle")

    def _cell(self, number: int, unit: PEIndex, state: SceneState, focusable: bool) -> Iterator[str]:
        """Yields the SVG elements of one PE."""
        phase, head, lines = state.cells.get(number, ("idle", "", (("", ""),) * len(self.frames.lanes)))
        x, y = self._at(unit)
        focus = f' tabindex="0" role="img" aria-label="{escape(unit_text(unit))}"' if focusable else ""
        yield f'<g class="cell {phase}" data-unit="{",".join(map(str, unit))}"{focus}>'
        yield rect(x, y, self._width, self._height, round=4)
        yield text(x + self._width / 2, y + 15, head, "head mono", anchor="middle", font=Font(bold=True))
        for n, (words, kind) in enumerate(lines):
            yield text(x + 7, y + self._line(n) + 4, words, f"slot mono s{lane(n)} {kind}".strip())
        yield "</g>"

    def _legend_parts(self) -> Iterator[str]:
        """Yields the SVG elements of the legend."""
        x, y = 14.0, self._legend + 4
        for phase in _phases(self.frames):
            yield f'<g class="{phase}">{rect(x, y - 9, 12, 12, round=2)}</g>'
            yield text(x + 17, y + 1, PHASES[phase])
            x += 35 + len(PHASES[phase]) * 6.6
        longest = max(len(s.use.text) for s in self.frames.lanes)
        y += 4
        for number, stream in enumerate(self.frames.lanes):
            y += LEGEND
            yield text(14, y, stream.use.text, f"mono s{lane(number)}")
            words = f"{stream.use.kind}, {moves_text(self.frames.plan, stream)}"
            yield text(20 + (longest + 1) * CHARACTER, y, words, "faint")
        y += LEGEND
        text_ = (
            "x counts units to the right"
            if len(self.frames.shape) == 1
            else "x is the row, counted downwards, y the column, to the right"
        )
        yield text(14, y, text_, "faint")
        if self._has_outside:
            words = f"outside: values that enter within {MOST_AHEAD} cycles, or left within as many"
            yield text(14, y + LEGEND, words, "faint")


def _phases(frames: Frames) -> list[str]:
    """Returns the CSS classes of PEs that occur in the frames: "active", "idle", "preload" or "drain"."""
    return ["active", "idle", *(p for p in ("preload", "drain") if any(f.phase == p for f in frames.frames))]


def _joined(registers: tuple[HeldElement, ...], number: int) -> tuple[str, str]:
    """Returns (text, CSS class) for the elements of one stream that a PE holds, with arrows where they enter or leave the array.
    The class is "edge" if one enters or leaves, "held" if none is used in this cycle, else "".

    number: the number of the stream.
    """
    mine = [r for r in registers if r.lane == number]
    words = ", ".join(f"{'→' if r.enters else ''}{r.element}{'→' if r.leaves else ''}" for r in mine)
    if any(r.enters or r.leaves for r in mine):
        return words, "edge"
    return words, "" if any(r.used for r in mine) or not mine else "held"


def label(plan: Plan, instance: StatementInstance) -> str:
    """Returns the values of an instance's iterators as text, with the statement's name where the nest has others."""
    values = ",".join(map(str, instance.values))
    return values if instance.statement == plan.recurrence.nest.name else f"{instance.statement} {values}"


def unit_text(unit: PEIndex) -> str:
    """Returns the coordinates of a PE as text: `unit x = 1, y = 2`."""
    return "unit " + ", ".join(f"{name} = {value}" for name, value in zip("xy", unit))
