"""Limits on what people write, tested before anything else reads it: digits of numbers, nesting and length of texts.

Longer texts make Python's and isl's readers fail in ways that cannot be caught, or take minutes.
"""

from __future__ import annotations

import re

_WHOLE = re.compile(r"-?[0-9]+(?:_[0-9]+)*")
_LONGEST_NUMBER = 40  # characters of a number of 64 bits, with signs, leading zeros and underscores to spare
_SHOWN = 60  # characters of what was written that a message repeats
_OPENING, _CLOSING = "([{", ")]}"


def whole_number(text: str, least: int, most: int) -> int | None:
    """Returns the number that a text of ASCII digits, with `_` between them, writes if it is from `least` to `most`, else None.

    >>> whole_number(" 1_000", 1, 2**31), whole_number("-3", -5, 5)
    (1000, -3)
    >>> [whole_number(text, 0, 99) for text in ("100", "-1", "1__0", "²", "٣", "1.0", "", "9" * 5000)]
    [None, None, None, None, None, None, None, None]
    """
    text = text.strip(" ")
    if len(text) > _LONGEST_NUMBER or not _WHOLE.fullmatch(text):
        return None
    number = int(text)
    return number if least <= number <= most else None


def whole_numbers(text: str, separator: str, most_numbers: int, most: int, least: int = 1) -> tuple[int, ...] | None:
    """Returns the whole numbers of a text, at most `most_numbers`, each from `least` to `most`; None for any other text.

    >>> whole_numbers("32, 8", ",", 3, 1024), whole_numbers("4x4", "x", 2, 99), whole_numbers("1,,2", ",", 3, 9)
    ((32, 8), (4, 4), None)
    """
    parts = text.split(separator, most_numbers)
    found = tuple(number for part in parts if (number := whole_number(part, least, most)) is not None)
    return None if len(found) < len(parts) or len(found) > most_numbers else found


def shown(value: object) -> str:
    """Returns a value as a message repeats it: its repr; of a long one the beginning, the end and the length.

    >>> shown("1__0"), shown("9" * 5000)
    ("'1__0'", "'9999999999999999999999999...99999999999999999999' (5,000 characters)")
    """
    value = plain(value)
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHOWN else f"'{_inside(value)}' ({len(value):,} characters)"
    if isinstance(value, int) and not -(2**64) < value < 2**64:
        return f"a number of {value.bit_length():,} bits"
    try:
        text = repr(value)
    except Exception:  # a class that is not ours may raise anything
        return f"a {type(value).__name__}"
    return text if len(text) <= 4 * _SHOWN else f"a {type(value).__name__}"


def plain(value: object) -> object:
    """Returns a text or a number of a class derived from `str` or `int` as one of these, also in a dict; any other value as it is.

    Such a class may print and compare as it likes, or not at all.

    >>> from enum import IntEnum
    >>> plain(IntEnum("Size", "one")(1)), plain(True), plain({"i": "j"}), plain(1.5)
    (1, True, {'i': 'j'}, 1.5)
    """
    if type(value) in (bool, int, str):
        return value
    if isinstance(value, str):
        return "".join(str.__iter__(value))
    if isinstance(value, int):
        return int.__add__(value, 0)
    return {plain(name): plain(of) for name, of in dict.items(value)} if isinstance(value, dict) else value


def _inside(text: str) -> str:
    return repr(f"{text[:25]}...{text[-20:]}")[1:-1]


def excess(text: str, most_characters: int, most_nested: int) -> str:
    """Returns why a text is longer or nested deeper than anyone would write it, as the end of a sentence; "" where it is neither.

    >>> excess("((1))", 100, 50), excess("(" * 51, 100, 50), excess("1" * 101, 100, 50)
    ('', 'is nested deeper than 50 levels', 'is longer than 100 characters')
    """
    if len(text) > most_characters:
        return f"is longer than {most_characters:,} characters"
    depth = deepest = 0
    for character in text:
        if character in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif character in _CLOSING:
            depth -= 1
    return f"is nested deeper than {most_nested} levels" if deepest > most_nested else ""
