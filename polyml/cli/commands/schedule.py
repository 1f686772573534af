"""`polyml schedule`: a kernel's schedule, printed, saved, and loaded again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from polyml import config
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import arguments_or_types
from polyml.cli.inputs.command_specs import CallSpec, ScheduleFiles
from polyml.cli.inputs.kernel_file import load_kernel_file

if TYPE_CHECKING:
    from polyml.schedule.script.schedule import Schedule


def schedule(spec: CallSpec, files: ScheduleFiles, start: str, runs_on: str, settings: Mapping[str, object]) -> None:
    """Prints a kernel's schedule, which is proved legal, and writes it to the file `files.save` where one is given.

    If the kernel's file has an `inputs` function, the tiles are chosen for the sizes that it is called with.

    files: `files.load` is the file that the schedule is taken from; None: the compiler looks for one.
    start: "auto" for the schedule that the compiler finds, or "source" for the source's order.
    runs_on: "cpu", "opencl" or "cuda".
    """
    from polyml.api import kernel

    target = load_kernel_file(spec.kernel)
    given = arguments_or_types(target, spec)
    with config.scope(**settings):
        compiled = kernel(target.function, target=None if runs_on == "cpu" else runs_on)
        found = compiled.schedule(start, *given) if files.load is None else compiled.load_schedule(files.load, *given)
        if files.as_json:
            output.as_json(_data(found))
        else:
            click.echo(str(found))
    if files.save is not None:
        found.save(files.save)
        click.echo(f"written to {files.save}", err=True)
    if files.load is not None:
        click.echo(f"{files.load}: every dependence is kept", err=True)


def _data(found: Schedule) -> dict[str, Any]:
    """Returns a schedule as plain data for JSON: its loops, and isl's tree."""
    from polyml.schedule.script import printer

    loops = found.loops
    with found.problem.alone():
        scop = found.problem.scop
        return {"kernel": scop.name, "loops": printer.data(scop, loops), "tree": str(found.tree)}
