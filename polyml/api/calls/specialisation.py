"""One compiled form of a kernel, with the entries made for it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polyml.api.compiling.compile_lock import alone
from polyml.config import Options
from polyml.errors import UNEXPECTED, PolymlError
from polyml.frontend.syntax import ArgType
from polyml.model.core.call_interface import failure
from polyml.runtime.calling.binding import CaptureGuard, Entry, Outcome
from polyml.runtime.calling.entry import bind, finish_preparation
from polyml.runtime.calling.guards import Captures
from polyml.runtime.loading import array_memory, link, load, thread_pool
from polyml.runtime.storage.artifact import Artifact
from polyml.runtime.storage.checksum import Damaged
from polyml.runtime.storage.disk_cache import Cache
from polyml.runtime.storage.size_classes import Sizes

if TYPE_CHECKING:
    from polyml.remarks.values import Remarks


@dataclass(frozen=True)
class Hot:
    """A hot entry is a function that a kernel's next call tries first, before it examines its arguments; it runs native code or
    plain Python.

    scope: the settings in force for which it was made; they are compared by identity.
    entry: the function, which is called with the arguments.
    specialisation: the compiled form that the entry belongs to; None: it runs plain Python.
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

    types: the types of the arguments.
    layouts: the layouts of the array arguments, each "C", "F" or "A".
    options: the settings.
    captured: the objects that the function's outside names are bound to; None: they do not matter.
    aliased: whether arguments share memory.
    sizes: the sizes for which the code is made; None: for all.
    general: whether what is affine only for known sizes and integer arguments becomes regions, which serve all of them.
    expects: whether the code may be for index arrays that are row pointers alone.
    """

    types: tuple[ArgType, ...]
    layouts: tuple[str, ...]
    options: Options
    captured: Captures | None = None
    aliased: bool = False
    sizes: Sizes | None = None
    general: bool = False
    expects: bool = True

    @property
    def key(self) -> tuple:
        """Returns a key that is the same for two requests where the same code serves both, apart from their sizes."""
        captured = None if self.captured is None else self.captured.content
        return self.types, self.layouts, self.options.compile_key(), captured, self.aliased, self.general, self.expects


@dataclass(eq=False)
class Specialisation:
    """A specialisation is one compiled form of a kernel, for some types, layouts and sizes of arguments.

    request: what the form is for.
    artifact: the machine code with what its caller needs; None where the form runs as plain Python.
    code: the machine code in memory; None where it is not loaded.
    timings: {stage: seconds} of the compilation or the load.
    from_cache: whether the artifact came from the disk cache.
    reason: why the form runs as plain Python; None where there is code.
    is_simpler: whether it was made with fewer transformations, after a defect of the compiler.
    remarks: what was done to its loops, where that was asked for.
    entries: {(threads, whether overlap is tested): (guards, the function to call)}.
    """

    request: Request
    artifact: Artifact | None
    code: link.Code | None
    timings: dict[str, float]
    from_cache: bool = False
    reason: PolymlError | None = None
    is_simpler: bool = False
    remarks: Remarks | None = None
    entries: dict[tuple[int, bool], tuple[tuple[CaptureGuard, ...], Entry]] = field(default_factory=dict)

    def take(self, artifact: Artifact) -> None:
        """Makes `artifact` that of the form, and loads its machine code into memory."""
        with alone(), timed(self.timings, "load"):  # LLVM may link
            finish_preparation()
            self.code = load.load(artifact.object_code, artifact.entry)
        self.artifact = artifact

    @property
    def made(self) -> Artifact:
        """Returns the artifact. Raises ValueError where the form runs as plain Python."""
        if self.artifact is None:
            raise ValueError("the form runs as plain Python")
        return self.artifact

    @property
    def refusal(self) -> PolymlError:
        """Returns the error that says why the form runs as plain Python. Raises ValueError where it is compiled."""
        if self.reason is None:
            raise ValueError("the form is compiled")
        return self.reason

    @property
    def is_sized(self) -> bool:
        """Returns whether the form has code that is for some sizes of arrays only."""
        return self.artifact is not None and self.artifact.sized

    def entry(self, count: int, guards: tuple[CaptureGuard, ...], check_overlap: bool) -> Entry:
        """Returns a function that calls the code with a kernel's arguments; for the same thread count and guards it is made only
        once.

        count: how many threads run the code; 0: one for every core.
        guards: tests at entry that the function's outside names are bound to the same objects.
        check_overlap: whether the function tests that arrays do not overlap.
        """
        made = self.entries.get((count, check_overlap))
        if made is None or not _same(made[0], guards):
            number = thread_pool.count(count)
            if self.code is None:
                raise ValueError("the form is not loaded")
            array_memory.keep_at_most(self.request.options.kept_memory_mb << 20)
            made = guards, bind(self.made, self.code, threads=number, guards=guards, check_overlap=check_overlap)
            self.entries[count, check_overlap] = made
        return made[1]


def _same(old: tuple[CaptureGuard, ...], new: tuple[CaptureGuard, ...]) -> bool:
    return len(old) == len(new) and all(a.expected is b.expected and a.place is b.place for a, b in zip(old, new))


def is_unusual(specialisation: Specialisation, outcome: Outcome) -> bool:
    """Returns whether a call's sizes or index arrays are not those that the code was made for, so that other code has to run it.

    outcome: what the code returned instead of a result.
    """
    checks = () if specialisation.artifact is None else specialisation.artifact.checks
    usual = outcome.status is not None and 0 < outcome.status <= len(checks) and checks[outcome.status - 1].kind == "usual"
    return usual or is_unexpected(specialisation, outcome)


def is_unexpected(specialisation: Specialisation, outcome: Outcome) -> bool:
    """Returns whether a call's index arrays are not what the code expects.

    outcome: what the code returned instead of a result.
    """
    failures = () if specialisation.artifact is None else specialisation.artifact.failures
    place = None if outcome.status is None else failure(outcome.status)
    return place is not None and place[0] < len(failures) and failures[place[0]].what == UNEXPECTED


def take_kept(made: Specialisation, cache: Cache, names: Sequence[str], wanted: tuple, guards: tuple[CaptureGuard, ...]) -> bool:
    """Loads the form `made` from the disk cache if it is there, and returns whether it can be called now.

    names: the names under which it may be kept, that for the request's sizes first.
    wanted: the name, parameters, types, layouts and overlap of arguments that an artifact must be for, as `Artifact.is_for` takes
        them.
    guards: tests that the function's outside names are bound to the same objects.

    An artifact that is for something else or cannot be loaded is removed from the cache.
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
    """Returns the artifact that the cache has under a name; None where it has none. A damaged one is removed from the cache."""
    content = cache.get(name)
    if content is None:
        return None
    try:
        return Artifact.from_bytes(content)
    except Damaged:
        cache.remove(name)
        return None


class timed:  # noqa: N801 (used as a function, in `with`)
    """A context manager that adds the seconds that its `with` block takes to timings[stage]."""

    def __init__(self, timings: dict[str, float], stage: str):
        self._timings, self._stage = timings, stage

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self._timings[self._stage] = self._timings.get(self._stage, 0.0) + time.perf_counter() - self._start
