"""`polyml show`, `polyml trace` and `polyml explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from polyml import config
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import call_types
from polyml.cli.inputs.kernel_file import Target, load_target
from polyml.errors import ConfigError, LanguageError, PolymlError, PolymlOverflowError, PolymlTypeError
from polyml.frontend.syntax import ArrayType
from polyml.reading.userfiles import called, read_text, reason

if TYPE_CHECKING:
    from polyml.pipeline.trace import Ran


def show(spec: str, stage: str, define: Sequence[str], args: Sequence[str], preset: str | None,
         options: Mapping[str, object], as_json: bool, full: bool) -> None:  # fmt: skip
    """Print what `stage` makes of the kernel. Guessed types are said on stderr, so that stdout can be read back.

    full: with all that `show_from` goes on from.
    """
    from polyml.api import kernel

    target = load_target(spec)
    types, said = call_types(target, define, args, preset)
    with config.scope(**options):
        compiled = kernel(target.function).lower(*types)
    if as_json:
        data = compiled.data.get(stage)
        output.as_json(data() if data else {stage: compiled.stages[stage]()})
        return
    _say(said)
    texts = compiled.stages | (compiled.full if full else {})
    click.echo(texts[stage]().rstrip("\n"))


def show_from(path: str, stage: str, options: Mapping[str, object], full: bool) -> None:
    """Print what `stage` makes of the kernel, SCoP or program that the file `path` has."""
    from polyml.pipeline.from_text import resume

    with config.scope(**options):
        texts = resume.resumed(read_text(path, resume.MOST_BYTES), called(path), full)
        click.echo(resume.stage_of(texts, stage).rstrip("\n"))


def show_after(spec: str, name: str, define: Sequence[str], args: Sequence[str], preset: str | None,
               options: Mapping[str, object], as_json: bool) -> None:  # fmt: skip
    """Print what there is after the pass, the last time it runs; also where a later pass fails, which is said behind it."""
    _, ran, problem = _traced(spec, define, args, preset, options)
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


def trace(spec: str, page: str | None, define: Sequence[str], args: Sequence[str], preset: str | None,
          options: Mapping[str, object]) -> None:  # fmt: skip
    """Print every pass in order, or write a page of them to the file `page`; also where one fails, which is said behind it."""
    from polyml.report import trace as report

    target, ran, problem = _traced(spec, define, args, preset, options)
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


def _traced(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None,
            options: Mapping[str, object]) -> tuple[Target, list[Ran], PolymlError | None]:  # fmt: skip
    """The kernel, the passes that run for it, and what ends its compilation where something does."""
    from polyml.api import kernel
    from polyml.pipeline.trace import recorded

    target = load_target(spec)
    types, said = call_types(target, define, args, preset)
    _say(said)
    with config.scope(**options), recorded() as ran:
        try:
            kernel(target.function).lower(*types)
        except PolymlError as problem:
            return target, ran, problem
    return target, ran, None


def explain(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None,
            options: Mapping[str, object]) -> None:  # fmt: skip
    """Compile for the call's types and print what was done and why."""
    from polyml.api import explain as words
    from polyml.api import kernel
    from polyml.api.calls.plain_calls import reasons, refusals

    target = load_target(spec)
    types, said = call_types(target, define, args, preset)
    _say(said)
    where = f"{target.name} ({target.file}:{target.function.__code__.co_firstlineno})"
    with config.scope(**options):
        try:
            compiled = kernel(target.function).lower(*types)
        except (LanguageError, PolymlTypeError, PolymlOverflowError) as problem:
            layouts = ["C" for t in types if isinstance(t, ArrayType)]
            found = "\n".join(map(words.reason, reasons(refusals(target.function), problem)))
            click.echo(words.python(words.signature(types, layouts), found, where))
            return
        click.echo(words.compiled(compiled.artifact, config.resolve(), compiled.timings, False, where))


def _say(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
