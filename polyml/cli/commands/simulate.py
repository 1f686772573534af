"""`polyml simulate`: a kernel's values from the units of a systolic array, beside the processor's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import click

from polyml import config
from polyml.cli.commands.report import array_shape
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import Call, call_arguments
from polyml.cli.inputs.kernel_file import Target, load_target
from polyml.errors import ConfigError, PolymlError
from polyml.machines.descriptions import LONGEST
from polyml.measure import lookup
from polyml.reading.input_limits import shown, whole_numbers

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
        described = None if machine is None else lookup.find(machine)
        loaded = load_target(spec)
        call = call_arguments(loaded, define, args, preset, seed)
        for line in call.said:
            click.echo(line, err=True)
        with config.scope(**options):
            found = _simulated(loaded, call, {**asked, "machine": described}, engine, shown)
    except PolymlError as problem:
        click.echo(output.line(problem), err=True)
        return _USAGE
    if shown.as_json:
        output.as_json(found.data())
    else:
        click.echo(str(found))
    return 0 if found.ok else _WRONG


def _simulated(loaded: Target, call: Call, asked: Mapping[str, object], engine: str, shown: Shown):
    from polyml.api import kernel

    compiled = loaded.decorated if hasattr(loaded.decorated, "py_func") else kernel(loaded.function)
    listing = tuple(map(_unit, shown.units)) or shown.listing
    errors = partial(_errors, loaded, call) if hasattr(loaded.module, "terms") else None
    shown_too = {"trace": shown.trace, "listing": listing, "errors": errors}
    return compiled.compare(*call.values.values(), **asked, engine=engine, **shown_too)


def _errors(loaded: Target, call: Call) -> dict[str, object]:
    """Of rounding, by the terms and magnitudes of a file like those of `kernels`."""
    import numpy as np

    module, given = loaded.module, call.values
    scale = getattr(module, "magnitude", None) or (lambda *args: module.reference(*map(abs, args)))
    try:
        terms = module.terms(call.size)
        scales = {} if terms is None else scale(*given.values())
        return {name: terms * float(np.finfo(given[name].dtype).eps) * each for name, each in scales.items()}
    except Exception as error:  # whatever the user's file raises is reported, not ours to handle
        message = f"{loaded.file} does not bound rounding errors: {type(error).__name__}: {error}"
        notes = ["expected terms(size), and magnitude(*args) or reference(*args), as in kernels/gemm.py"]
        raise ConfigError(message, notes=notes) from error


def _unit(text: str) -> tuple[int, ...]:
    found = whole_numbers(text, ",", 2, LONGEST, least=0)
    if found is None:
        expected = "expected a row and a column, counted from 0, as in 0,3, or a place in a row"
        raise ConfigError(f"--unit does not take {shown(text)}", notes=[expected])
    return found
