"""The roles of loops in a contraction, found by which accesses move as each loop runs."""

from __future__ import annotations

from collections.abc import Sequence

from polyml.model.core.scop import Scop, Statement
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.analysis.strides import goes_to_neighbours, is_same_element, moves


def has_contraction(scop: Scop) -> bool:
    """Returns whether some statement of the SCoP may be a contraction; tile sizes then depend on the sizes of arrays."""
    return any(map(may_be_contraction, scop.statements.values()))


def may_be_contraction(statement: Statement) -> bool:
    """Returns whether the statement has three or more loops, and all of them together make a contraction."""
    return len(statement.iterators) >= 3 and contraction_roles(statement, statement.iterators) is not None


def contraction_roles(statement: Statement, free: Sequence[str], panel: str | None = None) -> dict[str, LoopRole] | None:
    """Returns the role of each of the statement's loops `free` in a contraction; None where they make no contraction.

    panel: the loop for the vectors; None: the one along which the elements written are neighbours in memory.
    """
    write = statement.write
    along = {it: [statement.iterators.index(it)] for it in free}
    panels = [it for it in free if goes_to_neighbours(write, along[it]) and not moves(write, along[it], slice(0, -1))]
    if len(panels) != 1:
        return None
    panel = panel or panels[0]
    operands = [a for a in statement.reads if a.subscripts and not is_same_element(a, write)]
    beside = [a for a in operands if moves(a, along[panel])]
    across = [a for a in operands if a not in beside]
    if not beside or not across:
        return None

    def role(it: str) -> LoopRole:
        if it == panel:
            return LoopRole.PANEL
        if not moves(write, along[it]):
            return LoopRole.DEPTH
        if not any(moves(a, along[it]) for a in beside):
            return LoopRole.ROWS
        return LoopRole.BATCH if any(moves(a, along[it]) for a in across) else LoopRole.COLUMNS

    roles = {it: role(it) for it in free}
    return roles if {LoopRole.ROWS, LoopRole.DEPTH} <= set(roles.values()) else None
