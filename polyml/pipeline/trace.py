"""Every pass of a compilation: how long it took, what it changed, and where its code is."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from polyml import pass_manager
from polyml.pass_manager import Pass
from polyml.pipeline.passes import NAMES
from polyml.pipeline.printing import texts
from polyml.values import cached_property

_CONTEXT_LINES = 3


@dataclass(frozen=True)
class Ran:
    """A record of one run of a pass.

    step: the pass.
    before, after: the values that it took and made; their texts are made when they are asked for, after the compilation.
    end_s: when it ended, in seconds of a monotonic clock.
    seconds: how long it took, with the passes that ran inside it.
    own_seconds: how long it took without these.
    """

    step: Pass
    before: Any
    after: Any
    end_s: float
    seconds: float
    own_seconds: float

    @cached_property
    def text(self) -> str:
        """Returns the readable text of what the pass made; "" for a value that has none."""
        return texts.shown(self.after)

    @cached_property
    def difference(self) -> tuple[str, ...]:
        """Returns the lines of a unified diff of the texts before and after the pass, without its heading; () where nothing
        changed.

        For a pass that makes another kind of value than it takes, they are all lines of the text after it.
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
        """Returns whether the pass makes another kind of value than it takes."""
        return type(self.after) is not type(self.before)

    @property
    def kinds(self) -> str:
        """Returns the kinds of value that the pass takes and makes, such as "Nest -> Scop"."""
        return f"{_kind(self.before)} -> {_kind(self.after)}"


@contextmanager
def recorded() -> Iterator[list[Ran]]:
    """Yields a list to which each pass that runs inside a `with` block is added when it ends; passes inside another one come
    before it.
    """
    ran: list[Ran] = []

    def record(step: Pass, before: Any, after: Any, seconds: float) -> None:
        end = time.perf_counter()
        inside = sum(each.own_seconds for each in ran if each.end_s > end - seconds)
        ran.append(Ran(_known(step), before, after, end, seconds, max(seconds - inside, 0.0)))

    with pass_manager.watched(record):
        yield ran


def _known(step: Pass) -> Pass:
    """Returns `step` with what the compiler's lists of passes say of the pass of its name, such as why it stands where it does.

    The function stays that of `step`, which has run. A step that says itself why it stands there is returned unchanged, as is one
    whose name is in no list.
    """
    listed = NAMES.get(step.name, step)
    return step if step.why else replace(listed, function=step.function)


def _kind(value: object) -> str:
    return {"tuple": "text", "Scheduled": "Schedule", "dict": "facts", "Assembler": "text"}.get(
        type(value).__name__, type(value).__name__
    )
