"""Divides a schedule whose outer loops go over tiles into two, of which isl makes loops one after the other: the loops over tiles,
and those inside one.

    for w, a, ...: tile        [w, a, ...] are parameters to:        for t, i in the tile: S(t, i)

isl makes the bounds of loops over tiles exact, so that no tile is empty; for skewed tiles this takes seconds
to hours. Here they are those of the rational hull: an empty tile costs a test. With the tile's numbers being
parameters, what is inside has no divisions left.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import NODE, members_of, together
from polyml.schedule.tree.text import Tree

TILE = "tile_"  # the statement that stands for what is inside


@dataclass(frozen=True)
class TileLoops:
    """A schedule divided into a schedule of tiles and a schedule inside of one tile.

    outer: a schedule of instances TILE[names...], one for each tile.
    inner: a schedule of the instances in the tile that the parameters `names` give.
    names: the names of the parameters that are a tile's position, one for each loop over tiles.
    tiles: the positions of tiles, as the set { : constraints on the parameters `names` }.
    """

    outer: isl.Schedule
    inner: isl.Schedule
    names: tuple[str, ...]
    tiles: isl.Set


def tile_loops(schedule: isl.Schedule, context: isl.Set) -> TileLoops | None:
    """Returns a schedule, whose outermost loops go over tiles, divided into that of tiles and that inside of one tile; None if its
    outermost loop does not go over tiles, or the tiles' rational hull is unbounded.

    context: constraints on the parameters.
    """
    if not _is_tiled(schedule.get_root().child(0)):
        return None
    tree = nodes.tree_of(schedule)
    chain, inside = _chain(tree["child"])
    members = [members_of(band)[0] for _, band in chain]
    names = tuple(f"tile{k}" for k in range(len(members)))
    tiles = polyhedra.rational_image(together(members), context).set_tuple_name(TILE)
    if not tiles.is_bounded():
        return None
    outer: Tree = {}
    instance = f"{TILE}[{', '.join(names)}]"
    for (marks, band), name in reversed(list(zip(chain, names))):
        outer = {**band, "schedule": f"[{{ {instance} -> [({name})] }}]"} | ({"child": outer} if outer else {})
        for mark in reversed(marks):
            outer = {"mark": mark, "child": outer}
    domain = polyhedra.where_equal(schedule.get_domain(), members, names)
    return TileLoops(
        nodes.schedule({"domain": str(tiles), "child": outer}),
        nodes.schedule({"domain": str(domain), "child": inside}),
        names,
        polyhedra.parameter_constraints(tiles, names),
    )


def _is_tiled(node: isl.ScheduleNode) -> bool:
    """Returns whether the outermost loop below a node, apart from marks, goes over tiles."""
    while node.get_type() == NODE.mark:
        node = node.child(0)
    return _is_loop(node) and "floor" in str(node.band_get_partial_schedule())


def _is_loop(node: isl.ScheduleNode) -> bool:
    """Returns whether a node is a band of one member that isl is told to make one loop (`atomic`)."""
    if node.get_type() != NODE.band or node.band_n_member() != 1:
        return False
    return node.band_member_get_ast_loop_type(0) == isl.ast_loop_type.atomic


def _chain(node: Tree) -> tuple[list[tuple[list[str], Tree]], Tree]:
    """Returns the outermost loops that go over tiles, each as the marks above it and its band without a child, and the tree inside
    them all.
    """
    chain: list[tuple[list[str], Tree]] = []
    while True:
        marks, below = [], node
        while "mark" in below:
            marks.append(below["mark"])
            below = below["child"]
        if "schedule" not in below or "floor" not in below["schedule"] or "child" not in below:
            return chain, node
        chain.append((marks, {key: value for key, value in below.items() if key != "child"}))
        node = below["child"]
