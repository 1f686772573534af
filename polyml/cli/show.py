"""`polyml show` and `polyml explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from polyml import config
from polyml.cli import printing
from polyml.cli.arguments import call_arguments, call_types
from polyml.cli.target import load_target
from polyml.frontend.syntax import ArrayType


def show(spec: str, stage: str, define: Sequence[str], args: Sequence[str], preset: str | None,
         options: Mapping[str, object], as_json: bool) -> None:  # fmt: skip
    """Print what `stage` makes of the kernel. Guessed types are said on stderr, so that stdout can be read back."""
    from polyml import pipeline
    from polyml.frontend.parse import parse

    target = load_target(spec)
    types, said = call_types(target, define, args, preset)
    layouts = tuple("C" for t in types if isinstance(t, ArrayType))
    with config.scope(**options):
        compiled = pipeline.compile(parse(target.function), types, layouts, config.resolve())
    if as_json:
        data = compiled.data.get(stage)
        printing.as_json(data() if data else {stage: compiled.stages[stage]()})
        return
    _say(said)
    click.echo(compiled.stages[stage]().rstrip("\n"))


def explain(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None,
            options: Mapping[str, object]) -> None:  # fmt: skip
    """Compile for small arguments of the call's types and print what was done and why."""
    from polyml.api import kernel

    target = load_target(spec)
    small = preset or (_smallest(target.sizes) if target.has_inputs and not args else None)
    call = call_arguments(target, define, args, small, 0)
    with config.scope(**options):
        compiled = kernel(target.function)
        compiled.prepare(*call.values.values())
        text = compiled.explain()
    _say(call.said)
    click.echo(text)


def _smallest(sizes: Mapping[str, Mapping[str, int]]) -> str:
    return min(sizes, key=lambda name: sum(sizes[name].values()))


def _say(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
