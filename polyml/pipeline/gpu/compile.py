"""A kernel for a GPU: the model of the CPU's pipeline, launches in place of loops for threads, and their text in a GPU language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from polyml.codegen.gpu.program import GpuProgram, Launch
from polyml.codegen.gpu.signatures import LaunchSource
from polyml.codegen.gpu.text.dialect import DIALECTS
from polyml.config import Options
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.pass_manager import Pass
from polyml.pipeline.gpu import passes
from polyml.pipeline.gpu.artifact import artifact
from polyml.pipeline.gpu.device import Device
from polyml.pipeline.gpu.given import launches_as_given
from polyml.pipeline.gpu.library_notes import library_notes
from polyml.pipeline.gpu.rounding import rounding_notes
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.stages import CompileRequest, Model, ModelRequest, modelled
from polyml.polyhedra import BudgetExceeded
from polyml.runtime.gpu.artifact import GpuArtifact
from polyml.runtime.storage.size_classes import Sizes
from polyml.schedule.gpu.launch_plan import on_one_thread
from polyml.schedule.gpu.mapping import GridAxis, Mapped, with_block
from polyml.schedule.gpu.row_teams import row_note
from polyml.schedule.gpu.teams import team_note
from polyml.schedule.script.file import Saved


@dataclass(frozen=True)
class GpuCompiled:
    """A compiled GPU kernel holds the launches of a kernel and their text in a language of GPUs.

    program: the launches, and the host's loops around them.
    source: the text of the launches.
    artifact: both as data, of which calls are made.
    timings: {stage: seconds}.
    notes: lines for each launch that say which threads run it, and what its blocks copy to shared memory.
    passes: {(stage, name of a pass): seconds}.
    """

    program: GpuProgram
    source: LaunchSource
    artifact: GpuArtifact
    timings: dict[str, float]
    notes: tuple[str, ...]
    passes: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)

    def _repr_html_(self) -> str:
        """Returns the picture of where the time of the compilation went, which notebooks show."""
        from polyml.pictures.graphs.compilation import compilation_svg

        return compilation_svg(self.program.scop.name, self.passes)


def compile_for_gpu(
    kernel: syntax.Kernel,
    types: tuple[syntax.ArgType, ...],
    options: Options,
    device: Device,
    sizes: Sizes | None = None,
    given: Saved | None = None,
) -> GpuCompiled:
    """Compiles a parsed kernel for a GPU, for arguments of these types that do not overlap, and returns its launches and their
    text.

    device: what the launches are for.
    sizes: the sizes to compile for; None: not known.
    given: the schedule to compile with, which is proved; None: the compiler finds one.
    Raises the errors that `pipeline.compile.compile` raises. It raises NotAffineError also for constructs that do not run on GPUs,
    and where finding the launches takes too long.
    """
    runner = PassRunner()
    if given is not None:
        model = modelled(kernel, types, ModelRequest(options, sizes=dict(given.sizes) or None), runner)
        mapped, program = launches_as_given(given, model, CompileRequest(types, (), options), device, runner)
    else:
        model = modelled(kernel, types, ModelRequest(options, sizes=sizes), runner)
        mapped, program = launches(model, runner, device)
    text = runner.run(passes.GPU_PRINT, program, DIALECTS[device.dialect], strict=options.fp == "strict")
    pairs = list(zip(program.plain, mapped))
    told = (note for launch, each in pairs for note in _notes(launch, each))
    notes = (*told, *rounding_notes(pairs, model, device), *library_notes(pairs, device, given is not None))
    made = artifact(program, text, device.dialect, notes, is_sized=model.scop.usual is not None)
    return GpuCompiled(program, text, made, runner.timings, notes, runner.passes)


def launches(
    model: Model, runner: PassRunner, device: Device, plans: Sequence[Pass] = passes.PLANS, block: Sequence[int] = ()
) -> tuple[tuple[Mapped, ...], GpuProgram]:
    """Returns how loops are mapped to the threads of launches, and the program that makes the launches.

    plans: mappings, of which the first is taken that isl finds within its budget: of transformed loops, and of the source's loops.
        If none is, the whole kernel runs on one thread. Raises NotAffineError where even that takes too long.
    block: threads of a block along x, y and z, in place of the usual ones; a thread then has one iteration along each axis.
    """
    scop, instructions = model.scop, device.instructions(model)
    for plan in plans:
        try:
            usual = runner.run(plan, scop, model.dependences, model.reductions, device.traits)
            mapped = tuple(with_block(each, block) for each in usual) if block else usual
            if device.libraries and device.dialect == "cuda":
                mapped = runner.run(passes.LIBRARIES, mapped, scop, model.dependences, model.reductions, device.traits)
            return mapped, runner.run(passes.GPU_BUILD, scop, mapped, instructions)
        except BudgetExceeded:
            continue
    mapped = on_one_thread(scop)
    try:
        return mapped, runner.run(passes.GPU_BUILD, scop, mapped, instructions)
    except BudgetExceeded as problem:
        raise NotAffineError("no launches for a GPU were found in time", notes=[str(problem)]) from None


def _notes(launch: Launch, mapped: Mapped) -> Iterator[str]:
    """Yields the lines that say what a launch's threads run, and what its blocks copy to shared memory."""
    yield _note(launch.name, mapped)
    yield from (f"{launch.name}: {note}" for version in launch.versions for note in version.notes)
    if mapped.rows is not None:
        yield f"{launch.name}: {row_note(mapped.rows)}"


def _note(name: str, mapped: Mapped) -> str:
    """Returns a line that says which loops become the threads of a launch, and in which loops of the host it is repeated."""
    nest = mapped.nest
    host = f", once for each iteration of {', '.join(around.name for around in nest.host)}" if nest.host else ""
    teams = f"; {team_note(mapped.team)}" if mapped.team else ""
    if nest.serial:
        why = f": {nest.serial}" if not teams else ", where its loops are short"
        return f"{name}: one thread{host}{why}{teams}"
    teams += f"; {', '.join(map(_divided, mapped.smaller))} where there would be few blocks" if mapped.smaller else ""
    return f"{name}: threads for {', '.join(map(_divided, mapped.axes))}{host}{teams}"


def _divided(axis: GridAxis) -> str:
    """Returns how an axis's loop is divided among blocks and threads."""
    blocks = f" in blocks of {axis.size}" if axis.size > 1 else ""
    return f"{axis.loop.name}{blocks}{f', {axis.items} iterations each' if axis.items > 1 else ''}"
