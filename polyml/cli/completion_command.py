"""`polyml completion`: the script with which a shell completes what is typed after `polyml`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from polyml.cli.inputs.exit_status import REFUSED

_PROGRAM, _VARIABLE = "polyml", "_POLYML_COMPLETE"  # the variable by which click's script asks the program


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script for bash, zsh or fish that completes commands, options and files."""
    found = get_completion_class(shell)
    if found is None:
        click.echo(f"error: this version of click has no completion for {shell}", err=True)
        context.exit(REFUSED)
    click.echo(found(context.find_root().command, {}, _PROGRAM, _VARIABLE).source())


def kernel_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Returns what shells offer for a kernel of `polyml bench`: all that begins as what is typed."""
    from polyml.cli.commands.bench import ALL

    return [name for name in ALL if name.startswith(incomplete)]
