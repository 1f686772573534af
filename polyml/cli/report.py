"""`polyml report`: a kernel's memory behaviour, or what it does on a systolic array."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import click

from polyml import config
from polyml.caches import hierarchy
from polyml.cli import printing
from polyml.cli.arguments import call_arguments
from polyml.cli.target import load_target
from polyml.errors import ConfigError, PolymlError
from polyml.hardware import Cpu, Systolic
from polyml.machines import find

_USAGE = 2  # the exit status


def report(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None, machine: str, cache: str | None,
           tile: str | None, threads: int, options: Mapping[str, object], as_json: bool) -> int:  # fmt: skip
    """Print the report; the exit status."""
    return _printed(lambda: _report(spec, define, args, preset, machine, cache, tile, threads, options), as_json)


def systolic(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None, machine: str, array: str | None,
             dataflow: str, options: Mapping[str, object], as_json: bool) -> int:  # fmt: skip
    """The same for an array; machine: `host` where none is given."""
    return _printed(lambda: _systolic(spec, define, args, preset, machine, array, dataflow, options), as_json)


def _printed(made: Callable, as_json: bool) -> int:
    try:
        found = made()
    except PolymlError as problem:
        click.echo(printing.line(problem), err=True)
        return _USAGE
    if as_json:
        printing.as_json(found.data())
    else:
        click.echo(str(found))
    return 0


def _report(spec, define, args, preset, machine, cache, tile, threads, options):
    levels = () if cache is None else hierarchy.parse(cache)
    sizes_of_tiles = () if tile is None else _sizes(tile)
    if threads < 0:
        raise ConfigError(f"--threads does not take {threads}", notes=["expected a number of threads, 0 for all"])
    described = find.find(machine, measure=machine == "host")
    if not isinstance(described, Cpu):
        raise ConfigError(f"{described.name} is no CPU", notes=["expected host, a CPU of `polyml machine --list`, or its file"])
    return _of_call(spec, define, args, preset, options, machine=described, caches=levels, tile=sizes_of_tiles, threads=threads)


def _systolic(spec, define, args, preset, machine, array, dataflow, options):
    described = None if machine == "host" else find.find(machine)
    if not isinstance(described, Systolic | None):
        raise ConfigError(f"{described.name} is no systolic array", notes=["expected tpu-v1, or a TOML file of kind systolic"])
    shape = () if array is None else _shape(array)
    if not shape and described is None:
        raise ConfigError("--target systolic needs --array or --machine", notes=["as in --array 16x16, or --machine tpu-v1"])
    return _of_call(spec, define, args, preset, options, target="systolic", machine=described, array=shape, dataflow=dataflow)


def _of_call(spec, define, args, preset, options, **given):
    from polyml.api import kernel

    target = load_target(spec)
    call = call_arguments(target, define, args, preset, seed=0)
    for line in call.said:
        click.echo(line, err=True)
    with config.scope(**options):
        return kernel(target.function).report(*call.values.values(), **given)


def _shape(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.lower().split("x")]
    if len(parts) > 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ConfigError(f"--array does not take {text!r}", notes=["expected rows and columns, as in 16x16, or a length"])
    return tuple(map(int, parts))


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ConfigError(f"--tile does not take {text!r}", notes=["expected sizes of tiles, outermost first, as in 32,32,64"])
    return tuple(map(int, parts))
