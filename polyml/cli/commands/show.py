"""`polyml show` and `polyml explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from polyml import config
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import call_types
from polyml.cli.inputs.kernel_file import load_target
from polyml.errors import LanguageError, PolymlOverflowError, PolymlTypeError
from polyml.frontend.syntax import ArrayType


def show(spec: str, stage: str, define: Sequence[str], args: Sequence[str], preset: str | None,
         options: Mapping[str, object], as_json: bool) -> None:  # fmt: skip
    """Print what `stage` makes of the kernel. Guessed types are said on stderr, so that stdout can be read back."""
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
    click.echo(compiled.stages[stage]().rstrip("\n"))


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
