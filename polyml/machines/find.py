"""A machine by what a user calls it: `host`, a preset, or a file."""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path

from polyml import machine
from polyml.errors import ConfigError
from polyml.hardware import Cpu, Described
from polyml.machines import files

_FOLDER = Path(__file__).parent / "presets"


def names() -> tuple[str, ...]:
    """Of the presets with rates.

    >>> names()[0]
    'gemmini'
    """
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.toml")))


def find(text: str, *, measure: bool = False) -> Described:
    """The machine called `text`, or described by the file of that name. The host comes with the rates that were measured before;
    measure: they are measured where there are none.

    >>> find("tpu-v1").peak("i8").value
    91750400000000.0

    Raises ConfigError for what is neither, and for a file that describes no machine.
    """
    name = text.strip().lower().replace("_", "-")
    if name == "host":
        from polyml.machines import host

        return host.measured() if measure else host.known()
    if name in names():
        return preset(name)
    if name in machine.PRESETS:
        generic = machine.preset(name)
        return Cpu(name=generic.name, machine=generic)
    if Path(text).is_file():
        return files.read(Path(text))
    raise _unknown(text, name)


@cache
def preset(name: str) -> Described:
    """One of `names`."""
    return files.read(_FOLDER / f"{name}.toml")


def _unknown(text: str, name: str) -> ConfigError:
    known = ("host", *names(), *machine.PRESETS)
    if text.endswith(".toml") or "/" in text:
        return ConfigError(f"there is no file {text}", notes=["expected a TOML file, or one of " + ", ".join(known)])
    near = difflib.get_close_matches(name, known, n=1)
    hint = [f"did you mean {near[0]}?"] if near else []
    return ConfigError(f"there is no machine {text!r}", notes=[*hint, f"known: {', '.join(known)}; or a TOML file"])
