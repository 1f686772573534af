"""`polyml show` and `polyml trace`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polyml import config
from polyml.api.target import GPU_STAGES
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import call_types
from polyml.cli.inputs.command_specs import CallSpec, ShowSpec
from polyml.cli.inputs.kernel_file import KernelFile, load_kernel_file
from polyml.errors import ConfigError, PolymlError
from polyml.frontend.syntax import ArgType
from polyml.reading.userfiles import called, read_text, reason

if TYPE_CHECKING:
    from polyml.pipeline.trace import Ran


def show(spec: CallSpec, what: ShowSpec, settings: Mapping[str, object], as_json: bool) -> None:
    """Prints what the stage `what.stage` of the compiler makes of a kernel, or its code for a GPU. Where the types of arguments were
    guessed, that is printed on standard error.
    """
    from polyml.api import kernel

    target = load_kernel_file(spec.kernel)
    types, said = call_types(target, spec)
    stage = str(what.stage)
    if stage in GPU_STAGES:
        _show_gpu(target, types, said, what, settings, as_json)
        return
    if what.target != "cpu":
        with config.scope(**settings):
            text = kernel(target.function, target=what.target).inspect_schedule(*types)
        _shown(stage, text, said, as_json)
        return
    with config.scope(**settings):
        compiled = kernel(target.function).lower(*types)
    if as_json:
        data = compiled.data.get(stage)
        output.as_json(data() if data else {stage: compiled.stages[stage]()})
        return
    _say(said)
    texts = compiled.stages | (compiled.full if what.full else {})
    (output.prose if stage == "deps" else click.echo)(texts[stage]().rstrip("\n"))  # the other stages are code


def _show_gpu(
    target: KernelFile, types: Sequence[ArgType], said: Sequence[str], what: ShowSpec, settings: Mapping[str, object], as_json: bool
) -> None:
    """Prints the text of a kernel's launches for a GPU.

    types: the types of the arguments.
    said: lines on guessed types, for standard error.
    """
    from polyml.api import kernel

    stage = str(what.stage)
    with config.scope(**settings):
        given = {} if what.arch is None else {"arch": what.arch}
        found = kernel(target.function)
        if what.load is not None:
            found = kernel(target.function, target="opencl" if stage == "opencl" else "cuda")
            found = found.with_schedule(found.load_schedule(what.load, *types))
        text = getattr(found, f"inspect_{stage}")(*types, **given)
    _shown(stage, text, said, as_json)


def _shown(stage: str, text: str, said: Sequence[str], as_json: bool) -> None:
    """Prints the text of a stage. said: lines on guessed types, for standard error."""
    if as_json:
        output.as_json({stage: text})
        return
    _say(said)
    click.echo(text.rstrip("\n"))


def show_from(path: str, stage: str, settings: Mapping[str, object], full: bool) -> None:
    """Prints what the stage `stage` of the compiler makes of the kernel, SCoP or program whose text is in the file `path`.

    full: whether the text is complete, so that it can be read back.
    """
    from polyml.pipeline.from_text import resume

    with config.scope(**settings):
        texts = resume.resumed(read_text(path, resume.MOST_BYTES), called(path), full)
        click.echo(resume.stage_of(texts, stage).rstrip("\n"))


def show_after(spec: CallSpec, name: str, settings: Mapping[str, object], as_json: bool) -> None:
    """Prints what the pass `name` made of a kernel when it ran for the last time. Raises the error of a later pass, if one fails,
    after printing.
    """
    _, ran, problem = _traced(spec, settings)
    found = [each for each in ran if each.step.name == name]
    if found and as_json:
        output.as_json({name: found[-1].text})
    elif found:
        click.echo(found[-1].text.rstrip("\n"))
    if problem is not None:
        raise problem
    if not found:
        names = ", ".join(dict.fromkeys(each.step.name for each in ran))
        raise ConfigError(f"the pass `{name}` does not run for this kernel", notes=[f"those that do: {names}"])


def trace(spec: CallSpec, page: str | None, settings: Mapping[str, object]) -> None:
    """Prints what each pass made of a kernel, in the order in which they ran, or writes it as an HTML page to the file `page`.

    Raises the error of a pass that fails, after printing.
    """
    from polyml.report import trace as report

    target, ran, problem = _traced(spec, settings)
    if page is None:
        click.echo(report.text(ran))
    else:
        try:
            Path(page).write_text(report.page(f"{target.name} ({target.file})", ran), encoding="utf-8")
        except OSError as failed:
            raise ConfigError(f"{called(page)} cannot be written: {reason(failed)}") from None
        click.echo(f"written to {page}", err=True)
    if problem is not None:
        raise problem


def _traced(spec: CallSpec, settings: Mapping[str, object]) -> tuple[KernelFile, list[Ran], PolymlError | None]:
    """Compiles a kernel, and returns (its file, the passes that ran, the error that ended the compilation or None)."""
    from polyml.api import kernel
    from polyml.pipeline.trace import recorded

    target = load_kernel_file(spec.kernel)
    types, said = call_types(target, spec)
    _say(said)
    with config.scope(**settings), recorded() as ran:
        try:
            kernel(target.function).lower(*types)
        except PolymlError as problem:
            return target, ran, problem
    return target, ran, None


def _say(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
