"""The forms of results: nested tuples and lists, as texts.

    return (A.sum(), B), A.shape, w    ->    ((_, _, ), s, l, )

`_` stands for a number or array, `s` for the shape of an array, which becomes a tuple of its sizes where the array's rank is known, `l`
for the list of the elements of an array, `p` for such a list of Python's numbers, and `a` for an array of a list, which is one of float64
where the list is empty. `Vk1i(_, _, _, )` is a view of the first of its parts, by the numbers behind it, as `viewed` says; `Vt(l, l, )` a
list of tuples and `Vl(l, l, )` a list of lists, as `tuples` and `lists` make them. The text of a result without such parts is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from polyml.reading.text_scanner import Line

VALUE, SHAPE, LIST, PYTHON_LIST, ARRAY_OF_LIST = _LETTERS = "_slpa"
DIAGONAL, RESHAPED = "dr"
TUPLES, LISTS = "tl"
_VIEW = re.compile(r"V([drtl]|(?:i|k\d+)+)(?=\()")
_FORM = re.compile(rf"(?:[{_LETTERS}(), ]|V(?:[drtl]|(?:i|k\d+)+)(?=\())*")
_LEAF = re.compile(rf"(?<!V)[{_LETTERS}]")


def tuple_of(parts: Sequence[str]) -> str:
    """Returns the form of a tuple, from the forms of its parts."""
    return f"({''.join(f'{part}, ' for part in parts)})"


def view_of(name: str, count: int) -> str:
    """Returns the form of a view by some numbers. name: what it takes of each dimension, as `viewed` has it"""
    return f"V{name}{tuple_of([VALUE] * (1 + count))}"


def views(form: str) -> dict[str, Callable[..., np.ndarray]]:
    """Returns the functions that make the views of a form, by what stands in front of their parts."""
    own: dict[str, Callable] = {TUPLES: tuples, LISTS: lists}
    return {match[0]: own.get(match[1], partial(viewed, match[1])) for match in _VIEW.finditer(form)}


def list_of(kind: str, count: int) -> str:
    """Returns the form of a list that is made of others. kind: TUPLES or LISTS; count: of how many"""
    return f"V{kind}{tuple_of([LIST] * count)}"


def tuples(*columns: list) -> list[tuple]:
    """Returns a list of tuples. columns: the first, the second and each other part of all of them"""
    return list(zip(*columns))


def lists(heads: list, *columns: list) -> list[list]:
    """Returns a list of lists of numbers or tuples.

    heads: where each list begins, how many elements it has, and another number
    columns: the elements of all of them, or of tuples the first, the second and each other part

    >>> lists([0, 2, 4, 5, 1, 4], [7, 8, 0, 0, 0, 9])
    [[7, 8], [9]]
    """
    rows = heads if heads and isinstance(heads[0], list) else [heads[k : k + 3] for k in range(0, len(heads), 3)]
    elements = columns[0] if len(columns) == 1 else tuples(*columns)
    return [elements[begin : begin + length] for begin, length, _ in rows]


def viewed(taken: str, array: np.ndarray, *numbers: int) -> np.ndarray:
    """Returns a view of an array.

    taken: for each dimension of the array `i` for an index, or `k` with the number of a dimension of the view for a slice; `d` for the
        diagonal, `r` for a reshape to the numbers
    numbers: the indices, and of each slice the first index, the step and how many there are

    >>> viewed("ik1k0", np.arange(8).reshape(2, 2, 2), 1, 0, 1, 2, 1, -1, 2).tolist()
    [[5, 7], [4, 6]]
    """
    if taken == DIAGONAL:
        return array.diagonal()
    if taken == RESHAPED:
        return array.reshape(numbers)
    rest = iter(numbers)
    indices: list[int | slice] = []
    dims: list[int] = []
    for each in re.findall(r"i|k\d+", taken):
        first = next(rest)
        if each == "i":
            indices.append(first)
            continue
        step, count = next(rest), next(rest)
        end = first + step * count
        indices.append(slice(first, end if end >= 0 else None, step) if count > 0 else slice(0, 0, step))
        dims.append(int(each[1:]))
    places = (*indices, ...)
    part = array[places]
    return part if dims == sorted(dims) else part.transpose(sorted(range(len(dims)), key=dims.__getitem__))


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
    name = ""
    for sign in signs:
        if name or sign == "V":
            name += sign
            if sign == "(":
                [function] = views(name).values()
                made.append(function(*_built(signs, values)))
                name = ""
            continue
        if sign == ")":
            return made
        if sign == "(":
            made.append(tuple(_built(signs, values)))
        elif sign not in ", ":
            made.append(listed(sign, next(values)))
    return made


def listed(letter: str, value: object) -> object:
    """Returns a value as the letter of a form says: the list of the elements of an array, or the value itself."""
    if letter == ARRAY_OF_LIST and isinstance(value, np.ndarray) and not value.size:
        return np.empty(value.shape)
    if letter not in (LIST, PYTHON_LIST) or not isinstance(value, np.ndarray):
        return value
    return value.tolist() if letter == PYTHON_LIST else _as_list(value)


def _as_list(array: np.ndarray) -> list:
    return [_as_list(row) for row in array] if array.ndim > 1 else list(array)
