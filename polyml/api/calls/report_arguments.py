"""Arguments of reports and simulations, tested and made values of the types that these take. Each function raises ConfigError for
others.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import SupportsIndex, cast

from polyml.errors import ConfigError
from polyml.reading.input_limits import shown

MOST = 64  # sizes, mappings and the like at most: a kernel has fewer loops and nests
MOST_THREADS = 4096
MOST_ADDRESS = 2**36  # bytes, far beyond every array that is simulated
_LARGEST = 2**31


def refused(name: str, value: object, expected: str) -> ConfigError:
    """Returns the error that a parameter does not take a value."""
    return ConfigError(f"{name}= does not take {shown(value)}", notes=[f"expected {expected}"])


def number(name: str, value: object, least: int, most: int) -> int:
    """Returns a whole number within limits."""
    expected = f"a whole number from {least} to {most:,}"
    try:
        found = operator.index(cast(SupportsIndex, value))
    except Exception:  # a class that is not ours may raise anything
        raise refused(name, value, expected) from None
    if isinstance(value, bool) or not least <= found <= most:
        raise refused(name, value, expected)
    return found


def sizes(name: str, value: object, least: int = 1) -> tuple[int, ...]:
    """Returns whole numbers: sizes of tiles, blocks or arrays, or the place of a unit."""
    each = sequence(name, value, "whole numbers, as in (4, 8)")
    return tuple(number(name, size, least, _LARGEST) for size in each)


def sequence(name: str, value: object, expected: str, kind: type = object) -> tuple:
    """Returns the items of a tuple, a list, or what else has a length, each of this class. A text is no sequence."""
    try:
        is_one = isinstance(value, Sequence) or hasattr(value, "__array_interface__")
        items = cast(Sequence[object], value)
        if is_one and not isinstance(value, str | bytes) and len(items) <= MOST and all(isinstance(v, kind) for v in items):
            return tuple(items)
    except Exception:  # a class that is not ours may raise anything
        pass
    raise refused(name, value, expected)


def addresses(name: str, value: object) -> tuple[tuple[str, int], ...]:
    """Returns (array, the byte at which it begins) for each array of a mapping."""
    if not isinstance(value, Mapping) or len(value) > MOST or any(type(key) is not str for key in value):
        raise refused(name, value, "a dict of arrays' names and bytes, as in {'A': 8192}")
    return tuple((key, number(name, each, 0, MOST_ADDRESS)) for key, each in value.items())


def flag(name: str, value: object) -> bool:
    """Returns a value that is True or False."""
    if not isinstance(value, bool):
        raise refused(name, value, "True or False")
    return value


def text(name: str, value: object) -> str:
    """Returns a value that is a text."""
    if type(value) is not str:
        raise refused(name, value, "a text")
    return value


def texts(name: str, value: object) -> tuple[str, ...]:
    """Returns one text or several as a tuple; "" as none."""
    if isinstance(value, str):
        return (value,) if value else ()
    return sequence(name, value, "a text, or several", str)
