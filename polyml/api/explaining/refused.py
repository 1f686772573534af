"""A function that runs as plain Python, as remarks: each statement that is why, with what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import TYPE_CHECKING

from polyml.api.calls.plain_calls import reasons, refusals
from polyml.api.explaining import words
from polyml.errors import PolymlError
from polyml.reasons import remedy

if TYPE_CHECKING:
    from polyml.remarks.values import PlainPython, Remarks


def refused(function: FunctionType, problem: PolymlError, where: str, signature: str) -> tuple[str, Remarks]:
    """Returns the text on a function that is not compiled, and the remarks.

    problem: the error that ended the compilation.
    where: the kernel's name, file and line. signature: the types of its arguments.
    """
    from polyml.remarks.values import Remarks

    found = reasons(refusals(function), problem)
    text = words.python(signature, "\n".join(map(words.reason, found)), where)
    return text, Remarks(function.__name__, where, signature, (), (), (), (), plain_python(found))


def plain_python(problems: Iterable[PolymlError]) -> tuple[PlainPython, ...]:
    """Returns the reasons why a function runs as plain Python as values."""
    from polyml.remarks.source_loops import place_of
    from polyml.remarks.values import PlainPython

    return tuple(PlainPython(each.code, each.message, place_of(each.loc), remedy(each.code)) for each in problems)
