"""Bands of schedule trees as values, the marks that give loops their role, and walks over isl's trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import islpy as isl

from polyml import polyhedra
from polyml.schedule.tree import nodes
from polyml.schedule.tree.text import Tree

NODE = isl.schedule_node_type
_Loop = TypeVar("_Loop")  # what is known of a loop

# Marks give loops their role; the code generator reads them.
PARALLEL = "parallel"  # the next loop's iterations are independent and go to threads
TILE = "tile"  # loops over tiles follow
POINT = "point"  # loops over single iterations follow
APART = "apart"  # the next loop's iterations are independent


def parallel_mark(partial: Sequence[str] = ()) -> str:
    """Returns the text of the mark above a loop whose iterations go to threads.

    partial: arrays of which each thread has partial results, added up behind the loop; iterations only update them by reductions.
    """
    return " ".join([PARALLEL, *partial])


def partial_results(name: str) -> tuple[str, ...] | None:
    """Returns the arrays of which each thread has partial results, read from the name of a parallel loop's mark (as `parallel_mark`
    writes it); None for the name of another mark.
    """
    word, *arrays = name.split()
    return tuple(arrays) if word == PARALLEL else None


@dataclass(frozen=True)
class Band:
    """A band holds loops directly inside one another, outermost first.

    members: { S[i] -> [(e)] } of each loop; its iterations run in ascending order of e.
    coincident: for each loop, whether it carries no dependence.
    permutable: whether the loops may be exchanged.
    separate: for each loop, whether isl writes it as several, one for each set of statements that share iterations; (): none is.
    """

    members: tuple[isl.UnionPwAff, ...]
    coincident: tuple[bool, ...]
    permutable: bool
    separate: tuple[bool, ...] = ()


def members_of(band: Tree) -> list[isl.UnionPwAff]:
    """Returns the members { S[i] -> [(e)] } of a band node of a tree that `parse_tree` read."""
    return list(_members(band["schedule"]))


@lru_cache(maxsize=256)
def names_in(filter_: str) -> tuple[str, ...]:
    """Returns the names of the statements in the text of a filter { S[i] : ... }."""
    return tuple(polyhedra.set_names(nodes.instances(filter_)))


@lru_cache(maxsize=256)
def _members(text: str) -> tuple[isl.UnionPwAff, ...]:
    partial = nodes.values(text)
    return tuple(partial.get_at(k) for k in range(len(partial)))


def band_of(node: isl.ScheduleNode) -> Band:
    """Returns the members and flags of isl's band node as a `Band`."""
    partial = node.band_get_partial_schedule()
    count = node.band_n_member()
    return Band(
        tuple(partial.get_at(i) for i in range(count)),
        tuple(bool(node.band_member_get_coincident(i)) for i in range(count)),
        bool(node.band_get_permutable()),
        tuple(node.band_member_get_ast_loop_type(i) == isl.ast_loop_type.separate for i in range(count)),
    )


def outermost(loops: Sequence[_Loop], k: int) -> tuple[_Loop, ...]:
    """Returns what is known of each loop of a nest, in its order, with that of loop number `k` first."""
    return (loops[k], *loops[:k], *loops[k + 1 :])


def together(members: Sequence[isl.UnionPwAff]) -> isl.MultiUnionPwAff:
    """Returns several members { S[i] -> [(e)] }, { S[i] -> [(f)] } as one expression { S[i] -> [(e, f, ...)] }."""
    found = isl.UnionPwAffList.alloc(members[0].get_ctx(), len(members))
    space = isl.Space.set_alloc(members[0].get_ctx(), 0, len(members))
    for member in members:
        found, space = found.add(member), space.align_params(member.get_space())
    return isl.MultiUnionPwAff.from_union_pw_aff_list(space, found)


def insert_band(node: isl.ScheduleNode, band: Band) -> isl.ScheduleNode:
    """Returns the node of the new band, after the band has been put above the node."""
    node = node.insert_partial_schedule(together(band.members))
    node = node.band_set_permutable(int(band.permutable))
    for i, coincident in enumerate(band.coincident):
        node = node.band_member_set_coincident(i, int(coincident))
    for i, separate in enumerate(band.separate):
        if separate:
            node = node.band_member_set_ast_loop_type(i, isl.ast_loop_type.separate)
    return node


def replace_band(node: isl.ScheduleNode, band: Band) -> isl.ScheduleNode:
    """Returns the node of the new band, after the band has been put in place of a band node."""
    return insert_band(node.delete(), band)


def reorder(band: Band, order: list[int]) -> Band:
    """Returns the permutable band with its members in another order (loop interchange)."""
    separate = tuple(band.separate[i] for i in order) if band.separate else ()
    return Band(tuple(band.members[i] for i in order), tuple(band.coincident[i] for i in order), band.permutable, separate)


def floor(band: Band, sizes: Sequence[int]) -> Band:
    """Returns the band of tile numbers: each member divided by its tile size and rounded down."""
    ctx = band.members[0].get_ctx()
    members = []
    for member, size in zip(band.members, sizes):
        value = isl.Val.int_from_si(ctx, size)
        members.append(member.scale_down_val(value).floor())
    return Band(tuple(members), band.coincident, band.permutable)


def scaled_floor(band: Band, sizes: Sequence[int]) -> Band:
    """Returns the band of first iterations of tiles: each member rounded down to a multiple of its tile size."""
    ctx = band.members[0].get_ctx()
    tiles = floor(band, sizes)
    members = [m.scale_val(isl.Val.int_from_si(ctx, s)) for m, s in zip(tiles.members, sizes)]
    return Band(tuple(members), band.coincident, band.permutable)


def mark(node: isl.ScheduleNode, name: str) -> isl.ScheduleNode:
    """Returns the node again, after a mark with this name has been put above it."""
    return node.insert_mark(isl.Id(name)).child(0)


def rewrite_bands(node: isl.ScheduleNode, change: Callable[[isl.ScheduleNode], isl.ScheduleNode | None]) -> isl.ScheduleNode:
    """Returns the node with outermost bands below it replaced, each one for which `change` returns a node.

    change: from a band node to the node that stands in its place; None: the band stays, and the walk goes on below it. Nothing
        below a mark is changed, since loops with a mark have their role already.
    """
    if node.get_type() == NODE.mark:
        return node
    if node.get_type() == NODE.band:
        changed = change(node)
        if changed is not None:
            return changed
    for i in range(node.n_children()):
        node = rewrite_bands(node.child(i), change).parent()
    return node


def statements_of(node: isl.ScheduleNode) -> list[str]:
    """Returns the names of the statements that run below the node, sorted."""
    found = node.get_universe_domain().get_set_list()
    return sorted(found.get_at(i).get_tuple_name() for i in range(found.n_set()))
