"""The forms to which a kernel is compiled: found among those made before, taken from the cache on disk, or compiled."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import FunctionType
from typing import TYPE_CHECKING

from polyml import interrupts
from polyml.api.calls import constants
from polyml.api.calls.call_arguments import exact_types
from polyml.api.calls.specialisation import Request, Specialisation, take_kept, timed
from polyml.api.compiling import simpler_forms
from polyml.api.explaining import words
from polyml.api.explaining.ledger import CompiledForm, Ledger, entry
from polyml.api.function import KernelFunction, outside
from polyml.api.target import AnyTarget
from polyml.config import Options
from polyml.errors import LanguageError, PolymlDefectWarning, PolymlError, PolymlOverflowError, PolymlTypeError, RecompileError
from polyml.runtime.calling import arguments
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.storage import cache_key, compile_markers
from polyml.runtime.storage.cache_key import CodeInputs
from polyml.runtime.storage.disk_cache import Cache, open_cache
from polyml.runtime.storage.size_classes import FORMS, Sizes, sizes_of

if TYPE_CHECKING:
    from polyml.schedule.script.file import Saved

LEDGER = 1_000  # forms that are remembered in the ledger
SPECIALISATIONS = 64  # forms of one kernel at most; the one made first goes first
VALUED = 3  # forms for known sizes and integer arguments, after which other ones get a form for all of them if there can be one


class Specialised(KernelFunction):
    """The part of `Kernel` that keeps the compiled forms of a function, one for each combination of argument types and sizes.

    timings: {stage: seconds} of the last compilation, or of the last load from the cache.
    from_cache: whether `timings` are those of a load from the cache.
    """

    def __init__(
        self, function: FunctionType, settings: Mapping[str, object], given: Saved | None = None, target: AnyTarget | None = None
    ):
        super().__init__(function, settings, given, target)
        self._renew_lock()
        self.timings: dict[str, float] = {}
        self.from_cache: bool | None = None
        self._specialisations: dict[tuple, Specialisation] = {}
        self._ledger: list[CompiledForm] = []
        self._entries: weakref.WeakKeyDictionary[Specialisation, CompiledForm] = weakref.WeakKeyDictionary()
        self._valued: dict[tuple, set[tuple]] = {}  # the types with values for which there are forms, by those without
        self._forms: dict[tuple, dict[tuple | None, Sizes]] = {}  # the sizes for which there are any, by their limits

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    @property
    def signatures(self) -> Ledger:
        """Returns a record of each form that was compiled so far: for which types, layouts and sizes, when, why, and at what cost.

        It prints as a table. The records are `polyml.api.explaining.ledger.CompiledForm`; the last thousand are kept.

        >>> import numpy as np, polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> double(np.ones(4)), double(np.ones(4, np.float32))
        (None, None)
        >>> [(form.signature, form.why) for form in double.signatures]
        [('(f64[:])', 'the first call'), ('(f32[:])', 'new types')]
        """
        return Ledger(self._ledger)

    def _signature_texts(self) -> tuple[str, ...]:
        """Returns a text for each combination of argument types and layouts for which there is code so far."""
        found = (words.signature(s.request.types, s.request.layouts) for s in self._specialisations.values())
        return tuple(dict.fromkeys(found))

    def _specialised(self, wanted: Request, given: tuple[CallArgument, ...]) -> Specialisation:
        """Returns the compiled form for arguments of these types and sizes, made now where there is none.

        The code is made for this call's sizes. It is for all sizes where the code does not depend on them, or where many forms for
        these types have been made already.
        """
        extents = arguments.shapes(given)
        sizes = sizes_of(extents)
        forms = self._forms.setdefault(wanted.key, {})
        if None in forms or sizes.limits not in forms and len(forms) >= FORMS:
            return self._form(wanted)
        chosen = self._form(replace(wanted, sizes=forms.setdefault(sizes.limits, sizes)))
        if chosen.artifact is None or not chosen.is_sized:
            forms[None] = sizes
        elif not all(a.holds(extents) for a in chosen.made.relations):
            return self._form(replace(wanted, sizes=replace(forms[sizes.limits], others=chosen.made.relations)))
        return chosen

    def _for_values(self, wanted: Request, given: tuple[CallArgument, ...]) -> Specialisation:
        """Returns the compiled form for arguments whose sizes and integers have to be known, made now where there is none.

        The first calls get a form for just their values. Calls with others get one for all values, in regions, if there can be one.

        wanted: a request without values, which is refused.
        """
        types = exact_types(given)
        known = self._valued.setdefault(wanted.key, set())
        if types not in known and len(known) >= VALUED:
            general = self._specialised(replace(wanted, general=True), given)
            if general.artifact is not None:
                return general
        if len(known) < SPECIALISATIONS:
            known.add(types)
        chosen = self._specialised(replace(wanted, types=types), given)
        # Where so many forms are refused, other sizes and integers would be too.
        self._kinds.by_values = len(known) < SPECIALISATIONS or any(s.artifact is not None for s in self._specialisations.values())
        return chosen

    def _form(self, wanted: Request) -> Specialisation:
        """Returns the compiled form for a request, made now where there is none."""
        chosen = self._known(wanted)
        if chosen is not None:
            return chosen
        with self._lock, interrupts.deferred():
            chosen = self._known(wanted)
            if chosen is None and (problem := self._forbidden(wanted)):
                return Specialisation(wanted, None, None, {}, reason=problem)
            if chosen is None:
                when, before = datetime.now(), [each.request for each in self._specialisations.values()]
                chosen = self._made(wanted)
                self._entries[chosen] = entry(chosen, before, when)
                self._ledger = [*self._ledger[1 - LEDGER :], self._entries[chosen]]
                self.timings, self.from_cache = chosen.timings, chosen.from_cache
                if len(self._specialisations) >= SPECIALISATIONS:
                    self._specialisations.pop(next(iter(self._specialisations)))
                self._specialisations[wanted.key, wanted.sizes if chosen.is_sized else None] = chosen
        return chosen

    def _forbidden(self, wanted: Request) -> PolymlError | None:
        """Returns why the setting `recompile` forbids more code; None where it allows it. Raises that error where the setting is
        "fail".
        """
        options = wanted.options
        if options.recompile == "default" or not any(s.artifact is not None for s in self._specialisations.values()):
            return None
        called = words.signature(wanted.types, wanted.layouts)
        notes = [f"compiled for {each}" for each in self._signature_texts()]
        problem = RecompileError(f"`{self.__name__}` has no code for {called}, and recompile={options.recompile!r}", notes=notes)
        if options.recompile == "fail":
            raise problem
        return problem

    def _known(self, wanted: Request) -> Specialisation | None:
        """Returns the form that was made before for the request's sizes, or else one whose code is for all sizes; None where there
        is neither.
        """
        exact, any_ = (self._specialisations.get((wanted.key, each)) for each in (wanted.sizes, None))
        return any_ if exact is None and any_ is not None and not any_.is_sized else exact

    def _made(self, wanted: Request) -> Specialisation:
        """Makes the form for a request: loads it from the disk cache or compiles it, and returns it.

        Where the function cannot be compiled, the form has a `reason`, and Python runs the function.
        """
        made = Specialisation(wanted, None, None, {})
        place = self._place(wanted, made.timings)
        if place.cache is not None and place.name is not None:
            described = (self.__name__, self._names, wanted.types, wanted.layouts, wanted.aliased)
            guards = () if wanted.captured is None else wanted.captured.guards
            if take_kept(made, place.cache, cache_key.names(place.name, wanted.sizes), described, guards):
                return made
        try:
            self._compiled_somehow(made, place)
        except (LanguageError, PolymlTypeError, PolymlOverflowError) as problem:
            made.reason = problem
            return made
        if place.cache is not None and place.name is not None and made.artifact is not None and not made.is_simpler:
            name = cache_key.sized_key(place.name, wanted.sizes) if made.is_sized else place.name
            place.cache.put(name, made.artifact.to_bytes())
        return made

    def _place(self, wanted: Request, timings: dict[str, float]) -> _CacheEntry:
        """Returns where on disk the compiled form of a request is kept, and adds the seconds that finding it out takes to
        `timings`.
        """
        options, captured = wanted.options, wanted.captured
        is_kept = captured is not None and captured.portable and not options.debug  # a dump needs every stage to run
        cache = open_cache(options) if is_kept else None
        if cache is None or captured is None:
            return _CacheEntry(None, None)
        with timed(timings, "cache"):
            schedule = "" if self._given is None else self._given.text()
            outside = "\n".join((captured.content, *([constants.content(self._constants)] if self._constants else ())))
            inputs = CodeInputs(
                outside,
                wanted.types,
                wanted.layouts,
                options,
                wanted.aliased,
                schedule,
                general=wanted.general,
                expects=wanted.expects,
            )
            return _CacheEntry(cache, cache_key.content_key(self.py_func, inputs))

    def _compiled_somehow(self, made: Specialisation, place: _CacheEntry) -> None:
        """Compiles the form `made` and loads its code into it.

        Where the compiler itself fails, the code is made with fewer transformations, with one warning, and is not kept on disk.
        """
        wanted, options = made.request, made.request.options
        marked = place.cache if simpler_forms.goes_on(options) else None

        def compiled(chosen: Options, form: int = 0) -> None:
            with compile_markers.working(marked, place.name, form):
                found, stages = self._compile(replace(wanted, options=chosen), place.cache)
            made.timings.update(stages)
            with self._loading():
                made.take(found.artifact)

        def failed(problem: PolymlError, what: str) -> None:
            made.is_simpler = True
            text = f"{self._where} runs {what}, because the compiler failed, a defect of polyml: {problem.message}"
            kept = self._bundle(wanted, problem)
            text += f"; `python {kept}` repeats it" if kept else ""
            warnings.warn(text, PolymlDefectWarning, stacklevel=outside())

        if self._given is not None:  # the schedule that was asked for, or none
            compiled(options)
        else:
            simpler_forms.made(compiled, options, failed, compile_markers.ended_in(marked, place.name))

    def _bundle(self, wanted: Request, problem: PolymlError) -> str:
        """Writes a file that repeats a failure of the compiler to the cache folder, and returns its path; "" where it cannot be
        written.
        """
        from polyml.bundles import failure, folder

        tried = failure.FailedCompilation(
            function=self.py_func, names=self._names, types=wanted.types, layouts=wanted.layouts, sizes=wanted.sizes,
            aliased=wanted.aliased, options=wanted.options,
        )  # fmt: skip
        return folder.keep_failure(open_cache(wanted.options), tried, problem)


@dataclass(frozen=True)
class _CacheEntry:
    """A cache entry is the place on disk at which a compiled form may be kept.

    cache: the cache; None: nothing is kept.
    name: the name of the form for all sizes; None where the function's text cannot be found.
    """

    cache: Cache | None
    name: str | None
