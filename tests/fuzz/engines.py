"""The ways to run a kernel that must agree with plain Python."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

from tests.fuzz.program import Program


@dataclass(frozen=True)
class Engine:
    """prepare(function, program) -> callable, once per program; raises PolymlError to refuse.

    reorders: floats may differ within the reduction bound. checks_first: nothing is written when a bound is violated.
    """

    name: str
    prepare: Callable[[FunctionType, Program], Callable]
    reorders: bool = False
    checks_first: bool = True


def _interpreter(function: FunctionType, program: Program) -> Callable:
    from polyml.frontend.interpret import interpret
    from polyml.frontend.parse import parse

    kernel = parse(function)
    return lambda *arguments: interpret(kernel, arguments)


def trace(error: Exception) -> str:
    """The message, and the innermost frames of the traceback."""
    frames = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(frames)[-3000:]


ENGINES = {engine.name: engine for engine in (Engine("interpret", _interpreter, checks_first=False),)}
NAMES = tuple(ENGINES)
