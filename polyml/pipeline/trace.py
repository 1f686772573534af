"""Every pass of a compilation: how long it took, what it changed, and where its code is."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from polyml import pass_manager
from polyml.pass_manager import Pass
from polyml.pipeline import texts
from polyml.pipeline.passes import NAMES

_CONTEXT_LINES = 3


@dataclass(frozen=True)
class Ran:
    """A run records that a pass ran.

    step: the pass.
    before, after: the values; their texts are made when they are asked for, after the compilation.
    end_s: when it ended, by a clock that only goes forward.
    seconds: how long it took, with the passes that run inside it.
    own_seconds: how long it took without them.
    """

    step: Pass
    before: Any
    after: Any
    end_s: float
    seconds: float
    own_seconds: float

    @cached_property
    def text(self) -> str:
        """Returns the text of what the pass made."""
        return texts.shown(self.after)

    @cached_property
    def difference(self) -> tuple[str, ...]:
        """Returns a unified diff of the texts before and after, without its heading; no lines where nothing changed.

        A pass that makes another kind of value has all of its text.
        """
        if self.after is self.before:
            return ()
        after = self.text.splitlines()
        if type(self.after) is not type(self.before):
            return tuple(after)
        before = texts.shown(self.before).splitlines()
        return tuple(difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm=""))[2:]

    @property
    def translates(self) -> bool:
        """Says whether the pass makes another kind of value than it takes."""
        return type(self.after) is not type(self.before)

    @property
    def kinds(self) -> str:
        """Returns the kinds of value that it takes and makes, as in "Nest -> Scop"."""
        return f"{_kind(self.before)} -> {_kind(self.after)}"


@contextmanager
def recorded() -> Iterator[list[Ran]]:
    """Gives a list to which each pass that runs inside the block is added when it has run, those inside another one before it."""
    ran: list[Ran] = []

    def record(step: Pass, before: Any, after: Any, seconds: float) -> None:
        end = time.perf_counter()
        inside = sum(each.own_seconds for each in ran if each.end_s > end - seconds)
        ran.append(Ran(_known(step), before, after, end, seconds, max(seconds - inside, 0.0)))

    with pass_manager.watched(record):
        yield ran


def _known(step: Pass) -> Pass:
    """Returns the pass as its list has it: one that runs inside another is known by its name there."""
    listed = NAMES.get(step.name, step)
    return step if step.why else replace(listed, function=step.function)


def _kind(value: object) -> str:
    return {"tuple": "text", "Scheduled": "Schedule", "dict": "facts", "Assembler": "text"}.get(
        type(value).__name__, type(value).__name__
    )
