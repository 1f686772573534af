"""All that the remarks on a kernel are found from: the model, the schedule and the program of one compilation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.program import Program
from polyml.codegen.passes.packing.refusals import Refusal, refusals
from polyml.config import Options
from polyml.machines.cpu import CpuMachine
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction, relaxed, relaxed_validity
from polyml.model.core.scop import Scop, Statement
from polyml.model.nest_passes.changes import NestChange
from polyml.remarks.conflicts import conflict
from polyml.remarks.lanes import LanePrice, Prices, lane_prices
from polyml.remarks.performed import Run, runs
from polyml.remarks.scheduled import ScheduledLoop, running, scheduled_loops
from polyml.remarks.source_loops import SourceLoop, source_loops
from polyml.remarks.values import Conflict
from polyml.schedule.affine.source_threads import OrderedLoop
from polyml.values import cached_property


@dataclass(frozen=True, eq=False)
class OrderFacts:
    """What is known of a kernel's model and its schedule, on whatever it runs.

    scop, dependences: the model, { S[i] } and { S[i] -> T[j] }.
    tree: the schedule.
    reductions: by name, the statements whose updates may run in any order.
    changes: what was done with arrays before there were dependences.
    """

    scop: Scop
    dependences: Dependences
    tree: isl.Schedule
    reductions: Mapping[str, Reduction]
    changes: tuple[NestChange, ...] = field(default=(), kw_only=True)

    @cached_property
    def loops(self) -> tuple[SourceLoop, ...]:
        """Returns the loops of the source."""
        return source_loops(self.scop)

    @cached_property
    def scheduled(self) -> tuple[ScheduledLoop, ...]:
        """Returns the loops of the schedule, outer loops first."""
        return scheduled_loops(self.tree, self.scop)

    @cached_property
    def relaxed(self) -> isl.UnionMap:
        """Returns { S[i] -> T[j] }, the dependences without those among updates of reductions."""
        return relaxed_validity(self.dependences, self.scop, self.reductions)

    @cached_property
    def summed(self) -> frozenset[str]:
        """Returns the statements some of whose updates may run in any order although they are of one element."""
        if not self.reductions:
            return frozenset()
        free = self.dependences.validity.intersect(relaxed(self.scop, self.reductions))  # what `self.relaxed` leaves out
        return frozenset(polyhedra.set_names(free.domain()))

    def told(self, names: Iterable[str]) -> str:
        """Returns the names of statements with their lines of the source, "S0 (line 4), S1 (line 5)"."""
        return ", ".join(self._told(self.scop.statements[name]) for name in names)

    def _told(self, statement: Statement) -> str:
        return statement.name if statement.loc is None else f"{statement.name} (line {statement.loc.line})"

    def running(self, loop: SourceLoop) -> list[ScheduledLoop]:
        """Returns the loops of the schedule that run a loop of the source, outer loops first."""
        return list(running(loop, self.scheduled))

    def conflict(self, broken: isl.UnionMap) -> Conflict:
        """Returns a smallest pair of those that would be broken."""
        return conflict(broken, self.scop, self.loops)


@dataclass(frozen=True, eq=False)
class Facts(OrderFacts):
    """What is known of one compilation of a kernel for a processor.

    program: its loops.
    unpacked: the program before copies were chosen; None where none were looked for.
    scalar: the program before lanes were chosen; None where none were looked for.
    notes: what the passes noted.
    layouts: of the arguments that are arrays.
    sizes: values of parameters by which lanes were chosen; None where they were not known.
    aliased: whether the code is for arguments that share memory.
    ordered: the loops that run in order, as parts of regions.
    """

    program: Program
    unpacked: Program | None
    scalar: Program | None
    notes: tuple[str, ...]
    options: Options
    machine: CpuMachine
    layouts: tuple[str, ...]
    sizes: Mapping[str, int] | None
    aliased: bool
    ordered: tuple[OrderedLoop, ...] = ()

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Returns where the program runs the statements."""
        return runs(self.program, self.scop)

    @cached_property
    def prices(self) -> Prices:
        """Returns what lanes would have cost, by statement of the program and position of an iterator."""
        if self.scalar is None:
            return {}
        return lane_prices(self.scalar, self.machine, self.layouts, self.sizes)

    @cached_property
    def not_packed(self) -> tuple[Refusal, ...]:
        """Returns why arrays that loops over tiles read have no copies."""
        return () if self.unpacked is None else refusals(self.unpacked, self.machine, self.layouts, self.sizes)

    def runs_of(self, loop: SourceLoop) -> list[Run]:
        """Returns where the program runs the statements of a loop of the source."""
        return [run for run in self.runs if run.statement in loop.positions]

    def price_of(self, run: Run, position: int) -> LanePrice | None:
        """Returns what lanes along an iterator would have cost where the program runs a statement; None where it is not known."""
        return self.prices.get((run.own_name, position))
