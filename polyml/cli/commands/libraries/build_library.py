"""`polyml build`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from polyml import config
from polyml.cli.inputs import output
from polyml.cli.inputs.argument_specs import sizes_from
from polyml.cli.inputs.command_specs import BuildSpec
from polyml.cli.inputs.kernel_file import load_kernel_file


def build_library(kernel: str, spec: BuildSpec, settings: Mapping[str, object], as_json: bool) -> None:
    """Builds a library of a kernel, and prints the files that are written.

    kernel: FILE.py:FUNC.
    """
    from polyml.ahead_of_time.library_build import LibraryRequest, build

    wanted = LibraryRequest(
        spec.signature, cpu=spec.cpu, threads=spec.threads, overlap=spec.overlap, typical=sizes_from(spec.define), name=spec.name,
        is_shared=not spec.object_only,
    )  # fmt: skip
    with config.scope(**settings):
        made = build(load_kernel_file(kernel).as_kernel(), wanted, spec.folder)
    if as_json:
        output.as_json({"object": made.object, "header": made.header, "shared": made.shared, "note": made.note})
        return
    for path in (made.object, made.header, *([made.shared] if made.shared else [])):
        click.echo(str(path))
    if made.note:
        click.echo(made.note, err=True)
