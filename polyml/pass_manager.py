"""Passes as values: a named function from a kernel, nest, SCoP, schedule or program to the same kind of value, and how one is run.

The lists are in `polyml.pipeline.passes`. All that looks at passes or changes one goes through `run`: dumps by name, `polyml show
--after`, `polyml trace`, `polyml bisect`, the checkers, and tests that leave a pass out. Without any of these `run` calls the
function alone.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

Made = TypeVar("Made")
# Any in this module and in those that run passes: a value of any of the kinds that the lists in `pipeline.passes` go through, one after another
Watcher = Callable[["Pass", Any, Any, float], object]


def itself(made: Any, *given: Any, **named: Any) -> Any:
    """Returns its first argument, and ignores the others."""
    return made


@dataclass(frozen=True)
class Pass:
    """A pass is a named function from a value to another value of the same kind, or the translation from one kind of value to the
    next.

    name: the name of the function's module and of its test file, by which the pass is dumped, shown, traced and left out.
    function: what the pass does; the docstring of its module has a picture of before and after, its source, and other names for it.
    why: why the pass stands at its position in its list.
    takes: the names of the arguments that it takes besides the value.
    only: the name of a condition under which alone the pass runs; "": it always runs.
    stage: the stage to whose time it counts; "": that of its list.
    required: why the pass may not be left out; "" where it may.
    value: picks the value out of what the function takes or returns; it gives None where the pass has left the value unchanged.
    left_out: the function that runs instead where the pass is left out; it returns the same kind of thing.
    """

    name: str
    function: Callable[..., Any]
    why: str
    takes: tuple[str, ...] = ()
    only: str = ""
    stage: str = ""
    required: str = ""
    value: Callable[[Any], Any] = itself
    left_out: Callable[..., Any] = itself

    @property
    def place(self) -> tuple[str, int]:
        """Returns the file and the line at which the pass's function is defined."""
        code = inspect.unwrap(self.function).__code__
        return code.co_filename, code.co_firstlineno


_watchers: list[Watcher] = []
instead: dict[str, Callable[..., Any]] = {}  # name of a pass -> what tests run in its place


def run(step: Pass, before: Any, *given: Any, **named: Any) -> Any:
    """Runs a pass on a value and returns what it makes.

    Each function that `watched` was given is then called with the pass, the value before and after, and the seconds.
    """
    function = instead.get(step.name, step.function) if instead else step.function
    if not _watchers:
        return function(before, *given, **named)
    start = time.perf_counter()
    made = function(before, *given, **named)
    seconds = time.perf_counter() - start
    old, new = step.value(before), step.value(made)
    for watcher in tuple(_watchers):
        watcher(step, old, old if new is None else new, seconds)
    return made


def apply(function: Callable[..., Made], before: Any, *given: Any, **named: Any) -> Made:
    """Runs a function as a pass that is part of another pass, and returns what it makes. `watched` and `replaced` work for it too.

    The pass has the name of the function's module.
    """
    if not _watchers and not instead:
        return function(before, *given, **named)
    step = Pass(function.__module__.rpartition(".")[2], function, "", value=partial(_of_kind, type(before)))
    return cast(Made, run(step, before, *given, **named))


def _of_kind(kind: type, made: Any) -> Any:
    """Returns the first part of a function's result that is of class `kind`; None where there is none.

    made: the result, a tuple or an object whose attributes are searched.
    """
    parts = made if isinstance(made, tuple) else (made, *getattr(made, "__dict__", {}).values())
    return next((part for part in parts if isinstance(part, kind)), None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Calls `watcher(pass, before, after, seconds)` after each pass that runs inside a `with` block.

    An exception of the watcher leaves the pass as if the pass had raised it, so that a checker can stop the compilation.
    """
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def replaced(functions: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Runs other functions in place of the passes that are named, for all passes that run inside a `with` block. Tests use it.

    functions: {name of a pass: the function that runs instead}.
    """
    before = dict(instead)
    instead.update(functions)
    try:
        yield
    finally:
        instead.clear()
        instead.update(before)
