"""`polyml simulate`: a kernel's values from the units of a systolic array, beside the processor's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from polyml import config
from polyml.cli import printing
from polyml.cli.arguments import call_arguments
from polyml.cli.report import array_shape
from polyml.cli.target import Target, load_target
from polyml.errors import ConfigError, PolymlError
from polyml.machines import find

_WRONG, _USAGE = 1, 2  # exit statuses


@dataclass(frozen=True)
class Shown:
    """What is printed besides: the units at work in each cycle, what single units do, or some of them; data instead of text."""

    trace: bool
    listing: bool
    units: Sequence[str]
    as_json: bool


def simulate(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None, seed: int, machine: str | None,
             asked: Mapping[str, object], engine: str, shown: Shown, options: Mapping[str, object]) -> int:  # fmt: skip
    """Simulate and print; the exit status. asked: by the parameters of `Kernel.report`, as the command line has them."""
    try:
        asked = {**asked, "array": () if asked["array"] is None else array_shape(asked["array"])}
        described = None if machine is None else find.find(machine)
        loaded = load_target(spec)
        call = call_arguments(loaded, define, args, preset, seed)
        for line in call.said:
            click.echo(line, err=True)
        with config.scope(**options):
            found = _simulated(loaded, call.values, {**asked, "machine": described}, engine, shown)
    except PolymlError as problem:
        click.echo(printing.line(problem), err=True)
        return _USAGE
    if shown.as_json:
        printing.as_json(found.data())
    else:
        click.echo(str(found))
    return 0 if found.ok else _WRONG


def _simulated(loaded: Target, arguments: Mapping[str, object], asked: Mapping[str, object], engine: str, shown: Shown):
    from polyml.api import kernel

    compiled = loaded.decorated if hasattr(loaded.decorated, "py_func") else kernel(loaded.function)
    listing = tuple(map(_unit, shown.units)) or shown.listing
    return compiled.compare(*arguments.values(), **asked, engine=engine, trace=shown.trace, listing=listing)


def _unit(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        expected = "expected a row and a column, counted from 0, as in 0,3, or a place in a row"
        raise ConfigError(f"--unit does not take {text!r}", notes=[expected])
    return tuple(map(int, parts))
