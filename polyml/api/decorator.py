"""The decorator: a function that compiles itself for the arguments it is called with.

call -> native entry of the last specialisation -> the kernel
          | MISS
          v
        those used before -> convert, bind, compile or load from the cache, test overlap -> the kernel
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING

import numpy as np

from polyml import config, interrupts
from polyml.api import explain
from polyml.api.calls.call_arguments import exact_types, for_python, originals, types_of
from polyml.api.calls.lifted_parts import PartCall
from polyml.api.calls.plain_calls import Kinds, Plain, Tally, is_exact, left_to_python, reasons, refusals
from polyml.api.calls.specialisation import Hot, Specialisation, is_unusual, take_kept, timed
from polyml.api.compiling import simpler_forms
from polyml.api.compiling.compile_lock import alone
from polyml.api.reports import Reported
from polyml.api.schedules import Scheduled
from polyml.api.status import KernelStatus, Status
from polyml.api.status import of as status_of
from polyml.api.target import Target
from polyml.config import Options, active
from polyml.errors import (
    CompileError,
    ConfigError,
    LanguageError,
    PolymlDefectWarning,
    PolymlError,
    PolymlOverflowError,
    PolymlPerformanceWarning,
    PolymlTypeError,
    RecompileError,
    SizesNeeded,
)
from polyml.frontend.argument_types import with_ones
from polyml.frontend.syntax import ArgType
from polyml.model.core.call_interface import PYTHON_DECIDES
from polyml.runtime.calling import arguments, bounds_errors, results
from polyml.runtime.calling.arguments import Argument
from polyml.runtime.calling.binding import MISS, Guard, Outcome
from polyml.runtime.calling.guards import Captures, captures, of_itself
from polyml.runtime.storage import cache_key, compile_markers
from polyml.runtime.storage.artifact import Artifact
from polyml.runtime.storage.disk_cache import Cache, open_cache
from polyml.runtime.storage.size_classes import FORMS, Sizes, sizes_of
from polyml.source import Loc

if TYPE_CHECKING:
    from polyml.frontend.parsing.parse import Refusals
    from polyml.frontend.regions.loop_lifting import Part
    from polyml.schedule.script.file import Saved
    from polyml.systolic.simulate import Simulation

SPECIALISATIONS = 64  # of one kernel; the one made first goes first
_RECENT = 8  # entries tried natively before Python looks at the arguments
_NEVER = object()


class Kernel(Scheduled, Reported):
    """A function compiled on its first call for each combination of argument types.

    py_func: the function itself. compiled: None before the first call, then whether the last call that was not like
    the one before it ran as native code (False: as plain Python). timings: stage -> seconds of the last compilation
    or load; from_cache: whether that was a load. target: what it runs on, None: the processor; a call on another target is
    simulated, and `compiled` stays as it is.
    """

    def __init__(
        self, function: FunctionType, settings: Mapping[str, object], given: Saved | None = None, target: Target | None = None
    ):
        super().__init__(function, settings, given, target)
        self._simulation: Simulation | None = None  # of the last call, on such a target
        self.compiled: bool | None = None
        self.timings: dict[str, float] = {}
        self.from_cache: bool | None = None
        self._hot = Hot(_NEVER, None, None)
        self._recent: tuple[Hot, ...] = ()
        self._specialisations: dict[tuple, Specialisation] = {}
        self._forms: dict[tuple, dict[tuple | None, Sizes]] = {}  # the sizes for which there are any, by their limits
        self._python_reason = ""
        self._reasons: dict[str, PolymlError] = {}  # why calls ran as plain Python: by their texts, in order
        self._as_python = Tally()
        self._always: Plain | None = None  # what runs whatever the arguments are
        self._kinds = Kinds()
        self._left_by_data: set[tuple[Specialisation, int]] = set()  # forms and statuses after which Python decides
        # by the places of what is refused: the function in parts, and the lines of parts that do not pay
        self._parts: dict[tuple[Loc, ...], tuple[FunctionType | None, list[PartCall]]] = {}
        self._parts_left: dict[tuple[Loc, ...], set[tuple[int, int]]] = {}
        self._reads: dict[frozenset[str], tuple[Loc, ...]] = {}  # where parameters are read
        self._is_part = False  # of a function that runs partly as Python
        self._renew_lock()
        _kernels.add(self)

    def __call__(self, *args, **kwargs):
        hot = self._hot
        if hot.scope is active() and not kwargs:
            result = hot.entry(*args)
            if result is None or type(result) is not Outcome:
                return result
            if result.status is not None and not is_unusual(hot.specialisation, result):
                return self._ended(hot.specialisation, result.status, args)
        if self._kinds.settled and not kwargs and (settled := self._kinds.find(args, active())) is not None:
            result = settled(*args)
            if result is not MISS:
                return result
            self._kinds.forget()
        return self._call_otherwise(args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Kernel | MethodType:
        """A method of the class that it stands in, as a function is."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<polyml.kernel {self.__name__}({', '.join(self._names)})>"

    def __reduce__(self) -> str | tuple:
        if self._given is not None:
            return _given_to, (_Reference(self.__module__, self.__qualname__), self.settings, self._given)
        return self.__qualname__  # pickled by reference, as functions are

    @property
    def signatures(self) -> tuple[str, ...]:
        """The argument types and layouts compiled so far."""
        found = (explain.signature(s.types, s.layouts) for s in self._specialisations.values())
        return tuple(dict.fromkeys(found))

    def explain(self) -> str:
        """What the last call's types were compiled to, why, how long each stage took, and what runs as Python."""
        last = self._last
        if self._simulation is not None:
            plans = [(run.plan.recurrence, run.plan.mapping, run.cycles) for run in self._simulation.runs]
            runs = [(recurrence.nest.name, recurrence.text(mapping), cycles) for recurrence, mapping, cycles in plans]
            return explain.simulated(str(self.target), runs, self._where)
        if last is None and not self._python_reason:
            return f"{self._where}: not called yet"
        if last is None or last.artifact is None:
            called = "" if last is None else explain.signature(last.types, last.layouts)
            text = explain.python(called, self._python_reason or explain.reason(last.reason), self._where)
            return "\n".join([text, *(f"  compiled: lines {a} to {b}" for a, b in self.compiled_parts())])
        text = explain.compiled(last.artifact, last.options, last.timings, last.from_cache, self._where)
        others = [s for s in self.signatures if s != explain.signature(last.types, last.layouts)]
        lines = [text, *(f"  also compiled for {other}" for other in others)]
        if self._python_reason:
            lines.append(f"  the last call ran as plain Python: {self._python_reason}")
        return "\n".join(lines)

    def status(self) -> KernelStatus:
        """The kernel's form, the reasons for it, and what ran as plain Python so far."""
        parts = tuple(dict.fromkeys(self.compiled_parts()))
        signatures = tuple(
            dict.fromkeys(explain.signature(s.types, s.layouts) for s in list(self._specialisations.values()) if s.artifact)
        )
        ran = self._as_python.calls > 0
        form = "in parts" if parts else "compiled" if signatures else "plain Python" if ran else "not called"
        code, reasons = self.py_func.__code__, tuple((r.code, str(r).partition("\n")[0]) for r in self._reasons.values())
        tally, where = self._as_python, f"{code.co_filename}:{code.co_firstlineno}"
        return KernelStatus(self.__name__, where, form, signatures, reasons, parts, tally.calls, tally.seconds)

    def compiled_parts(self) -> Iterator[tuple[int, int]]:
        """The lines of parts that the last call of them ran as native code, in order."""
        for _, calls in self._parts.values():
            for call in calls:
                yield from call.compiled_lines()

    # A call that the last entry does not take

    def _call_otherwise(self, args: tuple, kwargs: Mapping[str, object]):
        if (always := self._always) is not None and always.scope is active():
            result = always(*args, **kwargs)
            if result is not MISS:
                return result
        self._always = None
        if self.py_func.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) and self.target is None:
            return self._run_as_python(args, kwargs, self._without_names())
        return self._call_slowly(self._bound(args, kwargs))

    def _without_names(self) -> PolymlError:
        """Why a function whose arguments have no names is not compiled."""
        try:
            self._parsed()
        except PolymlError as problem:
            return problem
        raise CompileError(f"the parameters of `{self.__name__}` were read as named ones")

    def _call_slowly(self, values: tuple[object, ...]):
        if self.target is not None:
            self._simulation = self._simulated(self._arguments(values), {**self.target.asked, "mapping": ()})
            return self._simulation.result
        scope = active()
        for hot in self._recent:
            if hot.scope is not scope:
                continue
            result = hot.entry(*values)
            if type(result) is not Outcome:
                self._hot, self._last = hot, hot.specialisation
                self.compiled, self._python_reason = True, ""
                return result
            if result.status is not None and not is_unusual(hot.specialisation, result):
                return self._ended(hot.specialisation, result.status, values)
        if self._kinds.settled and (settled := self._kinds.find(values, scope)) is not None:
            positional, named = self._passed(values)
            result = settled(*positional, **named)
            if result is not MISS:
                return result
            self._kinds.forget()
        try:
            given = self._arguments(values)
            if problem := left_to_python(given):
                raise self._in_call(problem)
        except (PolymlTypeError, PolymlOverflowError) as problem:
            about = frozenset(name for name, value in zip(self._names, values) if not is_exact(value))
            return self._run_as_python(*self._passed(values), problem, kinds=values, about=about)
        types, layouts = types_of(given)
        result = self._call_specialised(types, layouts, given)
        if type(result) is Outcome and (exact := tuple(with_ones(a.type, a.value) for a in given)) != types:
            result = self._call_specialised(exact, layouts, given)
        return self._failed(self._last, result.status, given) if type(result) is Outcome else result

    def _passed(self, values: Sequence[object]) -> tuple[tuple[object, ...], dict[str, object]]:
        """The arguments as the function takes them: by position, and by name."""
        positional = self.py_func.__code__.co_argcount
        return tuple(values[:positional]), dict(zip(self._names[positional:], values[positional:]))

    def _call_specialised(self, types: tuple[ArgType, ...], layouts: tuple[str, ...], given: tuple[Argument, ...]) -> object:
        """What the specialisation for these types returns, or the Outcome of a call that it is not made for."""
        options = config.resolve(self.settings)
        found = captures(self.py_func)
        chosen = self._specialised(types, layouts, options, found, given)
        if isinstance(chosen.reason, SizesNeeded):
            chosen = self._specialised(exact_types(given), layouts, options, found, given)
        self._last = chosen
        if chosen.artifact is None:
            return self._run_refused(given, chosen.reason)
        if problem := self._not_writable(chosen.artifact, given):
            return self._run_refused(given, problem)
        arrays = {a.name: a.value for a in given if isinstance(a.value, np.ndarray)}
        if arguments.overlap(arrays, chosen.artifact.written):
            chosen = self._last = self._form(chosen.types, layouts, options, found, True, None)
            if chosen.artifact is None:
                return self._run_refused(given, chosen.reason)
        else:
            self._remember(Hot(active(), chosen.entry(options.threads, found.guards, True), chosen))
        result = chosen.entry(options.threads, (), False)(*(a.value for a in given))
        if type(result) is not Outcome:
            self.compiled, self._python_reason = True, ""
            return originals(result, given)
        if result.status is None:
            raise self._unusable(chosen.artifact, given)
        return result if is_unusual(chosen, result) else self._failed(chosen, result.status, given)

    def _not_writable(self, artifact: Artifact, given: tuple[Argument, ...]) -> PolymlError | None:
        """Why an argument that the kernel writes cannot be written."""
        found = (arguments.not_writable(a) for a in given if a.name in artifact.written)
        problem = next(filter(None, found), None)
        return None if problem is None else self._in_call(problem)

    def _unusable(self, artifact: Artifact, given: tuple[Argument, ...]) -> PolymlError:
        """Why an entry made for these arguments does not take them: their sizes make no array."""
        try:
            results.allocator(artifact)(*(a.value for a in given))
        except (MemoryError, ValueError) as problem:
            return self._in_call(results.impossible(problem))
        return CompileError(f"the entry of `{self.__name__}` refuses the arguments it was made for")

    def _remember(self, hot: Hot) -> None:
        others = [h for h in self._recent if h.scope is hot.scope and h.specialisation is not hot.specialisation]
        self._recent = (hot, *others[: _RECENT - 1])
        self._hot = hot

    def _ended(self, chosen: Specialisation, status: int, values: Sequence[object]):
        """A call that ended with a status: Python runs it at once where it did so before after such a one."""
        if (chosen, status) in self._left_by_data and all(map(is_exact, values)):
            self._hot, self.compiled = Hot(_NEVER, None, None), False  # the next call says whether it is compiled
            positional, named = self._passed(values)
            return self._as_python.run(self.py_func, positional, named)
        return self._failed(chosen, status, self._arguments(values))

    def _failed(self, chosen: Specialisation, status: int, given: tuple[Argument, ...]):
        """A status other than 0: Python runs what only it can decide, anything else is an error."""
        artifact, values = chosen.artifact, {a.name: a.value for a in given}
        with alone():  # it asks isl
            error = bounds_errors.failure(artifact, status, values)
        if status in PYTHON_DECIDES or 0 < status <= len(artifact.checks) and artifact.checks[status - 1].may:
            self._left_by_data.add((chosen, status))
            text = f"{error.message}; plain Python decides what happens"
            return self._run_refused(given, PolymlError(text, code="PML-F031"), decided=False)
        raise error

    def _run_refused(self, given: tuple[Argument, ...], problem: PolymlError, decided: bool = True):
        """The function on what the caller passed, or on the arrays that foreign objects are."""
        values = [for_python(a) for a in given]
        return originals(self._run_as_python(*self._passed(values), problem, values if decided else None, decided), given)

    def _run_as_python(
        self, args: Sequence[object], kwargs: Mapping[str, object], problem: PolymlError, kinds: Sequence[object] | None = None, decided: bool = True,
        about: frozenset[str] | None = None,
    ):  # fmt: skip
        """py_func on the arguments, around parts that may be compiled, with one warning for each reason.

        kinds: the arguments where others like them run as plain Python for the same reason. decided: the text and the types are the
        reason, not the data of this call, so that `fallback="error"` raises the problem. about: the parameters whose arguments are the problem.
        """
        options = config.resolve(self.settings)
        refuses = decided and (options.fallback == "error" or self._given is not None)
        if refuses and about is None:
            raise problem.noted()
        self._hot = Hot(_NEVER, None, None)
        refused, guards = self._refusals(decided)
        places = tuple(r.place for r in refused.statements) or ((problem.loc,) if self._is_own(problem.loc) else ())
        if about:
            places = (*places, *self._where_read(about))
        found = reasons(refused, problem)
        taken_apart = self._apart(places) if places or about is not None else None
        is_whole = not refused.statements and taken_apart is not None and about is not None and about <= refused.objects
        if refuses and not is_whole:
            raise problem.noted()
        self.compiled, self._python_reason = False, "\n".join(map(explain.reason, found))
        new = {str(each): each for each in found if str(each) not in self._reasons}
        self._reasons |= new
        if new and options.fallback != "silent" and not is_whole and not (self._is_part and problem.loc is None):
            partly = taken_apart is not None and bool(self._parts[places][1])
            text = explain.refused(self._where, found, partly, self._is_part)
            warnings.warn(text, PolymlPerformanceWarning, stacklevel=_outside())
        run = taken_apart or self.py_func
        if refused.statements and not about or refused.whole:
            self._always = Plain(active(), guards, run, self._as_python)
            self._hot = Hot(active(), self._always, None)
        elif kinds is not None:
            self._kinds.add(kinds, Plain(active(), of_itself(self.py_func), run, self._as_python))
        return self._as_python.run(run, args, kwargs)

    def _refusals(self, decided: bool) -> tuple[Refusals, tuple[Guard, ...]]:
        """The statements that no argument makes affine, none where the data decide, and what that depends on."""
        if not decided:
            from polyml.frontend.parsing.parse import NOTHING

            return NOTHING, ()
        found = refusals(self.py_func)
        names = {c.name for c in found.captured}
        return found, tuple(g for g in captures(self.py_func).guards if g.key in names)

    def _is_own(self, loc: Loc | None) -> bool:
        return loc is not None and loc.source.file == self.py_func.__code__.co_filename

    def _apart(self, places: tuple[Loc, ...]) -> FunctionType | None:
        """The function with its parts compiled around the statements at these places, None where there are none."""
        known = self._parts.get(places)
        idle = set() if known is None else {call.part.lines for call in known[1] if call.does_not_pay}
        if known is None or idle:
            from polyml.frontend.regions import loop_lifting as parts

            without = self._parts_left.setdefault(places, set())
            without |= idle
            own = next((g.key for g in captures(self.py_func).guards if g.expected is self), None)
            try:
                found = parts.apart(self.py_func, places, without, own)
            except RecursionError:  # in an expression of thousands of terms
                found = None
            calls = [] if found is None else [_of_part(part, self.settings, self._without_a_part) for part in found.parts.values()]
            known = self._parts[places] = None if found is None else found.calling(calls), calls
        return known[0]

    def _where_read(self, names: frozenset[str]) -> tuple[Loc, ...]:
        """The statements that read these parameters."""
        if names not in self._reads:
            from polyml.frontend.regions import loop_lifting as parts

            self._reads[names] = parts.where_read(self.py_func, names)
        return self._reads[names]

    def _without_a_part(self) -> None:
        """The next call makes the function anew without the parts that do not pay."""
        self._always, self._hot = None, Hot(_NEVER, None, None)
        self._kinds.forget()

    # Specialisations

    def _specialised(
        self,
        types: tuple[ArgType, ...],
        layouts: tuple[str, ...],
        options: Options,
        found: Captures,
        given: tuple[Argument, ...],
    ) -> Specialisation:
        """The form for these sizes, or the one for all where sizes do not matter or there are many forms already."""
        extents = arguments.shapes(given)
        place, sizes = (types, layouts, options.compile_key(), found.content), sizes_of(extents)
        forms = self._forms.setdefault(place, {})
        if None in forms or sizes.limits not in forms and len(forms) >= FORMS:
            return self._form(types, layouts, options, found, False, None)
        chosen = self._form(types, layouts, options, found, False, forms.setdefault(sizes.limits, sizes))
        if not chosen.is_sized:
            forms[None] = sizes
        elif not all(a.holds(extents) for a in chosen.artifact.alike):
            return self._form(types, layouts, options, found, False, replace(forms[sizes.limits], alike=False))
        return chosen

    def _form(
        self,
        types: tuple[ArgType, ...],
        layouts: tuple[str, ...],
        options: Options,
        found: Captures,
        aliased: bool,
        sizes: Sizes | None,
    ) -> Specialisation:
        place = (types, layouts, options.compile_key(), found.content, aliased)
        chosen = self._known(place, sizes)
        if chosen is None:
            with self._lock, interrupts.deferred():
                chosen = self._known(place, sizes)
                if chosen is None and (problem := self._forbidden(types, layouts, options)):
                    return Specialisation(types, layouts, options, None, None, {}, reason=problem, sizes=sizes)
                if chosen is None:
                    chosen = self._made(types, layouts, options, found, aliased, sizes)
                    self.timings, self.from_cache = chosen.timings, chosen.from_cache
                    if len(self._specialisations) >= SPECIALISATIONS:
                        self._specialisations.pop(next(iter(self._specialisations)))
                    self._specialisations[place, sizes if chosen.is_sized else None] = chosen
        return chosen

    def _forbidden(self, types: tuple[ArgType, ...], layouts: tuple[str, ...], options: Options) -> PolymlError | None:
        """Why no more code is made, where `recompile` says so; it raises that where it is "fail"."""
        if options.recompile == "default" or not any(s.artifact is not None for s in self._specialisations.values()):
            return None
        called = explain.signature(types, layouts)
        notes = [f"compiled for {each}" for each in self.signatures]
        problem = RecompileError(f"`{self.__name__}` has no code for {called}, and recompile={options.recompile!r}", notes=notes)
        if options.recompile == "fail":
            raise problem
        return problem

    def _known(self, place: tuple, sizes: Sizes | None) -> Specialisation | None:
        """The form made for these sizes, or for which sizes do not matter."""
        exact, any_ = (self._specialisations.get((place, each)) for each in (sizes, None))
        return any_ if exact is None and any_ is not None and not any_.is_sized else exact

    def _made(
        self,
        types: tuple[ArgType, ...],
        layouts: tuple[str, ...],
        options: Options,
        found: Captures,
        aliased: bool,
        sizes: Sizes | None,
    ) -> Specialisation:
        timings: dict[str, float] = {}
        wanted = found.portable and not options.debug  # a dump needs every stage to run
        cache = open_cache(options) if wanted else None
        made = Specialisation(types, layouts, options, None, None, timings, sizes=sizes)
        name = None
        if cache is not None:
            with timed(timings, "cache"):
                given = "" if self._given is None else self._given.text()
                name = cache_key.content_key(self.py_func, found.content, types, layouts, options, aliased, given)
        if name is not None:
            wanted = (self.__name__, self._names, types, layouts, aliased)
            if take_kept(made, cache, cache_key.names(name, sizes), wanted, found.guards):
                return made
        try:
            self._compiled_somehow(types, layouts, options, aliased, sizes, cache, name, made)
        except (LanguageError, PolymlTypeError, PolymlOverflowError) as problem:
            made.reason = problem
            return made
        if name is not None and not made.is_simpler:
            cache.put(cache_key.sized_key(name, sizes) if made.is_sized else name, made.artifact.to_bytes())
        return made

    def _compiled_somehow(
        self,
        types: tuple[ArgType, ...],
        layouts: tuple[str, ...],
        options: Options,
        aliased: bool,
        sizes: Sizes | None,
        cache: Cache | None,
        name: str | None,
        made: Specialisation,
    ) -> None:
        """Puts what `_compile` makes into `made`, loaded; a simpler form where the compiler fails, which is said once and not kept on
        disk.
        """
        marked = cache if simpler_forms.goes_on(options) else None

        def compiled(chosen: Options, form: int = 0) -> None:
            with compile_markers.working(marked, name, form):
                found, stages = self._compile(types, layouts, chosen, aliased, sizes, cache)
            made.timings.update(stages)
            with self._loading():
                made.take(found.artifact)

        def failed(problem: PolymlError, what: str) -> None:
            made.is_simpler = True
            text = f"{self._where} runs {what}, because the compiler failed, a defect of polyml: {problem.message}"
            from polyml.bundles import failure, folder

            tried = failure.Attempt(self.py_func, self._names, types, layouts, sizes, aliased, options)
            kept = folder.keep_failure(open_cache(options), tried, problem)
            text += f"; `python {kept}` repeats it" if kept else ""
            warnings.warn(text, PolymlDefectWarning, stacklevel=_outside())

        if self._given is not None:  # the schedule that was asked for, or none
            compiled(options)
        else:
            simpler_forms.made(compiled, options, failed, compile_markers.ended_in(marked, name))

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()


def kernel(
    function: FunctionType | None = None, /, *, target: Target | None = None, **settings
) -> Kernel | Callable[[FunctionType], Kernel]:
    """Compile a function of loops over NumPy arrays on its first call.

        @polyml.kernel
        @polyml.kernel(fp="strict", threads=1)
        @polyml.kernel(target=polyml.Target.systolic(rows=16, cols=16))

    settings: see config.Options; they win over scopes and the environment. ConfigError for one that does not exist. target: what
    the kernel runs on instead of the processor.
    """
    if target is not None and not isinstance(target, Target):
        kind = type(target).__name__
        raise ConfigError(f"target= does not take a {kind}", notes=["expected polyml.Target.systolic(rows=16, cols=16)"])
    if function is None:
        config.check(settings)
        return functools.partial(kernel, target=target, **settings)
    if isinstance(function, Kernel):
        if target is not None and function._given is not None:
            raise ConfigError(f"{function.__name__} has a schedule, which is for the processor")
        return Kernel(function.py_func, {**function.settings, **settings}, function._given, target or function.target)
    if isinstance(function, (classmethod, staticmethod)) and isinstance(function.__func__, (FunctionType, Kernel)):
        return type(function)(kernel(function.__func__, target=target, **settings))
    if not isinstance(function, FunctionType):
        raise PolymlTypeError(
            f"polyml.kernel takes a function, not a {type(function).__name__}", notes=["write the kernel with `def`"]
        )
    return Kernel(function, settings, target=target)


@dataclass(frozen=True)
class _Reference:
    """A kernel by its place, for pickles."""

    module: str
    name: str

    def __call__(self) -> Kernel:
        return functools.reduce(getattr, self.name.split("."), importlib.import_module(self.module))


def status() -> Status:
    """What all kernels of the process are compiled to, why not, and how much time went to plain Python.

    print(polyml.status())
    """
    return status_of(k.status() for k in list(_kernels) if not k._is_part)


def _given_to(reference: _Reference, settings: dict[str, object], given: Saved) -> Kernel:
    return Kernel(reference().py_func, settings, given)


def _of_part(part: Part, settings: Mapping[str, object], dropped: Callable[[], None]) -> PartCall:
    own = Kernel(part.lifted, settings)
    own._is_part = True
    return PartCall(part, own, dropped)


_kernels: weakref.WeakSet[Kernel] = weakref.WeakSet()


def _renew_locks() -> None:
    """In the child of a fork, as for compilations."""
    for each in list(_kernels):
        each._renew_lock()


os.register_at_fork(after_in_child=_renew_locks)


def _outside() -> int:
    """The stack level of the first caller outside this folder, for a warning raised in the calling function."""
    level, frame, folder = 1, inspect.currentframe().f_back, os.path.dirname(__file__)
    while frame is not None and frame.f_code.co_filename.startswith(folder + os.sep):
        level, frame = level + 1, frame.f_back
    return level
