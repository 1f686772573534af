"""How the element that an access touches moves from one iteration of a loop to the next, as far as lanes are concerned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from polyml.codegen.analysis.instruction_costs import MOST_APART
from polyml.codegen.analysis.loop_nest import Nest, TouchIn
from polyml.codegen.ir.linexpr import Lin


class MoveKind(Enum):
    """Where the next iteration's element is."""

    STAYS = "the same element"
    NEXT = "the next or the previous one in a row of memory"
    APART = "a few elements further in a row of memory, at most MOST_APART"
    FAR = "anywhere else"
    NOT_LINEAR = "not always as far away"


@dataclass(frozen=True)
class Move:
    """How an access moves with one loop. elements: in a row of memory from one iteration to the next, for NEXT and APART."""

    kind: MoveKind
    elements: int = 0

    @property
    def stays(self) -> bool:
        return self.kind is MoveKind.STAYS

    @property
    def is_next(self) -> bool:
        return self.kind is MoveKind.NEXT


STAYS = Move(MoveKind.STAYS)


@dataclass(frozen=True)
class AccessMoves:
    """One access of a nest, with how it moves with each loop of the chain."""

    touch: TouchIn
    moves: tuple[Move, ...]

    @staticmethod
    def of(touch: TouchIn, nest: Nest, unit_dims: Mapping[str, int | None]) -> AccessMoves:
        """unit_dims: { array -> the dimension along which its elements are neighbours in memory, None where there is none }."""
        unit = unit_dims.get(touch.access.array)
        return AccessMoves(touch, tuple(_move(touch.subscripts, loop.var, unit) for loop in nest.chain))


def _move(subscripts: tuple[Lin, ...], variable: str, unit: int | None) -> Move:
    moving: dict[int, int] = {}  # steps by dimension
    for d, e in enumerate(subscripts):
        step = e.coefficient(variable)
        if step is None:
            return Move(MoveKind.NOT_LINEAR)
        if step:
            moving[d] = step
    if not moving:
        return STAYS
    step = moving[unit] if unit is not None and [*moving] == [unit] else 0
    if abs(step) == 1:
        return Move(MoveKind.NEXT, step)
    return Move(MoveKind.APART, step) if 2 <= step <= MOST_APART else Move(MoveKind.FAR)
