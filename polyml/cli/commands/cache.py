"""`polyml cache info`, `clear` and `verify`."""

from __future__ import annotations

from dataclasses import asdict

import click

from polyml import config
from polyml.cli.inputs import output
from polyml.errors import ConfigError
from polyml.runtime.storage.disk_cache import Cache, open_cache


def info(as_json: bool) -> None:
    """Prints the folder of the disk cache, how many entries it has, their size, and when the oldest was last used."""
    found = _cache().info()
    if as_json:
        output.as_json(asdict(found))
        return
    unused = "" if found.oldest_use_seconds is None else f", the oldest last used {_age(found.oldest_use_seconds)} ago"
    click.echo(found.folder)
    click.echo(f"{found.entries} entries, {found.size_bytes / 1e6:.2f} of {found.limit_bytes / 1e6:.0f} MB{unused}")


def clear(as_json: bool) -> None:
    """Removes every entry of the disk cache, and prints how many there were and their size."""
    removed = _cache().clear()
    if as_json:
        output.as_json(asdict(removed))
        return
    click.echo(f"removed {removed.entries} entries, {removed.size_bytes / 1e6:.2f} MB")


def verify(as_json: bool) -> None:
    """Reads every entry of the disk cache, removes the damaged ones, and prints which these were."""
    found = _cache().verify()
    if as_json:
        output.as_json(asdict(found))
        return
    removed = " and removed" if found.damaged else ""
    click.echo(f"{found.entries} entries read, {len(found.damaged)} damaged{removed}")
    for path in found.damaged:
        click.echo(f"  {path}")


def _cache() -> Cache:
    """Returns the disk cache of the settings in force. Raises ConfigError where it is switched off or its folder cannot be used."""
    options = config.resolve()
    if not options.cache:
        raise ConfigError("the cache is switched off", notes=["POLYML_CACHE=1 switches it on"])
    opened = open_cache(options)
    if opened is None:
        raise ConfigError("there is no folder for the cache", notes=["POLYML_CACHE_DIR=/path/of/a/folder names one"])
    fault = opened.fault()
    if fault:
        raise ConfigError(
            f"the cache is not used: {fault}", notes=["a folder of your own that only you may write to is (mode 0700)"]
        )
    return opened


def _age(seconds: float) -> str:
    """Returns a duration as a text in the largest unit of which it has two or more.

    >>> _age(7300)
    '2 hours'
    """
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
