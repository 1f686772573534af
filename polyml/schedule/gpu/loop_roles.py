"""What loops are in a launch: loops of the host, loops divided among blocks and threads, and loops that the threads of a team share."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polyml.schedule.tree.directives import GridPlace
from polyml.schedule.tree.loop_tree import Node


@dataclass(frozen=True, eq=False)  # two loops may have equal values and are two loops all the same
class SurroundingLoop:
    """A loop around statements of a launch: its name, and its value { S[i] -> [(e)] } in each instance. It equals itself alone.

    place: where a mark of the schedule tree puts it in the grid; None: no mark does.
    shared: arrays of which a mark makes the block copy what it reads, before its threads run.
    """

    name: str
    values: isl.UnionPwAff
    place: GridPlace | None = None
    shared: tuple[str, ...] = ()


@dataclass(frozen=True)
class GridAxis:
    """A loop of a launch whose iterations are divided among blocks and threads: an axis of the grid.

    Block b runs the iterations from b * size * items on, so that blocks begin at multiples, whatever the first iteration is.

    size: threads of a block along the axis.
    items: iterations of a thread, which run together (register tile; Volkov and Demmel, SC 2008).
    adjacent: whether a thread's iterations follow one another; if not, they are `size` apart, and neighbouring threads run
        neighbouring iterations.
    rolled: whether a thread runs its iterations in a loop of its own; if not, they are unrolled.
    merged: loops, `loop` the last one, whose iterations the axis numbers together: it is over the positions of all combinations of
        these, from 0 on, of which those of the last loop follow one another; () where the axis is over the iterations of `loop`.
    """

    loop: SurroundingLoop
    size: int
    items: int = 1
    adjacent: bool = False
    rolled: bool = False
    merged: tuple[SurroundingLoop, ...] = ()

    @property
    def loops(self) -> tuple[SurroundingLoop, ...]:
        """Returns the loops whose iterations are divided along the axis, outermost first."""
        return self.merged or (self.loop,)

    @property
    def thread_step(self) -> int:
        """Returns the distance between the first iterations of neighbouring threads, in iterations of the loop."""
        return self.items if self.adjacent else 1

    @property
    def item_step(self) -> int:
        """Returns the distance between one iteration of a thread and its next one, in iterations of the loop."""
        return 1 if self.adjacent else self.size

    @property
    def extent(self) -> int:
        """Returns how many iterations of the loop a block runs."""
        return self.size * self.items


@dataclass(frozen=True)
class PartialResult:
    """A PartialResult is an element that the threads of a team update together: each has a partial result, and they are combined.

    array: the array of the element.
    operator: that of the updates, as in `Reduction`.
    statements: the names of the updates.
    """

    array: str
    operator: str
    statements: tuple[str, ...]


@dataclass(frozen=True)
class Phase:
    """A Phase is a part of what a team runs, in which its threads do not wait for one another.

    name: a name that no other phase of the launch has.
    instances: { S[i] }, of all teams.
    around: loops that all threads of the team run together around the phase, outermost first.
    body: the loops of the phase.
    shared: loops at the top of the body whose iterations are divided among the threads, that of neighbouring threads first; () if one
        thread runs the phase alone.
    blocks: a loop at the top of the body whose iterations may be divided among blocks, perhaps one of `shared`; None if there is none.
    partial: the elements of which each thread has a partial result.
    """

    name: str
    instances: isl.UnionSet
    around: tuple[SurroundingLoop, ...]
    body: Node
    shared: tuple[SurroundingLoop, ...] = ()
    blocks: SurroundingLoop | None = None
    partial: tuple[PartialResult, ...] = ()


@dataclass(frozen=True)
class Team:
    """A Team is another way to run a launch: several threads of a block share each iteration of the grid's loops.

    axes: the grid's loops, divided among blocks, and among teams of a block.
    lanes: how many threads of a team there are along each of the loops that they share.
    beside: whether neighbouring threads are of one team; if not, they are of different ones, along the first axis.
    phases: what a team runs, in order.
    waits: pairs (earlier, later) of names of phases between which a dependence crosses threads, so that the team must wait between them.
    split: the name of the phase whose iterations may be divided among blocks, "" if there is none.
    """

    axes: tuple[GridAxis, ...]
    lanes: tuple[int, ...]
    beside: bool
    phases: tuple[Phase, ...]
    waits: frozenset[tuple[str, str]]
    split: str = ""
