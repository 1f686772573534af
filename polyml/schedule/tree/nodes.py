"""Trees and isl's schedules: of each text in a tree the object that it was made of is kept, or else read once, since trees are taken
apart and made anew several times on the way to a schedule, and isl takes longer to read a text than for most of what is asked of it.
"""

from __future__ import annotations

import re
from typing import TypeVar

import islpy as isl

from polyml import polyhedra
from polyml.schedule.tree.text import Tree, parse_tree

_NODE = isl.schedule_node_type
_Value = TypeVar("_Value", isl.UnionSet, isl.MultiUnionPwAff)

_PARAMETERS = re.compile(r"^\[(\w[\w, ]*)\] -> ")
_NAME = re.compile(r"[^\W\d]\w*")
_MOST = 2048  # texts that are kept
_instances: dict[str, isl.UnionSet] = {}
_values: dict[str, isl.MultiUnionPwAff] = {}


def instances(text: str) -> isl.UnionSet:
    """Returns the set { S[i] } of a filter or a domain."""
    found = _instances.get(text)
    return _keep(_instances, text, _read(isl.UnionSet, text)) if found is None else found


def values(text: str) -> isl.MultiUnionPwAff:
    """Returns the values { S[i] -> [(e, f, ...)] } of a band's loops."""
    found = _values.get(text)
    return _keep(_values, text, _read(isl.MultiUnionPwAff, text)) if found is None else found


def text_of(value: isl.UnionSet | isl.MultiUnionPwAff) -> str:
    """Returns the text of a set { S[i] } or of values { S[i] -> [(e, f, ...)] }, for a tree."""
    text = str(value)
    if isinstance(value, isl.UnionSet):
        _keep(_instances, text, value)
    else:
        _keep(_values, text, value)
    return text


def _keep(known: dict[str, _Value], text: str, value: _Value) -> _Value:
    if len(known) >= _MOST:
        known.clear()
    known[text] = value
    return value


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


class _OtherKindError(Exception):
    """The exception at a node of a kind that polyml does not make, so that isl's text is read in its place."""


def tree_of(made: isl.Schedule) -> Tree:
    """Returns a schedule as nested dictionaries, those that `text.parse_tree` makes of its text.

    >>> tree_of(isl.Schedule.from_domain(isl.UnionSet("{ S[i] : 0 <= i < 9 }")))
    {'domain': '{ S[i] : 0 <= i <= 8 }'}
    """
    root = made.get_root()
    try:
        return {"domain": text_of(root.domain_get_domain()), **_below(root)}
    except _OtherKindError:
        return parse_tree(str(made))


def _below(parent: isl.ScheduleNode) -> Tree:
    """Returns {"child": the only child of a node}; {} where that is a leaf. Raises _OtherKindError for kinds of nodes that polyml
    does not make.
    """
    node = parent.child(0)
    kind = node.get_type()
    if kind == _NODE.leaf:
        return {}
    if kind == _NODE.mark:
        return {"child": {"mark": node.mark_get_id().get_name(), **_below(node)}}
    if kind == _NODE.band:
        return {"child": {**_band(node), **_below(node)}}
    if kind not in (_NODE.sequence, _NODE.set):
        raise _OtherKindError
    children = map(node.child, range(node.n_children()))
    parts = [{"filter": text_of(child.filter_get_filter()), **_below(child)} for child in children]
    return {"child": {"sequence" if kind == _NODE.sequence else "set": parts}}


def _band(node: isl.ScheduleNode) -> Tree:
    """Returns a band without what is below it; flags are left out where none is set."""
    flags = [int(node.band_member_get_coincident(k)) for k in range(node.band_n_member())]
    options = node.band_get_ast_build_options()
    return {
        "schedule": text_of(node.band_get_partial_schedule()),
        **({"permutable": 1} if node.band_get_permutable() else {}),
        **({"coincident": flags} if any(flags) else {}),
        **({} if options.is_empty() else {"options": str(options)}),
    }
