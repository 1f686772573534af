"""The stages that follow a kernel, a SCoP or a program, each made when its text is asked for.

    kernel -> domain -> deps -> schedule -> ast -> llvm -> asm
    ^         ^                             ^
    a kernel  a SCoP                        a program         that a text has

Arrays are taken to be in C order and not to overlap, and nothing is known of sizes, as where a kernel is compiled for types alone.
What is read is believed to be what the compiler made: the checks of a SCoP are those that it brings, and a program runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import islpy as isl

from polyml import config
from polyml.codegen.ir import printer as program_text
from polyml.codegen.ir.program import CannotRunTogether, Program
from polyml.codegen.llvm import builder
from polyml.codegen.llvm.addresses import ArrayArguments
from polyml.codegen.llvm.arithmetic import FloatArithmetic
from polyml.codegen.text import reader as program_reader
from polyml.codegen.text import writer as program_writer
from polyml.config import Options
from polyml.errors import ConfigError, ScheduleError, TextError
from polyml.frontend import syntax
from polyml.frontend.text import reader as kernel_reader
from polyml.frontend.text import writer as kernel_writer
from polyml.machines import cpu
from polyml.model.core import printer as model_text
from polyml.model.core.scop import Scop
from polyml.model.references import text as reference_text
from polyml.model.text import reader as scop_reader
from polyml.model.text import writer as scop_writer
from polyml.pipeline import passes
from polyml.pipeline.candidates import searched
from polyml.pipeline.generate import Generated
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.stages import CompileRequest, Model, ModelRequest, model_of_scop, scop_of
from polyml.polyhedra import BudgetExceeded
from polyml.reading.text_scanner import kind_of
from polyml.runtime.loading.assemble import assembly
from polyml.source import Loc, Source

Texts = Mapping[str, Callable[[], str]]  # stage of `config.STAGES` -> what gives its text; the first one was read
MOST_BYTES = 16 << 20  # size of a file at most


def resumed(text: str, file: str, full: bool = False, options: Options | None = None) -> Texts:
    """Reads the text of a kernel, a SCoP or a program, and returns {stage: a function that returns its text}.

    The stages are the one that the text is of and all later ones.

    file: the name of the text in messages.
    full: whether the texts are complete, so that they can be read back.
    options: the settings; None: those in force.
    Raises TextError for a text that is none of the three. An error of a stage is raised when its text is asked for.
    """
    settings = options or config.resolve()
    kind = kind_of(text)
    if kind == kernel_writer.KIND:
        return after_kernel(kernel_reader.parse(text, file), settings, full)
    if kind == scop_writer.KIND:
        return after_scop(scop_reader.parse(text, file), settings, full)
    if kind == program_writer.KIND:
        return after_program(program_reader.parse(text, file), settings, full)
    source = Source(file, 1, tuple(text.splitlines()))
    known = f"`polyml {kernel_writer.KIND}`, `polyml {scop_writer.KIND}` or `polyml {program_writer.KIND}`, and the format"
    notes = [f"the first line of one is {known}", "`polyml show --full` writes them"]
    raise TextError("this is no text of a stage", loc=Loc(source, 1, 1, max(1, len(source.line(1)))), notes=notes)


def after_kernel(kernel: syntax.Kernel, options: Options, full: bool = False) -> Texts:
    """Returns {stage: a function that returns its text} for a kernel and all stages after it.

    full: whether the texts are complete, so that they can be read back.
    Raises TextError where the kernel's arguments have no types.
    """
    if kernel.params and not kernel.types:
        notes = ["expected `def f(A: f64[:], n: int)`, as `polyml show --stage kernel` has it for a call"]
        raise TextError("the arguments of the kernel have no types", loc=kernel.params[0].loc, notes=notes)
    runner = PassRunner()

    @cache
    def scop() -> Scop:
        return scop_of(kernel, _wanted(options), runner)

    return {"kernel": lambda: kernel_writer.text(kernel), **_after_domain(kernel, scop, options, full, runner)}


def after_scop(scop: Scop, options: Options, full: bool = False) -> Texts:
    """Returns {stage: a function that returns its text} for a SCoP and all stages after it.

    full: whether the texts are complete, so that they can be read back.
    Raises TextError where the SCoP's schedule does not say when some statement runs.
    """
    lacking = [name for name in scop.statements if name not in scop.times]
    if lacking:
        notes = ["only the SCoP inside the text of a program may have such statements"]
        raise TextError(f"the order has no place for {', '.join(lacking)}", loc=scop.statements[lacking[0]].loc, notes=notes)
    params = tuple(map(syntax.Param, scop.params))
    kernel = syntax.Kernel(scop.name, params, (), Source(scop.name, 1, ()), scop.types)
    return _after_domain(kernel, lambda: scop, options, full, PassRunner())


def _after_domain(kernel: syntax.Kernel, scop: Callable[[], Scop], options: Options, full: bool, runner: PassRunner) -> Texts:
    @cache
    def model() -> Model:
        return model_of_scop(kernel, scop(), _wanted(options), runner)

    @cache
    def made() -> Generated:
        found = searched(model(), CompileRequest(scop().types, _layouts(scop()), options), None, runner)
        with found.assembler as assembler:
            runner.run(passes.OBJECT, assembler)
        return found

    domain = scop_writer.text if full else model_text.scop_text
    return {
        "domain": lambda: domain(model().scop),
        "deps": lambda: reference_text.text(reference_text.found(model().scop)),
        "schedule": lambda: model_text.schedule_text(made().tree),
        **_program_texts(lambda: made().program, lambda: builder.text(made().units), full),
    }


def after_program(program: Program, options: Options, full: bool = False) -> Texts:
    """Returns {stage: a function that returns its text} for a program, whose loops are taken as they are, and the stages after it.

    full: whether the text of the program is complete, so that it can be read back.
    The function of the stage llvm raises ScheduleError where no code can be generated.
    """

    @cache
    def llvm() -> str:
        try:
            host, arguments = cpu.host(), ArrayArguments(_layouts(program.scop), False)
            floats = FloatArithmetic(options.fp, host.fma, host.computes_halves)
            units = PassRunner().run(passes.EMIT, program, arguments, floats, threads=not options.runs_alone)
        except (BudgetExceeded, CannotRunTogether, isl.Error) as reason:
            raise ScheduleError(f"there is no code for the program: {reason}") from reason
        return builder.text(units)

    return _program_texts(lambda: program, llvm, full)


def _program_texts(program: Callable[[], Program], llvm: Callable[[], str], full: bool) -> Texts:
    host = cpu.host()
    text = program_writer.text if full else program_text.text
    return {
        "ast": lambda: text(program()),
        "llvm": llvm,
        "asm": lambda: assembly(llvm(), cpu=host.cpu_name, features=host.features),
    }


def _wanted(options: Options) -> ModelRequest:
    return ModelRequest(options, transform=options.schedule == "auto")


def _layouts(scop: Scop) -> tuple[str, ...]:
    return tuple("C" for kind in scop.types if isinstance(kind, syntax.ArrayType))


def stage_of(texts: Texts, stage: str) -> str:
    """Returns the text of a stage. Raises ConfigError for a stage that comes before the one that was read."""
    if stage not in texts:
        raise ConfigError(
            f"the stage `{stage}` comes before what the file has", notes=[f"stages from there on: {', '.join(texts)}"]
        )
    return texts[stage]()
