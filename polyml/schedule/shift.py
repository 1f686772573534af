"""Shifting: two loops of one iteration that cannot be one become one loop of different iterations.

    for k: { for i: S; for i: T }      ->      for i: S[0]
                                               for k: for i: { T[k]; S[k + 1] }
                                               for i: T[last]

where S[k + 1] goes over what T[k] has just changed, so that it is read and written once instead of twice (loop shifting
before fusion: Verdoolaege, Bruynooghe, Janssens and Catthoor, "Multi-dimensional incremental loop fusion for data
locality", ASAP 2003).
"""

from __future__ import annotations

import islpy as isl

from polyml import polyhedra
from polyml.model.dependence import Dependences
from polyml.model.scop import Scop
from polyml.schedule.legality import is_legal
from polyml.schedule.tree import members_of, together
from polyml.schedule.tree_text import Tree, parse_tree, print_tree


def shift(schedule: isl.Schedule, scop: Scop, dependences: Dependences) -> isl.Schedule:
    """The schedule with loops shifted and made one where that is legal and they touch the same elements."""
    tree = parse_tree(str(schedule))
    shifted = _shifted(tree, scop)
    if shifted is tree:
        return schedule
    made = isl.Schedule(print_tree(shifted))
    return made if is_legal(made, scop, dependences) else schedule


def _shifted(node: Tree, scop: Scop) -> Tree:
    made = _in_next(node, scop)
    if made is not None:
        return made
    if "child" in node:
        child = _shifted(node["child"], scop)
        return node if child is node["child"] else {**node, "child": child}
    for key in ("sequence", "set"):
        if key in node:
            children = [_shifted(child, scop) for child in node[key]]
            return node if all(a is b for a, b in zip(children, node[key])) else {**node, key: children}
    return node


def _in_next(node: Tree, scop: Scop) -> Tree | None:
    """A band around two loops with the second one's made part of the next iteration; None where it is none."""
    parts = node.get("child", {}).get("sequence", []) if "schedule" in node else []
    if len(parts) != 2 or node.get("coincident", [0])[-1] or not all(_is_loop(part.get("child", {})) for part in parts):
        return None
    first, second = parts
    inner = [members_of(part["child"])[0] for part in parts]
    *outer, last = members_of(node)
    later = isl.UnionSet(second["filter"])
    moved = last.subtract_domain(later).union_add(polyhedra.plus(last.intersect_domain(later), 1))
    loop = inner[0].union_add(inner[1])
    if not _share(first, second, together([*outer, moved, loop]), scop):
        return None
    order = [{"filter": second["filter"]}, {"filter": first["filter"]}]
    inside = {"schedule": str(together([loop])), "permutable": 1, "coincident": [0], "child": {"sequence": order}}
    return {
        **node,
        "schedule": str(together([*outer, moved])),
        "options": f"{{ separate[{len(outer)}] }}",
        "child": inside,
    }


def _is_loop(node: Tree) -> bool:
    return "schedule" in node and "child" not in node and len(members_of(node)) == 1


def _share(first: Tree, second: Tree, times: isl.MultiUnionPwAff, scop: Scop) -> bool:
    """Whether the first reads at some time what the second has written at the same time."""
    earlier, later = ([scop.statements[name] for name in _names(part)] for part in (first, second))
    for s in later:
        for t in earlier:
            for access in t.reads:
                if access.array == s.write.array != t.write.array:
                    both = s.write.relation.apply_range(access.relation.reverse())
                    if not isl.UnionMap.from_map(both).eq_at_multi_union_pw_aff(times).is_empty():
                        return True
    return False


def _names(part: Tree) -> list[str]:
    return polyhedra.set_names(isl.UnionSet(part["filter"]))
