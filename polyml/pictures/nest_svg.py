"""The SVG picture of a nest: a circle for each instance, an arrow for each dependence, a number for its place in the order, outlines of tiles.

Each element says in `data-` attributes what it stands for, so that a picture can be compared with the sets that it is drawn of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from textwrap import wrap

from polyml.drawing.rows import in_rows
from polyml.drawing.style import heading, heading_width, picture
from polyml.drawing.svg import Svg, text
from polyml.pictures.nest_legends import caption, legend, title
from polyml.pictures.nest_marks import arc_height, arrows, axes, markers, outlines, points, sample
from polyml.pictures.nest_values import SCHEDULE, THREADS, WAVEFRONTS, NestPicture, StatementPoints
from polyml.pictures.panels import Panel, panels

WIDEST = 420.0  # of a row of panels, in pixels, so that its words are legible in a window of 400
WIDEST_WITH_ARROWS = 640.0
NARROWEST = 380.0  # of a picture
TOP = 38.0
LAYERED = (SCHEDULE, THREADS, WAVEFRONTS)  # subjects of which three loops are drawn in layers, with a number in each point
_LETTER = 6.2  # pixels of a letter of a legend, at most
_LINE = 17  # pixels from one line of words to the next


def nest_svg(shown: NestPicture) -> Svg:
    """Returns the SVG picture of a nest."""
    drawn = in_rows([each for own in shown.statements for each in _panels(own, shown)], 0.0, _widest(shown))
    width = max([NARROWEST, heading_width(title(shown), ""), *(each.left + each.size[0] for each in drawn)])
    captions = _wrapped(caption(shown), width - 28)
    top = TOP + _LINE * len(captions)
    drawn = [replace(each, top=each.top + top) for each in drawn]
    bottom = max((each.top + each.size[1] for each in drawn), default=top)
    words = list(legend(shown, drawn))
    places = {(each.statement.name, point): place for each in drawn for point, place in each.places.items()}
    parts = [heading(title(shown), "")[0], markers()]
    parts += [text(14, TOP + 3 + _LINE * number, line, "caption faint") for number, line in enumerate(captions)]
    parts += outlines(drawn, shown.tiles)
    parts += arrows(shown.arrows, places, {each.name for each in shown.statements if len(each.iterators) == 1})
    for each in drawn:
        parts += [*points(each, shown), *axes(each)]
    lines = list(_legend_lines(words, bottom + 10, width))
    parts += [part for _, part in lines]
    height = max([bottom, *(y for y, _ in lines)]) + 18
    label = f"{title(shown)}. {caption(shown)}. {'; '.join(line for _, line in words)}".replace("\u00a0", " ")
    return picture(parts, width, height, label, f"nest {shown.subject}")


def _panels(statement: StatementPoints, shown: NestPicture) -> list[Panel]:
    """Returns the panels of a statement: three loops are in layers where outlines of tiles would cross, or numbers tell points apart."""
    arcs = arc_height(shown.arrows, statement, panels(statement)[0].cell) if len(statement.iterators) == 1 else 0.0
    has_numbers = shown.subject in LAYERED and len({*(shown.groups or {}).values()}) != 1
    return panels(statement, bool(shown.tiles) or has_numbers, arcs)


def _widest(shown: NestPicture) -> float:
    """Returns how wide a row is at most, so that arrows between panels are not along those within: lines of points are below one another."""
    if not shown.arrows:
        return WIDEST
    return 0.0 if any(len(each.iterators) == 1 for each in shown.statements) else WIDEST_WITH_ARROWS


def _wrapped(words: str, width: float) -> list[str]:
    return wrap(words, max(int(width / _LETTER), 20)) or [""]


def _legend_lines(words: Iterable[tuple[str, str]], top: float, width: float) -> Iterator[tuple[float, str]]:
    """Yields the lines of a legend as SVG texts, with how far down they are: each with a sample of its kind of arrow where it has one."""
    y = top
    for kind, line in words:
        left = 54 if kind else 18
        if kind:
            yield y, sample(kind, y - 4)
        for part in _wrapped(line, width - left - 10):
            yield y, text(left, y, part, "faint")
            y += _LINE
