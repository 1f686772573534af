"""The source order of statements as an isl schedule tree: one band of one member per loop, a sequence per block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Union

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Statement


@dataclass(frozen=True)
class SourceLoop:
    """A SourceLoop is a loop of the source around a block of statements.

    dim: the dimension of the statements' domains that the loop runs over
    direction: 1, or -1 where it runs downwards
    """

    body: SourceBlock
    dim: int
    direction: int


@dataclass(frozen=True)
class SourceBlock:
    """A SourceBlock holds statements (as their names) and loops that run one after the other."""

    parts: tuple[SourcePart, ...]


SourcePart = Union[str, SourceLoop]


def names(order: SourcePart | SourceBlock) -> list[str]:
    """Returns the names of the statements inside a loop or block, in source order."""
    if isinstance(order, str):
        return [order]
    parts = order.body.parts if isinstance(order, SourceLoop) else order.parts
    return [name for part in parts for name in names(part)]


def schedule_tree(order: SourceBlock, statements: Mapping[str, Statement], context: isl.Set) -> isl.Schedule:
    """Returns the schedule tree in which a block's statements run; without statements, a domain node without instances.

    statements: by name
    context: a set with the parameters that this empty domain is to have
    """
    if not order.parts:
        return isl.Schedule.from_domain(isl.UnionSet.empty(context.get_space()))
    return reduce(isl.Schedule.sequence, (_part_tree(part, statements, context) for part in order.parts))


def _part_tree(part: SourcePart, statements: Mapping[str, Statement], context: isl.Set) -> isl.Schedule:
    if isinstance(part, str):
        return isl.Schedule.from_domain(isl.UnionSet.from_set(statements[part].domain))
    inner = schedule_tree(part.body, statements, context)
    return inner.insert_partial_schedule(_partial_schedule(part, statements))


def _partial_schedule(part: SourceLoop, statements: Mapping[str, Statement]) -> isl.MultiUnionPwAff:
    """Returns a loop's iterator as an expression of each statement inside, [{ S0[i,j] -> [(i)]; S1[i,j] -> [(i)] }].

    It is negated where the loop runs downwards.
    """
    members = (polyhedra.dimension(statements[name].domain, part.dim) for name in names(part))
    pieces = (isl.UnionPwAff.from_pw_aff((m if part.direction > 0 else m.neg()).to_pw_aff()) for m in members)
    return isl.MultiUnionPwAff.from_union_pw_aff(reduce(isl.UnionPwAff.union_add, pieces))


def loop_paths(schedule: isl.Schedule) -> dict[str, tuple[int, ...]]:
    """Returns by statement the loops around it, outermost first, each as a number that no other loop has.

    schedule: a tree of filters, sequences and bands of one member, as `schedule_tree` makes it
    """
    paths: dict[str, tuple[int, ...]] = {}
    numbers = iter(range(10**9))
    _walk_tree(schedule.get_root(), (), numbers, paths)
    return paths


def _walk_tree(node: isl.ScheduleNode, loops: tuple[int, ...], numbers: Iterator[int], paths: dict[str, tuple[int, ...]]) -> None:
    if node.get_type() == isl.schedule_node_type.leaf:
        for name in polyhedra.set_names(node.get_domain()):
            paths[name] = loops
        return
    if node.get_type() == isl.schedule_node_type.band:
        loops = (*loops, next(numbers))
    for position in range(node.n_children()):
        _walk_tree(node.child(position), loops, numbers, paths)
