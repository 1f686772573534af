"""What becomes of loops around regions: those that threads share, or that have such loops inside, are loops of the model.

Others become a part of the regions in them. So do loops that data end (`while`, `break`), unless loops inside of them have enough work for
threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.model.core.dependence import Dependences
from polyml.model.index_arrays.row_sums import with_terms
from polyml.model.lowering.regions.ended_loops import ended_places
from polyml.model.lowering.regions.region_building import LoopsAround, has_loops, pays_tiles
from polyml.pipeline.compile_budget import CompileBudget
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.stages import Model, ModelRequest, model_of_scop, scop_of
from polyml.polyhedra import BudgetExceeded, account
from polyml.runtime.storage.size_classes import Sizes
from polyml.schedule.affine.source_threads import (
    OrderedLoop,
    RowWork,
    in_order,
    loops_around_threads,
    region_work,
    rows_of_regions,
    sequential_loops,
    work_inside,
)
from polyml.source import Loc

_Judged = TypeVar("_Judged")  # what is said of a model

SMALL = 16  # elements along each dimension of arrays that are too small for their sizes to be looked at
LEAST_WORK = 2**14  # plain instances of a loop, or in an iteration of one around it, that are worth threads


@dataclass(frozen=True)
class Remodelling:
    """A Remodelling makes the model of a kernel anew. with_loops: makes that in which loops become what it is told"""

    wanted: ModelRequest
    with_loops: Callable[[LoopsAround], Model]
    runner: PassRunner

    def known(self, model: Model) -> Dependences | None:
        """Returns the dependences of a model; None where arrays may be the same, or data decide what accesses may meet."""
        return None if model.unknown or self.wanted.aliased else model.dependences

    def is_shared(self, model: Model) -> bool:
        """Returns whether several threads may share loops of a model."""
        options = self.wanted.options
        return self.known(model) is not None and options.parallel and not options.runs_alone

    def runs_together(self, model: Model) -> bool:
        """Returns whether several iterations of a model's loops may run together: as vectors, or on threads."""
        return self.is_shared(model) or self.known(model) is not None and self.wanted.options.vectorize

    def typical(self, model: Model) -> Mapping[str, int]:
        """Returns the values of a model's parameters in the call that code is made for, as far as they are known."""
        if model.typical is not None or not isinstance(self.wanted.sizes, Sizes) or not self.wanted.sizes.limits:
            return model.typical or {}
        return {p.name: SMALL for p in model.scop.parameters if p.is_size}  # of small arrays, which have code of their own

    def sequential(self, model: Model, kept: frozenset[Loc] = frozenset()) -> frozenset[Loc]:
        """Returns the places of the outermost loops around regions of which no loop may go to threads. kept: those of loops that stay"""
        worth = RowWork(LEAST_WORK if self.is_shared(model) else math.inf, self.typical(model))
        return sequential_loops(model.scop, self.known(model), kept, worth)

    def work(self, model: Model) -> dict[Loc, int]:
        """Returns the work of loops around regions that go to threads, as `region_work` does; none where dependences are not known."""
        known = self.known(model)
        return {} if known is None else region_work(model.scop, known, self.typical(model))

    def tried(self, typed: syntax.Kernel, around: LoopsAround, judged: Callable[[Model], _Judged]) -> tuple[Model, _Judged] | None:
        """Returns the model of a kernel in another form, and what is said of it; None where there is none within the compile budget.

        typed: the form, with its types
        around: what becomes of its loops around regions
        judged: says it
        """
        request = replace(self.wanted, around=around)
        try:
            with account(CompileBudget(self.wanted.options.compile_budget_s).model):
                made = model_of_scop(typed, scop_of(typed, request, self.runner), request, self.runner)
                return made, judged(made)
        except (BudgetExceeded, NotAffineError):
            return None

    def judges_rows(self, model: Model) -> bool:
        """Returns whether it depends on sizes which loops of a model are loops of regions."""
        known = self.known(model)
        return known is not None and self.is_shared(model) and bool(rows_of_regions(model.scop, known))


@dataclass(frozen=True)
class Around:
    """An Around is a model with what became of its loops around regions.

    apart: the model in which those are loops that became a part of regions
    by_sizes: whether that depends on the sizes of the call
    """

    model: Model
    loops: LoopsAround
    apart: Model
    by_sizes: bool = False

    def ordered(self, is_known: bool) -> tuple[OrderedLoop, ...]:
        """Returns the loops that run in order, in regions. is_known: whether dependences are known"""
        return in_order(self.apart.scop, self.loops.sequential, is_known)


def divided(model: Model, make: Remodelling) -> Around:
    """Returns the model in which a loop that carries a dependence is divided where loops inside of it go to threads then."""
    places, by_sizes = make.sequential(model), make.judges_rows(model)
    if not places:
        return Around(model, LoopsAround(), model, by_sizes)
    if any(has_loops(s) and s.loops[0] in places for s in model.scop.statements.values()):
        try:
            parts = make.with_loops(LoopsAround(divided=places))
            tried = summed(Around(parts, LoopsAround(make.sequential(parts, places), places), parts), make)
            left = make.sequential(tried.model) - loops_around_threads(tried.model.scop, make.known(tried.model))
            if not places <= left:
                made = _settled(LoopsAround(places & left, places - left), make)
                return replace(made, by_sizes=by_sizes or tried.by_sizes)
        except NotAffineError:  # of what affects one region alone
            pass
    loops = LoopsAround(places)
    return Around(make.with_loops(loops), loops, model, by_sizes)


def _settled(loops: LoopsAround, make: Remodelling) -> Around:
    """Returns the model with some loops divided, in which the loops inside of them that run in order are parts of regions too."""
    apart = make.with_loops(loops)
    loops = replace(loops, sequential=loops.sequential | make.sequential(apart, loops.divided))
    return Around(make.with_loops(loops), loops, apart)


def with_ended(around: Around, make: Remodelling) -> Around:
    """Returns the model in which loops that data end are loops of the model too, where loops inside of them are worth threads or vectors, and
    what becomes of loops then.
    """
    ended = frozenset(ended_places(around.model.typed.body))
    if not ended or not make.runs_together(around.model):
        return around
    try:
        parts = _settled(LoopsAround(around.loops.sequential, around.loops.divided | ended), make)
        tried = summed(parts, make)
        known = make.known(tried.model)
        is_shared, scop = make.is_shared(around.model), tried.model.scop
        work = {} if known is None else work_inside(scop, known, tried.model.reductions, make.typical(tried.model), is_shared)
        work = {place: found for place, found in work.items() if place in ended}
        worth = frozenset(place for place, found in work.items() if found >= LEAST_WORK)
        made = _settled(LoopsAround(around.loops.sequential, around.loops.divided | worth), make) if worth else around
        if pays_tiles(made.model.scop) and not is_shared:
            return around
    except NotAffineError:  # of what affects one region alone
        return around
    return replace(made, by_sizes=around.by_sizes or any(work.values()))


def summed(around: Around, make: Remodelling) -> Around:
    """Returns the model in which what iterations of regions add to numbers is added up behind their loops, where the iterations then go to
    threads and are worth it.
    """
    model, loops, wanted = around.model, around.loops, make.wanted
    if not loops.sequential or not make.is_shared(model):
        return around
    apart, by_sizes = loops.sequential, around.by_sizes
    for is_settled in (False, True):
        typed = with_terms(model.typed, apart, wanted.options.fp != "strict")
        if typed is model.typed:
            break
        kept = replace(loops, sequential=loops.sequential - apart)
        tried = make.tried(typed, kept, (lambda made: {}) if is_settled else make.work)
        if tried is None:
            break
        made, work = tried
        if is_settled:
            made = replace(made, typed=model.typed, notes=model.notes, chosen_by_sizes=model.chosen_by_sizes)
            return Around(made, kept, around.apart, True)
        apart, by_sizes = (
            apart & {place for place, found in work.items() if found >= LEAST_WORK},
            by_sizes or bool(apart & work.keys()),
        )
    return replace(around, by_sizes=by_sizes)
