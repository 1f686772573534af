"""The stages before a schedule: a kernel becomes a SCoP, with its dependences and the updates whose order is free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from polyml.config import Options
from polyml.dtypes import F16
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.algebra.rewrite import Rewritten
from polyml.frontend.types.infer import infer
from polyml.machines import cpu
from polyml.model.core.dependence import Dependences, pairs_to_compare
from polyml.model.core.iteration_context import outermost
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.model.lowering.parameters import parameter_context
from polyml.model.lowering.regions.region_building import PLAIN_LOOPS, LoopsAround
from polyml.model.scop_passes.masked_updates import left_out
from polyml.pipeline import passes
from polyml.pipeline.compile_budget import CompileBudget
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.size_guards import extents_of, extents_of_parameters, typical_sizes
from polyml.polyhedra import BudgetExceeded, account, budget
from polyml.runtime.storage.size_classes import Sizes
from polyml.schedule.affine.source_threads import OrderedLoop
from polyml.source import Loc

DIVISION_OPERATIONS = 300_000  # isl operations to split index sets
BLOCK_OPERATIONS = 500_000  # and for the dependences of sums in blocks of columns
COMPARED_PAIRS = 20_000  # pairs of statements of a nest that share arrays: more take isl over two seconds


@dataclass(frozen=True)
class CompileRequest:
    """A compile request says what a kernel is compiled for.

    types: the types of the arguments.
    layouts: the layouts of the array arguments, each "C", "F" or "A".
    options: the settings.
    aliased: whether arguments may share memory, so that the source's order is kept exactly.
    sizes: the sizes of the call, by which tiles are chosen; None: the code is for all sizes alike.
    machine: the processor that the code is for.
    alike: whether sizes that are equal in the call may be taken to be equal before there is a schedule.
    general: whether what is affine only for known sizes and integer arguments becomes regions, for all of them.
    restarts: whether the caller runs a call as plain Python that ends with `Status.RESTARTED`.
    expects: whether index arrays may be expected to be row pointers, since the caller has other code for calls in which they are not.
    """

    types: tuple[syntax.ArgType, ...]
    layouts: tuple[str, ...]
    options: Options
    aliased: bool = False
    sizes: Sizes | None = None
    machine: cpu.CpuMachine = field(default_factory=lambda: cpu.host())
    alike: bool = True
    general: bool = False
    restarts: bool = True
    expects: bool = False


@dataclass(frozen=True)
class ModelRequest:
    """A model request says what the model of a kernel is made for.

    options: the settings.
    aliased: whether arguments may share memory.
    transform: whether another order than the source's is looked for.
    sizes: the sizes of the call with the limits between which the code is used, or just {parameter: value}; None: not known.
    machine: the processor that code is made for.
    alike: whether sizes that are equal in the call may be taken to be equal, so that other calls need another model.
    regions: whether what is not affine becomes regions.
    around: what becomes of loops that have regions inside.
    tested: where indices and slices are tested as the program runs; None: nowhere, there are no regions.
    late: whether data may decide sizes of arrays that have no bound at entry.
    general: whether what is affine only for known sizes and integer arguments is not affine.
    restarts: whether a call may end with `Status.RESTARTED`, so that plain Python runs it.
    expects: whether the code may be for index arrays that are row pointers alone, which it tests.
    """

    options: Options
    aliased: bool = False
    transform: bool = True
    sizes: Sizes | Mapping[str, int] | None = None
    machine: cpu.CpuMachine = field(default_factory=lambda: cpu.host())
    alike: bool = False
    regions: bool = False
    around: LoopsAround = PLAIN_LOOPS
    tested: frozenset[Loc] | None = None
    late: bool = False
    general: bool = False
    restarts: bool = False
    expects: bool = False

    @property
    def extents(self) -> dict[tuple[str, int], int] | None:
        """Returns the extents of arrays by which sizes are taken to be equal; None where none are."""
        if not isinstance(self.sizes, Sizes) or not self.sizes.is_related:
            return None
        return extents_of(self.sizes) if self.alike and self.transform and not self.aliased else None


@dataclass(frozen=True)
class Model:
    """A model is a kernel as a SCoP, with what is known of it before there is a schedule.

    typed: the kernel with its types; it has no statements where the SCoP was read from a text.
    scop: the statements, { S[i] }.
    dependences: { S[i] -> S[i'] }; empty where they are not known.
    reductions: {statement: the reduction that it is an update of, so that its updates may run in any order}.
    typical: {parameter: value}, the sizes in the call that the code is for; None where they are not known.
    expands: whether array expansion changes the arrays; it does so for given sizes, so that the code is for these alone.
    pieces: the statements that index-set splitting made.
    versions: whether values are copied before they are overwritten (node splitting), which pays only where a strongly connected
        component is then divided into blocks of columns.
    blocked: whether sums run in blocks of columns with a running maximum, which pays only where nests share these blocks.
    unknown: why dependences are not known, so that the source's order is kept; "" where they are.
    notes: what was done to the kernel's expressions and sums before, for `explain`.
    chosen_by_sizes: whether expressions are written in the form that is cheapest for the sizes of the call.
    ordered: the loops that run in order, as parts of regions.
    """

    typed: syntax.Kernel
    scop: Scop
    dependences: Dependences
    reductions: dict[str, Reduction]
    typical: Mapping[str, int] | None
    expands: bool
    pieces: frozenset[str] = frozenset()
    versions: bool = False
    blocked: bool = False
    unknown: str = ""
    notes: tuple[str, ...] = ()
    chosen_by_sizes: bool = False
    ordered: tuple[OrderedLoop, ...] = ()


def modelled(kernel: syntax.Kernel, types: tuple[syntax.ArgType, ...], wanted: ModelRequest, runner: PassRunner) -> Model:
    """Returns the model of a kernel for these argument types, within the compile budget.

    Where the budget does not suffice, the model has no dependences; where it does not even suffice for the domains, NotAffineError
    is raised.
    """
    seconds = wanted.options.compile_budget_s
    limit = CompileBudget(seconds)
    try:
        with account(limit.model):
            return model_of(kernel, types, wanted, runner)
    except BudgetExceeded:
        why = f"the compile budget of {seconds} s does not suffice for its dependences"
    try:
        with account(limit.last):
            return model_of(kernel, types, wanted, runner, unknown=why)
    except BudgetExceeded:
        notes = [f"the compile budget of {seconds} s does not suffice for its domains"]
        raise NotAffineError("the compiler takes too long for the function", notes=notes, code="PML-F081") from None


def model_of(
    kernel: syntax.Kernel, types: tuple[syntax.ArgType, ...], wanted: ModelRequest, runner: PassRunner, unknown: str = ""
) -> Model:
    """Returns the model of a kernel for these argument types. Raises BudgetExceeded where isl takes longer than the budget in
    force.

    unknown: why dependences are not looked for; "": they are.
    """
    made = _rewritten(kernel, types, wanted, runner)
    kernel, notes = made.kernel, tuple(map(str, made.rewrites))
    typed = runner.run(passes.INFER, kernel, types, aliased=wanted.aliased, tested=wanted.tested, late=wanted.late)
    model = model_of_scop(typed, scop_of(typed, wanted, runner), wanted, runner, unknown)
    return replace(model, notes=notes + model.notes, chosen_by_sizes=made.depends_on_sizes)


def _rewritten(kernel: syntax.Kernel, types: tuple[syntax.ArgType, ...], wanted: ModelRequest, runner: PassRunner) -> Rewritten:
    """Returns a kernel with its array expressions in the form that is cheapest for the sizes of the call, where those are known."""
    if not wanted.transform or wanted.aliased:
        return Rewritten(kernel)
    sizes, fp = wanted.sizes, wanted.options.fp
    if isinstance(sizes, Sizes) or sizes is None:
        extents = extents_of(sizes)
        made = runner.run(passes.ALGEBRA, kernel, types, fp=fp, extents=extents)
        return replace(made, depends_on_sizes=made.depends_on_sizes and extents is not None)
    made = runner.run(passes.ALGEBRA, kernel, types, fp=fp)
    if not made.depends_on_sizes:
        return made
    plain = scop_of(infer(kernel, types), wanted, PassRunner())  # whose parameters have the names in `sizes`
    return runner.run(passes.ALGEBRA, kernel, types, fp=fp, extents=extents_of_parameters(plain, sizes))


def scop_of(typed: syntax.Kernel, wanted: ModelRequest, runner: PassRunner) -> Scop:
    """Returns the SCoP of a typed kernel, after all passes of the stage "domain", which come before dependences are looked for."""
    scop = extract(
        typed, aliased=wanted.aliased, fp=wanted.options.fp, runner=runner, extents=wanted.extents,
        regions=wanted.regions, around=wanted.around,
    )  # fmt: skip
    if scop.has_regions:
        return scop
    return runner.through(passes.SCOP_PASSES, scop, {"transform": wanted.transform}, stage="domain")


def model_of_scop(typed: syntax.Kernel, scop: Scop, wanted: ModelRequest, runner: PassRunner, unknown: str = "") -> Model:
    """Returns the model of a SCoP: the SCoP with its dependences and its reductions.

    typed: the kernel with its types.
    unknown: why dependences are not looked for; "": they are.
    Raises NotAffineError for float16 on a processor that has no instructions for it.
    """
    options, sizes = wanted.options, wanted.sizes
    notes: tuple[str, ...] = ()
    if scop.has_regions:
        if _has_halves(scop) and not wanted.machine.converts_halves:
            raise NotAffineError("this processor has no instructions for float16")
        found = Dependences(scop) if unknown or wanted.aliased else runner.run(passes.DEPENDENCES, scop)
        free = {} if wanted.aliased else runner.run(passes.REDUCTIONS, scop, options.fp)
        typical = typical_sizes(scop, sizes) if isinstance(sizes, Sizes) else sizes
        return Model(typed, scop, found, free, typical, False, unknown=unknown)
    if wanted.transform and not wanted.aliased:
        whole, scop = scop, runner.run(passes.MASKED_UPDATES, scop)
        notes = left_out(whole, scop)
    if _has_halves(scop) and not wanted.machine.converts_halves:
        raise NotAffineError("this processor has no instructions for float16")
    if not unknown and pairs_to_compare(scop) > COMPARED_PAIRS:
        unknown = f"a nest has {len(scop.statements)} statements, too many that share arrays to compare them all"
    found = Dependences(scop) if unknown else runner.run(passes.DEPENDENCES, scop)
    free = {} if wanted.aliased else runner.run(passes.REDUCTIONS, scop, options.fp)
    typical = typical_sizes(scop, sizes) if isinstance(sizes, Sizes) else sizes
    expands = False
    if wanted.transform and sizes is not None and not unknown:
        known = dict.fromkeys((p.name for p in scop.parameters), 1) if typical is None else typical
        wider, within = runner.run(passes.ARRAY_EXPANSION, scop, found, free, known)
        expands = wider is not scop
        if expands and typical is not None:
            scop, found = wider, within
            free = runner.run(passes.REDUCTIONS, scop, options.fp)
    scop = runner.run(passes.TERM_BY_TERM, scop, free) if free else scop
    return Model(typed, scop, found, free, typical, expands, unknown=unknown, notes=notes)


def extract(
    kernel: syntax.Kernel,
    *,
    aliased: bool = False,
    fp: str = "strict",
    runner: PassRunner | None = None,
    extents: Mapping[tuple[str, int], int] | None = None,
    regions: bool = False,
    around: LoopsAround = PLAIN_LOOPS,
) -> Scop:
    """Returns the SCoP of a typed kernel, before any pass on SCoPs.

    aliased: whether arguments may share memory; values are then read exactly where the source reads them. Only the source's order
        is right for such a SCoP, since its dependences do not tell which elements are the same.
    fp: the floating-point setting, as in `Options`.
    runner: runs the passes; None: a new one.
    extents: by array and dimension, in the call by which sizes are taken to be equal; None: none are.
    regions: whether what is not affine becomes regions; a SCoP that has some goes through no pass on nests.
    around: what becomes of loops that have regions inside.
    Raises NotAffineError, with the location, for a bound, subscript or allocation that is not affine.
    """
    runner = runner or PassRunner()
    known: dict[str, object] = {"aliased": aliased, "disjoint": not aliased, "floats": fp != "strict", "extents": extents}
    real = runner.through(passes.KERNEL_PASSES, kernel, known, stage="domain")
    nest = runner.run(passes.RESOLVE, real, aliased=aliased, regions=regions, around=around, stage="domain")
    if nest.has_regions:
        made = runner.run(passes.FORWARD_SUBSTITUTION, nest, aliased=aliased, stage="domain")
        made = runner.run(passes.VALUE_ARGUMENTS, made, written=nest, stage="domain")
        return runner.run(passes.EXTRACT, made, nest, kernel, outermost(parameter_context(made, nest)))
    known["written"] = written = runner.through(passes.WRITTEN, nest, known, stage="domain")
    nest = runner.through(passes.NEST_PASSES, written, known, stage="domain")
    known["top"] = top = outermost(parameter_context(nest, written))
    nest = runner.through(passes.PLACED, nest, known, stage="domain")
    return runner.run(passes.EXTRACT, nest, written, kernel, top)


def divided(model: Model, options: Options, runner: PassRunner) -> list[Model]:
    """Returns the models that index-set splitting makes of a model so that loops become parallel; [] where it makes none, or isl
    takes too long.

    There are one or two. Of two, the first also copies values before they are overwritten (node splitting).
    """
    try:
        with budget(DIVISION_OPERATIONS):
            plain = runner.run(passes.SPLITTING, model.scop, model.dependences)
            forms = [] if plain is None else [form for form in (runner.run(passes.VERSIONS, plain), plain) if form is not None]
            free = [runner.run(passes.REDUCTIONS, form.scop, options.fp) for form in forms]
            return [
                replace(model, scop=f.scop, dependences=f.found, reductions=r, pieces=frozenset(f.pieces), versions=f is not plain)
                for f, r in zip(forms, free)
            ]
    except BudgetExceeded:
        return []


def in_blocks(model: Model, runner: PassRunner, options: Options, second: int = 0) -> tuple[list[Model], tuple[str, ...]]:
    """Returns the model with sums in blocks of columns with a running maximum, and notes; [] where there are no such sums, where it
    does not pay, or where isl takes too long.

    second: bytes of the second cache, which whole rows have to leave; 0: the model is wanted whether or not it pays.
    """
    if not model.reductions or model.typical is None:
        return [], ()
    try:
        with budget(BLOCK_OPERATIONS):
            known = model.reductions, model.typical, second
            scop, notes = runner.run(passes.RUNNING_MAXIMUM, model.scop, model.dependences, *known)
            if scop is model.scop:
                return [], notes
            found, free = runner.run(passes.DEPENDENCES, scop), runner.run(passes.REDUCTIONS, scop, options.fp)
            return [replace(model, scop=scop, dependences=found, reductions=free, blocked=True, notes=model.notes + notes)], ()
    except BudgetExceeded as reason:
        return [], (f"no running maximum: {reason}",)


def form_of(names: set[str], model: Model, options: Options, runner: PassRunner) -> Model:
    """Returns the model that has statements of just these names: `model`, or one that index-set splitting or a running maximum makes
    of it.

    Where none has, `model` is returned.
    """
    if names == {*model.scop.statements}:
        return model
    forms = (form for made in (divided, _blocked) for form in made(model, options, runner))
    return next((form for form in forms if {*form.scop.statements} == names), model)


def _blocked(model: Model, options: Options, runner: PassRunner) -> list[Model]:
    return in_blocks(model, runner, options)[0]


def _has_halves(scop: Scop) -> bool:
    """Returns whether an argument or an array of the SCoP is of float16."""
    given = (t.element if isinstance(t, syntax.ArrayType) else t.dtype for t in scop.types)
    return F16 in (*given, *(array.element for array in scop.arrays.values()))
