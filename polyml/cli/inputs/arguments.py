"""The arguments of a command-line call: from the file's own inputs(size, rng), or from specs and guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyml.cli.inputs import argument_specs
from polyml.cli.inputs.kernel_file import Target, reported
from polyml.errors import ConfigError
from polyml.frontend.syntax import ArgType
from polyml.reading.input_limits import shown


@dataclass(frozen=True)
class Call:
    """values: by parameter, in the order of the call. size: what -D and the preset made of the sizes.

    said: lines that tell the user what was chosen for them.
    """

    values: Mapping[str, object]
    size: Mapping[str, int]
    said: tuple[str, ...] = ()


def call_arguments(target: Target, define: Sequence[str], args: Sequence[str], preset: str | None, seed: int) -> Call:
    """Random arguments for a run. Raises ConfigError for a preset, size or parameter that does not exist."""
    import numpy as np

    rng = np.random.default_rng(seed)
    if target.has_inputs and not args:
        return _from_file(target, define, preset, rng)
    _no_preset(target, preset)
    sizes = argument_specs.sizes_from(define)
    found = _specs(target, args)
    argument_specs.check_used(found, sizes)
    return Call(argument_specs.make(found, sizes, rng), sizes, _guesses(found))


def call_types(
    target: Target, define: Sequence[str], args: Sequence[str], preset: str | None
) -> tuple[tuple[ArgType, ...], tuple[str, ...]]:
    """(types of the arguments, what to tell the user), without making large arrays."""
    if target.has_inputs and not args:
        return _types_from_file(target, define, preset)
    _no_preset(target, preset)
    sizes = argument_specs.sizes_from(define)
    found = _specs(target, args)
    argument_specs.check_used(found, sizes)
    return tuple(s.type for s in found), _guesses(found)


def _types_from_file(target: Target, define: Sequence[str], preset: str | None):
    """Types do not depend on the sizes, so the smallest preset says them."""
    import numpy as np

    from polyml.frontend.argument_types import arg_type

    _size(target, define, preset)
    smallest = min(_sizes(target).values(), key=lambda sizes: sum(sizes.values()))
    made = _checked_inputs(target, smallest, np.random.default_rng(0))
    return tuple(arg_type(value, name) for name, value in made.items()), ()


def _from_file(target: Target, define: Sequence[str], preset: str | None, rng) -> Call:
    size, name = _size(target, define, preset)
    described = ", ".join(f"{key}={value}" for key, value in size.items())
    said = () if preset else (f"size {name} of {target.file}: {described}",)
    return Call(_checked_inputs(target, size, rng), size, said)


def _size(target: Target, define: Sequence[str], preset: str | None) -> tuple[dict[str, int], str]:
    """The preset's sizes with what -D changes of them, and the preset's name."""
    sizes = _sizes(target)
    name = preset.upper() if preset else next(iter(sizes))
    if name not in sizes:
        raise ConfigError(f"{target.file} has no size {shown(preset)}", notes=[f"it has {', '.join(sizes)}"])
    changed = argument_specs.sizes_from(define)
    unknown = [key for key in changed if key not in sizes[name]]
    if unknown:
        known = ", ".join(sizes[name])
        raise ConfigError(f"{target.name} has no size {shown(unknown[0])}", notes=[f"sizes: {known}"])
    return {**sizes[name], **changed}, name


def _sizes(target: Target) -> Mapping[str, Mapping[str, int]]:
    """The file's SIZES. Raises ConfigError where they are none."""
    found = target.sizes
    if isinstance(found, Mapping) and found and all(isinstance(name, str) and _are_sizes(each) for name, each in found.items()):
        return found
    raise ConfigError(
        f"SIZES of {target.file} has no sizes by name", notes=['expected presets, as in SIZES = {"LARGE": {"N": 1000}}']
    )


def _are_sizes(found: object) -> bool:
    return isinstance(found, Mapping) and all(isinstance(name, str) and isinstance(size, int) for name, size in found.items())


def _checked_inputs(target: Target, size: Mapping[str, int], rng) -> dict[str, object]:
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


def _no_preset(target: Target, preset: str | None) -> None:
    if preset is not None:
        raise ConfigError(
            f"--preset {preset[:60]} needs SIZES and inputs(size, rng) in {target.file}, and no --arg",
            notes=["without them: --arg 'A=f64[N,M]' -D N=100 -D M=200"],
        )


def _specs(target: Target, args: Sequence[str]) -> tuple[argument_specs.Spec, ...]:
    from polyml.frontend.parsing.parse import parse

    return argument_specs.guess(parse(target.function), {s.name: s for s in map(argument_specs.spec_from, args)})


def _guesses(found: Sequence[argument_specs.Spec]) -> tuple[str, ...]:
    return tuple(f"{s.name}: {s.type}, {s.guessed} (--arg changes it)" for s in found if s.guessed)
