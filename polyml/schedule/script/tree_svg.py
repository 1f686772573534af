"""A schedule tree as a drawing: a box for each loop, sequence and statement, with the loops' directives as tags.

isl's tree has bands under marks; here a loop is one box with the band's value and the mark's words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from polyml.drawing.style import CHARACTER, heading, heading_width, picture
from polyml.drawing.svg import Font, Svg, text
from polyml.model.core.printer import statement_text
from polyml.model.core.scop import Scop
from polyml.schedule.script.printer import condition, counts, in_several
from polyml.schedule.tree.loop_tree import Block, Leaf, Loop, Node, statements

_ROW, _STEP, _LEFT, _TOP = 30.0, 24.0, 16.0, 58.0  # pixels: from row to row, from parent to child, and before the first ones
_LONGEST = 64  # characters of a row's text
LOOP, SEQUENCE, FILTER, STATEMENT = "loop", "sequence", "filter", "statement"
_SHAPES = {
    LOOP: "blue and round: a loop, and what it counts; behind it, its directives",
    SEQUENCE: "sequence: the parts below it run one after the other",
    FILTER: "condition: which of a statement's instances run below it",
    STATEMENT: "square: a statement",
}
_DIRECTIVES = {
    "tile": "the loop goes over tiles, by their first iterations",
    "parallel": "the loop's iterations go to threads",
    "partial": "each thread adds up results of its own",
    "vectorize": "the loop's iterations are lanes of vectors",
    "grid": "the loop's iterations go to the threads of a GPU",
}


@dataclass(frozen=True)
class TreeRow:
    """A row of the drawing is a node of the tree.

    depth: how many nodes are around it.
    kind: "loop", "sequence", "filter" or "statement".
    text: what it says.
    words: the directives of a loop.
    statements: that run below it.
    """

    depth: int
    kind: str
    text: str
    words: tuple[str, ...]
    statements: tuple[str, ...]


def tree_rows(scop: Scop, node: Node, depth: int = 0) -> Iterator[TreeRow]:
    """Yields the nodes of a schedule tree from the top on, each before those inside it. depth: of the node itself."""
    below = statements(node)
    if isinstance(node, Leaf):
        for name in node.statements:
            statement = scop.statements[name]
            words = f"{name}[{', '.join(statement.iterators)}]: {statement_text(statement)}"
            yield TreeRow(depth, STATEMENT, words, (), (name,))
    elif isinstance(node, Loop):
        yield TreeRow(depth, LOOP, f"{node.name}{counts(scop, node)}", tuple(node.directives.words()), below)
        yield from tree_rows(scop, node.body, depth + 1)
    else:
        yield from _of_sequence(scop, node, depth)


def _of_sequence(scop: Scop, node: Block, depth: int) -> Iterator[TreeRow]:
    """Yields the rows of a sequence, and those of its parts: with their conditions where they divide a statement's instances."""
    yield TreeRow(depth, SEQUENCE, "sequence", (), statements(node))
    divided = in_several(node)
    for part in node.parts:
        own, inside = statements(part.body), depth + 1
        if divided & {*own}:
            yield TreeRow(inside, FILTER, condition(scop, part), (), own)
            inside += 1
        yield from tree_rows(scop, part.body, inside)


def tree_svg(scop: Scop, tree: Node) -> Svg:
    """Returns the drawing of a schedule tree of a kernel."""
    rows = list(tree_rows(scop, tree))
    title = f"Schedule tree of {scop.name}"
    loops = sum(row.kind == LOOP for row in rows)
    caption = (
        f"{loops} loop{'s' if loops != 1 else ''} around {len(scop.statements)} statement{'s' if len(scop.statements) != 1 else ''}"
    )
    parts = heading(title, caption)
    parts += _branches(rows)
    for number, row in enumerate(rows):
        parts += _row(row, _TOP + number * _ROW)
    words = [meaning for kind, meaning in _SHAPES.items() if any(row.kind == kind for row in rows)]
    used = {word.split("(")[0] for row in rows for word in row.words}
    words += [f"{word}: {meaning}" for word, meaning in _DIRECTIVES.items() if word in used]
    bottom = _TOP + len(rows) * _ROW + 14
    parts += [text(_LEFT, bottom + 17 * number, line, "faint") for number, line in enumerate(words)]
    width = max([heading_width(title, caption), 380.0, *(_right(row) + 14 for row in rows)])
    said = "; ".join(f"{'in ' * row.depth}{row.kind} {row.text}{' ' if row.words else ''}{', '.join(row.words)}" for row in rows)
    return picture(parts, width, bottom + 17 * len(words), f"{title}. {caption}. {said}", "tree")


def _shown(row: TreeRow) -> str:
    return row.text if len(row.text) <= _LONGEST else f"{row.text[: _LONGEST - 3]}..."


def _x(row: TreeRow) -> float:
    return _LEFT + row.depth * _STEP


def _box_width(row: TreeRow) -> float:
    return CHARACTER * len(_shown(row)) + 16


def _right(row: TreeRow) -> float:
    return _x(row) + _box_width(row) + sum(CHARACTER * len(word) + 18 for word in row.words)


def _branches(rows: list[TreeRow]) -> Iterator[str]:
    """Yields a line from each node to the node that it is in."""
    last: dict[int, int] = {}
    for number, row in enumerate(rows):
        if row.depth:
            x, y = _LEFT + (row.depth - 1) * _STEP + 10, _TOP + number * _ROW + 11
            yield f'<path class="wire" d="M{x:.1f},{_TOP + last[row.depth - 1] * _ROW + 22:.1f} V{y:.1f} H{_x(row):.1f}"/>'
        last[row.depth] = number


def _row(row: TreeRow, y: float) -> Iterator[str]:
    """Yields the box of a node at this height, with its text, and a tag for each directive."""
    told = f'data-node="{row.kind}" data-depth="{row.depth}" data-statements="{" ".join(row.statements)}"'
    hint = f"<title>{escape(row.text)}</title>"
    x, width = _x(row), _box_width(row)
    kind = {LOOP: "active", STATEMENT: "idle"}.get(row.kind, "plain")
    corners = 3 if row.kind == STATEMENT else 10
    yield f'<g class="{kind} node" {told}><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="22" rx="{corners}"/>{hint}</g>'
    yield text(x + 8, y + 15, _shown(row), "mono" if row.kind != SEQUENCE else "faint")
    x += width
    for word in row.words:
        wide = 6.2 * len(word) + 13
        yield (
            f'<g class="preload tag" data-word="{escape(word)}">'
            f'<rect x="{x + 6:.1f}" y="{y + 2:.1f}" width="{wide:.1f}" height="18" rx="9"/></g>'
        )
        yield text(x + 12, y + 15, word, font=Font(11))
        x += wide + 6
