"""One compiled form of a kernel, with the entries made for it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from polyml.api.compiling.compile_lock import alone
from polyml.config import Options
from polyml.errors import PolymlError
from polyml.frontend.syntax import ArgType
from polyml.runtime.calling.binding import CaptureGuard, Entry, Outcome
from polyml.runtime.calling.entry import bind, finish_preparation
from polyml.runtime.calling.guards import Captures
from polyml.runtime.loading import link, load, thread_pool
from polyml.runtime.storage.artifact import Artifact
from polyml.runtime.storage.checksum import Damaged
from polyml.runtime.storage.disk_cache import Cache
from polyml.runtime.storage.size_classes import Sizes


@dataclass(frozen=True)
class Hot:
    """An entry to try first. scope: the settings it was made under, by identity."""

    scope: object
    entry: Entry
    specialisation: Specialisation | None


def _no_entry(*values: object) -> Outcome:
    return Outcome(None)


NO_ENTRY = Hot(object(), _no_entry, None)  # of settings that no call is made under


@dataclass(frozen=True)
class Request:
    """The code that a call wants.

    types: of the arguments. layouts: of those that are arrays, "C", "F" or "A". captured: what the function's names mean.
    aliased: whether arguments share memory. sizes: for which the code is made, None: for all.
    """

    types: tuple[ArgType, ...]
    layouts: tuple[str, ...]
    options: Options
    captured: Captures | None = None
    aliased: bool = False
    sizes: Sizes | None = None

    @property
    def key(self) -> tuple:
        """What tells it from others but for the sizes."""
        captured = None if self.captured is None else self.captured.content
        return self.types, self.layouts, self.options.compile_key(), captured, self.aliased


@dataclass(eq=False)
class Specialisation:
    """One compiled form of a kernel.

    artifact: None where it runs as plain Python, because of `reason`. code: the artifact's, loaded. timings: stage -> seconds.
    is_simpler: it is a form after a defect of the compiler. entries: (threads, overlap is checked) -> the guards and the entry
    made for them.
    """

    request: Request
    artifact: Artifact | None
    code: link.Code | None
    timings: dict[str, float]
    from_cache: bool = False
    reason: PolymlError | None = None
    is_simpler: bool = False
    entries: dict[tuple[int, bool], tuple[tuple[CaptureGuard, ...], Entry]] = field(default_factory=dict)

    def take(self, artifact: Artifact) -> None:
        """The artifact becomes this form's, loaded."""
        with alone(), timed(self.timings, "load"):  # LLVM may link
            finish_preparation()
            self.code = load.load(artifact.object_code, artifact.entry)
        self.artifact = artifact

    @property
    def made(self) -> Artifact:
        """The artifact of a form that is compiled."""
        if self.artifact is None:
            raise ValueError("the form runs as plain Python")
        return self.artifact

    @property
    def refusal(self) -> PolymlError:
        """Why a form is not compiled."""
        if self.reason is None:
            raise ValueError("the form is compiled")
        return self.reason

    @property
    def is_sized(self) -> bool:
        return self.artifact is not None and self.artifact.sized

    def entry(self, count: int, guards: tuple[CaptureGuard, ...], check_overlap: bool) -> Entry:
        made = self.entries.get((count, check_overlap))
        if made is None or not _same(made[0], guards):
            number = thread_pool.count(count)
            if self.code is None:
                raise ValueError("the form is not loaded")
            made = guards, bind(self.made, self.code, threads=number, guards=guards, check_overlap=check_overlap)
            self.entries[count, check_overlap] = made
        return made[1]


def _same(old: tuple[CaptureGuard, ...], new: tuple[CaptureGuard, ...]) -> bool:
    return len(old) == len(new) and all(a.expected is b.expected and a.place is b.place for a, b in zip(old, new))


def is_unusual(specialisation: Specialisation, outcome: Outcome) -> bool:
    """Whether the call is not one of those the code was made for; another specialisation may take it."""
    checks = () if specialisation.artifact is None else specialisation.artifact.checks
    return outcome.status is not None and 0 < outcome.status <= len(checks) and checks[outcome.status - 1].kind == "usual"


def take_kept(made: Specialisation, cache: Cache, names: Sequence[str], wanted: tuple, guards: tuple[CaptureGuard, ...]) -> bool:
    """Whether an artifact that is kept under one of the names, the one for these sizes first, is the form's now, ready to be called.

    wanted: as `Artifact.is_for` takes it. What is another one or cannot be loaded and bound is removed: it counts as not kept.
    """
    for name in names:
        with timed(made.timings, "cache"):
            artifact = _artifact(cache, name)
        if artifact is None or artifact.sized and name is not names[0]:
            continue
        try:
            if artifact.is_for(*wanted):
                made.take(artifact)
                made.entry(made.request.options.threads, () if artifact.aliased else guards, not artifact.aliased)
                made.from_cache = True
                return True
        except MemoryError:
            raise
        except Exception:  # whatever it is that the file has: the compiler makes another one
            made.artifact = made.code = None
        cache.remove(name)
    return False


def _artifact(cache: Cache, name: str) -> Artifact | None:
    content = cache.get(name)
    if content is None:
        return None
    try:
        return Artifact.from_bytes(content)
    except Damaged:
        cache.remove(name)
        return None


class timed:  # noqa: N801 (used as a function, in `with`)
    """Adds the seconds of a block to timings[stage]."""

    def __init__(self, timings: dict[str, float], stage: str):
        self._timings, self._stage = timings, stage

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self._timings[self._stage] = self._timings.get(self._stage, 0.0) + time.perf_counter() - self._start
