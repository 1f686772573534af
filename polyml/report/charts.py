"""Pictures of a report as SVG texts."""

from __future__ import annotations

from collections.abc import Sequence

from polyml.drawing.log_axes import LogAxes
from polyml.drawing.style import LANES, heading, picture
from polyml.drawing.svg import path, text
from polyml.machines.roofline import Roofline
from polyml.report.rooflines import AXES, WIDTH, Variant, below, mark, rooflines_svg
from polyml.report.values import FormReport, ReportValues
from polyml.tune.tiles.choose import Tiles


def roofline_svg(report: ReportValues) -> str:
    """Returns the roofline of a report's variants as an SVG picture; "" where no rates are known."""
    return rooflines_svg([_variant(each, each.roofline) for each in report.forms if each.roofline is not None])


def _variant(each: FormReport, roofline: Roofline) -> Variant:
    return Variant(each.form.name, roofline, None if each.prediction is None else each.prediction.seconds, each.measured)


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
    axes = LogAxes(max(min(xs), 1) / 1.5, max(xs) * 1.5, min(ys) / 2, max(ys) * 2, AXES)
    title, caption = "Misses of tiles", "lines: the least estimate of tiles of a size; marks: simulated tiles"
    parts = [
        *heading(title, caption),
        *axes.frame("cache lines that a tile uses", "misses per instance", lambda value: f"{value:g}"),
    ]
    words = []
    for number, (level, curve) in enumerate(zip(report.levels, curves)):
        lines, y = level.size_bytes // level.line_bytes, below(number)
        words.append(f"L{level.level} has {lines:,} lines" + (" (upright line)" if axes.low_x < lines < axes.high_x else ""))
        parts += [_curve(axes, curve, number, words[-1]), _mark_of(number, (24, y - 4)), text(40, y, words[-1])]
        if axes.low_x < lines < axes.high_x:
            parts.append(
                path(f"M{axes.x(lines):.1f},{AXES.top} V{AXES.bottom}", f"curve a{number % LANES}", hint=words[-1], dashes="3 3")
            )
    for number, misses, each in dots:
        sizes = ", ".join(map(str, each.sizes))
        hint = f"tiles of {sizes}: {misses:.3g} misses of L{report.levels[number].level} per instance"
        parts.append(_mark_of(number, (axes.x(each.lines), axes.y(misses)), hint))
    label = f"{title}. {caption}. {'; '.join(words)}."
    return picture(parts, WIDTH, below(len(words)), label, "tiles-chart")


def _curve(axes: LogAxes, points: Sequence[tuple[float, float]], number: int, hint: str) -> str:
    """Returns a line through points. number: the level's position, from 0, which decides on the colour."""
    way = " L".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in points)
    return path(f"M{way}", f"curve a{number % LANES}", hint=hint) if way else ""


def _mark_of(number: int, at: tuple[float, float], hint: str = "") -> str:
    return mark(number, "small", at, hint)


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
