"""One compiled form of a kernel, with the entries made for it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from polyml.config import Options
from polyml.errors import NotAffineError
from polyml.frontend.syntax import ArgType
from polyml.runtime import load, threads
from polyml.runtime.artifact import Artifact
from polyml.runtime.binding import Entry, Guard, Outcome
from polyml.runtime.entry import bind
from polyml.runtime.seal import Damaged
from polyml.runtime.sizes import Sizes


@dataclass(frozen=True)
class Hot:
    """An entry to try first. scope: the settings it was made under, by identity."""

    scope: object
    entry: Entry
    specialisation: Specialisation | None


@dataclass(eq=False)
class Specialisation:
    """One compiled form. artifact None: it runs as plain Python, because of `reason`.

    entries: (threads, overlap is checked) -> the guards and the entry made for them.
    """

    types: tuple[ArgType, ...]
    layouts: tuple[str, ...]
    options: Options
    artifact: Artifact | None
    code: load.Code | None
    timings: dict[str, float]
    from_cache: bool = False
    reason: NotAffineError | None = None
    sizes: Sizes | None = None
    entries: dict[tuple[int, bool], tuple[tuple[Guard, ...], Entry]] = field(default_factory=dict)

    @property
    def is_sized(self) -> bool:
        return self.artifact is not None and self.artifact.sized

    def entry(self, count: int, guards: tuple[Guard, ...], check_overlap: bool) -> Entry:
        made = self.entries.get((count, check_overlap))
        if made is None or not _same(made[0], guards):
            number = threads.count(count)
            made = guards, bind(self.artifact, self.code, threads=number, guards=guards, check_overlap=check_overlap)
            self.entries[count, check_overlap] = made
        return made[1]


def _same(old: tuple[Guard, ...], new: tuple[Guard, ...]) -> bool:
    return len(old) == len(new) and all(a.expected is b.expected and a.place is b.place for a, b in zip(old, new))


def is_unusual(specialisation: Specialisation, outcome: Outcome) -> bool:
    """Whether the call is not one of those the code was made for; another specialisation may take it."""
    return outcome.status > 0 and specialisation.artifact.checks[outcome.status - 1].kind == "usual"


def artifact_from(cache, name: str | None) -> Artifact | None:
    sealed = None if name is None else cache.get(name)
    if sealed is None:
        return None
    try:
        return Artifact.from_bytes(sealed)
    except Damaged:
        cache.remove(name)
        return None


class timed:
    """Adds the seconds of a block to timings[stage]."""

    def __init__(self, timings: dict[str, float], stage: str):
        self._timings, self._stage = timings, stage

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self._timings[self._stage] = time.perf_counter() - self._start
