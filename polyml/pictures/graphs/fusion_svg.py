"""The SVG picture of a fusion graph: a row for each nest, boxes around those that are fused, and arrows for arrays that are handed on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from polyml.drawing.style import heading, heading_width, picture
from polyml.drawing.svg import Font, Svg, rect, text
from polyml.pictures.graphs.fusion import FusionGraph, HandedOn, NestPart
from polyml.pictures.sizes_text import sizes_text

TOP, LEFT, LINE, GAP, BETWEEN = 60.0, 22.0, 17.0, 8.0, 18.0  # pixels: above all, of a line, between nests, between groups
LANE, ROOM = 13.0, 30.0  # pixels between arrows, and from a nest to the first one
CHARACTER = 6.4
MOST_NAMES = 6  # of statements of a nest


@dataclass(frozen=True)
class _Row:
    """The place of a part in the picture. edges: what it is handed, each on a line of its own below its name."""

    part: int
    top: float
    bottom: float
    edges: tuple[HandedOn, ...]

    def line(self, edge: HandedOn) -> float:
        """Returns the height at which the arrow of an edge ends."""
        return self.top + LINE * (self.edges.index(edge) + 2) - 7


def fusion_svg(shown: FusionGraph) -> Svg:
    """Returns the SVG picture of a fusion graph."""
    title = f"Fusion of {shown.kernel}"
    caption = f"nests in the order of the schedule{sizes_text(shown.sizes)}"
    groups, bottom = _placed(shown)
    rows = {row.part: row for group in groups for row in group}
    right = LEFT + 24 + CHARACTER * max([20, *(len(line) for row in rows.values() for line in _lines(shown, row))])
    parts = [*heading(title, caption), _arrow_head()]
    for number, group in enumerate(groups):
        parts += _group(shown, number, group, right)
        for row in group:
            parts += _row(shown, row, right)
    for lane, edge in enumerate(shown.edges):
        parts.append(_edge(shown, rows, edge, right, right + ROOM + LANE * lane))
    words = [*_words(shown)]
    for number, line in enumerate(words):
        parts.append(text(LEFT, bottom + 10 + 18 * number, line, "faint"))
    reach = right + ROOM + LANE * len(shown.edges) + 16
    width = max(reach, heading_width(title, caption), *(LEFT + 18 + CHARACTER * len(line) for line in words))
    told = [_edge_text(shown, edge) for edge in shown.edges]
    return picture(parts, width, bottom + 10 + 18 * len(words), f"{title}. {caption}. {'; '.join([*words, *told])}.", "fusion")


def _placed(shown: FusionGraph) -> tuple[list[list[_Row]], float]:
    """Returns the rows of each group from top to bottom, and where they end."""
    found, y = [], TOP
    for number in range(len(shown.moved_bytes)):
        y += LINE
        group = []
        for part in shown.group(number):
            edges = tuple(edge for edge in shown.edges if edge.sink == part)
            bottom = y + LINE * (1 + len(edges)) + 8
            group.append(_Row(part, y, bottom, edges))
            y = bottom + GAP
        found.append(group)
        y += BETWEEN
    return found, y


def _bytes_text(number: int | None) -> str:
    return "bytes that are not counted" if number is None else f"{number:,} bytes"


def _name(shown: FusionGraph, part: int) -> str:
    """Returns the name of a part: its nest, with its statements where the nest has other parts."""
    each = shown.parts[part]
    is_whole = sum(other.nest == each.nest for other in shown.parts) == 1
    return f"nest {each.nest}" if is_whole else f"a part of nest {each.nest} ({_names(each)})"


def _names(each: NestPart) -> str:
    return ", ".join(each.statements[:MOST_NAMES]) + (", ..." if len(each.statements) > MOST_NAMES else "")


def _edge_text(shown: FusionGraph, edge: HandedOn) -> str:
    return f"{_bytes_text(edge.size_bytes)} of {edge.array} from {_name(shown, edge.source)} to {_name(shown, edge.sink)}"


def _lines(shown: FusionGraph, row: _Row) -> Iterator[str]:
    each = shown.parts[row.part]
    first, last = each.lines
    lines = "" if not first else f", line {first}" if first == last else f", lines {first} to {last}"
    name = _name(shown, row.part)
    yield f"{name}{'' if '(' in name else f': {_names(each)}'}{lines}; moves {_bytes_text(each.moved_bytes)} alone"
    for edge in row.edges:
        yield f"    is handed {_bytes_text(edge.size_bytes)} of {edge.array} by {_name(shown, edge.source)}"


def _group(shown: FusionGraph, number: int, group: list[_Row], right: float) -> Iterator[str]:
    """Yields the box around the parts of a group, with what it is."""
    top, bottom, is_fused = group[0].top - LINE - 4, group[-1].bottom + 6, len(group) > 1
    parts = [shown.parts[row.part] for row in group]
    told = f' data-group="{number}" data-nests="{",".join(str(each.nest) for each in parts)}"'
    yield f'<g class="group {"fused" if is_fused else "alone"}"{told}>{rect(LEFT - 8, top, right - LEFT + 12, bottom - top, round=6)}</g>'
    together, alone = shown.moved_bytes[number], [each.moved_bytes for each in parts if each.moved_bytes is not None]
    words = f"fused: {len(group)} nests move {_bytes_text(together)} together" if is_fused else "not fused with others"
    if is_fused and together is not None and len(alone) == len(parts):
        words += f", {sum(alone) - together:,} fewer"
    yield text(LEFT, top + 14, words, "faint", font=Font(11, bold=is_fused))


def _row(shown: FusionGraph, row: _Row, right: float) -> Iterator[str]:
    each = shown.parts[row.part]
    size = "" if each.moved_bytes is None else each.moved_bytes
    told = f' data-nest="{each.nest}" data-statements="{",".join(each.statements)}" data-bytes="{size}"'
    yield f'<g class="nest-box"{told}>{rect(LEFT, row.top, right - LEFT - 4, row.bottom - row.top, round=4)}</g>'
    for number, line in enumerate(_lines(shown, row)):
        x, y = LEFT + 8 + (16 if number else 0), row.top + LINE * (number + 1) - 3
        yield text(x, y, line.strip(), font=Font(12, bold=not number))


def _edge(shown: FusionGraph, rows: dict[int, _Row], edge: HandedOn, right: float, x: float) -> str:
    """Returns the arrow of an edge: out of the part that writes, along a lane of its own, and to the line of the part that reads."""
    source, sink = rows[edge.source], rows[edge.sink]
    start, end = source.top + LINE / 2, sink.line(edge)
    turn = 6 if end > start else -6
    size = "" if edge.size_bytes is None else edge.size_bytes
    told = f'data-array="{edge.array}" data-source="{edge.source}" data-sink="{edge.sink}" data-bytes="{size}"'
    way = f"M{right - 4:.1f},{start:.1f} H{x - 6:.1f} Q{x:.1f},{start:.1f} {x:.1f},{start + turn:.1f} "
    way += f"V{end - turn:.1f} Q{x:.1f},{end:.1f} {x - 6:.1f},{end:.1f} H{right:.1f}"
    hint = escape(_edge_text(shown, edge))
    return f'<path class="edge-line" d="{way}" marker-end="url(#polyml-handed-on)" {told}><title>{hint}</title></path>'


def _arrow_head() -> str:
    head = '<path class="s1" d="M0,0 L8,4 L0,8 z"/>'
    return f'<defs><marker id="polyml-handed-on" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">{head}</marker></defs>'


def _words(shown: FusionGraph) -> Iterator[str]:
    fused = sum(len(shown.group(number)) > 1 for number in range(len(shown.moved_bytes)))
    groups = "no nests are fused" if not fused else f"{fused} group{'s' if fused > 1 else ''} of fused ones (thick border)"
    yield f"{shown.nests} nest{'s' if shown.nests != 1 else ''} in the source; {groups}"
    yield "arrows: elements that one nest writes last before another reads them"
    yield "bytes moved at least: each element comes from memory once, and a written one goes back once"
