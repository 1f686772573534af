"""The compiler as the list of its stages.

    kernel -> typed -> scop -> dependences -> schedule -> program -> llvm -> object code

The passes of each stage are in `passes`, all on one screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial

import islpy as isl
import llvmlite.binding  # noqa: F401  as isl: loaded with the compiler, not in the midst of its first kernel

import polyml.frontend.parsing.parse  # noqa: F401  as well
from polyml import debug, pass_manager
from polyml.codegen.astgen.build import build
from polyml.codegen.ir import printer as program_text
from polyml.codegen.ir.program import Program
from polyml.codegen.llvm import builder
from polyml.codegen.llvm.emit import ENTRY
from polyml.codegen.text import writer as program_writer
from polyml.config import Options
from polyml.dtypes import BY_PART
from polyml.frontend import syntax
from polyml.frontend.text import writer as kernel_text
from polyml.machines import cpu
from polyml.model.core import printer as model_text
from polyml.model.core.call_interface import ArrayResult
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Role, Scop
from polyml.model.references import text as reference_text
from polyml.model.text import writer as scop_writer
from polyml.pipeline import passes
from polyml.pipeline.candidates import searched
from polyml.pipeline.generate import Generated
from polyml.pipeline.given import compiled_as_given, problem_of, schedule_from
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.printing.dumps import dumps
from polyml.pipeline.regions.region_model import in_region, with_regions
from polyml.pipeline.stages import CompileRequest, ModelRequest, form_of, model_of, modelled
from polyml.quasi_affine.from_isl import expression_of_iterators
from polyml.runtime.storage.artifact import Artifact, ResultArray
from polyml.runtime.storage.disk_cache import Cache
from polyml.runtime.storage.records import record
from polyml.schedule.affine.source_threads import OrderedLoop
from polyml.schedule.analysis.contraction_roles import has_contraction
from polyml.schedule.script import schedule as script
from polyml.schedule.script.file import Saved
from polyml.schedule.script.schedule import OBJECTS, Schedule
from polyml.schedule.tree.loop_tree import read, write
from polyml.values import cached_property

__all__ = ["CompileRequest", "Compiled", "compile", "schedule_from", "schedule_of", "source_order"]


@dataclass(frozen=True)
class Compiled:
    """A compiled kernel holds what every stage of the compiler made for one request.

    kernel: the syntax tree, with the types of the arguments.
    scop, dependences: the model: instances { S[i] }, accesses { S[i] -> A[i] } and dependences { S[i] -> S[i'] }.
    schedule: the order of the instances, as a schedule tree.
    program: the loops.
    llvm: the LLVM text.
    artifact: the machine code, with what its caller needs.
    timings: {stage: seconds}, in the order of the stages.
    passes: {(stage, name of a pass): seconds}, in the order in which they first ran.
    sizes: values of parameters by which lanes and copies were chosen; None: they were not known.
    ordered: the loops that run in order, as parts of regions.
    """

    kernel: syntax.Kernel
    scop: Scop = field(repr=False)
    dependences: Dependences = field(repr=False)
    schedule: isl.Schedule = field(repr=False)
    program: Program = field(repr=False)
    llvm: str = field(repr=False)
    artifact: Artifact = field(repr=False)
    timings: dict[str, float]
    passes: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)
    sizes: Mapping[str, int] | None = None
    ordered: tuple[OrderedLoop, ...] = ()

    def _repr_html_(self) -> str:
        """Returns the picture of where the time of the compilation went, which notebooks show."""
        from polyml.pictures.graphs.compilation import compilation_svg

        return compilation_svg(self.kernel.name, self.passes)

    @property
    def stages(self) -> dict[str, Callable[[], str]]:
        """Returns {stage: a function that returns its readable text} for each stage of `config.STAGES`."""
        return {
            "kernel": lambda: kernel_text.text(self.kernel),
            "domain": lambda: model_text.scop_text(self.scop),
            "deps": lambda: reference_text.text(reference_text.found(self.scop)),
            "schedule": lambda: model_text.schedule_text(self.schedule),
            "ast": lambda: program_text.text(self.program),
            "llvm": lambda: self.llvm,
            "asm": lambda: self.asm,
        }

    @property
    def full(self) -> dict[str, Callable[[], str]]:
        """Returns {stage: a function that returns its complete text}, which can be read back, for the stages kernel, domain and
        ast.
        """
        return {
            "kernel": lambda: kernel_text.text(self.kernel),
            "domain": lambda: scop_writer.text(self.scop),
            "ast": lambda: program_writer.text(self.program),
        }

    @property
    def data(self) -> dict[str, Callable[[], object]]:
        """Returns {stage: a function that returns what it made as data for JSON} for the stages domain, deps, schedule and ast."""
        return {
            "domain": lambda: model_text.scop_data(self.scop),
            "deps": lambda: self._dependences_data(),
            "schedule": lambda: {"schedule": str(self.schedule), "notes": list(self.artifact.notes)},
            "ast": lambda: program_text.program_data(self.program),
        }

    def _dependences_data(self) -> dict:
        direct = reference_text.data(reference_text.found(self.scop))
        return {**model_text.dependences_data(self.dependences), "direct": direct}

    @cached_property
    def asm(self) -> str:
        """Returns the assembly text of the LLVM text for this computer's processor."""
        from polyml.runtime.loading.assemble import assembly

        host = cpu.host()
        return assembly(self.llvm, cpu=host.cpu_name, features=host.features)


def compile(
    kernel: syntax.Kernel,
    wanted: CompileRequest,
    schedules: Cache | None = None,
    given: Saved | None = None,
    emits: str = OBJECTS,
) -> Compiled:
    """Compiles a parsed kernel and returns what every stage made, the machine code included.

    wanted: the types, layouts, sizes and settings to compile for.
    schedules: the cache of schedules that were found before; None: none is kept.
    given: the schedule that the code follows; None: the compiler looks for one.
    emits: OBJECTS, or TEXT for no machine code: the artifact then has none.
    Raises LanguageError, NotAffineError or PolymlTypeError for what the language does not have, and ScheduleError or
    IllegalSchedule for a given schedule that does not fit the kernel.
    """
    options, aliased, sizes = wanted.options, wanted.aliased, wanted.sizes
    if options.check:
        from polyml.checks.watcher import Watcher  # the checkers take a first compilation as long to load as one of its stages

        with pass_manager.watched(Watcher()):
            return compile(kernel, replace(wanted, options=replace(options, check=False)), schedules, given, emits)
    runner = PassRunner()
    of_sizes = sizes if given is None else dict(given.sizes) or None
    with dumps(options, kernel.name, runner.made):
        alike = wanted.alike and given is None
        transform = (given is not None or options.schedule == "auto") and not aliased
        request = ModelRequest(
            options, aliased, transform, of_sizes, wanted.machine, alike,
            general=wanted.general, restarts=wanted.restarts, expects=wanted.expects,
        )  # fmt: skip
        model = (
            with_regions(kernel, wanted.types, request, runner)
            if given is None
            else modelled(kernel, wanted.types, request, runner)
        )
        if given is not None and not aliased:
            related = given.related if sizes is None or sizes.is_related else ()  # else these sizes are not so related
            made = compiled_as_given(given, model, wanted, related, runner, emits)
        else:
            made = searched(model, wanted, schedules, runner, emits, partial(in_region, kernel, wanted.types, request, runner))
        with made.assembler as assembler:
            code = runner.run(passes.OBJECT, assembler) if emits == OBJECTS else ()
    artifact = _artifact(made, model.typed, wanted.layouts, code, aliased)
    model = made.model
    compiled = Compiled(
        model.typed, model.scop, model.dependences, made.tree, made.program, builder.text(made.units), artifact, runner.timings,
        runner.passes, made.sizes, model.ordered,
    )  # fmt: skip
    for name, text in compiled.stages.items():
        if name in options.debug:
            debug.dump(name, text, name=kernel.name)
    return compiled


def source_order(kernel: syntax.Kernel, types: tuple[syntax.ArgType, ...], options: Options) -> Program:
    """Returns the program whose loops run in the source's order, with the source's arrays and scalars."""
    scop = model_of(kernel, types, ModelRequest(options, transform=False), PassRunner()).scop
    return build(scop, scop.schedule)


def schedule_of(kernel: syntax.Kernel, wanted: CompileRequest, start: str, alone: Callable[[], AbstractContextManager]) -> Schedule:
    """Returns a kernel's schedule, to which a script's steps can be applied.

    start: "auto" for the schedule that `compile` finds, or "source" for the source's order.
    alone: makes a context in which no other thread uses isl.
    """
    runner, options = PassRunner(), wanted.options
    model = model_of(kernel, wanted.types, ModelRequest(options, sizes=wanted.sizes, machine=wanted.machine), runner)
    if start == "source" or options.schedule == "source":
        sized = (options.tile and has_contraction(model.scop) or model.chosen_by_sizes) and model.typical is not None
        tree = model.scop.schedule
        related: tuple[str, ...] = ()
    else:
        compiled = compile(kernel, replace(wanted, alike=False))  # a user's schedule is for calls of all sizes
        model = form_of({*compiled.scop.statements}, model, options, runner)
        sized, tree = compiled.artifact.sized and model.typical is not None, compiled.schedule
        related = tuple(map(str, compiled.artifact.relations))
    problem = problem_of(model, wanted, sized, related, alone)
    return script.schedule(problem, write(model.scop.domain, read(tree, model.scop.statements)))


def _artifact(made: Generated, typed: syntax.Kernel, layouts: tuple[str, ...], code: tuple[bytes, ...], aliased: bool) -> Artifact:
    """Returns machine code with what a caller needs: the tests at entry, the results, and which arguments are written.

    made: the program that the code was generated from.
    typed: the kernel with the types of its arguments.
    layouts: the layouts of the array arguments.
    aliased: whether arguments may share memory.
    """
    scop = made.program.scop
    called = {a.name: a.source_name for a in scop.arrays.values() if a.role is Role.ARGUMENT}  # array -> its name in the call
    written = {called.get(access.array) for s in scop.statements.values() for access in s.writes}
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
        result_form=scop.result_form,
        result_arrays=tuple(
            ResultArray(
                a.name,
                (BY_PART[a.element] if a.pairs else a.element).numpy_name,
                tuple(str(expression_of_iterators(e)) for e in (a.shape[1:] if a.pairs else a.shape)),
            )
            for a in returned
        ),
        written=tuple(p for p in scop.params if p in written),
        aliased=aliased,
        notes=made.model.notes + made.notes + made.program.notes,
        sized=made.sized,
        relations=made.related,
        failures=scop.failures,
    )
