"""The arguments of a call from the command line: from the inputs(size, rng) of the kernel's file, or from specs and guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polyml.cli.inputs import argument_specs
from polyml.cli.inputs.command_specs import CallSpec
from polyml.cli.inputs.kernel_file import KernelFile, reported
from polyml.errors import ConfigError
from polyml.frontend.syntax import ArgType
from polyml.reading.input_limits import shown

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class CommandCall:
    """A command call holds the arguments with which a command calls a kernel.

    values: {parameter: argument}, in the order of the parameters.
    size: {name: size}, as -D and the preset give them.
    said: lines that tell the user which sizes and types were chosen.
    """

    values: Mapping[str, object]
    size: Mapping[str, int]
    said: tuple[str, ...] = ()


def call_arguments(target: KernelFile, spec: CallSpec, seed: int) -> CommandCall:
    """Returns random arguments for a call of a kernel. Raises ConfigError for a preset, size or parameter that does not exist.

    spec: what the command line says of the call.
    seed: the seed of the random numbers.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    if target.has_inputs and not spec.args:
        return _from_file(target, spec, rng)
    _no_preset(target, spec.preset)
    sizes = argument_specs.sizes_from(spec.define)
    found = _specs(target, spec.args)
    argument_specs.check_used(found, sizes)
    return CommandCall(argument_specs.make(found, sizes, rng), sizes, _guesses(found))


def call_types(target: KernelFile, spec: CallSpec) -> tuple[tuple[ArgType, ...], tuple[str, ...]]:
    """Returns the types of a call's arguments, and lines that tell the user which types were guessed. No large array is made."""
    if target.has_inputs and not spec.args:
        return _types_from_file(target, spec)
    _no_preset(target, spec.preset)
    sizes = argument_specs.sizes_from(spec.define)
    found = _specs(target, spec.args)
    argument_specs.check_used(found, sizes)
    return tuple(s.type for s in found), _guesses(found)


def arguments_or_types(target: KernelFile, spec: CallSpec) -> tuple[object, ...]:
    """Returns the arguments that the file's `inputs` makes, whose sizes are known then, or else the types that the command line names.

    What was guessed is told on standard error.
    """
    given: tuple[object, ...]
    if target.has_inputs and not spec.args:
        call = call_arguments(target, spec, seed=0)
        given, said = tuple(call.values.values()), call.said
    else:
        given, said = call_types(target, spec)
    for line in said:
        click.echo(line, err=True)
    return given


def _types_from_file(target: KernelFile, spec: CallSpec) -> tuple[tuple[ArgType, ...], tuple[str, ...]]:
    """Returns the types of the arguments that the file's `inputs` makes, and no lines for the user.

    The types do not depend on the sizes, so the inputs of the smallest preset are made.
    """
    import numpy as np

    from polyml.frontend.argument_types import arg_type

    _size(target, spec)
    smallest = min(_sizes(target).values(), key=lambda sizes: sum(sizes.values()))
    made = _checked_inputs(target, smallest, np.random.default_rng(0))
    return tuple(arg_type(value, name) for name, value in made.items()), ()


def _from_file(target: KernelFile, spec: CallSpec, rng: Generator) -> CommandCall:
    size, name = _size(target, spec)
    described = ", ".join(f"{key}={value}" for key, value in size.items())
    said = () if spec.preset else (f"size {name} of {target.file}: {described}",)
    return CommandCall(_checked_inputs(target, size, rng), size, said)


def _size(target: KernelFile, spec: CallSpec) -> tuple[dict[str, int], str]:
    """Returns {name: size} of the chosen preset, with the changes of -D, and the preset's name.

    Raises ConfigError for a preset or a size that the file does not have.
    """
    sizes = _sizes(target)
    name = spec.preset.upper() if spec.preset else next(iter(sizes))
    if name not in sizes:
        raise ConfigError(f"{target.file} has no size {shown(spec.preset)}", notes=[f"it has {', '.join(sizes)}"])
    changed = argument_specs.sizes_from(spec.define)
    unknown = [key for key in changed if key not in sizes[name]]
    if unknown:
        known = ", ".join(sizes[name])
        raise ConfigError(f"{target.name} has no size {shown(unknown[0])}", notes=[f"sizes: {known}"])
    return {**sizes[name], **changed}, name


def _sizes(target: KernelFile) -> Mapping[str, Mapping[str, int]]:
    """Returns SIZES of a kernel's file, {preset: {name: size}}. Raises ConfigError where it is something else."""
    found = target.sizes
    if isinstance(found, Mapping) and found and all(isinstance(name, str) and _are_sizes(each) for name, each in found.items()):
        return found
    raise ConfigError(
        f"SIZES of {target.file} has no sizes by name", notes=['expected presets, as in SIZES = {"LARGE": {"N": 1000}}']
    )


def _are_sizes(found: object) -> bool:
    return isinstance(found, Mapping) and all(isinstance(name, str) and isinstance(size, int) for name, size in found.items())


def _checked_inputs(target: KernelFile, size: Mapping[str, int], rng: Generator) -> dict[str, object]:
    """Returns {parameter: argument}, made by inputs(size, rng) of a kernel's file.

    Raises ConfigError where that function fails, or does not return one argument for each parameter.
    """
    described = ", ".join(f"{name}={value}" for name, value in size.items())
    with reported(target.file, f"makes no inputs of {described}"):
        made = target.module.inputs(size, rng)
    code = target.function.__code__
    expected = code.co_varnames[: code.co_argcount]
    if not isinstance(made, dict) or tuple(made) != expected:
        got = ", ".join(map(str, made)) if isinstance(made, dict) else type(made).__name__
        raise ConfigError(
            f"inputs(size, rng) of {target.file} does not fit {target.name}",
            notes=[f"it gives {got}", f"expected a dict with {', '.join(expected)}"],
        )
    return made


def _no_preset(target: KernelFile, preset: str | None) -> None:
    if preset is not None:
        raise ConfigError(
            f"--preset {preset[:60]} needs SIZES and inputs(size, rng) in {target.file}, and no --arg",
            notes=["without them: --arg 'A=f64[N,M]' -D N=100 -D M=200"],
        )


def _specs(target: KernelFile, args: Sequence[str]) -> tuple[argument_specs.Spec, ...]:
    from polyml.frontend.parsing.parse import parse

    return argument_specs.guess(parse(target.function), {s.name: s for s in map(argument_specs.spec_from, args)})


def _guesses(found: Sequence[argument_specs.Spec]) -> tuple[str, ...]:
    return tuple(f"{s.name}: {s.type}, {s.guessed} (--arg changes it)" for s in found if s.guessed)
