"""`polyml report`: a kernel's memory behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

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
           tile: str | None, chosen: Mapping[str, object], options: Mapping[str, object], as_json: bool) -> int:  # fmt: skip
    """Print the report; the exit status. chosen: threads, simulate, and the folder for pictures."""
    try:
        found = _report(spec, define, args, preset, machine, cache, tile, chosen, options)
        if chosen["pictures"]:
            _draw(found, Path(chosen["pictures"]))
    except PolymlError as problem:
        click.echo(printing.line(problem), err=True)
        return _USAGE
    if as_json:
        printing.as_json(found.data())
    else:
        click.echo(str(found))
    return 0


def _report(spec, define, args, preset, machine, cache, tile, chosen, options):
    from polyml.api import kernel

    levels = () if cache is None else hierarchy.parse(cache)
    sizes_of_tiles = () if tile is None else _sizes(tile)
    if chosen["threads"] < 0:
        raise ConfigError(f"--threads does not take {chosen['threads']}", notes=["expected a number of threads, 0 for all"])
    described = find.find(machine, measure=machine == "host")
    if not isinstance(described, Cpu):
        raise ConfigError(f"{described.name} is no CPU", notes=["expected host, a CPU of `polyml machine --list`, or its file"])
    target = load_target(spec)
    call = call_arguments(target, define, args, preset, seed=0)
    for line in call.said:
        click.echo(line, err=True)
    with config.scope(**options):
        given = kernel(target.function)
        how = {"threads": chosen["threads"], "simulate": chosen["simulate"]}
        return given.report(*call.values.values(), machine=described, caches=levels, tile=sizes_of_tiles, **how)


def _draw(found, folder: Path) -> None:
    """The pictures that there are."""
    from polyml.report.plots import roofline_svg, tiles_svg

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("roofline.svg", roofline_svg(found)), ("tiles.svg", tiles_svg(found))):
            if text:
                (folder / name).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise ConfigError(f"--svg cannot write to {folder}: {problem.strerror}") from None


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ConfigError(f"--tile does not take {text!r}", notes=["expected sizes of tiles, outermost first, as in 32,32,64"])
    return tuple(map(int, parts))
