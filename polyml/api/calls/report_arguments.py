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
    """Returns the ConfigError which says that a parameter does not take a value.

    expected: what the parameter takes, in words.
    """
    return ConfigError(f"{name}= does not take {shown(value)}", notes=[f"expected {expected}"])


def number(name: str, value: object, least: int, most: int) -> int:
    """Returns a parameter's value as an int. Raises ConfigError for anything but a whole number from `least` to `most`."""
    expected = f"a whole number from {least} to {most:,}"
    try:
        found = operator.index(cast(SupportsIndex, value))
    except Exception:  # a class that is not ours may raise anything
        raise refused(name, value, expected) from None
    if isinstance(value, bool) or not least <= found <= most:
        raise refused(name, value, expected)
    return found


def sizes(name: str, value: object, least: int = 1) -> tuple[int, ...]:
    """Returns a parameter's value as a tuple of ints, such as the sizes of a tile. Raises ConfigError for other values.

    least: the smallest number allowed.
    """
    each = sequence(name, value, "whole numbers, as in (4, 8)")
    return tuple(number(name, size, least, _LARGEST) for size in each)


def sequence(name: str, value: object, expected: str, kind: type = object) -> tuple:
    """Returns a parameter's value, a list, tuple or one-dimensional array, as a tuple. Raises ConfigError for other values, texts
    included.

    expected: what the parameter takes, in words.
    kind: the class that each item must have.
    """
    try:
        is_one = isinstance(value, Sequence) or hasattr(value, "__array_interface__")
        items = cast(Sequence[object], value)
        if is_one and not isinstance(value, str | bytes) and len(items) <= MOST and all(isinstance(v, kind) for v in items):
            return tuple(items)
    except Exception:  # a class that is not ours may raise anything
        pass
    raise refused(name, value, expected)


def addresses(name: str, value: object) -> tuple[tuple[str, int], ...]:
    """Returns a parameter's value, {array: byte at which it begins}, as pairs. Raises ConfigError for other values."""
    if not isinstance(value, Mapping) or len(value) > MOST or any(type(key) is not str for key in value):
        raise refused(name, value, "a dict of arrays' names and bytes, as in {'A': 8192}")
    return tuple((key, number(name, each, 0, MOST_ADDRESS)) for key, each in value.items())


def flag(name: str, value: object) -> bool:
    """Returns a parameter's value if it is True or False. Raises ConfigError for other values."""
    if not isinstance(value, bool):
        raise refused(name, value, "True or False")
    return value


def text(name: str, value: object) -> str:
    """Returns a parameter's value if it is a text. Raises ConfigError for other values."""
    if type(value) is not str:
        raise refused(name, value, "a text")
    return value


def texts(name: str, value: object) -> tuple[str, ...]:
    """Returns a parameter's value, one text or a sequence of texts, as a tuple; () for "". Raises ConfigError for other values."""
    if isinstance(value, str):
        return (value,) if value else ()
    return sequence(name, value, "a text, or several", str)
