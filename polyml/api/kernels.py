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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from polyml import config, interrupts
from polyml.api.compiling import alone
from polyml.api.given import exact_types, for_python, originals, types_of
from polyml.api.parts import PartCall
from polyml.api.reports import Reported
from polyml.api.schedules import Scheduled
from polyml.api.specialisation import Hot, Specialisation, is_unusual, take_kept, timed
from polyml.config import Options, active
from polyml.errors import (
    CompileError,
    ConfigError,
    NotAffineError,
    PolymlError,
    PolymlPerformanceWarning,
    PolymlTypeError,
    SizesNeeded,
)
from polyml.frontend.argtypes import with_ones
from polyml.frontend.syntax import ArgType
from polyml.model.interface import PYTHON_DECIDES
from polyml.runtime import arguments, explain, key, results, violations
from polyml.runtime.arguments import Argument
from polyml.runtime.artifact import Artifact
from polyml.runtime.binding import Outcome
from polyml.runtime.cache import open_cache
from polyml.runtime.captures import Captures, captures
from polyml.runtime.sizes import FORMS, Sizes, sizes_of
from polyml.source import Loc
from polyml.target import Target

if TYPE_CHECKING:
    from polyml.frontend.parts import Part
    from polyml.schedule.file import Saved
    from polyml.simulate import Simulation

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
        self._warned: set[str] = set()
        # by line and column of what is not affine: the function in parts, and the lines of parts that are too small
        self._parts: dict[tuple[int, int], tuple[FunctionType | None, list[PartCall]]] = {}
        self._parts_left: dict[tuple[int, int], set[tuple[int, int]]] = {}
        self._is_part = False  # of a function that runs partly as Python, which warns itself
        self._renew_lock()
        _kernels.add(self)

    def __call__(self, *args, **kwargs):
        hot = self._hot
        if hot.scope is active() and not kwargs:
            result = hot.entry(*args)
            if result is None or type(result) is not Outcome:
                return result
            if result.status is not None and not is_unusual(hot.specialisation, result):
                return self._failed(hot.specialisation, result.status, self._arguments(args))
        return self._call_slowly(self._bound(args, kwargs))

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
        if last is None:
            return f"{self._where}: not called yet"
        if last.artifact is None:
            text = explain.python(last.types, last.layouts, str(last.reason), self._where)
            return "\n".join([text, *(f"  compiled: lines {a} to {b}" for a, b in self._compiled_parts())])
        text = explain.compiled(last.artifact, last.options, last.timings, last.from_cache, self._where)
        others = [s for s in self.signatures if s != explain.signature(last.types, last.layouts)]
        lines = [text, *(f"  also compiled for {other}" for other in others)]
        if self._python_reason:
            lines.append(f"  the last call ran as plain Python: {self._python_reason}")
        return "\n".join(lines)

    def _compiled_parts(self) -> Iterator[tuple[int, int]]:
        """The lines of parts that the last call of them ran as native code, in order."""
        for _, calls in self._parts.values():
            for call in calls:
                yield from call.compiled_lines()

    # A call that the last entry does not take

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
                return self._failed(hot.specialisation, result.status, self._arguments(values))
        given = self._arguments(values)
        types, layouts = types_of(given)
        result = self._call_specialised(types, layouts, given)
        if type(result) is Outcome and (exact := tuple(with_ones(a.type, a.value) for a in given)) != types:
            result = self._call_specialised(exact, layouts, given)
        return self._failed(self._last, result.status, given) if type(result) is Outcome else result

    def _call_specialised(
        self, types: tuple[ArgType, ...], layouts: tuple[str, ...], given: tuple[Argument, ...]
    ) -> object:
        """What the specialisation for these types returns, or the Outcome of a call that it is not made for."""
        options = config.resolve(self.settings)
        found = captures(self.py_func)
        chosen = self._specialised(types, layouts, options, found, given)
        if isinstance(chosen.reason, SizesNeeded):
            chosen = self._specialised(exact_types(given), layouts, options, found, given)
        self._last = chosen
        if chosen.artifact is None:
            return self._run_as_python(given, str(chosen.reason), chosen.reason.loc)
        self._check_written(chosen.artifact, given)
        arrays = {a.name: a.value for a in given if isinstance(a.value, np.ndarray)}
        if arguments.overlap(arrays, chosen.artifact.written):
            chosen = self._last = self._form(chosen.types, layouts, options, found, True, None)
            if chosen.artifact is None:
                return self._run_as_python(given, str(chosen.reason), chosen.reason.loc)
        else:
            self._remember(Hot(active(), chosen.entry(options.threads, found.guards, True), chosen))
        result = chosen.entry(options.threads, (), False)(*(a.value for a in given))
        if type(result) is not Outcome:
            self.compiled, self._python_reason = True, ""
            return originals(result, given)
        if result.status is None:
            raise self._unusable(chosen.artifact, given)
        return result if is_unusual(chosen, result) else self._failed(chosen, result.status, given)

    def _check_written(self, artifact: Artifact, given: tuple[Argument, ...]) -> None:
        for argument in given:
            problem = arguments.not_writable(argument) if argument.name in artifact.written else None
            if problem:
                raise self._in_call(problem)

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

    def _failed(self, chosen: Specialisation, status: int, given: tuple[Argument, ...]):
        """A status other than 0: Python runs what only it can decide, anything else is an error."""
        artifact, values = chosen.artifact, {a.name: a.value for a in given}
        with alone():  # it asks isl
            error = violations.failure(artifact, status, values)
        if status in PYTHON_DECIDES or 0 < status <= len(artifact.checks) and artifact.checks[status - 1].may:
            return self._run_as_python(given, f"{error.message}; plain Python decides what happens")
        raise error

    def _run_as_python(self, given: tuple[Argument, ...], why: str, loc: Loc | None = None):
        """py_func on the arguments, with one warning for each reason. loc: the statement to which it is due, around which
        parts may be compiled.
        """
        self._hot = Hot(_NEVER, None, None)
        self.compiled, self._python_reason = False, why
        taken_apart = self._apart(loc)
        if why not in self._warned and not self._is_part:
            self._warned.add(why)
            text = f"{self._where} runs {'partly ' if taken_apart else ''}as plain Python: {why}"
            warnings.warn(text, PolymlPerformanceWarning, stacklevel=_outside())
        run = taken_apart or self.py_func
        values, positional = [for_python(a) for a in given], self.py_func.__code__.co_argcount
        named = dict(zip(self._names[positional:], values[positional:]))
        return originals(run(*values[:positional], **named), given)

    def _apart(self, loc: Loc | None) -> FunctionType | None:
        """The function with its parts compiled around the statement at `loc`; None where there are none."""
        if loc is None or loc.source.file != self.py_func.__code__.co_filename:
            return None
        place = loc.line, loc.column
        known = self._parts.get(place)
        small = set() if known is None else {call.part.lines for call in known[1] if call.is_too_small}
        if known is None or small:
            from polyml.frontend import parts

            without = self._parts_left.setdefault(place, set())
            without |= small
            found = parts.apart(self.py_func, loc, without)
            calls = [] if found is None else [_of_part(part, self.settings) for part in found.parts.values()]
            known = self._parts[place] = None if found is None else found.calling(calls), calls
        return known[0]

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
        place, sizes = (types, layouts, options.compile_key(), found.content), sizes_of(given)
        extents = {a.name: a.value.shape for a in given if isinstance(a.value, np.ndarray)}
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
                if chosen is None:
                    chosen = self._made(types, layouts, options, found, aliased, sizes)
                    self.timings, self.from_cache = chosen.timings, chosen.from_cache
                    if len(self._specialisations) >= SPECIALISATIONS:
                        self._specialisations.pop(next(iter(self._specialisations)))
                    self._specialisations[place, sizes if chosen.is_sized else None] = chosen
        refused = chosen.reason is not None and not isinstance(chosen.reason, SizesNeeded)
        if refused and (options.fallback == "error" or self._given is not None):
            raise NotAffineError(chosen.reason.message, loc=chosen.reason.loc, notes=chosen.reason.notes)
        return chosen

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
                name = key.content_key(self.py_func, found.content, types, layouts, options, aliased, given)
        if name is not None:
            wanted = (self.__name__, self._names, types, layouts, aliased)
            if take_kept(made, cache, key.names(name, sizes), wanted, found.guards):
                return made
        try:
            compiled, stages = self._compile(types, layouts, options, aliased, sizes, cache)
        except NotAffineError as problem:
            made.reason = problem
            return made
        timings |= stages
        made.take(compiled.artifact)
        if name is not None:
            cache.put(key.sized_key(name, sizes) if made.is_sized else name, made.artifact.to_bytes())
        return made

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


def _given_to(reference: _Reference, settings: dict[str, object], given: Saved) -> Kernel:
    return Kernel(reference().py_func, settings, given)


def _of_part(part: Part, settings: Mapping[str, object]) -> PartCall:
    own = Kernel(part.function, settings)
    own._is_part = True
    return PartCall(part, own)


_kernels: weakref.WeakSet[Kernel] = weakref.WeakSet()


def _renew_locks() -> None:
    """In the child of a fork, as for compilations."""
    for each in list(_kernels):
        each._renew_lock()


os.register_at_fork(after_in_child=_renew_locks)


def _outside() -> int:
    """The stack level of the first caller outside this file, for a warning raised in the calling function."""
    level, frame = 1, inspect.currentframe().f_back
    while frame is not None and frame.f_code.co_filename == __file__:
        level, frame = level + 1, frame.f_back
    return level
