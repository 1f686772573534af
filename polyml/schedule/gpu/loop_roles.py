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
    is_copied: whether all threads of a team run a phase that has no shared loop, each on copies of its own.
    """

    name: str
    instances: isl.UnionSet
    around: tuple[SurroundingLoop, ...]
    body: Node
    shared: tuple[SurroundingLoop, ...] = ()
    blocks: SurroundingLoop | None = None
    partial: tuple[PartialResult, ...] = ()
    is_copied: bool = False


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


@dataclass(frozen=True)
class HeldArray:
    """A HeldArray is an array of which each thread of a team keeps elements in registers while the team runs one row.

    is_row: whether a thread has the elements that its own iterations of the shared loops access; if not, every thread of the team has
        the one element that the row accesses.
    elements: { [h, g, j] -> A[e] } of a row's elements, { [h, g] -> A[e] } of a single one: h and g are the loops of the host and the
        grid, j is the shared loop.
    filled: those of these points whose elements are loaded before the row runs.
    drained: those whose elements are stored behind it.
    """

    array: str
    is_row: bool
    elements: isl.Map
    filled: isl.Set
    drained: isl.Set


@dataclass(frozen=True)
class RowTeam:
    """A RowTeam is another way to run launches that follow one another: a team of threads runs an iteration of the loops that they have
    in common, a row, from the first to the last of them.

    count: how many launches it stands for, the first among them.
    leader: the number, among these, of a launch that has instances in every row.
    grid: the common loops; what is inside has one loop at most.
    body: what is inside.
    instances: { S[i] }, those of all of the launches.
    phases: what a team runs, in order; phases with shared loops divide these by the values of the loop, so that equal values are one
        thread's.
    waits: pairs (earlier, later) of names of phases between which a dependence crosses threads through memory, where rows are in registers.
    long_waits: the same where rows are too long for that.
    held: the arrays in registers.
    words: how many registers a thread needs at most for each of its iterations.
    """

    count: int
    leader: int
    host: tuple[SurroundingLoop, ...]
    grid: tuple[SurroundingLoop, ...]
    body: Node
    instances: isl.UnionSet
    phases: tuple[Phase, ...]
    waits: frozenset[tuple[str, str]]
    long_waits: frozenset[tuple[str, str]]
    held: tuple[HeldArray, ...]
    words: int
