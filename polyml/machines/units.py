"""Numbers with units from text: "32 KiB", "3.2 GHz", "34 GB/s", "1.5 TFLOP/s", "64 B/cycle", "0.2 pJ"."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass

from polyml.errors import ConfigError

_THOUSANDS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"": 1.0, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}


def _scaled(*suffixes: str, prefixes: dict[str, float] = _THOUSANDS) -> dict[str, float]:
    return {prefix + suffix: factor for suffix in suffixes for prefix, factor in prefixes.items()}


_BYTES = _scaled("B") | _scaled("B", prefixes=_BINARY)
_JOULES = {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "nJ": 1e-9, "pJ": 1e-12, "fJ": 1e-15}
UNITS = {
    "size": _BYTES,
    "frequency": _scaled("Hz"),
    "bandwidth": {f"{unit}/s": factor for unit, factor in _BYTES.items()} | {"B/cycle": 1.0},
    "operations": _scaled("FLOP/s", "OP/s") | {"FLOP/cycle": 1.0, "OP/cycle": 1.0},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "cycles": 1.0},
    "energy": _JOULES,
    "energy of bytes": {f"{unit}/B": factor for unit, factor in _JOULES.items()},
}
_NOUNS = {"operations": "rate of operations", "energy of bytes": "energy per byte"}
EXAMPLES = {
    "size": '"32 KiB", "64 B"',
    "frequency": '"3.2 GHz", "700 MHz"',
    "bandwidth": '"34 GB/s", "64 B/cycle"',
    "operations": '"1.5 TFLOP/s", "32 FLOP/cycle"',
    "time": '"300 ns", "480 cycles"',
    "energy": '"0.2 pJ", "1 nJ"',
    "energy of bytes": '"12.5 pJ/B"',
}


@dataclass(frozen=True)
class Quantity:
    """A Quantity is a number in bytes, Hz, bytes per second, operations per second, seconds, joules or joules per byte.

    per_cycle: whether it is per clock cycle where these are per second, or in clock cycles in place of seconds.
    """

    value: float
    per_cycle: bool = False


def quantity(text: str, kind: str) -> Quantity:
    """Returns the number with a unit that a text says, in the kind's basic unit: bytes, Hz, bytes/s, operations/s, s, J, J/byte.

    kind: what is measured, a key of UNITS such as "bandwidth".

    Raises ConfigError for text without a number or a unit, and for numbers that are not positive.

    >>> quantity("32 KiB", "size").value, quantity("34 GB/s", "bandwidth").value
    (32768.0, 34000000000.0)
    >>> quantity("16 FLOP/cycle", "operations")
    Quantity(value=16.0, per_cycle=True)
    """
    noun = _NOUNS.get(kind, kind)
    one = f"an {noun}" if noun.startswith("e") else f"a {noun}"
    accepted = f"accepted: a number and a unit, as in {EXAMPLES[kind]}"
    found = re.fullmatch(r"\s*([-+]?[\d_]*\.?\d+(?:[eE][-+]?\d+)?)\s*(\S*)\s*", text)
    if found is None:
        raise ConfigError(f"`{text}` is no {noun}", notes=[accepted])
    number, unit = float(found[1].replace("_", "")), found[2]
    if not unit:
        raise ConfigError(f"`{text}` has no unit", notes=[accepted])
    if unit not in UNITS[kind]:
        near = _near(unit, kind)
        raise ConfigError(f"`{unit}` is no unit of {one}", notes=[f"did you mean {near}?"] if near else [accepted])
    value = number * UNITS[kind][unit]
    if not value > 0 or math.isinf(value):
        raise ConfigError(f"{one} of `{text}` is not possible", notes=["accepted: numbers above zero"])
    return Quantity(value, unit.endswith(("/cycle", "cycles")))


def _near(unit: str, kind: str) -> str:
    """Returns the known unit that is spelled most like an unknown one; "" where none is close to it.

    kind: the kind of quantity whose units are searched, a key of UNITS such as "bandwidth".
    """
    same = {known.lower(): known for known in UNITS[kind]}
    near = difflib.get_close_matches(unit.lower(), same, n=1)
    return same[near[0]] if near else ""


_SHOWN = {"frequency": "Hz", "bandwidth": "B/s", "operations": "FLOP/s", "integers": "OP/s"}


def shown(value: float, kind: str) -> str:
    """Returns a value as text with three digits and a unit.

    kind: what is measured, a key of UNITS such as "bandwidth", or "integers" for operations on them.

    >>> shown(32768, "size"), shown(3.4e10, "bandwidth"), shown(117.24e9, "operations")
    ('32 KiB', '34 GB/s', '117 GFLOP/s')
    """
    if kind.startswith("energy"):
        unit, factor = next(((u, f) for u, f in _JOULES.items() if value >= f), ("fJ", 1e-15))
        return f"{_digits(value / factor)} {unit}{'/B' if kind == 'energy of bytes' else ''}"
    if kind == "time":
        unit, factor = next(((u, f) for u, f in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if value >= f), ("ns", 1e-9))
        return f"{_digits(value / factor)} {unit}"
    if kind == "size":
        prefix, factor = max((p for p in _BINARY.items() if p[1] <= max(value, 1)), key=lambda p: p[1])
        return f"{_digits(value / factor)} {prefix}B"
    prefix, factor = max((p for p in _THOUSANDS.items() if p[1] <= max(value, 1)), key=lambda p: p[1])
    return f"{_digits(value / factor)} {prefix}{_SHOWN[kind]}"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
