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
    """A hot entry is one that is tried first.

    scope: the settings under which it was made, by identity.
    entry: what is called.
    specialisation: the form that the entry belongs to; None: it runs plain Python.
    """

    scope: object
    entry: Entry
    specialisation: Specialisation | None


def _no_entry(*values: object) -> Outcome:
    return Outcome(None)


NO_ENTRY = Hot(object(), _no_entry, None)  # its scope is that of no call, so that it is never tried


@dataclass(frozen=True)
class Request:
    """A request says what code a call needs.

    types: those of the arguments.
    layouts: of the arguments that are arrays, each "C", "F" or "A".
    options: the settings.
    captured: what the function's names mean; None: that does not matter.
    aliased: whether arguments share memory.
    sizes: the sizes for which the code is made; None: for all.
    """

    types: tuple[ArgType, ...]
    layouts: tuple[str, ...]
    options: Options
    captured: Captures | None = None
    aliased: bool = False
    sizes: Sizes | None = None

    @property
    def key(self) -> tuple:
        """Returns what tells the request from others, but for the sizes."""
        captured = None if self.captured is None else self.captured.content
        return self.types, self.layouts, self.options.compile_key(), captured, self.aliased


@dataclass(eq=False)
class Specialisation:
    """A specialisation is one compiled form of a kernel.

    artifact: the code as data; None where the form runs as plain Python, because of `reason`.
    code: the artifact's code in memory.
    timings: stage -> seconds.
    from_cache: whether the artifact was kept on disk.
    is_simpler: whether it is a form after a defect of the compiler.
    entries: (threads, whether overlap is tested) -> the guards, and the entry made for them.
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
        """Makes an artifact this form's, and loads its code."""
        with alone(), timed(self.timings, "load"):  # LLVM may link
            finish_preparation()
            self.code = load.load(artifact.object_code, artifact.entry)
        self.artifact = artifact

    @property
    def made(self) -> Artifact:
        """Returns the artifact of a form that is compiled."""
        if self.artifact is None:
            raise ValueError("the form runs as plain Python")
        return self.artifact

    @property
    def refusal(self) -> PolymlError:
        """Returns the error that says why a form is not compiled."""
        if self.reason is None:
            raise ValueError("the form is compiled")
        return self.reason

    @property
    def is_sized(self) -> bool:
        """Says whether the code is for some sizes alone."""
        return self.artifact is not None and self.artifact.sized

    def entry(self, count: int, guards: tuple[CaptureGuard, ...], check_overlap: bool) -> Entry:
        """Returns what calls the code, made once for each count of threads and for the guards as they are."""
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
    """Returns whether the call is not one of those the code was made for, so that another specialisation may take it."""
    checks = () if specialisation.artifact is None else specialisation.artifact.checks
    return outcome.status is not None and 0 < outcome.status <= len(checks) and checks[outcome.status - 1].kind == "usual"


def take_kept(made: Specialisation, cache: Cache, names: Sequence[str], wanted: tuple, guards: tuple[CaptureGuard, ...]) -> bool:
    """Takes an artifact that is kept under one of the names, the one for these sizes first, and returns whether the form can be
    called now.

    wanted: what the artifact has to be for, as `Artifact.is_for` takes it.
    An artifact that is another one, or cannot be loaded, is removed and counts as not kept.
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
    """Returns the artifact that is kept under a name; None where there is none. A damaged one is removed."""
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
