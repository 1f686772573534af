"""Schedule trees as nested dictionaries, as isl's own text has them: parts can be moved as isl's functions do not allow."""

from __future__ import annotations

import json
import re

from polyml.model.scop import Statement

Tree = dict  # a node: {"filter": "...", "child": {...}}


def parse_tree(text: str) -> Tree:
    """isl's text of a schedule as nested dictionaries."""
    return json.loads(_STRING_OR_KEY.sub(lambda found: f'"{found[1]}":' if found[1] else found[0], text))


_STRING_OR_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|(\w+):')


def tuple_text(statement: Statement) -> str:
    """Its instances as a filter or a band names them: "S[i, j]"."""
    return f"{statement.name}[{', '.join(statement.iterators)}]"


def parse_block(text: str) -> Tree:
    """isl's text in block style, a line each, as nested dictionaries. ValueError for anything else: isl's own reader takes the
    process down with it on some texts.
    """
    lines = [_LINE.fullmatch(line) for line in text.splitlines()]
    if any(line is not None and len(line.group(1)) > _DEEPEST for line in lines):
        raise ValueError("it has more levels than a schedule has loops")
    if not lines or None in lines:
        raise ValueError(f"line {lines.index(None) + 1 if lines else 1} of the tree")
    rows = [(len(m.group(1)), bool(m.group(2)), m.group(3), m.group(4)) for m in lines]
    tree, end = _mapping(rows, 0, 0)
    if end < len(rows):
        raise ValueError(f"line {end + 1} of the tree")
    return tree


_LINE = re.compile(r'( *)(- )?(\w+):(?: "([^"\\]*)")?')
_DEEPEST = 400  # spaces before a line
_Row = tuple[int, bool, str, "str | None"]  # spaces, whether an item of a list begins there, key, value


def _mapping(rows: list[_Row], start: int, indent: int) -> tuple[Tree, int]:
    """The keys at an indent from a line on, and the line after them. The dash of an item counts as spaces."""
    found: Tree = {}
    place = start
    while place < len(rows):
        spaces, is_item, key, value = rows[place]
        if spaces + 2 * is_item != indent or is_item and place > start:
            break
        if key in found:
            raise ValueError(f"line {place + 1} of the tree")
        if value is not None:
            found[key], place = value, place + 1
        elif key == "sequence":
            found[key], place = _items(rows, place + 1, indent)
        else:
            found[key], place = _mapping(rows, place + 1, indent + 2)
    if not found:
        raise ValueError(f"line {start + 1} of the tree")
    return found, place


def _items(rows: list[_Row], place: int, indent: int) -> tuple[list[Tree], int]:
    found = []
    while place < len(rows) and rows[place][1] and rows[place][0] == indent:
        item, place = _mapping(rows, place, indent + 2)
        found.append(item)
    return found, place


def print_tree(tree: Tree) -> str:
    """What `parse_tree` reads."""
    if isinstance(tree, dict):
        return "{ " + ", ".join(f"{key}: {print_tree(value)}" for key, value in tree.items()) + " }"
    if isinstance(tree, list):
        return "[ " + ", ".join(print_tree(value) for value in tree) + " ]"
    return json.dumps(tree)
