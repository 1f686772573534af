"""What each loop of a nest does for the data: the contraction's free, batch and summed loops, from the accesses alone."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.strides import accesses, goes_to_neighbours, iterators_of, moves


class LoopRole(IntEnum):
    """What one loop does, in the order of the loops over tiles.

    BATCH: every access moves, the element written not to its neighbour. ROWS: the element written moves, some operand
    stays. DEPTH: the element written stays. PANEL: the element written moves along the rows of memory. COLUMNS: the same
    operands move as along the panel, the element written not to its neighbour (of ROWS, where a contraction is concerned).
    """

    BATCH = 0
    ROWS = 1
    DEPTH = 2
    PANEL = 3
    COLUMNS = 4


def loop_role(member: isl.UnionPwAff, scop: Scop, names: Sequence[str]) -> LoopRole:
    """The role of a band member for the deepest of the statements."""
    depth = max(len(scop.statements[n].iterators) for n in names)
    statements = [scop.statements[n] for n in names if len(scop.statements[n].iterators) == depth]
    along = {s.name: iterators_of(member, s.name) for s in statements}
    if not any(moves(s.write, along[s.name]) for s in statements):
        return LoopRole.DEPTH
    by_row = any(goes_to_neighbours(s.write, along[s.name]) and not moves(s.write, along[s.name], slice(0, -1)) for s in statements)
    if by_row:
        return LoopRole.PANEL
    batch = all(moves(a, along[s.name]) for s in statements for a in accesses(s) if a.subscripts)
    return LoopRole.BATCH if batch else LoopRole.ROWS


def has_reuse(members: Sequence[isl.UnionPwAff], scop: Scop, names: Sequence[str]) -> bool:
    """Whether some element is touched again along a member: the work grows faster than the data."""
    return any(
        a.subscripts and not moves(a, iterators_of(member, name))
        for name in names
        if len(scop.statements[name].iterators) >= len(members)
        for a in accesses(scop.statements[name])
        for member in members
    )


def leans(member: isl.UnionPwAff, scop: Scop, names: Sequence[str]) -> bool:
    """Whether how far other loops run depends on where this one is: its iterations differ in length."""
    return any(not polyhedra.is_product(scop.statements[n].domain, iterators_of(member, n)) for n in names)
