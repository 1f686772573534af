"""Where a schedule puts the instances, for sizes: the value of every loop around each of them, and its place in the order.

S0[i, j] under the loops i_t, j_t, i, j   ->   [0, 4, 1, 5] and 7 for S0[1, 5]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polyml.model.core.scop import Scop
from polyml.polyhedra.points import points
from polyml.schedule.tree import loop_tree

Point = tuple[int, ...]


@dataclass(frozen=True)
class Placed:
    """A Placed has those instances of a statement that run at one leaf of a schedule: all of them, unless loops are split.

    loops: the loops around the leaf, as their positions in `loop_tree.loops`, outermost first.
    points: the instances, in lexicographic order.
    values: for each of them, the values of these loops.
    times: its place in the order of all instances, from 0.
    """

    statement: str
    loops: tuple[int, ...]
    points: tuple[Point, ...]
    values: tuple[Point, ...]
    times: tuple[int, ...]


def instances(scop: Scop, sizes: Mapping[str, int]) -> dict[str, list[Point]]:
    """Returns the points of each statement for these sizes, in lexicographic order."""
    return {name: sorted(point for _, point in points(s.domain, **sizes)) for name, s in scop.statements.items()}


def placed(scop: Scop, schedule: isl.Schedule, tree: loop_tree.Node, sizes: Mapping[str, int]) -> list[Placed]:
    """Returns the instances at each leaf of a schedule. tree: the same schedule as loops."""
    pairs = points(schedule.get_map().intersect_domain(scop.domain), **sizes)
    order = [instance for _, instance in sorted((time, instance) for instance, (_, time) in pairs)]
    times = {instance: number for number, instance in enumerate(order)}
    numbers = {path: number for number, (path, _) in enumerate(loop_tree.loops(tree))}
    found = []
    for name, around, domain in _leaves(scop, tree, (), None):
        values = _values(domain, [loop for _, loop in around], sizes)
        own = sorted(values)
        loops = tuple(numbers[path] for path, _ in around)
        found.append(Placed(name, loops, tuple(own), tuple(values[p] for p in own), tuple(times[name, p] for p in own)))
    return found


_Around = tuple[tuple[loop_tree.Path, loop_tree.Loop], ...]


def _leaves(
    scop: Scop, node: loop_tree.Node, around: _Around, within: isl.UnionSet | None, path: loop_tree.Path = ()
) -> Iterator[tuple[str, _Around, isl.UnionSet]]:
    """Yields (statement, loops around it, its instances there) for each statement at each leaf.

    within: the instances of the parts of blocks around the node; None: all.
    """
    if isinstance(node, loop_tree.Leaf):
        for name in node.statements:
            own = isl.UnionSet.from_set(scop.statements[name].domain)
            yield name, around, own if within is None else own.intersect(within)
    elif isinstance(node, loop_tree.Loop):
        yield from _leaves(scop, node.body, (*around, (path, node)), within, (*path, 0))
    else:
        for k, part in enumerate(node.parts):
            inside = part.instances if within is None else part.instances.intersect(within)
            yield from _leaves(scop, part.body, around, inside, (*path, k))


def _values(domain: isl.UnionSet, around: list[loop_tree.Loop], sizes: Mapping[str, int]) -> dict[Point, Point]:
    """Returns the values of the loops for each point of a domain { S[i] }."""
    if not around:
        return {point: () for _, point in points(domain, **sizes)}
    maps = [isl.UnionMap.from_union_pw_aff(loop.member).intersect_domain(domain) for loop in around]
    return {point: values for (_, point), (_, values) in points(reduce(isl.UnionMap.flat_range_product, maps), **sizes)}
