"""The SVG picture of footprints: a cell for each element, by what is done to it, and an outline of what one tile or instance touches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape
from textwrap import wrap

from polyml.drawing.rows import in_rows
from polyml.drawing.style import heading, heading_width, picture
from polyml.drawing.svg import Svg, text
from polyml.pictures.arrays.array_panels import LETTERS, WIDEST, PlanePanel, extent, notes
from polyml.pictures.arrays.footprints import ArrayFootprint, Footprints
from polyml.pictures.arrays.grids import Cell, Grid, element_text, grid
from polyml.pictures.sizes_text import sizes_text

MOST = 2_000  # cells of a picture
TOP = 60.0
KINDS = {"read": "read", "written": "written", "both": "read and written", "untouched": "not touched"}
_LINE = 6.6  # pixels of a character of a legend


def footprint_svg(shown: Footprints, most: int = MOST) -> Svg:
    """Returns the SVG picture of footprints. most: how many cells it has at about; larger arrays have cells of several elements."""
    title = f"Footprints of {shown.kernel}"
    caption = f"elements that are read and written{sizes_text(shown.sizes)}"
    share = most // max(len(shown.arrays), 1)
    drawn = [(each, grid(each.array, each.shape, share)) for each in shown.arrays]
    captions, top = wrap(caption, LETTERS), TOP
    parts = [heading(title, "")[0]]
    for line in captions:
        parts.append(text(14, top - 19, line, "caption faint"))
        top += 17
    top -= 17
    panels: list[PlanePanel] = []
    for each, layout in drawn:
        panels += (PlanePanel(layout, plane, _note(each)) for plane in range(len(layout.planes)))
    panels = in_rows(panels, top, WIDEST)
    by_name = {each.array: each for each in shown.arrays}
    for panel in panels:
        each = by_name[panel.grid.array]
        chosen = {cell for index in each.chosen if (cell := panel.grid.cell(index)) is not None}
        parts += panel.axes()
        parts += panel.cells(partial(_cell, each, panel.grid))
        parts += panel.outline(chosen, f"touched by {shown.chosen}")
    width, bottom = extent(panels, top)
    words = [*_words(shown, [layout for _, layout in drawn])]
    lines = [part for line in words for part in wrap(line, LETTERS)]
    width = max(width, heading_width(title, ""), 320, *(30 + _LINE * len(line) for line in lines))
    parts += _legend(bottom)
    for number, line in enumerate(lines):
        parts.append(text(18, bottom + 32 + 18 * number, line, "faint"))
    label = f"{title}. {caption}. {'; '.join([*words, *(_told(each) for each in shown.arrays)])}."
    return picture(parts, width, bottom + 32 + 18 * len(lines), label, "footprints")


def _note(each: ArrayFootprint) -> str:
    return f"  {' x '.join(map(str, each.shape))}" if each.shape else ""


def _kind(each: ArrayFootprint, index: tuple[int, ...]) -> str:
    return {(True, True): "both", (True, False): "read", (False, True): "written"}.get(
        (index in each.read, index in each.written), "untouched"
    )


def _cell(each: ArrayFootprint, layout: Grid, cell: Cell) -> tuple[str, str, str, str]:
    """Returns the classes, attributes and hint of a cell, as `PlanePanel.cells` takes them."""
    inside = [*layout.elements(cell)]
    counts = [sum(index in some for index in inside) for some in (each.read, each.written, each.chosen)]
    if len(inside) == 1 and layout.step == 1:
        kind, element = _kind(each, inside[0]), element_text(each.array, inside[0])
        told = f' data-element="{element}" data-use="{kind}" data-chosen="{str(bool(counts[2])).lower()}"'
        return kind, told, escape(f"{element}: {KINDS[kind]}"), ""
    found = {_kind(each, index) for index in inside} - {"untouched"}
    kind = "untouched" if not found else "both" if len(found) > 1 else found.pop()
    first, last = element_text(each.array, inside[0]), element_text(each.array, inside[-1])
    told = f' data-cell="{first} to {last}" data-read="{counts[0]}" data-written="{counts[1]}" data-touched="{counts[2]}"'
    return kind, told, f"{first} to {last}: {counts[0]} of {len(inside)} elements read, {counts[1]} written", ""


def _legend(bottom: float) -> Iterator[str]:
    """Yields a sample of each kind of cell, and of an outline."""
    x = 18.0
    for kind, meaning in KINDS.items():
        yield f'<rect class="cell {kind}" x="{x:.1f}" y="{bottom:.1f}" width="14" height="14"/>'
        yield text(x + 20, bottom + 11, meaning)
        x += 34 + _LINE * len(meaning)


def _words(shown: Footprints, grids: list[Grid]) -> Iterator[str]:
    yield f"outlined: elements that are touched by {shown.chosen}"
    yield from notes(grids)
    if shown.by_data:
        yield f"data decide which elements of {', '.join(shown.by_data)} are read: those are not shown"


def _told(each: ArrayFootprint) -> str:
    return f"{each.array}: {len(each.read):,} elements read, {len(each.written):,} written, {len(each.chosen):,} outlined"
