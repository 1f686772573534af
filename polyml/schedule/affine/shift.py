"""Shifting: two loops of one iteration that cannot be one become one loop of different iterations.

    for k: { for i: S; for i: T }      ->      for i: S[0]
                                               for k: for i: { T[k]; S[k + 1] }
                                               for i: T[last]

where S[k + 1] goes over what T[k] has just changed, so that it is read and written once instead of twice (loop shifting
before fusion: Verdoolaege, Bruynooghe, Janssens and Catthoor, "Multi-dimensional incremental loop fusion for data
locality", ASAP 2003). Statements between the two and behind them remain where they are.
"""

from __future__ import annotations

from itertools import combinations

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.schedule.legality.check import is_legal
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import members_of, names_in, together
from polyml.schedule.tree.text import Tree


def shift(schedule: isl.Schedule, scop: Scop, dependences: Dependences) -> isl.Schedule:
    """Returns the schedule with a loop delayed by an iteration of the loop around it, and fused with a loop before it.

        for t: { for i: S; for i: T }      ->      for t: for i: { T of iteration t - 1; S of iteration t }

    Only loops that share data are fused. The schedule itself is returned where there are none, or fusing them would be illegal.
    """
    tree = nodes.tree_of(schedule)
    shifted = _shifted(tree, scop)
    if shifted is tree:
        return schedule
    made = nodes.schedule(shifted)
    return made if is_legal(made, scop, dependences) else schedule


def _shifted(node: Tree, scop: Scop) -> Tree:
    """Returns the tree with two inner loops fused as `shift` does, in the outermost bands where that is possible.

    It returns the node itself where it is possible in none.
    """
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
    """Returns the band `node` with two loops of its body fused, where the second of them runs one iteration of the band later.

    Other children of the body remain in place. None where `node` is no such band, or where no two loops of its body would then
    access the same element in one iteration.
    """
    parts = node.get("child", {}).get("sequence", []) if "schedule" in node else []
    if len(parts) < 2 or node.get("coincident", [0])[-1]:
        return None
    loops = [k for k, part in enumerate(parts) if _is_loop(part.get("child", {}))]
    *outer, last = members_of(node)
    for first, second in combinations(loops, 2):
        earlier, later = parts[first], parts[second]
        moved = polyhedra.plus(last.intersect_domain(nodes.instances(later["filter"])), 1)
        moved = last.subtract_domain(nodes.instances(later["filter"])).union_add(moved)
        loop = members_of(later["child"])[0].union_add(members_of(earlier["child"])[0])
        if not _share(earlier, later, together([*outer, moved, loop]), scop):
            continue
        inside = _one_loop(earlier, later, loop)
        rest = [part for k, part in enumerate(parts) if k not in (first, second)]
        child = {"sequence": [*rest[:first], inside, *rest[first:]]} if rest else inside["child"]
        schedule = nodes.text_of(together([*outer, moved]))
        return {**node, "schedule": schedule, "options": f"{{ separate[{len(outer)}] }}", "child": child}
    return None


def _one_loop(earlier: Tree, later: Tree, loop: isl.UnionPwAff) -> Tree:
    """Returns two loops as one, whose body runs the statements of `later` before those of `earlier`.

    The former have been shifted, so that their instances are those of the previous iteration of the loop around.

    loop: { S[i] -> [(e)] }, the new loop for the statements of both.
    """
    both = nodes.instances(earlier["filter"]).union(nodes.instances(later["filter"]))
    order = [{"filter": later["filter"]}, {"filter": earlier["filter"]}]
    band = {"schedule": nodes.text_of(together([loop])), "permutable": 1, "coincident": [0], "options": "{ separate[0] }"}
    return {"filter": nodes.text_of(both), "child": {**band, "child": {"sequence": order}}}


def _is_loop(node: Tree) -> bool:
    """Returns whether the node is a band of one loop with nothing but statements inside."""
    return "schedule" in node and "child" not in node and len(members_of(node)) == 1


def _share(first: Tree, second: Tree, times: isl.MultiUnionPwAff, scop: Scop) -> bool:
    """Returns whether a statement of `first` reads an element that one of `second` writes in the same iteration of `times`.

    A statement of `first` that writes to the same array does not count.

    times: { S[i] -> [(t, ...)] }, the fused loop and those around it.
    """
    earlier, later = ([scop.statements[name] for name in names_in(part["filter"])] for part in (first, second))
    for s in later:
        for t in earlier:
            for access in t.reads:
                if access.array == s.write.array != t.write.array:
                    both = s.write.relation.apply_range(access.relation.reverse())
                    if not isl.UnionMap.from_map(both).eq_at_multi_union_pw_aff(times).is_empty():
                        return True
    return False
