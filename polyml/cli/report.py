"""`polyml report`: a kernel's memory behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from polyml import config
from polyml.caches import hierarchy
from polyml.cli import printing
from polyml.cli.arguments import call_arguments
from polyml.cli.target import load_target
from polyml.errors import ConfigError, PolymlError
from polyml.hardware import Cpu
from polyml.machines import find

_USAGE = 2  # the exit status


def report(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None, machine: str, cache: str | None,
           tile: str | None, threads: int, options: Mapping[str, object], as_json: bool) -> int:  # fmt: skip
    """Print the report; the exit status."""
    try:
        found = _report(spec, define, args, preset, machine, cache, tile, threads, options)
    except PolymlError as problem:
        click.echo(printing.line(problem), err=True)
        return _USAGE
    if as_json:
        printing.as_json(found.data())
    else:
        click.echo(str(found))
    return 0


def _report(spec, define, args, preset, machine, cache, tile, threads, options):
    from polyml.api import kernel

    levels = () if cache is None else hierarchy.parse(cache)
    sizes_of_tiles = () if tile is None else _sizes(tile)
    if threads < 0:
        raise ConfigError(f"--threads does not take {threads}", notes=["expected a number of threads, 0 for all"])
    described = find.find(machine, measure=machine == "host")
    if not isinstance(described, Cpu):
        raise ConfigError(f"{described.name} is no CPU", notes=["expected host, a CPU of `polyml machine --list`, or its file"])
    target = load_target(spec)
    call = call_arguments(target, define, args, preset, seed=0)
    for line in call.said:
        click.echo(line, err=True)
    with config.scope(**options):
        given = kernel(target.function)
        return given.report(*call.values.values(), machine=described, caches=levels, tile=sizes_of_tiles, threads=threads)


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ConfigError(f"--tile does not take {text!r}", notes=["expected sizes of tiles, outermost first, as in 32,32,64"])
    return tuple(map(int, parts))
