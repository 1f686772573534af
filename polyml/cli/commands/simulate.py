"""`polyml simulate`: a kernel's values from the units of a systolic array, beside the processor's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import click

from polyml import config
from polyml.cli.commands.report import array_shape
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import CommandCall, call_arguments
from polyml.cli.inputs.command_specs import ArraySpec, CallSpec, SimulateSpec
from polyml.cli.inputs.exit_status import DONE, REFUSED, status_of
from polyml.cli.inputs.kernel_file import KernelFile, load_kernel_file
from polyml.cli.inputs.progress import working
from polyml.errors import ConfigError, PolymlError
from polyml.machines.descriptions import LONGEST
from polyml.measure import lookup
from polyml.reading.input_limits import shown, whole_numbers


def simulate(
    call_spec: CallSpec, machine: str | None, array: ArraySpec, spec: SimulateSpec, settings: Mapping[str, object], as_json: bool
) -> int:
    """Simulates a call on a systolic array, prints how its values agree with the processor's, and returns the exit status.

    machine: the name or the file of the systolic array; None: that of the kernel's own target.
    """
    try:
        shape = () if array.array is None else array_shape(array.array)
        described = None if machine is None else lookup.find(machine)
        loaded = load_kernel_file(call_spec.kernel)
        call = call_arguments(loaded, call_spec, spec.seed)
        for line in call.said:
            click.echo(line, err=True)
        with working("simulating the units"), config.scope(**settings):
            found = loaded.as_kernel().compare(
                *call.values.values(), machine=described, array=shape, dataflow=array.dataflow, links=array.links,
                mapping=array.mapping, engine=spec.engine, trace=spec.trace, listing=_listing(spec), errors=_errors(loaded, call),
            )  # fmt: skip
    except PolymlError as problem:
        click.echo(output.line(problem), err=True)
        return status_of(problem)
    if as_json:
        output.as_json(found.data())
    else:
        click.echo(found.text(output.width()))
    return DONE if found.ok else REFUSED


def _listing(spec: SimulateSpec) -> bool | tuple[tuple[int, ...], ...]:
    """Returns the positions of the units that are to be listed; if none is named, True or False: whether all are."""
    return tuple(map(_unit, spec.units)) or spec.listing


def _errors(loaded: KernelFile, call: CommandCall) -> Callable[[], dict[str, object]] | None:
    """Returns a function that returns bounds on rounding errors by argument; None where the kernel's file has no `terms`
    function.
    """
    return partial(_bounds, loaded, call) if hasattr(loaded.module, "terms") else None


def _bounds(loaded: KernelFile, call: CommandCall) -> dict[str, object]:
    """Returns {argument: how far each of its elements may be from the exact result}: the number of roundings, which the function
    `terms` in the kernel's file gives, times the precision of the type and the magnitude of the element.

    Raises ConfigError where a function of the kernel's file fails.
    """
    import numpy as np

    module, given = loaded.module, call.values
    scale = getattr(module, "magnitude", None) or (lambda *args: module.reference(*map(abs, args)))
    try:
        terms = module.terms(call.size)
        scales = {} if terms is None else scale(*given.values())
        return {name: terms * float(np.finfo(np.asarray(given[name]).dtype).eps) * each for name, each in scales.items()}
    except Exception as error:  # whatever the user's file raises is reported, not ours to handle
        message = f"{loaded.file} does not bound rounding errors: {type(error).__name__}: {error}"
        notes = ["expected terms(size), and magnitude(*args) or reference(*args), as in kernels/gemm.py"]
        raise ConfigError(message, notes=notes) from error


def _unit(text: str) -> tuple[int, ...]:
    """Returns the unit that the text of --unit names: (row, column), such as (0, 3) for "0,3", or (number,) in an array of one row.
    Raises ConfigError for any other text.
    """
    found = whole_numbers(text, ",", 2, LONGEST, least=0)
    if found is None:
        expected = "expected a row and a column, counted from 0, as in 0,3, or a place in a row"
        raise ConfigError(f"--unit does not take {shown(text)}", notes=[expected])
    return found
