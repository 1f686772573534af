"""The forms of results: nested tuples and lists, as texts.

    return (A.sum(), B), A.shape, w    ->    ((_, _, ), s, l, )

`_` stands for a number or array, `s` for the shape of an array, which becomes a tuple of its sizes where the array's rank is known, `l`
for the list of the elements of an array, and `p` for such a list of Python's numbers. The text of a result without such parts is
empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from polyml.reading.text_scanner import Line

VALUE, SHAPE, LIST, PYTHON_LIST = "_slp"
_LEAF = re.compile(f"[{VALUE}{SHAPE}{LIST}{PYTHON_LIST}]")
_FORM = re.compile(f"[{VALUE}{SHAPE}{LIST}{PYTHON_LIST}(), ]*")


def tuple_of(parts: Sequence[str]) -> str:
    """Returns the form of a tuple, from the forms of its parts."""
    return f"({''.join(f'{part}, ' for part in parts)})"


def leaves(form: str) -> list[str]:
    """Returns the letters of a form, in order."""
    return _LEAF.findall(form)


def replaced(form: str, parts: Sequence[str]) -> str:
    """Returns a form with texts in the places of its letters, as many as it has."""
    texts = iter(parts)
    return _LEAF.sub(lambda match: next(texts), form)


def is_form(text: str) -> bool:
    """Returns whether a text is a form."""
    depth = 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return False
    return depth == 0 and _FORM.fullmatch(text) is not None


def read_form(line: Line) -> str:
    """Reads the text of a form in a line and returns it. Raises TextError for anything else."""
    place, text = line.token, line.string("the form of a result")
    if not text or not is_form(text):
        raise line.wrong("the form of a result", place)
    return text


def result(form: str, values: Sequence[object]) -> object:
    """Returns the values of a form put together, one for each of its letters."""
    return _built(iter(form), iter(values))[0]


def _built(signs: Iterator[str], values: Iterator[object]) -> list[object]:
    made: list[object] = []
    for sign in signs:
        if sign == ")":
            return made
        if sign == "(":
            made.append(tuple(_built(signs, values)))
        elif sign not in ", ":
            made.append(listed(sign, next(values)))
    return made


def listed(letter: str, value: object) -> object:
    """Returns a value as the letter of a form says: the list of the elements of an array, or the value itself."""
    if letter not in (LIST, PYTHON_LIST) or not isinstance(value, np.ndarray):
        return value
    return value.tolist() if letter == PYTHON_LIST else _as_list(value)


def _as_list(array: np.ndarray) -> list:
    return [_as_list(row) for row in array] if array.ndim > 1 else list(array)
