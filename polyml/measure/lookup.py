"""A machine by what a user calls it: `host`, a preset, or a file."""

from __future__ import annotations

import difflib
import os
from os import PathLike

from polyml.errors import ConfigError
from polyml.machines import catalogue, toml_machine
from polyml.machines.descriptions import Described
from polyml.reading.input_limits import shown
from polyml.reading.userfiles import called


def find(text: str | PathLike, *, measure: bool = False) -> Described:
    """Returns the machine of a name or of a TOML file's path; for "host", the host with the rates that were measured before.

    measure: whether the host's rates are measured where there are none, which takes a second or more.

    Raises ConfigError for what is neither a machine nor a file that describes one.

    >>> find("tpu-v1").peak("i8").value
    91750400000000.0
    """
    if isinstance(text, PathLike):
        try:
            text = os.fspath(text)
        except Exception:  # a class that is not ours may raise anything
            raise ConfigError(f"{shown(text)} is no file", notes=[f"known: {_known()}; or a TOML file"]) from None
        return toml_machine.read(text)
    if not isinstance(text, str):
        raise ConfigError(f"{shown(text)} is no machine", notes=[f"known: {_known()}; or a TOML file"])
    name = text.strip().lower().replace("_", "-")
    if name == "host":
        from polyml.measure import host

        return host.measured() if measure else host.known()
    if name in catalogue.names():
        return catalogue.preset(name)
    try:
        is_there = os.path.lexists(text)
    except ValueError:
        is_there = False
    if is_there:
        return toml_machine.read(text)
    raise _unknown(text, name)


def _unknown(text: str, name: str) -> ConfigError:
    if text.endswith(".toml") or "/" in text:
        return ConfigError(f"there is no file {called(text)}", notes=[f"expected a TOML file, or one of {_known()}"])
    near = difflib.get_close_matches(name[:100], ("host", *catalogue.names()), n=1)
    hint = [f"did you mean {near[0]}?"] if near else []
    return ConfigError(f"there is no machine {shown(text)}", notes=[*hint, f"known: {_known()}; or a TOML file"])


def _known() -> str:
    return ", ".join(("host", *catalogue.names()))
