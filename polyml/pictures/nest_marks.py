"""What a panel shows, as SVG elements: axes, points, arrows between points, outlines of tiles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from html import escape

from polyml.drawing.style import lane
from polyml.drawing.svg import Font, text
from polyml.model.references.direct import KINDS
from polyml.pictures.nest_legends import BROKEN
from polyml.pictures.nest_values import Arrow, NestPicture, StatementPoints, Tile
from polyml.pictures.panels import CELL, LINE, Panel, is_numbered, point_radius
from polyml.polyhedra.points import Instance, instance_text

DASHES = {"flow": "", "anti": "6 3", "output": "2 3", BROKEN: ""}  # so that kinds differ without colours
_DASHED = {kind: f' stroke-dasharray="{dashes}"' if dashes else "" for kind, dashes in DASHES.items()}
_CLASS = {**{kind: f"a{number}" for number, kind in enumerate(KINDS)}, BROKEN: "wrong"}
_HEADS = {**{kind: f"s{number}" for number, kind in enumerate(KINDS)}, BROKEN: "wrong-head"}
_SHAPES: tuple[
    tuple[tuple[float, float], ...], ...
] = (  # of points by the lane of their group, in radii, as `nest_legends` names them
    (),  # a circle
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.2), (1.2, 0.9), (-1.2, 0.9)),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    (
        *((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4)),
        *((0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
    ),
    ((0, 1.2), (1.2, -0.9), (-1.2, -0.9)),
)
_MOST_TITLES = 2_000  # arrows that tell what they are where the pointer is on them
_GAP = 1.2  # half of the pixels between the outlines of neighbouring tiles
_HIGHEST = 200.0  # pixels of the control polygon of an arc
_LABELS = 12  # numbers along an axis at most


def markers() -> str:
    """Returns the heads of arrows, one for each kind."""
    heads = (
        f'<marker id="polyml-{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="4.5" markerHeight="4.5" orient="auto">'
        f'<path class="{_HEADS[kind]}" d="M0,0 L8,4 L0,8 z"/></marker>'
        for kind in _HEADS
    )
    return f"<defs>{''.join(heads)}</defs>"


def axes(own: Panel) -> Iterator[str]:
    """Yields the statement's text above its panel, the names of the loops, and numbers along them."""
    for number, line in enumerate(own.title):
        yield text(own.left + 14, own.top + 14 + LINE * number, line.replace(" " * 4, "\u00a0" * 4), "mono halo")
    if not own.points or not own.iterators:
        return
    bounds, names = own.bounds, own.iterators
    lows = [low for low, _ in bounds]

    def at(dim: int, value: int) -> tuple[float, float]:
        corner = [*lows]
        corner[dim] = value
        if dim == len(names) - 1 and len(names) > 1:
            corner[-2] = bounds[-2][1]
        return own.place((*own.fixed, *corner))

    for dim, name in enumerate(names):
        low, high = bounds[dim]
        step = own.statement.stride * max(1, math.ceil((high - low + 1) / own.statement.stride / _LABELS))
        is_across, is_down = dim == len(names) - 1, dim == len(names) - 2
        dx, dy = (0.0, 30.0) if is_across else (-27.0, 4.0) if is_down else (-10.0, -8.0)
        for value in range(low, high + 1, step):
            x, y = at(dim, value)
            yield text(x + dx, y + dy, str(value), "faint halo", anchor="middle", font=Font(10))
        x, y = at(dim, high)
        far = (25.0, dy) if is_across else (dx, 25.0) if is_down else (dx + 4, dy - 14)
        yield text(x + far[0], y + far[1], name, "halo", anchor="middle", font=Font(12, bold=True))


def points(own: Panel, shown: NestPicture) -> Iterator[str]:
    """Yields a circle for each point, with its place in the order or its group where these are shown; a group has a shape if numbers have no room."""
    radius, last = point_radius(own, shown), max(len(shown.times or ()) - 1, 1)
    has_numbers = is_numbered(own, shown)
    for point, (x, y) in own.places.items():
        instance = own.statement.name, point
        time = None if shown.times is None else shown.times[instance]
        kind, shade, tone = "point", "", ""
        told, hint, number = f' data-instance="{instance_text(instance)}"', instance_text(instance), None
        if time is not None:
            told, hint = f'{told} data-time="{time}"', f"{hint}, number {time} in the order"
        if shown.groups is not None:
            number = shown.groups.get(instance)
            kind = "point outside" if number is None else f"point s{lane(number)}"
            told += "" if number is None else f' data-group="{number}"'
            tone = "number in-group"
        elif time is not None:
            number, shade = time, f' style="fill-opacity:{0.15 + 0.85 * time / last:.2f}"'
            tone = "number on-dark" if time / last > 0.5 else "number"
        corners = () if shown.groups is None or number is None or has_numbers else _SHAPES[lane(number)]
        if corners:
            way = " ".join(f"{x + radius * across:.1f},{y + radius * down:.1f}" for across, down in corners)
            place = f'polygon class="{kind}" points="{way}"'
        else:
            place = f'circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"'
        yield f"<{place}{told}{shade}><title>{escape(hint)}</title></{place.partition(' ')[0]}>"
        if number is not None and has_numbers and number < 1000:
            yield text(x, y + 3.5, str(number), tone, anchor="middle", font=Font(9))


def arc_height(arrows: Sequence[Arrow], statement: StatementPoints, cell: float) -> float:
    """Returns how far the arrows within a statement in one loop rise above its points, in pixels. cell: pixels between neighbours."""
    own = ((each.kind, abs(each.sink[1][0] - each.source[1][0])) for each in arrows if _is_arc(each, {statement.name}))
    return max((_rise(kind, cell * far / statement.stride) / 2 for kind, far in own), default=0.0)


def _is_arc(arrow: Arrow, lines: Set[str]) -> bool:
    """Returns whether an arrow is within one of the statements whose points are on a line, which other points would be hidden by."""
    return arrow.source[0] == arrow.sink[0] and arrow.source[0] in lines


def _rise(kind: str, length: float) -> float:
    """Returns how far the middle of an arc's control polygon is above its ends, of two points so far apart, in pixels."""
    return min((0.5 + 0.14 * KINDS.index(kind)) * length, _HIGHEST + 12 * KINDS.index(kind))


def arrows(shown: Sequence[Arrow], places: dict[Instance, tuple[float, float]], lines: Set[str]) -> Iterator[str]:
    """Yields a line for each dependence, a little bent, so that those along one line are seen apart.

    lines: the statements whose points are on one line, above which arrows within a statement are arcs.
    """
    has_title, ways = len(shown) <= _MOST_TITLES, dict[tuple[str, float, float, bool], _Way]()
    for each in shown:
        begin, end = places.get(each.source), places.get(each.sink)
        if begin is None or end is None:
            continue
        key = each.kind, round(end[0] - begin[0], 2), round(end[1] - begin[1], 2), _is_arc(each, lines)
        way = ways.get(key) or ways.setdefault(key, _arc(*key[:2]) if key[3] else _way(*key[:3]))
        yield _line_of(BROKEN if each.is_broken else each.kind, way.from_point(*begin), each, has_title)


@dataclass(frozen=True)
class _Way:
    """The way of arrows between points that are equally far from one another.

    start: how far from the point it begins, across and down, in pixels.
    rest: the commands of a path from there on.
    """

    start: tuple[float, float]
    rest: str

    def from_point(self, x: float, y: float) -> str:
        """Returns the way of the arrow from a point as commands of a path."""
        return f"M{x + self.start[0]:.1f},{y + self.start[1]:.1f}{self.rest}"


def _way(kind: str, across: float, down: float) -> _Way:
    """Returns the way of arrows of a kind that lead so far across and down, in pixels."""
    length = math.hypot(across, down) or 1.0
    ux, uy = across / length, down / length
    bend = 0.10 * length + 5 * KINDS.index(kind)
    start, end = (0.18 * length, 0.24 * length) if length < CELL else (6.0, 8.0)
    dx, dy = ux * start, uy * start
    return _Way(
        (dx, dy),
        f"q{across / 2 - uy * bend - dx:.1f},{down / 2 + ux * bend - dy:.1f} {across - ux * end - dx:.1f},{down - uy * end - dy:.1f}",
    )


def _arc(kind: str, across: float) -> _Way:
    """Returns the way of arrows of a kind above a line of points, in pixels."""
    rise = _rise(kind, abs(across))
    length = math.hypot(across / 2, rise) or 1.0
    ux, uy = across / 2 / length, -rise / length  # from the source; to the sink downwards
    begin, end = (6.0, 8.0) if abs(across) >= CELL else (0.18 * abs(across), 0.24 * abs(across))
    dx, dy = ux * begin, uy * begin
    return _Way((dx, dy), f"q{across / 2 - dx:.1f},{-rise - dy:.1f} {across - ux * end - dx:.1f},{uy * end - dy:.1f}")


def _line_of(kind: str, way: str, arrow: Arrow | None = None, has_title: bool = False) -> str:
    told = hint = ""
    if arrow is not None:
        source, sink = instance_text(arrow.source), instance_text(arrow.sink)
        told = f' data-kind="{arrow.kind}" data-source="{source}" data-sink="{sink}"' + (
            ' data-broken="true"' if arrow.is_broken else ""
        )
        if has_title:
            said = f"{sink} runs before {source}, on which it depends" if arrow.is_broken else f"{source} before {sink}"
            hint = f"<title>{arrow.kind}: {said}</title>"
    head = f'<path class="arrow {_CLASS[kind]}" d="{way}"{_DASHED[kind]} marker-end="url(#polyml-{kind})"{told}'
    return f"{head}>{hint}</path>" if hint else f"{head}/>"


def sample(kind: str, y: float) -> str:
    """Returns an arrow of a kind beside a line of the legend at this height, in pixels."""
    return _line_of(kind, f"M18.0,{y:.1f} L46.0,{y:.1f}")


def outlines(panels: Sequence[Panel], tiles: Sequence[Tile]) -> Iterator[str]:
    """Yields the outline of each tile, the sides of cells between its points and others; of three loops, in each layer that it is in."""
    for tile in tiles:
        sides = "".join(side for own in panels if own.statement.name == tile.statement for side in _sides_in(own, tile))
        if not sides:
            continue
        dashes = "" if tile.is_full else ' stroke-dasharray="4 3"'
        members = " ".join(instance_text((tile.statement, p)).replace(" ", "") for p in tile.points)
        told = f' data-tile="{",".join(map(str, tile.numbers))}" data-full="{str(tile.is_full).lower()}" data-members="{members}"'
        kind = "full" if tile.is_full else "partial"
        hint = f"{kind} tile {', '.join(map(str, tile.numbers))} with {tile.count} instances"
        yield f'<path class="tile" d="{sides}"{dashes}{told}><title>{hint}</title></path>'


def _sides_in(own: Panel, tile: Tile) -> Iterator[str]:
    """Yields the sides of a tile's cells in a panel."""
    inside = {point for point in tile.points if point in own.places}
    for point in sorted(inside):
        yield from _sides(own, point, inside)


def _sides(own: Panel, point: tuple[int, ...], inside: set[tuple[int, ...]]) -> Iterator[str]:
    """Yields the sides of a point's cell that are between it and a point outside, as commands of a path.

    A side goes as far as the cell of the point beside it where that is inside too, so that the outline has no gaps.
    """
    (x, y), whole, step = own.places[point], own.cell / 2, own.statement.stride
    first, last = point[:-1], point[-1]
    left, right = (*first, last - step) in inside, (*first, last + step) in inside
    above = below = False
    if len(own.iterators) > 1:
        above, below = ((*point[:-2], point[-2] + by, last) in inside for by in (-step, step))
    if left and right and above and below:
        return
    short = whole - _GAP
    west, east, north, south = (whole if beside else short for beside in (left, right, above, below))
    for is_inside, at in ((left, x - short), (right, x + short)):
        if not is_inside:
            yield f"M{at:.1f},{y - north:.1f}L{at:.1f},{y + south:.1f}"
    for is_inside, at in ((above, y - short), (below, y + short)):
        if not is_inside:
            yield f"M{x - west:.1f},{at:.1f}L{x + east:.1f},{at:.1f}"
