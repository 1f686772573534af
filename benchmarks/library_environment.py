"""Peers at their best: no variable of the environment overrides which code a library chooses for this processor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from polyml.cli.commands.bench_runner import overrides


@contextmanager
def default_choices() -> Iterator[tuple[str, ...]]:
    """Returns a context in which new processes see no variable that overrides a choice; it gives the names of those set."""
    before = {name: os.environ.pop(name) for name in overrides()}
    try:
        yield tuple(before)
    finally:
        os.environ.update(before)
