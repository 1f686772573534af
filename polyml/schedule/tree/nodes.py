"""isl's objects of the texts in a tree, each read once: trees are taken apart and made anew several times on the way to a schedule,
and isl takes longer to read a text than for most of what is asked of it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeVar

import islpy as isl

from polyml import polyhedra
from polyml.schedule.tree.text import Tree

_Value = TypeVar("_Value", isl.UnionSet, isl.MultiUnionPwAff)

_PARAMETERS = re.compile(r"^\[(\w[\w, ]*)\] -> ")
_NAME = re.compile(r"[^\W\d]\w*")


@lru_cache(maxsize=1024)
def instances(text: str) -> isl.UnionSet:
    """Returns the set { S[i] } of a filter or a domain."""
    return _read(isl.UnionSet, text)


@lru_cache(maxsize=1024)
def values(text: str) -> isl.MultiUnionPwAff:
    """Returns the values { S[i] -> [(e, f, ...)] } of a band's loops."""
    return _read(isl.MultiUnionPwAff, text)


def _read(kind: type[_Value], text: str) -> _Value:
    """Returns the object that isl has as this text. The parameters that nothing but the head of the text mentions, for which isl's
    reader takes most of its time, are added behind it.
    """
    head = _PARAMETERS.match(text)
    if head is None:
        return kind(text)
    names = head[1].split(", ")
    body: str = text[head.end() :]
    mentioned = {*_NAME.findall(body)}
    used = [name for name in names if name in mentioned]
    found = kind(f"[{', '.join(used)}] -> {body}" if used else body)
    return (
        found if len(used) == len(names) else found.align_params(polyhedra.Frame(tuple(names), ()).universe().params().get_space())
    )


def schedule(tree: Tree) -> isl.Schedule:
    """Returns isl's schedule of a tree that polyml has made of parts of isl's schedules; `text.read_schedule` reads those of others.

    >>> print(schedule({"domain": "[N] -> { S[i] : 0 <= i < N }", "child": {"schedule": "[N] -> [{ S[i] -> [(i)] }]"}}))
    { domain: "[N] -> { S[i] : 0 <= i < N }", child: { schedule: "[N] -> [{ S[i] -> [(i)] }]" } }
    """
    leaf = isl.Schedule.from_domain(instances(tree["domain"])).get_root().child(0)
    return _built(leaf, tree).get_schedule()


def _built(leaf: isl.ScheduleNode, parent: Tree) -> isl.ScheduleNode:
    """Returns isl's node of the child of `parent`, built with all its descendants in place of the leaf; the leaf where there is none."""
    tree = parent.get("child")
    if tree is None:
        return leaf
    if "mark" in tree:
        return _built(leaf, tree).insert_mark(isl.Id(tree["mark"]))
    if "schedule" in tree:
        node = leaf.insert_partial_schedule(values(tree["schedule"])).band_set_permutable(tree.get("permutable", 0))
        for number, flag in enumerate(tree.get("coincident", ())):
            node = node.band_member_set_coincident(number, flag)
        node = node.band_set_ast_build_options(isl.UnionSet(tree["options"])) if "options" in tree else node
        return _built(node.child(0), tree).parent()
    key = "set" if "set" in tree else "sequence"
    filters = isl.UnionSetList.alloc(leaf.get_ctx(), len(tree[key]))
    for part in tree[key]:
        filters = filters.add(instances(part["filter"]))
    node = leaf.insert_set(filters) if key == "set" else leaf.insert_sequence(filters)
    for number, part in enumerate(tree[key]):
        if "child" in part:
            node = _built(node.child(number).child(0), part).parent().parent()
    return node
