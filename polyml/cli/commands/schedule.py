"""`polyml schedule`: a kernel's schedule, printed, saved, and loaded again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from polyml import config
from polyml.cli.inputs.arguments import call_arguments, call_types
from polyml.cli.inputs.kernel_file import load_target


def schedule(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None, save: str | None,
             load: str | None, start: str, options: Mapping[str, object]) -> None:  # fmt: skip
    """Print the schedule that is found or loaded, which is proved legal either way; write it to `save`.

    Where the file of the kernel makes inputs for sizes, blocks and tiles are chosen for them.
    """
    from polyml.api import kernel

    target = load_target(spec)
    if target.has_inputs and not args:
        call = call_arguments(target, define, args, preset, seed=0)
        given, said = tuple(call.values.values()), call.said
    else:
        given, said = call_types(target, define, args, preset)
    for line in said:
        click.echo(line, err=True)
    with config.scope(**options):
        compiled = kernel(target.function)
        found = compiled.schedule(start, *given) if load is None else compiled.load_schedule(load, *given)
        click.echo(str(found))
    if save is not None:
        found.save(save)
        click.echo(f"written to {save}", err=True)
    if load is not None:
        click.echo(f"{load}: every dependence is kept", err=True)
