"""Helpers on schedule trees: walking them, and bands as values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import islpy as isl

NODE = isl.schedule_node_type

# marks give loops their role; the code generator reads them
PARALLEL = "parallel"  # the next loop's iterations are independent and go to threads
TILE = "tile"  # loops over tiles follow
POINT = "point"  # loops over single iterations follow


@dataclass(frozen=True)
class Band:
    """A band as a value. members: one { S[i] -> [(e)] } each; coincident: which of them carry no dependence."""

    members: tuple[isl.UnionPwAff, ...]
    coincident: tuple[bool, ...]
    permutable: bool


def band_of(node: isl.ScheduleNode) -> Band:
    partial = node.band_get_partial_schedule()
    count = node.band_n_member()
    return Band(
        tuple(partial.get_at(i) for i in range(count)),
        tuple(bool(node.band_member_get_coincident(i)) for i in range(count)),
        bool(node.band_get_permutable()),
    )


def together(members: Sequence[isl.UnionPwAff]) -> isl.MultiUnionPwAff:
    """{ S[i] -> [members...] }."""
    found = isl.UnionPwAffList.alloc(members[0].get_ctx(), len(members))
    space = isl.Space.set_alloc(members[0].get_ctx(), 0, len(members))
    for member in members:
        found, space = found.add(member), space.align_params(member.get_space())
    return isl.MultiUnionPwAff.from_union_pw_aff_list(space, found)


def insert_band(node: isl.ScheduleNode, band: Band) -> isl.ScheduleNode:
    """The band above `node`'s subtree; gives the new band's node."""
    node = node.insert_partial_schedule(together(band.members))
    node = node.band_set_permutable(int(band.permutable))
    for i, coincident in enumerate(band.coincident):
        node = node.band_member_set_coincident(i, int(coincident))
    return node


def replace_band(node: isl.ScheduleNode, band: Band) -> isl.ScheduleNode:
    return insert_band(node.delete(), band)


def reorder(band: Band, order: list[int]) -> Band:
    """The members of a permutable band in another order (interchange)."""
    return Band(tuple(band.members[i] for i in order), tuple(band.coincident[i] for i in order), band.permutable)


def mark(node: isl.ScheduleNode, name: str) -> isl.ScheduleNode:
    """Put a mark above the node; gives the node below the mark again."""
    return node.insert_mark(isl.Id(name)).child(0)


def rewrite_bands(
    node: isl.ScheduleNode, change: Callable[[isl.ScheduleNode], isl.ScheduleNode | None]
) -> isl.ScheduleNode:
    """Every outermost band that `change` accepts is replaced; below a refused band (None) the walk goes on. Not below marks: what is there is done.

    `change` gives a node at the position of the one it got.
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
    """The names of the statements that run below the node."""
    found = node.get_universe_domain().get_set_list()
    return sorted(found.get_at(i).get_tuple_name() for i in range(found.n_set()))
