"""`polyml explore`: the page that explores and steers a kernel, written to a file or served."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from polyml import config
from polyml.cli.inputs.argument_specs import sizes_from
from polyml.cli.inputs.arguments import arguments_or_types
from polyml.cli.inputs.command_specs import CallSpec, ExploreSpec
from polyml.cli.inputs.kernel_file import load_kernel_file

if TYPE_CHECKING:
    from polyml.api.exploring.explored import Explored


def explore(spec: CallSpec, wanted: ExploreSpec, settings: Mapping[str, object]) -> None:
    """Writes the page of a kernel to the file `wanted.html`; without one, serves it until Ctrl-C is pressed."""
    if wanted.html is not None and (wanted.port or wanted.browser):
        raise click.UsageError("'--port' and '--browser' are for a page that is served, not for '--html'.")
    from polyml.api import kernel
    from polyml.api.exploring.explorable import TILES

    target = load_kernel_file(spec.kernel)
    given = arguments_or_types(target, spec)
    sizes = sizes_from(wanted.size, "--size") or None
    with config.scope(**settings):
        known = kernel(target.function)
        start = wanted.start if wanted.load is None else known.load_schedule(wanted.load, *given)
        found = known.explore(*(given if wanted.load is None else ()), start=start, sizes=sizes, tiles=wanted.tile or TILES)
        if wanted.html is None:
            _serve(found, wanted)
            return
        found.save(wanted.html)
    click.echo(f"written to {wanted.html}", err=True)


def _serve(found: Explored, wanted: ExploreSpec) -> None:
    """Prints the page's address and answers the page until Ctrl-C is pressed."""
    import webbrowser

    address = found.serve(wanted.port)
    click.echo(address)
    click.echo("This computer alone can open it; Ctrl-C ends it.", err=True)
    if wanted.browser:
        webbrowser.open(address)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        found.close()
