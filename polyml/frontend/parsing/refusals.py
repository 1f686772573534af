"""Refusals: the statements of a function that the language does not have."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.errors import LanguageError
from polyml.frontend.captures import Captured
from polyml.source import Loc


@dataclass(frozen=True)
class Refused:
    """A Refused is a statement that the language does not have.

    place: where the statement stands in the function
    problem: why it is refused, perhaps at a place in a function that it calls
    """

    place: Loc
    problem: LanguageError


@dataclass(frozen=True)
class Refusals:
    """The Refusals of a function are its statements that the language does not have, and the values on which that depends.

    statements: the refused statements, in order
    captured: the values from outside that were looked at
    objects: the parameters of which at most attributes are read, so that they may be any object
    whole: whether the function is refused whatever its statements are
    """

    statements: tuple[Refused, ...]
    captured: tuple[Captured, ...]
    objects: frozenset[str]
    whole: bool = False


NO_REFUSALS = Refusals((), (), frozenset())
