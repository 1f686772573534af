"""The commands on the cache of compiled kernels on disk: `polyml cache info`, `clear` and `verify`."""

from __future__ import annotations

import click

from polyml.cli.inputs import options


@click.group()
def cache() -> None:
    """Show, empty or check the cache of compiled kernels on disk."""


@cache.command()
@options.as_json
def info(as_json: bool) -> None:
    """Print the folder, number of entries and size of the cache."""
    from polyml.cli.commands.cache import info

    info(as_json)


@cache.command()
@options.as_json
def clear(as_json: bool) -> None:
    """Remove every entry of the cache."""
    from polyml.cli.commands.cache import clear

    clear(as_json)


@cache.command()
@options.as_json
def verify(as_json: bool) -> None:
    """Read every entry of the cache and remove the damaged ones."""
    from polyml.cli.commands.cache import verify

    verify(as_json)
