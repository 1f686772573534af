"""Conflicts of iterations that run at the same time, on threads or in lanes.

Two accesses of one memory location conflict where they are of different iterations of one loop that run at the same time, at
least one of them writes, and they are not both updates by one reduction that may share the element there (Bernstein's conditions:
"Analysis of programs for parallel processing", IEEE TEC 15(5), 1966).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from polyml.checks.symbolic.finding import Finding, Violation, element_text, instance_text
from polyml.checks.symbolic.memory import Instance, Place

_SEVERAL = -1  # iterations that have read a place


@dataclass
class _Use:
    """A _Use tells how a memory location was accessed so far in one run of a parallel loop, so that later accesses can be compared
    with it.

    iteration: the number of the iteration that made the accesses; -1 (_SEVERAL) where several did, all by reading.
    thread: the thread that ran it.
    writes: whether one of the accesses wrote.
    update: the operator, if all accesses were updates by one reduction; "" otherwise.
    instance: the first one that accessed it.
    """

    iteration: int
    thread: int
    writes: bool
    update: str
    instance: Instance


@dataclass
class Region:
    """A Region is one run of a loop whose iterations run at the same time, with the accesses made in it so far.

    what: the loop, in words.
    private: arrays of which each thread has a copy of its own in this loop.
    partial: arrays whose elements may be updated by several iterations, as parts of a reduction; None: all arrays, as in a loop
        whose iterations are lanes of a vector.
    owned: arrays with a row for each thread, which iterations of one thread share.
    in_order: whether the iterations are lanes of one vector that all read before any writes, so that a later one may write what an
        earlier one reads.
    iteration, thread: which iteration makes the accesses that are recorded next, and on which thread.
    """

    what: str
    private: frozenset[str] = frozenset()
    partial: frozenset[str] | None = frozenset()
    owned: frozenset[str] = frozenset()
    in_order: bool = False
    iteration: int = 0
    thread: int = 0
    _uses: dict[Place, _Use] = field(default_factory=dict)

    def touched(self, place: Place, instance: Instance, writes: bool, update: str) -> None:
        """Records an access by the current iteration. Raises Violation where it conflicts with an access by another iteration.

        update: the operator of the reduction of which the access is a part; "" where it is part of none.
        """
        array = place[0]
        if array in self.private:
            return
        if not (self.partial is None or array in self.partial):
            update = ""
        use = self._uses.get(place)
        if use is None:
            self._uses[place] = _Use(self.iteration, self.thread, writes, update, instance)
            return
        if use.iteration == self.iteration or array in self.owned and use.thread == self.thread:
            use.writes |= writes
            use.update = update if use.update == update else ""
            return
        if not writes and not use.writes:
            use.iteration = self.iteration if self.in_order else _SEVERAL
        elif self.in_order and not use.writes:
            use.iteration, use.writes, use.instance = self.iteration, True, instance
        elif not update or use.update != update:
            element, both = element_text(*place), (instance_text(*use.instance), instance_text(*instance))
            what = f"{both[0]} and {both[1]} touch {element} in different iterations of {self.what}"
            raise Violation(Finding(what, both[1], element))


class Conflicts:
    """A Conflicts records each access of an instance, and finds conflicts with other iterations of the loops around it that run
    their iterations at the same time.
    """

    def __init__(self) -> None:
        self._regions: list[Region] = []

    @contextmanager
    def inside(self, region: Region) -> Iterator[Region]:
        """Returns a context; the accesses recorded in it are also watched for conflicts between iterations of the loop in `region`."""
        self._regions.append(region)
        try:
            yield region
        finally:
            self._regions.pop()

    def touched(self, place: Place, instance: Instance, *, writes: bool, update: str) -> None:
        """Records an access in every loop around it that runs its iterations at the same time. Raises Violation where it conflicts
        with an access by another iteration.

        update: the operator of the reduction of which the access is a part; "" where it is part of none.
        """
        for region in self._regions:
            region.touched(place, instance, writes, update)
