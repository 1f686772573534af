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
    """Returns the value, whatever else is given with it."""
    return made


@dataclass(frozen=True)
class Pass:
    """A pass is a named function between values of one kind, or the translation from one kind to the next.

    name: the name of the function's module and of its test file, by which the pass is dumped, shown, traced and switched off.
    function: what the pass does; the docstring of its module has a picture of before and after, its source and the names that
        others use.
    why: why it stands where it stands in its list.
    takes: the names of the arguments that it takes besides the value.
    only: the name of a fact without which it does not run; "": it always runs.
    stage: the stage under which its time is counted; "": that of its list.
    required: why it may not be left out; "" where it may.
    value: the value in what the function takes and returns; None where there is none, so that nothing changes.
    left_out: what stands in place of the function where the pass is left out; it returns the same kind of thing.
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
        """Returns the file and the line of the function."""
        code = inspect.unwrap(self.function).__code__
        return code.co_filename, code.co_firstlineno


_watchers: list[Watcher] = []
instead: dict[str, Callable[..., Any]] = {}  # name of a pass -> what tests run in its place


def run(step: Pass, before: Any, *given: Any, **named: Any) -> Any:
    """Runs a pass on a value, and returns what the pass makes of it. Watchers are told the pass, the value before and after it, and
    the seconds.
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
    """Runs a pass that is a part of another one, and returns what its function does. The pass is known by the name of the
    function's module.
    """
    if not _watchers and not instead:
        return function(before, *given, **named)
    step = Pass(function.__module__.rpartition(".")[2], function, "", value=partial(_of_kind, type(before)))
    return cast(Made, run(step, before, *given, **named))


def _of_kind(kind: type, made: Any) -> Any:
    """Returns the value of this kind among what a function returns, besides notes and facts about it; None where there is none."""
    parts = made if isinstance(made, tuple) else (made, *getattr(made, "__dict__", {}).values())
    return next((part for part in parts if isinstance(part, kind)), None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Calls the watcher with (pass, before, after, seconds) after each pass that runs inside the block.

    What the watcher raises is raised in place of what the pass returns, so that a checker stands in the pipeline as the pass does.
    """
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def replaced(functions: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Runs other functions in place of the passes of these names, for all that run inside the block. Tests use it."""
    before = dict(instead)
    instead.update(functions)
    try:
        yield
    finally:
        instead.clear()
        instead.update(before)
