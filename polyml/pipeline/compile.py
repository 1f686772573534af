"""The compiler as the list of its stages.

kernel -> typed -> scop -> dependences -> schedule -> program -> llvm -> object code
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property

import islpy as isl
import llvmlite.binding  # noqa: F401  as isl: loaded with the compiler, not in the midst of its first kernel

import polyml.frontend.parsing.parse  # noqa: F401  as well
from polyml import debug, interrupts, polyhedra
from polyml.codegen.analysis.integer_ranges import LeavesRange
from polyml.codegen.astgen.build import build
from polyml.codegen.ir import printer as program_text
from polyml.codegen.ir.accesses import as_parameters
from polyml.codegen.ir.from_isl import integer_expression
from polyml.codegen.ir.program import CannotRunTogether, Program
from polyml.codegen.llvm import builder
from polyml.codegen.llvm.emit import ENTRY, emit
from polyml.codegen.passes.balance import with_even_shares
from polyml.codegen.passes.fold_storage import with_rings
from polyml.codegen.passes.full_tiles import separate_full_tiles
from polyml.codegen.passes.index_bounds import with_extremes
from polyml.codegen.passes.packing.pack import pack
from polyml.codegen.passes.prefetch import with_fetches
from polyml.codegen.passes.privatize import with_private_arrays
from polyml.codegen.passes.privatize_reductions import with_partial_results
from polyml.codegen.passes.split_loops import with_cuts
from polyml.codegen.passes.vectorize import vectorize
from polyml.config import Options
from polyml.dtypes import BY_PART, F16
from polyml.errors import CompileError, NotAffineError, PolymlError, ScheduleError
from polyml.frontend import syntax
from polyml.frontend.text import writer as kernel_text
from polyml.frontend.types.infer import infer
from polyml.machines import cpu
from polyml.model.core import printer as model_text
from polyml.model.core.call_interface import ArrayResult
from polyml.model.core.dependence import Dependences, dependences, pairs_to_compare
from polyml.model.core.reductions import Reduction, reductions, scans, term_by_term
from polyml.model.core.scop import Check, Role, Scop
from polyml.model.lowering.extract import extract
from polyml.model.scop_passes.align_slices import rebase
from polyml.model.scop_passes.array_expansion import expand_arrays
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.pipeline.compile_budget import CompileBudget, TooMuchCode
from polyml.polyhedra import BudgetExceeded, account, budget
from polyml.runtime.loading.assemble import Assembler
from polyml.runtime.storage.artifact import Artifact, ResultArray, record
from polyml.runtime.storage.disk_cache import Cache
from polyml.runtime.storage.schedule_cache import remembered
from polyml.runtime.storage.size_classes import Alike, Sizes, alike
from polyml.schedule.affine.distribution import divide, with_versions
from polyml.schedule.analysis.contraction_roles import has_contraction
from polyml.schedule.compute import Scheduled
from polyml.schedule.script import printer
from polyml.schedule.script import schedule as script
from polyml.schedule.script.file import Saved, check_name, tree_of
from polyml.schedule.script.problem import Problem
from polyml.schedule.script.schedule import NOTHING, OBJECTS, TEXT, Schedule
from polyml.schedule.tree.loop_tree import loops, read, write

DIVISION_OPERATIONS = 300_000  # isl operations to split index sets
CODE_OPERATIONS = 3_000_000  # isl operations from schedule to code
COMPARED_PAIRS = 20_000  # of statements of one nest that share arrays: two seconds of a search for a schedule; time grows with them


@dataclass(frozen=True)
class Compiled:
    """A kernel for one signature, with what every stage made.

    timings: stage -> seconds, in order.
    """

    kernel: syntax.Kernel
    scop: Scop = field(repr=False)
    dependences: Dependences = field(repr=False)
    schedule: isl.Schedule = field(repr=False)
    program: Program = field(repr=False)
    llvm: str = field(repr=False)
    artifact: Artifact = field(repr=False)
    timings: dict[str, float]

    @property
    def stages(self) -> dict[str, Callable[[], str]]:
        """The readable text of each stage, by the names of `config.STAGES`."""
        return {
            "kernel": lambda: kernel_text.text(self.kernel),
            "domain": lambda: model_text.scop_text(self.scop),
            "deps": lambda: model_text.dependences_text(self.dependences),
            "schedule": lambda: model_text.schedule_text(self.schedule),
            "ast": lambda: program_text.text(self.program),
            "llvm": lambda: self.llvm,
            "asm": lambda: self.asm,
        }

    @property
    def data(self) -> dict[str, Callable[[], object]]:
        """Stages that are data, for JSON."""
        return {
            "domain": lambda: model_text.scop_data(self.scop),
            "deps": lambda: model_text.dependences_data(self.dependences),
            "schedule": lambda: {"schedule": str(self.schedule), "notes": list(self.artifact.notes)},
            "ast": lambda: program_text.program_data(self.program),
        }

    @cached_property
    def asm(self) -> str:
        """The assembly of the host's CPU."""
        from polyml.runtime.loading.assemble import assembly

        host = cpu.host()
        return assembly(self.llvm, cpu=host.cpu_name, features=host.features)


def compile(
    kernel: syntax.Kernel,
    types: tuple[syntax.ArgType, ...],
    layouts: tuple[str, ...],
    options: Options,
    aliased: bool = False,
    sizes: Sizes | None = None,
    schedules: Cache | None = None,
    given: Saved | None = None,
) -> Compiled:
    """Machine code of a parsed kernel for arguments of these types.

    layouts: per array argument "C", "F" or "A". aliased: arguments may overlap, so the source's order is kept exactly.
    sizes: to choose tiles by; None: for all sizes alike. schedules: where those found before are kept.
    given: the schedule, where it is not to be looked for.
    Raises LanguageError, NotAffineError or PolymlTypeError for what the language does not have, ScheduleError or
    IllegalSchedule for a given schedule that is for something else.
    """
    timings: dict[str, float] = {}
    stage = _Clock(timings)
    transform = given is not None or options.schedule == "auto"
    of_sizes = sizes if given is None else dict(given.sizes) or None
    model = _modelled_within(kernel, types, options, aliased, transform and not aliased, of_sizes, stage)
    if given is not None and not aliased:
        related = given.alike if sizes is None or sizes.alike else ()  # else these sizes are not so related
        model = stage("pieces", lambda: _form_of({s.name for s in given.statements}, model, options))
        problem = _problem(model, layouts, options, given.sized, related, nullcontext)
        tree = stage("schedule", lambda: _proved(given, problem))
        made = _generate_given(problem, model, tree, layouts, options, stage, OBJECTS)
    else:
        made = _searched(model, layouts, options, aliased, sizes, schedules, stage)
    with made.assembler as assembler:
        code = stage("object", assembler.objects)
    notes = made.notes + made.program.notes
    artifact = _artifact(made.program.scop, model.typed, layouts, code, aliased, notes, made)
    model = made.model
    compiled = Compiled(
        model.typed, model.scop, model.dependences, made.tree, made.program, builder.text(made.units), artifact, timings
    )
    for name, text in compiled.stages.items():
        if name in options.debug:
            debug.dump(name, text, name=kernel.name)
    return compiled


@dataclass(frozen=True)
class _Model:
    """The stages before a schedule. typical: values of parameters in the call that the code is for. expands: whether arrays
    have more elements where these are known. pieces: statements that are pieces of others. versions: whether values that are
    overwritten have arrays, which is for slabs alone. unknown: why dependences are not known, so that the source's order is kept; ""
    where they are.
    """

    typed: syntax.Kernel
    scop: Scop
    dependences: Dependences
    reductions: dict[str, Reduction]
    typical: dict[str, int] | None
    expands: bool
    pieces: frozenset[str] = frozenset()
    versions: bool = False
    unknown: str = ""


def _modelled_within(
    kernel: syntax.Kernel,
    types: tuple[syntax.ArgType, ...],
    options: Options,
    aliased: bool,
    transform: bool,
    sizes: Sizes | dict[str, int] | None,
    stage: _Clock,
) -> _Model:
    """The model, without dependences where the compile budget does not suffice for them."""
    limit = CompileBudget(options.compile_budget_s)
    try:
        with account(limit.model):
            return _modelled(kernel, types, options, aliased, transform, sizes, stage)
    except BudgetExceeded:
        why = f"the compile budget of {options.compile_budget_s} s does not suffice for its dependences"
    try:
        with account(limit.last):
            return _modelled(kernel, types, options, aliased, transform, sizes, stage, unknown=why)
    except BudgetExceeded:
        notes = [f"the compile budget of {options.compile_budget_s} s does not suffice for its domains"]
        raise NotAffineError("the compiler takes too long for the function", notes=notes, code="PML-F081") from None


def _modelled(
    kernel: syntax.Kernel,
    types: tuple[syntax.ArgType, ...],
    options: Options,
    aliased: bool,
    transform: bool,
    sizes: Sizes | dict[str, int] | None,
    stage: _Clock,
    unknown: str = "",
) -> _Model:
    """unknown: why dependences are not to be looked for."""
    typed = stage("types", lambda: infer(kernel, types, aliased=aliased))
    scop = stage("domain", lambda: rebase(extract(typed, aliased=aliased, fp=options.fp)))
    if _has_halves(scop) and not cpu.host().converts_halves:
        raise NotAffineError("this processor has no instructions for float16", loc=scop.loc)
    if transform:
        scop = stage("scalars", lambda: expand(scop))
    if not unknown and pairs_to_compare(scop) > COMPARED_PAIRS:
        unknown = f"a nest has {len(scop.statements)} statements, too many that share arrays to compare them all"
    found = Dependences(scop) if unknown else stage("deps", lambda: dependences(scop))
    free = {} if aliased else stage("reductions", lambda: reductions(scop, options.fp))
    typical = _typical(scop, sizes) if isinstance(sizes, Sizes) else sizes
    expands = False
    if transform and sizes is not None and not unknown:
        known = dict.fromkeys((p.name for p in scop.parameters), 1) if typical is None else typical
        wider, within = stage("scalars", lambda: expand_arrays(scop, found, free, known))
        expands = wider is not scop
        if expands and typical is not None:
            scop, found = wider, within
            free = stage("reductions", lambda: reductions(scop, options.fp))
    return _Model(typed, term_by_term(scop, free), found, free, typical, expands, unknown=unknown)


def _divided(model: _Model, options: Options) -> list[_Model]:
    """The same with index sets split where that frees loops, first with what is overwritten in arrays of its own."""
    try:
        with budget(DIVISION_OPERATIONS):
            plain = divide(model.scop, model.dependences)
            forms = [] if plain is None else [form for form in (with_versions(plain), plain) if form is not None]
            free = [reductions(f.scop, options.fp) for f in forms]
            return [
                replace(model, scop=f.scop, dependences=f.found, reductions=r, pieces=frozenset(f.pieces), versions=f is not plain)
                for f, r in zip(forms, free)
            ]
    except BudgetExceeded:
        return []


def _form_of(names: set[str], model: _Model, options: Options) -> _Model:
    """The form of the model that has these statements, the model itself where none has."""
    if names == {*model.scop.statements}:
        return model
    return next((form for form in _divided(model, options) if {*form.scop.statements} == names), model)


def source_order(kernel: syntax.Kernel, types: tuple[syntax.ArgType, ...], options: Options) -> Program:
    """The loops as the source has them, with its own arrays and scalars."""
    scop = _modelled(kernel, types, options, False, False, None, _Clock({})).scop
    return build(scop, scop.schedule)


def schedule_of(
    kernel: syntax.Kernel,
    types: tuple[syntax.ArgType, ...],
    layouts: tuple[str, ...],
    options: Options,
    sizes: Sizes | None,
    start: str,
    alone: Callable[[], AbstractContextManager],
) -> Schedule:
    """The schedule that `compile` finds ("auto"), or the source's order ("source"), for a script to go on from."""
    model = _modelled(kernel, types, options, False, True, sizes, _Clock({}))
    if start == "source" or options.schedule == "source":
        sized = options.tile and has_contraction(model.scop) and model.typical is not None
        tree, related = model.scop.schedule, ()
    else:
        compiled = compile(kernel, types, layouts, options, False, sizes)
        model = _form_of({*compiled.scop.statements}, model, options)
        sized, tree = compiled.artifact.sized and model.typical is not None, compiled.schedule
        related = tuple(map(str, compiled.artifact.alike))
    problem = _problem(model, layouts, options, sized, related, alone)
    return script.schedule(problem, write(model.scop.domain, read(tree, model.scop.statements)))


def schedule_from(
    kernel: syntax.Kernel, given: Saved, types: tuple[syntax.ArgType, ...], layouts: tuple[str, ...], options: Options,
    alone: Callable[[], AbstractContextManager], with_code: bool = True,
) -> Schedule:  # fmt: skip
    """A saved schedule for this kernel and these arguments, proved again, and generated where that is asked too."""
    check_name(given, kernel.name)
    model = _modelled(kernel, types, options, False, True, dict(given.sizes) or None, _Clock({}))
    model = _form_of({s.name for s in given.statements}, model, options)
    problem = _problem(model, layouts, options, given.sized, given.alike, alone)
    tree = tree_of(given, problem.scop)
    (problem.check if with_code else problem.prove)(tree)
    return Schedule(problem, tree, given)


def _problem(
    model: _Model,
    layouts: tuple[str, ...],
    options: Options,
    sized: bool,
    related: tuple[str, ...],
    alone: Callable[[], AbstractContextManager],
) -> Problem:
    def generate(tree: isl.Schedule, emits: str = TEXT) -> Program:
        return _generate_given(problem, model, tree, layouts, options, _Clock({}), emits).program

    sizes = model.typical if sized or model.expands else None
    types = model.typed.types
    problem = Problem(model.scop, model.dependences, model.reductions, types, layouts, sizes, sized, related, generate, alone)
    return problem


def _proved(given: Saved, problem: Problem) -> isl.Schedule:
    tree = tree_of(given, problem.scop)
    problem.prove(tree)
    return tree


def _generate_given(
    problem: Problem,
    model: _Model,
    tree: isl.Schedule,
    layouts: tuple[str, ...],
    options: Options,
    stage: _Clock,
    emits: str,
) -> _Made:
    """LLVM text for a schedule that is given: no other way is tried."""
    asked = [loop.asked for _, loop in loops(read(tree, problem.scop.statements))]
    settings = {
        "parallel": any(a.parallel for a in asked),
        "tile": any(a.tile for a in asked),
        "vectorize": any(a.of_code for a in asked),
    }
    for name, is_used in settings.items():
        if is_used and not getattr(options, name):
            raise ScheduleError(f"the schedule has loops that the setting {name}=False forbids")
    if options.schedule == "source":
        raise ScheduleError('the setting schedule="source" forbids a schedule of one\'s own')
    printed = printer.text(problem.scop, read(tree, problem.scop.statements))
    notes = ("the schedule given:", *(f"  {line}" for line in printed.splitlines()))
    sizes = problem.sizes if problem.sized else None
    related = _alike_of(problem)
    for together in (True, False) if options.vectorize else (False,):
        way = _Way("the schedule given", model, False, together)
        try:
            scheduled = Scheduled(tree, notes, problem.sized, alike=bool(related))
            made = _generate(way, scheduled, cpu.host(), layouts, options, False, None, sizes, related, stage, emits)
            return replace(made, sized=bool(related))  # else one form is for all sizes
        except (BudgetExceeded, CannotRunTogether, isl.Error) as reason:
            if settings["vectorize"] or not together:
                raise ScheduleError(f"there is no code for the schedule: {reason}") from reason
            notes += (f"vectors given up: {reason}",)
    raise AssertionError("unreachable")


def _alike_of(problem: Problem) -> tuple[Alike, ...]:
    """The relations between sizes that the code may rely on. ScheduleError where they are not of this kernel's arrays."""
    found = []
    known = {(p.array, p.dim) for p in problem.scop.parameters if p.is_size}
    for text in problem.related:
        try:
            each = Alike.parse(text)
        except ValueError:
            raise ScheduleError(f"the schedule is damaged: `{text}` relates no sizes") from None
        if not {(each.name, each.dim), (each.other, each.dim)} <= known:
            raise ScheduleError(f"the schedule is for other sizes: `{problem.scop.name}` has none of `{text}`")
        found.append(each)
    return tuple(found)


def _searched(
    model: _Model,
    layouts: tuple[str, ...],
    options: Options,
    aliased: bool,
    sizes: Sizes | None,
    schedules: Cache | None,
    stage: _Clock,
) -> _Made:
    """LLVM text in the fastest way there is. Raises NotAffineError where there is none."""
    limit = CompileBudget(options.compile_budget_s)
    search = _Search(model, layouts, options, aliased, sizes, schedules, stage)
    transform = options.schedule == "auto" and not aliased and not model.unknown
    made = None
    try:
        with account(limit.search):
            divided = stage("pieces", lambda: _divided(model, options)) if transform else []
            made = search.first(_ways(options, transform, aliased, model, divided))
    except BudgetExceeded as reason:
        search.notes.append(f"the search given up: {reason}")
    if made is None:
        try:
            with account(limit.last):
                made = search.first([_Way("source order", model, False, False)])
        except BudgetExceeded as reason:
            search.notes.append(f"source order given up: {reason}")
    if made is not None:
        return replace(made, notes=(*search.notes, *made.notes))
    if search.leaves_range:
        raise NotAffineError("an integer of its loops may leave 64 bits", loc=model.scop.loc)
    raise NotAffineError("no form of the kernel could be generated", loc=model.scop.loc, notes=search.notes)


@dataclass
class _Search:
    """Tries ways in their order. notes: why some were given up."""

    model: _Model
    layouts: tuple[str, ...]
    options: Options
    aliased: bool
    sizes: Sizes | None
    schedules: Cache | None
    stage: _Clock
    notes: list[str] = field(default_factory=list)
    leaves_range: bool = False
    _failed: Scheduled | None = None
    _too_much: bool = False

    def first(self, ways: Sequence[_Way]) -> _Made | None:
        """The first way that there is code for."""
        return next(filter(None, map(self._made, ways)), None)

    def _made(self, way: _Way) -> _Made | None:
        if way.is_small and not self._too_much:
            return None
        scheduled = self._scheduled(way)
        if scheduled is None:
            return None
        try:
            return _generate(
                way, scheduled, cpu.host(), self.layouts, self.options, self.aliased, self.sizes, self.model.typical,
                self._related, self.stage, OBJECTS,
            )  # fmt: skip
        except (BudgetExceeded, CannotRunTogether, isl.Error) as reason:
            self._failed, self.leaves_range = scheduled, isinstance(reason, LeavesRange)
            self._too_much = self._too_much or isinstance(reason, TooMuchCode)
            self.notes.append(f"{way.name}{' in slabs or tiles over time' if scheduled.cut else ''} given up: {reason}")
            return None

    def _scheduled(self, way: _Way) -> Scheduled | None:
        """None where it would be one that failed."""
        form, options = way.model, self.options
        if not way.transform:
            return Scheduled(form.scop.schedule, (_reason(options, self.aliased, self.model),))
        if self._failed is not None and not way.cut and not self._failed.cut and not way.is_small:
            return None
        choices = {
            "tile": options.tile and not way.is_small,
            "parallel": options.parallel,
            "cut": way.cut,
            "fusion": options.fusion,
        }
        choices |= {"alone": options.runs_alone, "pieces": form.pieces, "free": len(_sizes_used(form.scop)) - len(self._related)}
        known = {"sizes": self.model.typical, "reductions": form.reductions, "budget": options.compile_budget_s}
        found = self.stage(
            "schedule", lambda: remembered(self.schedules, form.scop, form.dependences, cpu.host(), **known, **choices)
        )
        return None if form.versions and not found.cut else found

    @cached_property
    def _related(self) -> tuple[Alike, ...]:
        return _related(self.model.scop, self.sizes)


def _has_halves(scop: Scop) -> bool:
    given = (t.element if isinstance(t, syntax.ArrayType) else t.dtype for t in scop.types)
    return F16 in (*given, *(array.element for array in scop.arrays.values()))


@dataclass(frozen=True)
class _Way:
    """One way to make code. transform: look for a schedule, else the source's order. together: vectors and jams. cut:
    components may be cut into slabs or tiles over time. is_small: without tiles, for where there was too much code with them.
    """

    name: str
    model: _Model
    transform: bool
    together: bool
    cut: bool = False
    is_small: bool = False


def _ways(options: Options, transform: bool, aliased: bool, model: _Model, divided: list[_Model]) -> list[_Way]:
    """From the fastest code on, before the source's order without vectors, which always works. divided: the model with index sets
    split.
    """
    together = options.vectorize and not aliased and not model.unknown
    ways = []
    for form in [*divided, model] if transform else []:
        name = "the schedule" if form is model else "the schedule of pieces of index sets"
        ways += [_Way(name, form, True, together, cut) for cut in ((True,) if form.versions else (True, False))]
    if transform and options.tile:
        ways.append(_Way("the schedule without tiles", model, True, together, is_small=True))
    if together:
        ways.append(_Way("source order with vectors", model, False, True))
    return ways


@dataclass(frozen=True)
class _Made:
    model: _Model
    tree: isl.Schedule
    program: Program
    units: tuple[builder.Unit, ...]
    assembler: Assembler
    notes: tuple[str, ...]
    sized: bool
    related: tuple[Alike, ...]


def _generate(way, scheduled, host, layouts, options, aliased, sizes, typical, related, stage, emits) -> _Made:
    """The program in one way. emits: NOTHING of it, LLVM's TEXT, or OBJECTS, code that other threads begin to make of the text.
    Raises BudgetExceeded or CannotRunTogether.
    """
    tree, scop, free = scheduled.tree, way.model.scop, way.model.reductions
    sized = scheduled.sized or way.model.expands
    if sized and sizes is not None:
        scop = _with_check(scop, _sizes_check(scop, sizes))
    if not scheduled.sized:
        typical = None
    if not scheduled.alike:
        related = ()
    if related:
        scop = _with_related(scop, related)
    elif sizes is not None and not sizes.alike:
        scop = _for_others(scop, _related(scop, replace(sizes, alike=True)))
    with budget(CODE_OPERATIONS):
        program = stage("ast", lambda: build(scop, tree, free), "build")
        program = stage("ast", lambda: with_extremes(program), "with_extremes")
        program = stage("ast", lambda: with_partial_results(program), "with_partial_results")
        program = stage("ast", lambda: with_fetches(program), "with_fetches")
        limit = CompileBudget(options.compile_budget_s)
        if way.together:
            program = replace(program, scans=stage("reductions", lambda: scans(scop, options.fp)))
            program = stage("ast", lambda: with_even_shares(program), "with_even_shares")
            program = stage("pack", lambda: pack(program, host, layouts, typical))
            program = stage("ast", lambda: separate_full_tiles(program), "separate_full_tiles")
            program = stage("ast", lambda: with_private_arrays(program), "with_private_arrays")
            program = stage("ast", lambda: with_cuts(program), "with_cuts")
            limit.check_nodes(program)
            program = stage("vectorize", lambda: vectorize(program, host, layouts, typical))
            program = stage("ast", lambda: with_rings(program, way.model.scop.arrays.values()), "with_rings")
        if way.transform or way.together:
            limit.check_copies(program)
        threads = not options.runs_alone
        flags = {"fp": options.fp, "aliased": aliased, "layouts": layouts, "fused": host.fma, "threads": threads}
        with Assembler(cpu.usable_cores() - 1, cpu=host.cpu_name, features=host.features) as assembler:
            groups = builder.Groups(assembler.add) if emits == OBJECTS else None
            units = () if emits == NOTHING else stage("llvm", lambda: _emitted(program, groups, flags))
    return _Made(way.model, tree, program, units, assembler, scheduled.notes, sized, related)


def _emitted(program: Program, groups: builder.Groups | None, flags: dict[str, object]) -> tuple[builder.Unit, ...]:
    if groups is None:
        return emit(program, **flags)
    units = emit(program, **flags, finished=groups.add)
    groups.close()
    return units


def _typical(scop: Scop, sizes: Sizes) -> dict[str, int] | None:
    """The parameters' values in the call that the code is for."""
    if sizes.extents is None:
        return None
    shapes = dict(sizes.extents)
    return {p.name: shapes[p.array][p.dim] for p in scop.parameters if p.is_size}


def _sizes_check(scop: Scop, sizes: Sizes) -> Check:
    """Sizes for which other code is made."""
    limits = dict(sizes.limits)
    known = {p.name: limits[p.array][p.dim] for p in scop.parameters if p.is_size}
    outside = " or ".join(f"{name} < {low} or {name} > {high}" for name, (low, high) in known.items()) or "false"
    return _usual(scop, isl.Set(f"[{', '.join(known)}] -> {{ : {outside} }}"))


def _sizes_used(scop: Scop) -> dict[tuple[str, int], str]:
    """(array, dim) -> parameter of the sizes that instances depend on."""
    used = {name for s in scop.statements.values() for name in polyhedra.used_parameters(s.domain)}
    return {(p.array, p.dim): p.name for p in scop.parameters if p.is_size and p.name in used}


def _related(scop: Scop, sizes: Sizes | None) -> tuple[Alike, ...]:
    """How the sizes that matter follow from one another in calls like the one that the code is for."""
    if sizes is None or sizes.extents is None or not sizes.alike:
        return ()
    used = _sizes_used(scop)
    return alike(
        [(array, dim, extent) for array, shape in sizes.extents for dim, extent in enumerate(shape) if (array, dim) in used]
    )


def _with_related(scop: Scop, related: tuple[Alike, ...]) -> Scop:
    """The Scop for calls with sizes that are so related; others are found at entry."""
    holds = _holds(scop, related)
    return replace(_with_check(scop, _usual(scop, holds.complement())), usual=holds)


def _for_others(scop: Scop, related: tuple[Alike, ...]) -> Scop:
    """The Scop for calls with sizes that are not all so related, for which there is other code."""
    return _with_check(scop, _usual(scop, _holds(scop, related)))


def _with_check(scop: Scop, check: Check) -> Scop:
    """The Scop with one more check, before all others but those of numbers too great to compute with."""
    first = [c for c in scop.checks if c.kind == "limit"]
    return replace(scop, checks=(*first, check, *scop.checks[len(first) :]))


def _holds(scop: Scop, related: tuple[Alike, ...]) -> isl.Set:
    """The sizes that are so related."""
    names = {(p.array, p.dim): p.name for p in scop.parameters if p.is_size}
    facts = [(names[a.name, a.dim], names[a.other, a.dim], a.difference) for a in related]
    space = ", ".join(dict.fromkeys(name for fact in facts for name in fact[:2]))
    equal = " and ".join(f"{name} = {other} + {difference}" for name, other, difference in facts)
    return isl.Set(f"[{space}] -> {{ : {equal} }}")


def _usual(scop: Scop, others: isl.Set) -> Check:
    """That the sizes are none of those that another form is for."""
    what = "sizes of another form"
    return Check(kind="usual", violated=others, instances=others, iterators=(), what=what, may=True, loc=scop.loc)


def _reason(options: Options, aliased: bool, model: _Model) -> str:
    if aliased:
        return "source order: arguments overlap"
    if model.unknown:
        return f"source order: {model.unknown}"
    return "source order: as asked" if options.schedule == "source" else "source order"


_watchers: list[Callable[[str, object], None]] = []


@contextmanager
def watched(watcher: Callable[[str, object], None]) -> Iterator[None]:
    """What each pass makes is given to the watcher meanwhile, with the pass's name."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


class _Clock:
    """Runs stages and adds up their times by name. What goes wrong inside one is a CompileError that names it, and has what those before
    it made. Between two, Ctrl-C is answered.
    """

    def __init__(self, timings: dict[str, float]):
        self._timings = timings
        self._made: dict[str, object] = {}

    def __call__(self, name: str, run: Callable, single: str = ""):
        """single: the pass, where a stage has several."""
        interrupts.checkpoint()
        start = time.perf_counter()
        try:
            made = run()
            self._made.pop(name, None)
            self._made[name] = made
            for watcher in _watchers:
                watcher(single or name, made)
            return made
        except (PolymlError, BudgetExceeded, CannotRunTogether, isl.Error, RecursionError):
            raise
        except Exception as problem:
            message = f"stage {single or name} failed: {type(problem).__name__}: {problem}"
            failed = CompileError(message, notes=["this is a defect of polyml; the function itself may be fine"])
            failed.stages = tuple((each, text) for each, made in self._made.items() if (text := _text(made)))
            raise failed from problem
        finally:
            self._timings[name] = self._timings.get(name, 0.0) + time.perf_counter() - start


def _text(made: object) -> str:
    """Of what a stage made; "" where it has none."""
    texts = {
        syntax.Kernel: kernel_text.text, Scop: model_text.scop_text, Dependences: model_text.dependences_text, isl.Schedule: model_text.schedule_text,
        Scheduled: lambda found: model_text.schedule_text(found.tree), Program: program_text.text,
    }  # fmt: skip
    try:
        return texts.get(type(made), lambda _: "")(made)
    except Exception as problem:  # of what a defect left
        return f"(it cannot be printed: {problem!r})"


def _artifact(
    scop: Scop,
    typed: syntax.Kernel,
    layouts: tuple[str, ...],
    code: bytes,
    aliased: bool,
    notes: tuple[str, ...],
    made: _Made,
) -> Artifact:
    called = {a.name: a.source_name for a in scop.arrays.values() if a.role is Role.ARGUMENT}  # by the caller
    written = {called.get(s.write.array) for s in scop.statements.values()}
    returned = [a for a in scop.arrays.values() if a.role is Role.RESULT]
    return Artifact(
        name=scop.name,
        params=scop.params,
        types=typed.types,
        layouts=layouts,
        entry=ENTRY,
        object_code=code,
        checks=tuple(record(c) for c in scop.checks),
        parameters=scop.parameters,
        results=tuple(replace(r, array=called.get(r.array, r.array)) if isinstance(r, ArrayResult) else r for r in scop.results),
        result_is_tuple=scop.result_is_tuple,
        result_arrays=tuple(
            ResultArray(
                a.name,
                (BY_PART[a.element] if a.pairs else a.element).numpy_name,
                tuple(str(integer_expression(as_parameters(e))) for e in (a.shape[1:] if a.pairs else a.shape)),
            )
            for a in returned
        ),
        written=tuple(p for p in scop.params if p in written),
        aliased=aliased,
        notes=notes,
        sized=made.sized,
        alike=made.related,
    )
