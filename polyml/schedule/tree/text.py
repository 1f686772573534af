"""Schedule trees as nested dictionaries with the keys of isl's own text: parts can be moved as isl's functions do not allow."""

from __future__ import annotations

import json
import re
from functools import reduce
from typing import Any, cast

import islpy as isl

from polyml.model.core.scop import Statement

Tree = dict[str, Any]  # a node: {"filter": "...", "child": {...}}; values are texts, flags, nodes, and lists of them


def parse_tree(text: str) -> Tree:
    """Returns a schedule as nested dictionaries, from isl's text of it on one line."""
    return cast(Tree, json.loads(_STRING_OR_KEY.sub(lambda found: f'"{found[1]}":' if found[1] else found[0], text)))


_STRING_OR_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|(\w+):')


def read_schedule(text: str) -> isl.Schedule:
    """Returns the schedule that prints as `text`. Raises ValueError or isl.Error for a text that is no schedule.

    isl's own reader ends the process on some texts, so the tree is parsed in Python and built node by node.
    """
    try:
        return schedule_of(parse_tree(text))
    except RecursionError:
        raise ValueError("the tree is too deep") from None


def schedule_of(tree: Tree) -> isl.Schedule:
    """Returns isl's schedule of a tree of nested dictionaries. Raises ValueError or isl.Error where the tree is no schedule."""
    try:
        _check_keys(tree, {"domain"}, {"child"})
        leaf = isl.Schedule.from_domain(isl.UnionSet(_text(tree["domain"]))).get_root().child(0)
        return _built(leaf, tree).get_schedule()
    except RecursionError:
        raise ValueError("the tree is too deep") from None


def _built(leaf: isl.ScheduleNode, parent: Tree) -> isl.ScheduleNode:
    """Returns isl's node of the child of `parent`, which has been built with all its descendants in place of the leaf.

    Returns the leaf itself where there is no child. Raises ValueError for a child that is no node.
    """
    if "child" not in parent:
        return leaf
    tree = parent["child"]
    if not isinstance(tree, dict):
        raise ValueError("a child of the tree is no node")
    if "sequence" in tree:
        return _sequence(leaf, tree)
    if "mark" in tree:
        _check_keys(tree, {"mark", "child"}, set())
        below = _built(leaf, tree)
        return below.insert_mark(isl.Id(_text(tree["mark"])))
    _check_keys(tree, {"schedule"}, {"permutable", "coincident", "options", "child"})
    return _built(_band(leaf, tree).child(0), tree).parent()


def _sequence(leaf: isl.ScheduleNode, tree: Tree) -> isl.ScheduleNode:
    """Returns isl's sequence node of `tree`, which has been built with all its descendants in place of the leaf.

    Raises ValueError where the sequence has no children or leaves instances out.
    """
    _check_keys(tree, {"sequence"}, set())
    parts = tree["sequence"]
    if not isinstance(parts, list) or not parts:
        raise ValueError("a sequence of the tree has no parts")
    for part in parts:
        _check_keys(part, {"filter"}, {"child"})
    filters = [isl.UnionSet(_text(part["filter"])) for part in parts]
    if not leaf.get_domain().is_subset(reduce(isl.UnionSet.union, filters)):
        raise ValueError("a sequence of the tree leaves instances out")
    node = leaf.insert_sequence(reduce(isl.UnionSetList.concat, map(isl.UnionSetList.from_union_set, filters)))
    for number, part in enumerate(parts):
        node = _built(node.child(number).child(0), part).parent().parent()
    return node


def _band(leaf: isl.ScheduleNode, tree: Tree) -> isl.ScheduleNode:
    """Returns isl's band node of `tree`, without what is below it, in place of the leaf. Raises ValueError for a wrong band."""
    members = isl.MultiUnionPwAff(_text(tree["schedule"]))
    coincident = tree.get("coincident", [])
    if not len(members) or not isinstance(coincident, list) or len(coincident) not in (0, len(members)):
        raise ValueError("a band of the tree has no members, or says too much of them")
    node = leaf.insert_partial_schedule(members).band_set_permutable(_flag(tree.get("permutable", 0)))
    for number, flag in enumerate(coincident):
        node = node.band_member_set_coincident(number, _flag(flag))
    return node.band_set_ast_build_options(isl.UnionSet(_text(tree["options"]))) if "options" in tree else node


def _check_keys(node: object, needed: set[str], possible: set[str]) -> None:
    if not isinstance(node, dict) or not needed <= {*node} <= needed | possible:
        raise ValueError("a node of the tree is none of isl's")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a node of the tree has no text where there is one")
    return value


def _flag(value: object) -> int:
    if type(value) is not int or value not in (0, 1):
        raise ValueError("a band of the tree is permutable, and its members coincident, or they are not")
    return value


def tuple_text(statement: Statement) -> str:
    """Returns the text of the statement's instances in filters and bands: "S[i, j]"."""
    return f"{statement.name}[{', '.join(statement.iterators)}]"


class DamagedLine(ValueError):
    """A line of a tree's text is not as it should be. number: the line's, from 1."""

    def __init__(self, number: int) -> None:
        super().__init__(f"line {number} of the tree")
        self.number = number


def parse_block(text: str) -> Tree:
    """Returns a schedule as nested dictionaries, from isl's text of it in block style, one key on each line.

    Raises ValueError for any other text, DamagedLine where one line is to blame; isl's own reader ends the process on some texts.
    """
    matches = [_LINE.fullmatch(line) for line in text.splitlines()]
    lines = [line for line in matches if line is not None]
    if any(len(line.group(1)) > _DEEPEST for line in lines):
        raise ValueError("it has more levels than a schedule has loops")
    if not lines or len(lines) < len(matches):
        raise DamagedLine(matches.index(None) + 1 if matches else 1)
    rows = [(len(m.group(1)), bool(m.group(2)), m.group(3), m.group(4)) for m in lines]
    tree, end = _mapping(rows, 0, 0)
    if end < len(rows):
        raise DamagedLine(end + 1)
    return tree


_LINE = re.compile(r'( *)(- )?(\w+):(?: "([^"\\]*)")?')
_DEEPEST = 400  # spaces before a line
_TextLine = tuple[int, bool, str, "str | None"]  # spaces, whether an item of a list begins there, key, value


def _mapping(rows: list[_TextLine], start: int, indent: int) -> tuple[Tree, int]:
    """Returns the node whose first key stands in line `start`, and the number of the line after the node.

    rows: the lines of the text.
    indent: spaces before the node's keys; the dash of an item counts as two spaces.
    """
    found: Tree = {}
    number = start
    while number < len(rows):
        spaces, is_item, key, value = rows[number]
        if spaces + 2 * is_item != indent or is_item and number > start:
            break
        if key in found:
            raise DamagedLine(number + 1)
        if value is not None:
            found[key], number = value, number + 1
        elif key == "sequence":
            found[key], number = _items(rows, number + 1, indent)
        else:
            found[key], number = _mapping(rows, number + 1, indent + 2)
    if not found:
        raise DamagedLine(start + 1)
    return found, number


def _items(rows: list[_TextLine], number: int, indent: int) -> tuple[list[Tree], int]:
    """Returns the nodes of a list whose first item stands in line `number`, and the number of the line after the list.

    rows: the lines of the text.
    indent: spaces before the dash of each item.
    """
    found = []
    while number < len(rows) and rows[number][1] and rows[number][0] == indent:
        item, number = _mapping(rows, number, indent + 2)
        found.append(item)
    return found, number


def print_tree(tree: object) -> str:
    """Returns the text of a tree of nested dictionaries, or of a value in one; `parse_tree` reads the text again."""
    if isinstance(tree, dict):
        return "{ " + ", ".join(f"{key}: {print_tree(value)}" for key, value in tree.items()) + " }"
    if isinstance(tree, list):
        return "[ " + ", ".join(map(print_tree, tree)) + " ]"
    return json.dumps(tree)
