"""The candidates for the code of a kernel, from the fastest on: the first one that can be generated is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import islpy as isl

from polyml.codegen.analysis.integer_ranges import LeavesRange
from polyml.codegen.ir.program import CannotRunTogether
from polyml.config import Options
from polyml.errors import NotAffineError
from polyml.model.core.call_interface import SizeRelation
from polyml.pipeline import passes
from polyml.pipeline.compile_budget import CompileBudget, TooMuchCode
from polyml.pipeline.generate import CallFacts, CodeCandidate, Generated, TooFarExpanded, generate
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.regions.conditional_loops import conditional_loops
from polyml.pipeline.size_guards import related_sizes, sizes_used
from polyml.pipeline.stages import CompileRequest, Model, divided, in_blocks
from polyml.polyhedra import BudgetExceeded, account
from polyml.runtime.storage.disk_cache import Cache
from polyml.schedule.affine.source_threads import with_lanes, with_threads
from polyml.schedule.compute import Scheduled, ScheduleRequest
from polyml.schedule.script.schedule import OBJECTS
from polyml.source import Loc
from polyml.values import cached_property


def searched(
    model: Model,
    wanted: CompileRequest,
    schedules: Cache | None,
    runner: PassRunner,
    emits: str = OBJECTS,
    in_region: Callable[[frozenset[Loc]], Model | None] | None = None,
) -> Generated:
    """Tries candidates for the code of a model, from the fastest on, and returns the code of the first one that can be generated.

    wanted: what the kernel is compiled for.
    schedules: the cache of schedules that were found before; None: none is kept.
    emits: how much is made, as for `generate`.
    in_region: makes a model in which loops at some places are in regions, which keep conditions as branches. It is used for loops that a
        condition skips, and where a schedule takes too much memory for the values of a scalar, as a condition that several statements
        have; None: the source's order is.
    Raises NotAffineError where no candidate can be generated.
    """
    if in_region is not None and not model.scop.has_regions and (places := conditional_loops(model.scop)):
        inside = in_region(places)
        if inside is not None:
            return _searched(inside, wanted, schedules, runner, emits, True)
    try:
        return _searched(model, wanted, schedules, runner, emits, in_region is None)
    except TooFarExpanded as found:
        inside = None if in_region is None else in_region(found.places)
        return _searched(inside or model, wanted, schedules, runner, emits, True)


def _searched(
    model: Model, wanted: CompileRequest, schedules: Cache | None, runner: PassRunner, emits: str, expanded: bool
) -> Generated:
    """Returns the code of the first candidate that can be generated. Raises TooFarExpanded, unless `expanded` says to go on then."""
    options, aliased = wanted.options, wanted.aliased
    limit = CompileBudget(options.compile_budget_s)
    search = _CandidateSearch(model, wanted, schedules, runner, emits, expanded)
    if model.scop.has_regions:
        return _with_regions(search)
    transform = options.schedule == "auto" and not aliased and not model.unknown
    made = None
    try:
        with account(limit.search):
            forms = divided(model, options, runner) if transform else []
            if transform and not forms:
                forms, notes = in_blocks(model, runner, options, wanted.machine.cache(2).size_bytes)
                search.notes += notes
            made = search.first(_candidates(options, transform, aliased, model, forms))
    except BudgetExceeded as reason:
        search.notes.append(f"the search given up: {reason}")
    if made is None:
        try:
            with account(limit.last):
                made = search.first([CodeCandidate("source order", model, False, False)])
        except BudgetExceeded as reason:
            search.notes.append(f"source order given up: {reason}")
    if made is not None:
        return replace(made, notes=(*search.notes, *made.notes))
    if search.leaves_range:
        raise NotAffineError("an integer of its loops may leave 64 bits")
    raise NotAffineError("no form of the kernel could be generated", notes=search.notes)


def _with_regions(search: _CandidateSearch) -> Generated:
    """Returns the code of a model with regions: in the source's order, in which loops that carry no dependence go to threads,
    and to lanes.
    """
    tried = (True, False) if search.wanted.options.vectorize else (False,)
    made = search.first([CodeCandidate("source order", search.model, False, together) for together in tried])
    if made is None:
        raise NotAffineError("no form of the kernel could be generated", notes=search.notes)
    return made


def _candidates(options: Options, transform: bool, aliased: bool, model: Model, forms: list[Model]) -> list[CodeCandidate]:
    """Returns the candidates for the code of a model, from the fastest on. The source's order without vectors is not one of them.

    transform: whether there may be other orders than the source's.
    aliased: whether arguments may share memory.
    forms: the models that index-set splitting makes of the model, which the fastest code is expected of first.
    """
    together = options.vectorize and not aliased and not model.unknown
    candidates = []
    for form in [*forms, model] if transform else []:
        of_form = "with a running maximum" if form.blocked else "of pieces of index sets"
        name = "the schedule" if form is model else f"the schedule {of_form}"
        candidates += [
            CodeCandidate(name, form, True, together, cut) for cut in ((True,) if form.versions or form.blocked else (True, False))
        ]
    if transform and options.tile:
        candidates.append(CodeCandidate("the schedule without tiles", model, True, together, is_small=True))
    if together:
        candidates.append(CodeCandidate("source order with vectors", model, False, True))
    return candidates


@dataclass
class _CandidateSearch:
    """A candidate search tries ways to make code of a model, one after another, until one can be generated.

    wanted: what the kernel is compiled for.
    schedules: the cache of schedules that were found before; None: none is kept.
    emits: how much is made of a candidate.
    expanded: whether the search goes on where a scalar is expanded too far.
    notes: why candidates were given up.
    leaves_range: whether the last candidate was given up because an integer of its loops may leave 64 bits.
    """

    model: Model
    wanted: CompileRequest
    schedules: Cache | None
    runner: PassRunner
    emits: str
    expanded: bool
    notes: list[str] = field(default_factory=list)
    leaves_range: bool = False
    _failed: Scheduled | None = None
    _too_much: bool = False

    def first(self, candidates: Sequence[CodeCandidate]) -> Generated | None:
        """Returns the code of the first of the candidates that can be generated; None where none can."""
        return next(filter(None, map(self._made, candidates)), None)

    def _made(self, candidate: CodeCandidate) -> Generated | None:
        """Returns the code of a candidate; None where it is given up, with a note that says why."""
        if candidate.is_small and not self._too_much:
            return None
        scheduled = self._scheduled(candidate)
        if scheduled is None:
            return None
        call = CallFacts(self.wanted, self.model.typical, self._related)
        try:
            return generate(candidate, scheduled, call, self.runner, self.emits)
        except (BudgetExceeded, CannotRunTogether, isl.Error) as reason:
            if isinstance(reason, TooFarExpanded) and not self.expanded:
                raise
            self._failed, self.leaves_range = scheduled, isinstance(reason, LeavesRange)
            self._too_much = self._too_much or isinstance(reason, TooMuchCode)
            self.notes.append(f"{candidate.name}{' in slabs or tiles over time' if scheduled.cut else ''} given up: {reason}")
            return None

    def _scheduled(self, candidate: CodeCandidate) -> Scheduled | None:
        """Returns the schedule of a candidate; None where its code is not worth a trial, for one of three reasons.

        It would get the same schedule as the last candidate that was given up. Or it copies values before they are overwritten
        (node splitting), but even so no strongly connected component could be divided. Or its sums are in blocks of columns, but
        no nests share these blocks.
        """
        form, options = candidate.model, self.wanted.options
        if form.scop.has_regions and not self.wanted.aliased and not form.unknown:
            tree = with_lanes(form.scop.schedule, form.dependences) if candidate.together else form.scop.schedule
            if options.parallel and not options.runs_alone:
                tree = with_threads(form.scop, form.dependences, form.reductions, tree)
            return Scheduled(tree, ("source order around regions",))
        if not candidate.transform:
            return Scheduled(form.scop.schedule, (_reason(options, self.wanted.aliased, self.model),))
        if self._failed is not None and not candidate.cut and not self._failed.cut and not candidate.is_small:
            return None
        request = ScheduleRequest(
            self.wanted.machine, tile=options.tile and not candidate.is_small, parallel=options.parallel, alone=options.runs_alone, cut=candidate.cut,
            fusion=options.fusion, pieces=form.pieces, sizes=self.model.typical, free=len(sizes_used(form.scop)) - len(self._related),
        )  # fmt: skip
        known: dict[str, Any] = {"reductions": form.reductions, "budget": options.compile_budget_s}
        found = self.runner.run(passes.SCHEDULE, form.scop, form.dependences, request, cache=self.schedules, **known)
        if form.blocked and not found.blocked:
            self.notes.append("no running maximum: its nests share no blocks of columns")
            return None
        return None if form.versions and not found.cut else found

    @cached_property
    def _related(self) -> tuple[SizeRelation, ...]:
        """Returns the relations between sizes, such as N = M + 1, that hold in the call that the code is for."""
        return related_sizes(self.model.scop, self.wanted.sizes)


def _reason(options: Options, aliased: bool, model: Model) -> str:
    """Returns a note that says why the source's order is kept, for a candidate without a schedule of its own."""
    if aliased:
        return "source order: arguments overlap"
    if model.unknown:
        return f"source order: {model.unknown}"
    return "source order: as asked" if options.schedule == "source" else "source order"
