"""The SVG picture of misses: a heat map on the elements of arrays, and on the lines of the source with their references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import groupby
from textwrap import wrap

from polyml.drawing.rows import in_rows
from polyml.drawing.style import CHARACTER, heading, heading_width, picture
from polyml.drawing.svg import Font, Svg, text
from polyml.machines.units import shown as shown_unit
from polyml.pictures.arrays.array_panels import LETTERS, WIDEST, PlanePanel, extent, notes
from polyml.pictures.arrays.grids import Cell, Grid, element_text, grid
from polyml.pictures.arrays.misses import ArrayMisses, MissMap, ReferenceMisses
from polyml.pictures.sizes_text import sizes_text

MOST = 2_000  # cells of a picture
MOST_ROWS = 80  # of the table of lines and references
TOP, LINE, ROW, NUMBER = (
    60.0,
    17.0,
    17.0,
    74.0,
)  # pixels: above all, of a line of words, of a row of the table, of a column of numbers
LONGEST = 46  # characters of a line of the source that are drawn
_SCALE = 5  # steps of the legend
_FAINTEST = 0.18  # opacity of the fewest misses


@dataclass(frozen=True)
class _Row:
    """A row of the table: a line of the source, or one of its references. attributes: that say what it stands for."""

    words: str
    numbers: tuple[int, ...]
    is_line: bool
    attributes: str


def miss_svg(shown: MissMap, level: int = 0, most: int = MOST) -> Svg:
    """Returns the SVG picture of misses.

    level: of the caches, counted from 0, whose misses are drawn on the arrays.
    most: how many cells it has at about; larger arrays have cells of several elements.
    """
    cache = f"L{shown.levels[level].level}"
    title = f"{cache} misses of {shown.kernel}"
    caption = f"caches of {', '.join(_cache_text(each.size_bytes) for each in shown.levels)}{sizes_text(shown.sizes)}"
    share = most // max(len(shown.arrays), 1)
    grids = {each.array: grid(each.array, each.shape, share) for each in shown.arrays}
    hottest = max([1, *(misses[level] for each in shown.arrays for misses in each.misses.values())])
    rows = [*_rows(shown)]
    captions = wrap(caption, LETTERS)
    table, width, top = _table(shown, rows, level, TOP + LINE * (len(captions) - 1))
    parts = [heading(title, "")[0], *table]
    parts += [text(14, 41 + LINE * number, line, "caption faint") for number, line in enumerate(captions)]
    panels: list[PlanePanel] = []
    for each in shown.arrays:
        layout = grids[each.array]
        for plane in range(len(layout.planes)):
            panels.append(PlanePanel(layout, plane, f"  {_of_plane(each, layout, plane, level):,} misses"))
    panels = in_rows(panels, top + 20, WIDEST)
    by_name = {each.array: each for each in shown.arrays}
    for panel in panels:
        parts += panel.axes()
        parts += panel.cells(partial(_cell, by_name[panel.grid.array], panel.grid, level, hottest))
    reach, bottom = extent(panels, top + 20)
    words = [*_words(shown, [*grids.values()], rows, level)]
    lines = [part for line in words for part in wrap(line, LETTERS)]
    width = max(width, reach, heading_width(title, ""), 320, *(30 + 6.6 * len(line) for line in lines))
    parts += _legend(bottom, hottest, cache)
    for number, line in enumerate(lines):
        parts.append(text(18, bottom + 32 + 18 * number, line, "faint"))
    told = (f"{each.array} {each.total(level):,}" for each in shown.arrays)
    label = f"{title}. {caption}. {'; '.join([*words, *told])}."
    return picture(parts, width, bottom + 32 + 18 * len(lines), label, "misses")


def _cache_text(size_bytes: int) -> str:
    return f"{size_bytes:,} B" if size_bytes < 1024 else shown_unit(size_bytes, "size")


def _rows(shown: MissMap) -> Iterator[_Row]:
    """Yields the rows of the table: lines in the order of the source, each with its references behind it."""

    def place(each: ReferenceMisses) -> tuple[int, str]:
        return each.line, each.source

    levels = range(len(shown.levels))
    for (line, source), group in groupby(sorted(shown.references, key=place), key=place):
        own = [*group]
        numbers = (sum(each.accesses for each in own), *(sum(each.misses[level] for each in own) for level in levels))
        words = source.strip() or ", ".join(dict.fromkeys(each.statement for each in own))
        cut = words if len(words) <= LONGEST else f"{words[: LONGEST - 3]}..."
        told = f' data-line="{line}" data-misses="{",".join(map(str, numbers[1:]))}" data-accesses="{numbers[0]}"'
        yield _Row(f"{line or '':>5}  {cut}", numbers, True, told)
        for each in own:
            kind = "write" if each.is_write else "read"
            told = f' data-reference="{escape(f"{each.statement}: {kind} {each.text}")}" data-misses="{",".join(map(str, each.misses))}"'
            yield _Row(f"{'':>7}  {kind:5} {each.text}  ({each.statement})", (each.accesses, *each.misses), False, told)


def _table(shown: MissMap, rows: Sequence[_Row], level: int, top: float) -> tuple[list[str], float, float]:
    """Returns the table as SVG, its width, and where it ends, in pixels. top: where it begins."""
    drawn = rows[:MOST_ROWS]
    left = 18 + CHARACTER * max([20, *(len(row.words) for row in drawn)]) + 10
    columns = ["accesses", *(f"L{each.level} misses" for each in shown.levels)]
    ends = [left + NUMBER * (number + 1) for number in range(len(columns))]
    parts = [text(18, top, "line   source", "faint mono", font=Font(11))]
    parts += [text(end, top, words, "faint", anchor="end", font=Font(11)) for end, words in zip(ends, columns)]
    hottest = max([1, *(row.numbers[1 + level] for row in rows if row.is_line)])
    for number, row in enumerate(drawn):
        y = top + 20 + ROW * number
        if row.is_line:
            shade = _shade(row.numbers[1 + level], hottest)
            hint = f"{row.numbers[1 + level]:,} of the misses"
            box = f'<rect class="heat source" x="14" y="{y - 12:.1f}" width="{left - 18:.1f}" height="{ROW - 1:.1f}"'
            parts.append(f'{box} style="fill-opacity:{0.55 * shade:.3f}"{row.attributes}><title>{hint}</title></rect>')
        else:
            parts.append(f'<g class="reference"{row.attributes}/>')
        parts.append(
            f'<text class="mono{"" if row.is_line else " faint"}" style="white-space:pre" xml:space="preserve" x="18" y="{y:.1f}" '
            f'font-size="12">{escape(row.words)}</text>'
        )
        parts += [
            text(end, y, f"{value:,}", "" if row.is_line else "faint", anchor="end", font=Font(11, bold=column == 1 + level))
            for column, (end, value) in enumerate(zip(ends, row.numbers))
        ]
    return parts, ends[-1] + 18, top + 20 + ROW * len(drawn)


def _of_plane(each: ArrayMisses, layout: Grid, plane: int, level: int) -> int:
    """Returns the misses of the lines of memory that begin in a plane."""
    own = (line for line, first in each.firsts.items() if (cell := layout.cell(first)) is not None and cell.plane == plane)
    return sum(each.misses[line][level] for line in own)


def _cell(each: ArrayMisses, layout: Grid, level: int, hottest: int, cell: Cell) -> tuple[str, str, str, str]:
    """Returns the classes, attributes, hint and shade of a cell, as `PlanePanel.cells` takes them.

    A line's misses are told by the cell in which it begins, so that all that is told sums up to the misses.
    """
    inside = [*layout.elements(cell)]
    lines = dict.fromkeys(each.line_of[index] for index in inside)
    firsts = {*inside}
    begins = [line for line in lines if each.firsts[line] in firsts]
    average = sum(each.misses[line][level] for line in lines) / len(lines)
    first, last = element_text(each.array, inside[0]), element_text(each.array, inside[-1])
    where = first if len(inside) == 1 else f"{first} to {last}"
    told = f' data-element="{where}"'
    if begins:
        told += f' data-lines="{len(begins)}" data-misses="{sum(each.misses[line][level] for line in begins)}"'
    hint = (
        f"{where}: {average:,.4g} misses of its line" if len(lines) == 1 else f"{where}: {average:,.4g} misses of a line on average"
    )
    told += f' style="fill-opacity:{_shade(average, hottest):.3f}"'
    return "heat", told, hint, ""


def _shade(misses: float, hottest: int) -> float:
    """Returns the opacity that stands for misses: 0 for none, and for few ones enough to be seen. hottest: the most misses."""
    return _FAINTEST + (1 - _FAINTEST) * misses / hottest if misses else 0.0


def _legend(bottom: float, hottest: int, cache: str) -> Iterator[str]:
    """Yields samples of the scale of colours with what they stand for: none, then from few to the most."""

    def sample(x: float, shade: float) -> str:
        return f'<rect class="cell heat" x="{x:.1f}" y="{bottom:.1f}" width="22" height="14" style="fill-opacity:{shade:.3f}"/>'

    yield sample(18, 0.0)
    yield text(46, bottom + 11, "none")
    for step in range(_SCALE):
        yield sample(84 + 22 * step, _FAINTEST + (1 - _FAINTEST) * step / (_SCALE - 1))
    yield text(84 + 22 * _SCALE + 8, bottom + 11, f"few to {hottest:,} {cache} misses of a line of memory")


def _words(shown: MissMap, grids: Sequence[Grid], rows: Sequence[_Row], level: int) -> Iterator[str]:
    totals = (sum(each.misses[number] for each in shown.references) for number in range(len(shown.levels)))
    told = ", ".join(f"L{each.level} {total:,}" for each, total in zip(shown.levels, totals))
    yield f"{sum(each.accesses for each in shown.references):,} accesses; misses: {told}"
    array = max(shown.arrays, key=lambda each: each.total(level), default=None)
    if array is not None and array.total(level):
        yield f"most misses: {array.array}, {array.total(level):,}"
    yield "exact for one thread and loops without vectors; empty: no miss; the stronger the shade, the more"
    yield from notes(grids)
    if len(rows) > MOST_ROWS:
        yield f"of the source's lines and references, {MOST_ROWS} of {len(rows)} rows are shown"
