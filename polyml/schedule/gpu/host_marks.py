"""Which loops marks leave to the host, so that each of their iterations launches again."""

from __future__ import annotations

from collections.abc import Iterable

from polyml.errors import ScheduleError
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.loop_tree import Loop


def is_host(loop: Loop) -> bool:
    """Returns whether marks make each iteration of the loop launch again: one of its own, one of a loop inside for the host, or grids
    of loops inside that are not directly inside one another from this loop on.
    """
    inside = [each for _, each in loop_tree.loops(loop)]
    if any(each.directives.host for each in inside):
        return True
    chain = [loop]
    while isinstance(chain[-1].body, Loop):
        chain.append(chain[-1].body)
    return any(each.directives.grid for each in inside) and not any(each.directives.grid for each in chain)


def check_not_in_grid(loops: Iterable[Loop], why: str) -> None:
    """Raises ScheduleError where a mark puts one of the loops in the grid.

    why: why it cannot be there, for the message.
    """
    for loop in loops:
        if loop.directives.grid:
            notes = ["the loops of a grid are directly inside one another, with the host's loops around them"]
            raise ScheduleError(f"loop `{loop.name}` cannot be in the grid, since it {why}", notes=notes)
