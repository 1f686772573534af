"""Pictures of a report as SVG texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from polyml.drawing.svg import document
from polyml.machines.roofline import Roofline
from polyml.machines.units import shown
from polyml.report.values import ReportValues
from polyml.tune.tiles.choose import Tiles

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 20, 46
COLOURS = ("#0b6e99", "#c4551d", "#3b7d3b", "#7d3b7d")


def roofline_svg(report: ReportValues) -> str:
    """Returns the roofline of a report's variants as an SVG picture; "" where no rates are known."""
    return rooflines_svg([(each.form.name, each.roofline) for each in report.forms if each.roofline is not None])


def rooflines_svg(given: Sequence[tuple[str, Roofline]]) -> str:
    """Returns rooflines as one SVG picture; "" where no rates are known.

    The axes are logarithmic: operations per second over operations per byte of main memory's traffic. Roofs are each level's
    bandwidth and the peak; a dot stands where each variant is predicted.

    given: the name and the roofline of each variant.
    """
    named = [(name, found) for name, found in given if found.seconds]
    kinds = [roof.rate.value for _, found in named for roof in found.work if roof.rate is not None]
    if not kinds:
        return ""
    peak = max(kinds)
    places = {roof.place: roof.rate.value for _, found in named for roof in found.traffic if roof.rate is not None}
    dots = [(name, *dot) for name, found in named if (dot := _dot(found)) is not None]
    ridges = [peak / rate for rate in places.values()]
    xs = [x for _, x, _ in dots] + ridges
    ys = [y for _, _, y in dots] + [peak]
    axes = _Axes(min(xs) / 4, max(xs) * 4, min(ys) / 8, max(ys) * 2)
    parts = [*axes.frame("operations per byte of memory traffic", "operations per second")]
    for place, rate in places.items():
        parts += axes.line([(axes.low_x, axes.low_x * rate), (peak / rate, peak)], "#888", f"{place} {shown(rate, 'bandwidth')}")
    parts += axes.line([(min(ridges), peak), (axes.high_x, peak)], "#444", f"peak {shown(peak, 'operations')}")
    for colour, (name, x, y) in zip(COLOURS, dots):
        parts += axes.dot(x, y, colour, f"{name}: {shown(y, 'operations')}")
    parts += _legend([(colour, name) for colour, (name, _, _) in zip(COLOURS, dots)])
    return document(parts, WIDTH, HEIGHT)


def tiles_svg(report: ReportValues) -> str:
    """Returns an SVG picture: misses per instance over how many cache lines a tile uses, both logarithmic; "" where there are no
    tiles.

    Each cache level has a curve, the least estimate among tiles of about so many lines; dots are the tiles that were simulated.
    """
    found = report.tiles
    if not found.candidates or not found.instances:
        return ""
    curves = [_least(found, number) for number in range(len(report.levels))]
    dots = [(number, misses, each) for each in found.simulated for number, misses in enumerate(each.misses or ()) if misses]
    xs = [x for curve in curves for x, _ in curve] + [each.lines for _, _, each in dots]
    ys = [y for curve in curves for _, y in curve] + [misses for _, misses, _ in dots]
    axes = _Axes(max(min(xs), 1) / 1.5, max(xs) * 1.5, min(ys) / 2, max(ys) * 2)
    parts = [*axes.frame("lines of a tile", "misses per instance")]
    for colour, level, curve in zip(COLOURS, report.levels, curves):
        parts += axes.curve(curve, colour, f"L{level.level}, the least estimate")
        lines = level.size_bytes // level.line_bytes
        if axes.low_x < lines < axes.high_x:
            parts += axes.mark(lines, colour, f"L{level.level}: {lines:,} lines")
    for number, misses, each in dots:
        sizes = ", ".join(map(str, each.sizes))
        label = f"tiles of {sizes}: {misses:.3g} misses of L{report.levels[number].level} per instance"
        parts += axes.dot(each.lines, misses, COLOURS[number % len(COLOURS)], label, radius=3)
    parts += _legend([(colour, f"L{level.level}") for colour, level in zip(COLOURS, report.levels)])
    return document(parts, WIDTH, HEIGHT)


def _least(found: Tiles, number: int) -> list[tuple[float, float]]:
    """Returns the points (cache lines of a tile, misses per instance) of the curve of one cache level.

    Tiles are grouped by their cache lines: 1, 2 to 3, 4 to 7, and so on. Of each group, the tile with the least estimated misses is
    a point.

    number: the level's position, from 0.
    """
    best: dict[int, tuple[float, float]] = {}
    for each in found.candidates:
        point = each.estimates[number] / found.instances, each.lines
        if each.lines and each.estimates[number]:
            best[each.lines.bit_length()] = min(best.get(each.lines.bit_length(), point), point)
    return [(lines, misses) for _, (misses, lines) in sorted(best.items())]


def _dot(found: Roofline) -> tuple[float, float] | None:
    """Returns a variant's operations per byte of memory traffic, and per second; None where they are not known."""
    intensity = found.intensity("memory")
    return (intensity, found.operations / found.seconds) if intensity and found.seconds else None


class _Axes:
    """The logarithmic axes of a picture, which turn values into positions on it.

    low_x, high_x, low_y, high_y: the least and the greatest values.
    """

    def __init__(self, low_x: float, high_x: float, low_y: float, high_y: float):
        self.low_x, self.high_x, self._low_y, self._high_y = low_x, high_x, low_y, high_y

    def x(self, value: float) -> float:
        """Returns the position of a value on the lower axis, in pixels from the left."""
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / self.low_x) / math.log(self.high_x / self.low_x)

    def y(self, value: float) -> float:
        """Returns the position of a value on the left axis, in pixels from the top."""
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(value / self._low_y) / math.log(self._high_y / self._low_y)

    def frame(self, below: str, beside: str) -> Iterator[str]:
        """Yields the axes with their marks and names as SVG elements. below, beside: the names of the lower and the left axis."""
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        yield f'<path d="M{LEFT},{TOP} V{bottom} H{right}" fill="none" stroke="#444"/>'
        for value in _tens(self.low_x, self.high_x):
            yield f'<text x="{self.x(value):.1f}" y="{bottom + 16}" text-anchor="middle">{value:g}</text>'
            yield f'<path d="M{self.x(value):.1f},{bottom} v4" stroke="#444"/>'
        for value in _tens(self._low_y, self._high_y):
            yield f'<text x="{LEFT - 6}" y="{self.y(value) + 4:.1f}" text-anchor="end">{_short(value)}</text>'
            yield f'<path d="M{LEFT},{self.y(value):.1f} h-4" stroke="#444"/>'
        yield f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(below)}</text>'
        turned = f'transform="translate(14,{(TOP + bottom) / 2}) rotate(-90)"'
        yield f'<text {turned} text-anchor="middle">{escape(beside)}</text>'

    def line(self, points: Sequence[tuple[float, float]], colour: str, label: str) -> Iterator[str]:
        """Yields a line between two points as SVG elements, cut where it leaves the picture, with its label in the middle."""
        (x, y), (last_x, last_y) = points
        if y < self._low_y:  # lines of slope 1 alone begin there
            x, y = x * self._low_y / y, self._low_y
        yield f'<path d="M{self.x(x):.1f},{self.y(y):.1f} L{self.x(last_x):.1f},{self.y(last_y):.1f}" stroke="{colour}" fill="none">'
        yield f"<title>{escape(label)}</title></path>"
        middle_x, middle_y = math.sqrt(x * last_x), math.sqrt(y * last_y)
        yield f'<text x="{self.x(middle_x):.1f}" y="{self.y(middle_y) - 5:.1f}" text-anchor="middle" fill="{colour}">{escape(label)}</text>'

    def curve(self, points: Sequence[tuple[float, float]], colour: str, label: str) -> Iterator[str]:
        """Yields a line through points as an SVG element, whose label shows when the pointer is on it."""
        path = " L".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        yield f'<path d="M{path}" stroke="{colour}" fill="none"><title>{escape(label)}</title></path>'

    def mark(self, x: float, colour: str, label: str) -> Iterator[str]:
        """Yields a dashed vertical line at a value of the lower axis, as an SVG element."""
        yield f'<path d="M{self.x(x):.1f},{TOP} V{HEIGHT - BOTTOM}" stroke="{colour}" stroke-dasharray="3 3"><title>{escape(label)}</title></path>'

    def dot(self, x: float, y: float, colour: str, label: str, radius: int = 5) -> Iterator[str]:
        """Yields a dot as an SVG element, whose label shows when the pointer is on it."""
        yield f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{radius}" fill="{colour}"><title>{escape(label)}</title></circle>'


def _tens(low: float, high: float) -> Iterator[float]:
    """Yields the powers of ten between two values."""
    for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
        yield 10.0**power


def _short(value: float) -> str:
    return f"{value:g}" if value < 1 else shown(value, "operations").replace("FLOP/s", "").strip()


def _legend(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yields a coloured dot and a name for each entry, as SVG elements. entries: (colour, name)."""
    for number, (colour, name) in enumerate(entries):
        y = TOP + 10 + 18 * number
        yield f'<circle cx="{WIDTH - RIGHT + 16}" cy="{y}" r="5" fill="{colour}"/>'
        yield f'<text x="{WIDTH - RIGHT + 28}" y="{y + 4}">{escape(name)}</text>'
