"""The machines that polyml knows by name: one TOML file each, in the folder presets."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from polyml.errors import ConfigError
from polyml.machines import cpu, toml_machine
from polyml.machines.cpu import CpuMachine
from polyml.machines.descriptions import Cpu, Described

FOLDER = Path(__file__).parent / "presets"


@cache
def names() -> tuple[str, ...]:
    """Returns the names of the presets, in alphabetical order.

    >>> "zen5" in names()
    True
    """
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


@cache
def preset(name: str) -> Described:
    """Returns the machine with one of the names in `names()`.

    >>> preset("tpu-v1").peak("i8").value
    91750400000000.0

    Raises ConfigError for any other name.
    """
    if name not in names():
        raise ConfigError(f"there is no machine {name!r}", notes=[f"known machines: {', '.join(names())}"])
    return toml_machine.read(FOLDER / f"{name}.toml")


def processor(name: str) -> CpuMachine:
    """Returns the processor that code is made for: the host's for "host", or that of a preset.

    >>> processor("avx2").vector_bytes, processor("neon").isa
    (32, 'aarch64')

    Raises ConfigError for a name that is no preset's, and for machines that are no processors.
    """
    if name == "host":
        return cpu.host()
    found = preset(name)
    if not isinstance(found, Cpu):
        raise ConfigError(f"{name} is no processor")
    return found.machine
