"""The SVG picture of a nest: a circle for each instance, an arrow for each dependence, a number for its place in the order, outlines of tiles.

Each element says in `data-` attributes what it stands for, so that a picture can be compared with the sets that it is drawn of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby

from polyml.drawing.style import CHARACTER, heading, heading_width, picture
from polyml.drawing.svg import Font, Svg, text
from polyml.pictures.direct_dependences import KINDS
from polyml.pictures.nests import SCHEDULE, TILES, Arrow, NestPicture, Tile
from polyml.pictures.panels import CELL, Panel, panel
from polyml.polyhedra.points import Instance, instance_text

RADIUS = {1: 10.0, 2: 10.0, 3: 4.5}  # of a point, by the number of loops that are drawn
WIDEST = 900.0  # of a row of panels, in pixels
TOP = 56.0
DASHES = {"flow": "", "anti": "6 3", "output": "2 3"}  # so that kinds differ without colours
_MEANING = {"flow": "flow: written, then read", "anti": "anti: read, then written", "output": "output: written twice"}
_MOST_DISTANCES = 4
_MOST_TITLES = 2_000  # arrows that tell what they are where the pointer is on them
_LABELS = 12  # numbers along an axis at most
_TITLES = {
    "domain": "Instances",
    "dependences": "Dependences",
    "schedule": "Order of the instances",
    "tiles": "Tiles",
}


def nest_svg(shown: NestPicture) -> Svg:
    """Returns the SVG picture of a nest."""
    panels = _placed([panel(each) for each in shown.statements])
    title = f"{_TITLES[shown.subject]} of {shown.kernel}"
    caption = _caption(shown)
    legend = list(_legend(shown))
    bottom = max((each.top + each.size[1] for each in panels), default=TOP)
    words = [*legend, *_notes(shown, panels)]
    width = max(
        [
            heading_width(title, caption),
            *(each.left + each.size[0] for each in panels),
            *(60 + CHARACTER * len(w) for _, w in words),
        ]
    )
    places = {(each.statement.name, p): place for each in panels for p in each.points if (place := each.place(p)) is not None}
    parts = [*heading(title, caption), _markers()]
    for each in panels:
        parts += [*_axes(each), *_outlines(each, shown.tiles)]
    parts += _arrows(shown.arrows, places)
    for each in panels:
        parts += _points(each, shown)
    for number, (kind, line) in enumerate(words):
        y = bottom + 18 * number + 10
        parts += [_line(kind, 18, y - 4, 46, y - 4)] if kind in KINDS else []
        parts.append(text(54 if kind in KINDS else 18, y, line, "faint"))
    label = f"{title}. {caption}. {'; '.join(line for _, line in words)}"
    return picture(parts, width, bottom + 18 * len(words) + 18, label, f"nest {shown.subject}")


def _placed(panels: Sequence[Panel]) -> list[Panel]:
    """Returns the panels side by side, in as many rows as the width asks for."""
    found, left, top, height = list[Panel](), 0.0, TOP, 0.0
    for each in panels:
        width, own = each.size
        if left and left + width > WIDEST:
            left, top, height = 0.0, top + height, 0.0
        found.append(replace(each, left=left, top=top))
        left, height = left + width, max(height, own)
    return found


def _caption(shown: NestPicture) -> str:
    count = sum(len(each.points) for each in shown.statements)
    sizes = ", ".join(f"{name} = {value}" for name, value in shown.sizes.items())
    more = f", the first of {count + shown.left_out:,} in the source's order" if shown.left_out else ""
    return f"{count:,} instance{'s' if count != 1 else ''}{more}{f' for {sizes}' if sizes else ''}"


def _legend(shown: NestPicture) -> Iterator[tuple[str, str]]:
    """Yields a kind of arrow, or "", and the line that says what it is."""
    for kind in KINDS:
        own = [each for each in shown.arrows if each.kind == kind]
        if own:
            yield kind, f"{_MEANING[kind]}: {'; '.join(_distances(own))}"
    if shown.arrows:
        yield "", "direct ones: no other write to the element lies between; all others follow from them"
    if shown.subject == SCHEDULE:
        yield "", "numbers: places in the order, from 0; the fainter, the earlier"
    if shown.subject == TILES:
        full = sum(each.is_full for each in shown.tiles)
        yield "", f"{len(shown.tiles)} tiles: {full} full (solid), {len(shown.tiles) - full} partial (dashed)"


def _distances(arrows: Sequence[Arrow]) -> Iterator[str]:
    """Yields, for each pair of statements, the distances between source and sink."""

    def pair(each: Arrow) -> tuple[str, str]:
        return each.source[0], each.sink[0]

    for (source, sink), some in groupby(sorted(arrows, key=pair), key=pair):
        found = sorted(
            {tuple(b - a for a, b in zip(each.source[1], each.sink[1])) for each in some} if source == sink else (), key=lambda d: d
        )
        told = ", ".join(f"({', '.join(map(str, d))})" for d in found[:_MOST_DISTANCES])
        more = f" and {len(found) - _MOST_DISTANCES} more" if len(found) > _MOST_DISTANCES else ""
        yield f"{source} to {sink}{f' at {told}{more}' if told else ''}"


def _notes(shown: NestPicture, panels: Sequence[Panel]) -> Iterator[tuple[str, str]]:
    for each in panels:
        if each.fixed:
            names = each.statement.iterators[: len(each.fixed)]
            told = ", ".join(f"{name} = {value}" for name, value in zip(names, each.fixed))
            yield "", f"{each.statement.name} is drawn for {told} alone"


def _markers() -> str:
    """Returns the heads of arrows, one for each kind."""
    heads = (
        f'<marker id="polyml-{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="4.5" markerHeight="4.5" orient="auto">'
        f'<path class="s{number}" d="M0,0 L8,4 L0,8 z"/></marker>'
        for number, kind in enumerate(KINDS)
    )
    return f"<defs>{''.join(heads)}</defs>"


def _axes(own: Panel) -> Iterator[str]:
    """Yields the statement's text above its panel, the names of the loops, and numbers along them."""
    yield text(own.left + 14, own.top + 14, own.title, "mono")
    if not own.points or not own.iterators:
        return
    bounds, names = own.bounds, own.iterators
    lows = [low for low, _ in bounds]

    def at(dim: int, value: int) -> tuple[float, float]:
        corner = [*lows]
        corner[dim] = value
        if dim == len(names) - 1 and len(names) > 1:
            corner[-2] = bounds[-2][1]
        place = own.place((*own.fixed, *corner))
        assert place is not None
        return place

    for dim, name in enumerate(names):
        low, high = bounds[dim]
        step = max(1, math.ceil((high - low + 1) / _LABELS))
        is_across, is_down = dim == len(names) - 1, dim == len(names) - 2
        dx, dy = (0.0, 30.0) if is_across else (-27.0, 4.0) if is_down else (-10.0, -8.0)
        for value in range(low, high + 1, step):
            x, y = at(dim, value)
            yield text(x + dx, y + dy, str(value), "faint", anchor="middle", font=Font(10))
        x, y = at(dim, high)
        far = (25.0, dy) if is_across else (dx, 25.0) if is_down else (dx + 4, dy - 14)
        yield text(x + far[0], y + far[1], name, anchor="middle", font=Font(12, bold=True))


def _points(own: Panel, shown: NestPicture) -> Iterator[str]:
    """Yields a circle for each point, with its place in the order where that is shown."""
    radius, last = RADIUS[max(len(own.iterators), 1)], max(len(shown.times or ()) - 1, 1)
    if shown.times is None:
        radius = min(radius, 6.0)
    radius *= own.cell / CELL
    for point in own.points:
        instance = own.statement.name, point
        place = own.place(point)
        assert place is not None
        x, y = place
        time = None if shown.times is None else shown.times[instance]
        hint = instance_text(instance) + ("" if time is None else f", number {time} in the order")
        told = f' data-instance="{instance_text(instance)}"' + ("" if time is None else f' data-time="{time}"')
        shade = "" if time is None else f' style="fill-opacity:{0.15 + 0.85 * time / last:.2f}"'
        yield f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"{told}{shade}><title>{escape(hint)}</title></circle>'
        if time is not None and radius > 8 and shown.subject == SCHEDULE and time < 1000:
            tone = "on-dark" if time / last > 0.65 else ""
            yield text(x, y + 3.5, str(time), f"number {tone}".strip(), anchor="middle", font=Font(9))


def _arrows(arrows: Sequence[Arrow], places: dict[Instance, tuple[float, float]]) -> Iterator[str]:
    """Yields a line for each dependence, a little bent, so that those along one line are seen apart."""
    for each in arrows:
        if each.source not in places or each.sink not in places:
            continue
        (x0, y0), (x1, y1) = places[each.source], places[each.sink]
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        bend = 0.10 * length + 2 * KINDS.index(each.kind)
        start, end = (0.18 * length, 0.24 * length) if length < CELL else (6.0, 8.0)
        way = (
            f"M{x0 + ux * start:.1f},{y0 + uy * start:.1f} Q{(x0 + x1) / 2 - uy * bend:.1f},{(y0 + y1) / 2 + ux * bend:.1f} "
            f"{x1 - ux * end:.1f},{y1 - uy * end:.1f}"
        )
        yield _line_of(each.kind, way, each, has_title=len(arrows) <= _MOST_TITLES)


def _line_of(kind: str, way: str, arrow: Arrow | None = None, has_title: bool = False) -> str:
    told = hint = ""
    if arrow is not None:
        source, sink = instance_text(arrow.source), instance_text(arrow.sink)
        told = f' data-kind="{kind}" data-source="{source}" data-sink="{sink}"'
        hint = "" if not has_title else f"<title>{kind}: {source} before {sink}</title>"
    dashes = f' stroke-dasharray="{DASHES[kind]}"' if DASHES[kind] else ""
    head = f'<path class="arrow a{KINDS.index(kind)}" d="{way}"{dashes} marker-end="url(#polyml-{kind})"{told}'
    return f"{head}>{hint}</path>" if hint else f"{head}/>"


def _line(kind: str, x0: float, y0: float, x1: float, y1: float) -> str:
    return _line_of(kind, f"M{x0:.1f},{y0:.1f} L{x1:.1f},{y1:.1f}")


def _outlines(own: Panel, tiles: Sequence[Tile]) -> Iterator[str]:
    """Yields the outline of each tile: the sides of cells between its points and others, of panels with one or two loops; of three loops,
    the outline of each of its layers.
    """
    for tile in tiles:
        if tile.statement != own.statement.name:
            continue
        inside = {p for p in tile.points if own.place(p) is not None}
        if not inside:
            continue
        sides = "".join(side for point in sorted(inside) for side in _sides(own, point, inside))
        dashes = "" if tile.is_full else ' stroke-dasharray="4 3"'
        members = " ".join(instance_text((tile.statement, p)).replace(" ", "") for p in tile.points)
        told = f' data-tile="{",".join(map(str, tile.numbers))}" data-full="{str(tile.is_full).lower()}" data-members="{members}"'
        kind = "full" if tile.is_full else "partial"
        hint = f"{kind} tile {', '.join(map(str, tile.numbers))} with {len(tile.points)} instances"
        yield f'<path class="tile" d="{sides}"{dashes}{told}><title>{hint}</title></path>'


def _sides(own: Panel, point: tuple[int, ...], inside: set[tuple[int, ...]]) -> Iterator[str]:
    """Yields the sides of a point's cell that are between it and a point outside, as commands of a path."""
    place, half = own.place(point), own.cell / 2
    assert place is not None
    x, y = place
    for dim, corners in ((1, ((-1, -1), (-1, 1))), (1, ((1, -1), (1, 1))), (2, ((-1, -1), (1, -1))), (2, ((-1, 1), (1, 1)))):
        if dim > len(own.iterators):
            neighbour = None
        else:
            step = corners[0][0] if dim == 1 else corners[0][1]
            neighbour = (*point[: len(point) - dim], point[-dim] + step, *point[len(point) - dim + 1 :])
        if neighbour not in inside:
            (ax, ay), (bx, by) = corners
            yield f"M{x + ax * half:.1f},{y + ay * half:.1f}L{x + bx * half:.1f},{y + by * half:.1f}"
