"""What is asked of reports and simulations, as values of the types that these take. ConfigError for anything else."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import SupportsIndex, cast

from polyml.errors import ConfigError
from polyml.reading.input_limits import shown

MOST = 64  # of sizes, mappings and the like: a kernel has fewer loops and nests
MOST_THREADS = 4096
MOST_ADDRESS = 2**36  # which is far behind every array that is simulated
_LARGEST = 2**31


def refused(name: str, value: object, expected: str) -> ConfigError:
    return ConfigError(f"{name}= does not take {shown(value)}", notes=[f"expected {expected}"])


def number(name: str, value: object, least: int, most: int) -> int:
    expected = f"a whole number from {least} to {most:,}"
    try:
        found = operator.index(cast(SupportsIndex, value))
    except Exception:  # of what the value's own type makes of it
        raise refused(name, value, expected) from None
    if isinstance(value, bool) or not least <= found <= most:
        raise refused(name, value, expected)
    return found


def sizes(name: str, value: object, least: int = 1) -> tuple[int, ...]:
    """Of tiles, blocks, arrays, or a unit's place."""
    each = sequence(name, value, "whole numbers, as in (4, 8)")
    return tuple(number(name, size, least, _LARGEST) for size in each)


def sequence(name: str, value: object, expected: str, kind: type = object) -> tuple:
    """The items of a tuple, a list, or what else has a length, each of that kind. A text is none."""
    try:
        is_one = isinstance(value, Sequence) or hasattr(value, "__array_interface__")
        items = cast(Sequence[object], value)
        if is_one and not isinstance(value, str | bytes) and len(items) <= MOST and all(isinstance(v, kind) for v in items):
            return tuple(items)
    except Exception:  # of what the value's own type makes of it
        pass
    raise refused(name, value, expected)


def addresses(name: str, value: object) -> tuple[tuple[str, int], ...]:
    """Of arrays, by name."""
    if not isinstance(value, Mapping) or len(value) > MOST or any(type(key) is not str for key in value):
        raise refused(name, value, "a dict of arrays' names and bytes, as in {'A': 8192}")
    return tuple((key, number(name, each, 0, MOST_ADDRESS)) for key, each in value.items())


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise refused(name, value, "True or False")
    return value


def text(name: str, value: object) -> str:
    if type(value) is not str:
        raise refused(name, value, "a text")
    return value


def texts(name: str, value: object) -> tuple[str, ...]:
    """One, or several."""
    if isinstance(value, str):
        return (value,) if value else ()
    return sequence(name, value, "a text, or several", str)
