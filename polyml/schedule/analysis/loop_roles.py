"""The role of each loop of a nest, found from the accesses alone: the free, batch and summed loops of a contraction."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.strides import accesses, goes_to_neighbours, iterators_of, moves


class LoopRole(IntEnum):
    """The role of a loop in a contraction: which accesses go to other elements as it runs. Loops over tiles are in this order.

    BATCH: all accesses go to other elements, and the element written does not go to its neighbour in memory.
    ROWS: the element written changes, but does not go to its neighbour in memory, and some operand stays the same.
    DEPTH: the element written stays the same, so that the loop adds up.
    PANEL: the element written goes to its neighbour in memory, along a row.
    COLUMNS: the same operands change as along the panel, but the element written does not go to its neighbour. Only contractions
        have this role; elsewhere such loops are ROWS.
    """

    BATCH = 0
    ROWS = 1
    DEPTH = 2
    PANEL = 3
    COLUMNS = 4


def loop_role(member: isl.UnionPwAff, scop: Scop, names: Sequence[str]) -> LoopRole:
    """Returns the role of a band member { S[i] -> [(e)] } for the most deeply nested of the statements `names`."""
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
    """Returns whether the same element is accessed again as one of the band members runs, so that work grows faster than data.

    names: the statements below the band.
    """
    return any(
        a.subscripts and not moves(a, iterators_of(member, name))
        for name in names
        if len(scop.statements[name].iterators) >= len(members)
        for a in accesses(scop.statements[name])
        for member in members
    )


def leans(member: isl.UnionPwAff, scop: Scop, names: Sequence[str]) -> bool:
    """Returns whether bounds of other loops depend on this band member, so that its iterations differ in work, as in a triangle."""
    return any(not polyhedra.is_product(scop.statements[n].domain, iterators_of(member, n)) for n in names)
