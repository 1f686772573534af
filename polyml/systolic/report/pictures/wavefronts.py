"""The iteration points of a section along two axes, coloured by the cycle in which they run, with the lines of equal time
(wavefronts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

import islpy as isl

from polyml import polyhedra
from polyml.drawing.style import heading, heading_width, picture
from polyml.drawing.svg import Font, Svg, path, text
from polyml.systolic.folding.folds import fold_points
from polyml.systolic.mapping.axis_names import axis_names
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.spacetime import Vector, linear
from polyml.systolic.report.text import mapping_text

MOST = 16  # points along an axis
STEP = 46  # pixels between points
RADIUS = 14
LEFT, TOP, RIGHT, BOTTOM = 74, 84, 40, 70
LEAST_WIDTH = 430
# viridis (Smith and van der Walt, matplotlib 2015)
SCALE = ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725")
DARK_INK = 0.5  # of the scale, from where on numbers are dark

Position = tuple[float, float]


@dataclass(frozen=True)
class PlaneSection:
    """A PlaneSection holds the points of a recurrence in a plane along two of its axes, or in a line along one.

    across, down: the positions of the axes; down is None where there is only one.
    points: the values of all axes, by those of (across, down).
    fixed: the values of the other axes and of the outer loops, by name.
    cut: whether there are more points than shown.
    """

    across: int
    down: int | None
    points: dict[tuple[int, int], Vector]
    fixed: dict[str, int]
    cut: bool


def wavefronts_svg(plan: Plan) -> Svg:
    """Returns the SVG picture of a plan's iteration points in a plane, coloured by the cycle in which they run, with the lines of
    equal time.
    """
    found = section_of(plan)
    names = _names(plan)
    time = {point: sum(c * v for c, v in zip(plan.mapping.time, axes)) for point, axes in found.points.items()}
    xs, ys = {x for x, _ in time}, {y for _, y in time}
    low_x, high_x, low_y, high_y = min(xs), max(xs), min(ys), max(ys)
    needed = LEFT + (high_x - low_x) * STEP + RIGHT
    origin = _origin(plan)
    blocks = {point: _blocks(plan, origin, axes) for point, axes in found.points.items()}
    several = len({*blocks.values()}) > 1
    title, words = f"Lines of equal time, {_time(plan)}", _where(found, names)
    if several:
        words += "; thick lines part folds, which run one after another"
    width, height = max(LEAST_WIDTH, needed, heading_width(title, words)), TOP + (high_y - low_y) * STEP + BOTTOM

    def at(x: float, y: float) -> Position:
        """Returns the position at which a point of the plane is drawn."""
        return LEFT + (width - needed) / 2 + (x - low_x) * STEP, TOP + (y - low_y) * STEP

    parts = heading(title, words)
    slope = plan.mapping.time[found.across], 0 if found.down is None else plan.mapping.time[found.down]
    (x, y), t = next(iter(time.items()))
    base = t - slope[0] * x - slope[1] * y
    for each in sorted(set(time.values())):
        parts += _line(slope, each - base, (low_x - 0.5, high_x + 0.5, low_y - 0.5, high_y + 0.5), at)
    first, last = min(time.values()), max(time.values())
    for point in sorted(time):
        share = (time[point] - first) / max(1, last - first)
        fold = f", block {', '.join(map(str, blocks[point]))}" if several else ""
        parts += _dot(*at(*point), time[point], share, _hint(plan, found.points[point], time[point]) + fold)
    if several:
        parts.append(path(_borders(blocks, at), "outline", hint="border of folds"))
    left, bottom = at(low_x, high_y)
    parts += [text(at(v, 0)[0], bottom + RADIUS + 22, str(v), "faint", anchor="middle") for v in range(low_x, high_x + 1)]
    middle = at((low_x + high_x) / 2, 0)[0]
    parts.append(text(middle, bottom + RADIUS + 42, f"{names[found.across]} →", font=Font(13), anchor="middle"))
    if found.down is not None:
        parts += [text(left - RADIUS - 16, at(0, v)[1] + 4, str(v), "faint", anchor="end") for v in range(low_y, high_y + 1)]
        parts.append(text(14, TOP - 22, f"{names[found.down]} ↓", font=Font(13)))
    folds = f" in {len({*blocks.values()})} of {plan.folds.number:,} folds" if several else ""
    return picture(parts, width, height, f"{mapping_text(plan)}: the cycles of {len(time)} instances{folds}", "wavefronts")


def _origin(plan: Plan) -> Vector:
    """Returns the coordinates x, y that the mapping gives to the first PE of the first blocks of rows and columns."""
    first, shape = next(fold_points(plan.folds)), plan.folds.shape
    numbers = first.number[len(first.number) - len(shape) :]
    return tuple(corner - number * length for corner, number, length in zip(first.corner, numbers, shape))


def _blocks(plan: Plan, origins: Vector, axes: Vector) -> Vector:
    """Returns the numbers of the blocks of rows and columns, that is the fold, in which an instance runs. origins: as `_origin` says."""
    shape = plan.folds.shape
    places = (sum(c * v for c, v in zip(row, axes)) for row in plan.mapping.space)
    return tuple((place - origin) // length for place, origin, length in zip(places, origins, shape))


def _borders(blocks: dict[tuple[int, int], Vector], at: Callable[[float, float], Position]) -> str:
    """Returns the SVG path of the sides between neighbouring points of different folds."""
    sides = []
    for (x, y), own in sorted(blocks.items()):
        if blocks.get((x + 1, y), own) != own:
            left, top = at(x + 0.5, y - 0.5)
            sides.append(f"M{left:.1f},{top:.1f}v{STEP}")
        if blocks.get((x, y + 1), own) != own:
            left, top = at(x - 0.5, y + 0.5)
            sides.append(f"M{left:.1f},{top:.1f}h{STEP}")
    return "".join(sides)


def section_of(plan: Plan) -> PlaneSection:
    """Returns the points of a plan's recurrence in a plane along two axes, if possible those that the array's coordinates depend
    on.

    The other axes have their least or greatest values, whichever gives more points; at most 16 points along an axis are there.
    """
    recurrence, rows = plan.recurrence, plan.mapping.rows
    outer, count = len(recurrence.outer), len(recurrence.axes)
    order = sorted(range(count), key=lambda k: (not any(row[k] for row in plan.mapping.space), not rows[0][k], k))
    down, across = sorted(order[:2]) if count > 1 else (None, 0)
    names = [*(f"o{k}" for k in range(outer)), *(f"a{k}" for k in range(count))]
    chosen = {names[outer + k] for k in (down, across) if k is not None}
    others = [n for n in names if n not in chosen]
    kept = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(others)}] }}").intersect_domain(recurrence.points)
    ends = kept.range().lexmin(), kept.range().lexmax()
    sections = (_sectioned(plan, kept.intersect_range(end).domain(), names, down, across) for end in ends)
    return max(sections, key=lambda each: len(each.points))


def _sectioned(plan: Plan, inside: isl.Set, names: Sequence[str], down: int | None, across: int) -> PlaneSection:
    """Returns the points of a plane along two axes.

    inside: { [o, a] }, the points of the plane, by outer loops and axes.
    names: the names of o and a in isl's text.
    down, across: the positions of the two axes.
    """
    recurrence, outer = plan.recurrence, len(plan.recurrence.outer)
    chosen = {names[outer + k] for k in (down, across) if k is not None}
    ranges = dict(zip(names, polyhedra.ranges(inside)))
    cut = {n: low + MOST for n, (low, high) in ranges.items() if n in chosen and high >= low + MOST}
    bounds = " and ".join(f"{n} < {end}" for n, end in cut.items()) or "true"
    shown = polyhedra.points(inside.intersect(isl.Set(f"{{ [{', '.join(names)}] : {bounds} }}")))
    points = {(p[outer + across], 0 if down is None else p[outer + down]): p[outer:] for _, p in shown}
    scope_text = [*(axis_names(recurrence.nest)[loop] for loop in recurrence.outer), *_names(plan)]
    fixed = {text: ranges[n][0] for text, n in zip(scope_text, names) if n not in chosen}
    return PlaneSection(across, down, points, fixed, bool(cut))


def _names(plan: Plan) -> list[str]:
    """Returns the names of a recurrence's axes, as linear functions of the loops."""
    return [linear(axis.coefficients, axis_names(plan.recurrence.nest)) for axis in plan.recurrence.axes]


def _time(plan: Plan) -> str:
    """Returns the time of a plan's mapping as text, such as `t = i + j + k`."""
    return f"t = {linear(plan.recurrence.loops_row(plan.mapping.time), axis_names(plan.recurrence.nest))}"


def _where(found: PlaneSection, names: Sequence[str]) -> str:
    """Returns the text that says which points are drawn: the values of the axes that are fixed, and whether there are too many
    points to draw all; "all instances" if neither.
    """
    words = [f"{name} = {value}" for name, value in found.fixed.items()]
    if found.cut:
        words.append(f"the first {MOST} of each axis")
    return ", ".join(words) or "all instances"


def _line(slope: tuple[int, int], rest: int, box: tuple[float, ...], at: Callable[[float, float], Position]) -> Iterator[str]:
    """Yields the SVG path of the line on which slope[0] * x + slope[1] * y = rest, within the box; nothing where it does not cross
    it.

    box: the least and greatest x, and the least and greatest y; at: returns the position of a point.
    """
    a, b = slope
    low_x, high_x, low_y, high_y = box
    ends = set()
    if b:
        ends |= {(x, (rest - a * x) / b) for x in (low_x, high_x)}
    if a:
        ends |= {((rest - b * y) / a, y) for y in (low_y, high_y)}
    inside = sorted(p for p in ends if low_x <= p[0] <= high_x and low_y <= p[1] <= high_y)
    if len(inside) > 1 and inside[0] != inside[-1]:
        (x, y), (to_x, to_y) = at(*inside[0]), at(*inside[-1])
        yield path(f"M{x:.1f},{y:.1f} L{to_x:.1f},{to_y:.1f}", "axis", dashes="4 4")


def _dot(x: float, y: float, t: int, share: float, hint: str) -> Iterator[str]:
    """Yields the SVG elements of a point, with its cycle t.

    x, y: the position; share: its place on the scale of colours, from 0 to 1; hint: what the mouse shows.
    """
    yield f'<g class="point"><title>{escape(hint)}</title>'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="{_colour(share)}"/>'
    yield text(x, y + 4, str(t), "on-light" if share > DARK_INK else "on-dark", anchor="middle") + "</g>"


def _hint(plan: Plan, axes: Vector, t: int) -> str:
    """Returns the text that is shown where the mouse points at an instance: its axes, cycle and PE."""
    at = ", ".join(f"{name} = {value}" for name, value in zip(_names(plan), axes))
    place = ", ".join(f"{name} = {sum(c * v for c, v in zip(row, axes))}" for name, row in zip("xy", plan.mapping.space))
    return f"{at}: t = {t}, {place}"


def _colour(share: float) -> str:
    """Returns the colour at a share, from 0 to 1, of the scale, as `#rrggbb`."""
    place = share * (len(SCALE) - 1)
    low = min(int(place), len(SCALE) - 2)
    ends = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in SCALE[low : low + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in zip(*ends))
