"""Schedule trees as nested dictionaries, as isl's own text has them: parts can be moved as isl's functions do not allow."""

from __future__ import annotations

import json
import re

from polyml.model.scop import Statement

Tree = dict  # a node: {"filter": "...", "child": {...}}


def parse_tree(text: str) -> Tree:
    """isl's text of a schedule as nested dictionaries."""
    pieces = re.split(r'("(?:[^"\\]|\\.)*")', text)
    quoted = [p if i % 2 else re.sub(r"(\w+):", r'"\1":', p) for i, p in enumerate(pieces)]
    return json.loads("".join(quoted))


def tuple_text(statement: Statement) -> str:
    """Its instances as a filter or a band names them: "S[i, j]"."""
    return f"{statement.name}[{', '.join(statement.iterators)}]"


def print_tree(tree: Tree) -> str:
    """What `parse_tree` reads."""
    if isinstance(tree, dict):
        return "{ " + ", ".join(f"{key}: {print_tree(value)}" for key, value in tree.items()) + " }"
    if isinstance(tree, list):
        return "[ " + ", ".join(print_tree(value) for value in tree) + " ]"
    return json.dumps(tree)
