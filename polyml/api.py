"""The decorator: a function that compiles itself for the arguments it is called with.

    call -> native entry of the last specialisation -> the kernel
              | MISS
              v
            those used before -> convert, bind, compile or load from the cache, test overlap -> the kernel
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from polyml import config
from polyml.config import Options, active
from polyml.errors import (
    CompileError,
    ConfigError,
    LanguageError,
    NotAffineError,
    PolymlError,
    PolymlPerformanceWarning,
    PolymlTypeError,
    ScheduleError,
    SizesNeeded,
)
from polyml.frontend.argtypes import with_ones, with_sizes
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.runtime import arguments, calling, explain, key, load, results, threads, violations
from polyml.runtime.arguments import Argument
from polyml.runtime.artifact import Artifact, parse_type
from polyml.runtime.binding import Entry, Guard, Outcome
from polyml.runtime.cache import Cache, open_cache
from polyml.runtime.captures import Captures, captures
from polyml.runtime.entry import bind, preparation
from polyml.runtime.seal import Damaged
from polyml.runtime.sizes import FORMS, Sizes, sizes_of
from polyml.source import Loc
from polyml.target import Target

if TYPE_CHECKING:
    from polyml.frontend.parts import Part
    from polyml.report.gpu.make import GpuReport
    from polyml.report.forms import Call
    from polyml.report.make import Report
    from polyml.report.simulation import SimulationReport
    from polyml.report.systolic import SystolicReport
    from polyml.schedule.dataflows import Plan
    from polyml.schedule.file import Saved
    from polyml.schedule.script import Schedule
    from polyml.simulate import Simulation

SPECIALISATIONS = 64  # of one kernel; the one made first goes first
_RECENT = 8  # entries tried natively before Python looks at the arguments
_MANY, _OFTEN = 100, 3  # calls of a part that were not worth it, or ran as Python
_NEVER = object()


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


class Kernel:
    """A function compiled on its first call for each combination of argument types.

    py_func: the function itself. compiled: None before the first call, then whether the last call that was not like
    the one before it ran as native code (False: as plain Python). timings: stage -> seconds of the last compilation
    or load; from_cache: whether that was a load. target: what it runs on, None: the processor; a call on another target is
    simulated, and `compiled` stays as it is.
    """

    def __init__(
        self, function: FunctionType, settings: Mapping[str, object], given: Saved | None = None, target: Target | None = None
    ):
        functools.update_wrapper(self, function)
        self.py_func = function
        self.settings = config.check(settings)
        self.target = target
        self._simulation: Simulation | None = None  # of the last call, on such a target
        self._given = given  # the schedule to compile with
        self.compiled: bool | None = None
        self.timings: dict[str, float] = {}
        self.from_cache: bool | None = None
        self._names = calling.parameters(function)
        self._hot = Hot(_NEVER, None, None)
        self._recent: tuple[Hot, ...] = ()
        self._specialisations: dict[tuple, Specialisation] = {}
        self._forms: dict[tuple, dict[tuple | None, Sizes]] = {}  # the sizes for which there are any, by their limits
        self._last: Specialisation | None = None
        self._python_reason = ""
        self._warned: set[str] = set()
        # by line and column of what is not affine: the function in parts, and the lines of parts that are too small
        self._parts: dict[tuple[int, int], tuple[FunctionType | None, list[_PartCall]]] = {}
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
            if result.status is not None and not _is_unusual(hot.specialisation, result):
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

    def lower(self, *args_or_types):
        """Every stage of the compilation for these arguments (values, types, or texts such as "f64[:, :]").

        A pipeline.Compiled; nothing is taken from the disk cache.
        """
        options = config.resolve(self.settings)
        return self._of_these(args_or_types, lambda types, layouts, sizes: self._compile(types, layouts, options, False, sizes)[0])

    def schedule(self, *args_or_types) -> Schedule:
        """The schedule for these arguments (as for `lower`), to be changed step by step: see polyml.schedule.script.Schedule.

        k.schedule() is the one that the compiler finds, k.schedule("source") the order of the source; arguments follow.
        """
        start, given = "auto", args_or_types
        if given and isinstance(given[0], str) and given[0] in ("auto", "source"):
            start, given = given[0], given[1:]

        def made(types, layouts, sizes) -> Schedule:
            from polyml import pipeline

            return pipeline.schedule_of(self._parsed(), types, layouts, config.resolve(self.settings), sizes, start, _alone)

        return self._of_these(given, lambda *of: self._compiling(lambda: made(*of)))

    def load_schedule(self, path: str | os.PathLike, *args_or_types) -> Schedule:
        """What `Schedule.save` wrote, proved again: for these arguments, or for types like those it was made for.

        ScheduleError: it is for another kernel, or damaged. IllegalSchedule: it breaks a dependence.
        """
        from polyml.schedule import file

        try:
            text = Path(path).read_text()
        except UnicodeDecodeError:
            text = ""
        saved = file.parse(text, str(path))
        types, layouts, _ = self._signature(args_or_types) if args_or_types else self._saved_types(saved.arguments, str(path))
        return self._from_saved(saved, types, layouts)

    def with_schedule(self, schedule: Schedule) -> Kernel:
        """A kernel that compiles with this schedule, whatever the arguments' sizes. ScheduleError where it is another kernel's.

        Arguments that overlap still run in the source's order. Types for which the statements are others are refused.
        """
        from polyml.schedule.script import Schedule

        if not isinstance(schedule, Schedule):
            kind = type(schedule).__name__
            notes = ["as k.schedule() and k.load_schedule(path) give"]
            raise PolymlTypeError(f"with_schedule takes a schedule, not a {kind}", notes=notes)
        if self.target is not None:
            raise ConfigError(f"a schedule is for the processor, and {self.__name__} is for {self.target}")
        self._from_saved(schedule.saved, schedule.problem.types, schedule.problem.layouts, with_code=False)
        return Kernel(self.py_func, self.settings, schedule.saved)

    def inspect_domain(self, *args_or_types) -> str:
        """The statements' instances as text; of the last call's types where none are given. So the others."""
        return self._stage("domain", args_or_types)

    def inspect_deps(self, *args_or_types) -> str:
        """The dependences."""
        return self._stage("deps", args_or_types)

    def inspect_schedule(self, *args_or_types) -> str:
        """The schedule tree."""
        return self._stage("schedule", args_or_types)

    def inspect_ast(self, *args_or_types) -> str:
        """The loops that the schedule becomes."""
        return self._stage("ast", args_or_types)

    def inspect_llvm(self, *args_or_types) -> str:
        """LLVM's intermediate representation."""
        return self._stage("llvm", args_or_types)

    def inspect_asm(self, *args_or_types) -> str:
        """The processor's instructions."""
        return self._stage("asm", args_or_types)

    def report(
        self, *args, target: str = "", machine=None, caches=(), tile=(), threads: int = 0, simulate: bool = True, coherent: bool = False,
        block=(), array=(), dataflow: str = "auto", links: str = "manhattan", mapping=(), rank: str = "cycles",
    ) -> Report | GpuReport | SystolicReport:  # fmt: skip
        """Where these arguments' data come from, what bounds the kernel, and why: in the source's order, in tiles of it, in polyml's.

        target: "cpu", "cuda" or "systolic"; "": the kernel's own. machine: as polyml.machines.find.find gives it; None: the host,
        measured if it has not been, or an H100. caches: CacheLevels in its caches' place. tile: sizes of tiles of the source's
        loops, outermost first. simulate: whether caches are simulated. coherent: whether lines that one of the threads writes
        leave the caches of others.
        target "cuda": what threads of a GPU do instead; block: sizes of its blocks along x, y and z, else the best of some.
        target "systolic": the kernel's mappings onto an array of rows and columns instead, (): the machine's; dataflow "os", "ws"
        or "is": those where results, weights or inputs stay; links: of its units, "manhattan", "diagonal" or "broadcast"; rank: by
        what the best one is, "cycles", "utilisation", "ports", "registers", "traffic" or "energy"; mapping: a text
        such as "t = i + j + k, x = i, y = j" in place of those that are found, or one for each nest, as in ["S1: t = ...", ...].
        """
        kind = target or ("cpu" if self.target is None else "systolic")
        asked = {"caches": tuple(caches), "tile": tuple(tile), "threads": threads, "simulate": simulate, "coherent": coherent}
        asked |= {"block": tuple(block), "rank": rank, **self._asked(machine, array, dataflow, links, mapping, kind)}
        found = asked.pop("machine")

        def made() -> Report | GpuReport | SystolicReport:
            from polyml.report.targets import report

            given = self._arguments(self._bound(args, {}))
            named, call = {a.name: a.value for a in given}, self._call(given)
            try:
                return report(call, named, self._where, kind, found, asked)
            except SizesNeeded:
                return report(replace(call, types=_exact(given)), named, self._where, kind, found, asked)

        return self._compiling(made)

    def simulate(
        self, *args, machine=None, array=(), dataflow: str = "auto", links: str = "manhattan", mapping=(),
        engine: str = "compiled", plans: Sequence[Plan] = (),
    ) -> Simulation:  # fmt: skip
        """A call on a systolic array whose units are simulated cycle by cycle: result, and what each nest took. The arguments
        are changed as by a call. Parameters as those of `report`, of the kernel's target where they are left out.

        engine: "compiled" or "numpy". plans: the mappings, one for each nest in the order of `report(...).nests`, in place of the
        fastest. IllegalSchedule: there is none.
        """
        asked = self._asked(machine, array, dataflow, links, mapping)
        return self._simulated(self._arguments(self._bound(args, {})), asked, engine, tuple(plans))

    def compare(
        self, *args, machine=None, array=(), dataflow: str = "auto", links: str = "manhattan", mapping=(),
        engine: str = "compiled", trace: bool = False, listing: bool | Sequence[tuple[int, ...]] = False,
        errors: Callable[[], Mapping[str, object]] | None = None,
    ) -> SimulationReport:  # fmt: skip
        """`simulate` with every mapping that is asked for (dataflow "all": every one there is), each beside what the processor
        makes of the same arguments, which stay as they are. trace: print the units at work over time; listing: what each does in
        the first fold, or each of those whose rows and columns are given. errors: by argument how far its elements, rounded, may be
        from exact ones, where that is known better than it is derived.
        """
        asked = self._asked(machine, array, dataflow, links, mapping)

        def made() -> SimulationReport:
            from polyml.report.simulation import compared

            given = self._arguments(self._bound(args, {}))
            processor = Kernel(self.py_func, self.settings)
            return compared(self._call(given), given, self._where, asked, engine, processor, trace, listing, errors)

        return self._compiling(made)

    def _asked(self, machine, array, dataflow: str, links: str, mapping, kind: str = "systolic") -> dict[str, object]:
        """Of a report; on a systolic array, what is left out is as the target has it."""
        given = {"machine": machine, "array": tuple(array), "dataflow": dataflow, "links": links, "mapping": _texts(mapping)}
        if self.target is None or kind != "systolic":
            return given
        of_target = {**given, **self.target.asked}
        if machine is not None:
            of_target["array"] = ()
        if given["mapping"]:
            of_target["dataflow"] = "auto"
        left_out = {"machine": None, "array": (), "dataflow": "auto", "links": "manhattan", "mapping": ()}
        return {name: of_target[name] if value == left_out[name] else value for name, value in given.items()}

    def _call(self, given: tuple[Argument, ...]) -> Call:
        from polyml.report.forms import Call

        types, layouts = _types(given)
        return Call(self._parsed(), types, layouts, sizes_of(given), config.resolve(self.settings), _alone, self._given)

    def _simulated(
        self, given: tuple[Argument, ...], asked: Mapping[str, object], engine: str = "compiled", plans: tuple[Plan, ...] = ()
    ) -> Simulation:
        def made() -> Simulation:
            from polyml.report.simulation import simulated

            return simulated(self._call(given), given, self._where, asked, engine, plans)

        found = self._compiling(made)
        return replace(found, result=_originals(found.result, given))

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
            if result.status is not None and not _is_unusual(hot.specialisation, result):
                return self._failed(hot.specialisation, result.status, self._arguments(values))
        given = self._arguments(values)
        types, layouts = _types(given)
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
            chosen = self._specialised(_exact(given), layouts, options, found, given)
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
            return _originals(result, given)
        if result.status is None:
            raise self._unusable(chosen.artifact, given)
        return result if _is_unusual(chosen, result) else self._failed(chosen, result.status, given)

    def _bound(self, args: tuple, kwargs: Mapping[str, object]) -> tuple[object, ...]:
        if self.py_func.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            self._parsed()  # says where the star is
        return calling.bound(self.py_func, args, kwargs)

    def _arguments(self, values: tuple[object, ...]) -> tuple[Argument, ...]:
        try:
            return tuple(arguments.argument(name, value) for name, value in zip(self._names, values, strict=True))
        except PolymlError as problem:
            raise self._in_call(problem) from None

    def _check_written(self, artifact: Artifact, given: tuple[Argument, ...]) -> None:
        for argument in given:
            problem = arguments.not_writable(argument) if argument.name in artifact.written else None
            if problem:
                raise self._in_call(problem)

    def _in_call(self, problem: PolymlError) -> PolymlError:
        return type(problem)(problem.message, loc=problem.loc, notes=[*problem.notes, f"in a call of {self._where}"])

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
        with _compiling[0]:  # it asks isl
            error = violations.failure(artifact, status, values)
        if status > 0 and artifact.checks[status - 1].may:
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
        values, positional = [_for_python(a) for a in given], self.py_func.__code__.co_argcount
        named = dict(zip(self._names[positional:], values[positional:]))
        return _originals(run(*values[:positional], **named), given)

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
            calls = [] if found is None else [_PartCall(part, self.settings) for part in found.parts.values()]
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
            with self._lock:
                chosen = self._known(place, sizes)
                if chosen is None:
                    chosen = self._made(types, layouts, options, found, aliased, sizes)
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
        name, artifact = None, None
        if cache is not None:
            with _timed(timings, "cache"):
                given = "" if self._given is None else self._given.text()
                name = key.content_key(self.py_func, found.content, types, layouts, options, aliased, given)
                artifact = _from_cache(cache, key.sized_key(name, sizes))
                if artifact is None and sizes is not None:
                    artifact = _from_cache(cache, name)
                    artifact = None if artifact is not None and artifact.sized else artifact
        from_cache, reason = artifact is not None, None
        if artifact is None:
            try:
                compiled, stages = self._compile(types, layouts, options, aliased, sizes, cache)
                artifact = compiled.artifact
                timings |= stages
            except NotAffineError as problem:
                reason = problem
        code = None
        if artifact is not None:
            with _timed(timings, "load"):
                preparation().join()
                code = load.load(artifact.object_code, artifact.entry)
            if name is not None and not from_cache:
                cache.put(key.sized_key(name, sizes) if artifact.sized else name, artifact.to_bytes())
        self.timings, self.from_cache = timings, from_cache
        return Specialisation(types, layouts, options, artifact, code, timings, from_cache, reason, sizes)

    def _compile(
        self,
        types: tuple[ArgType, ...],
        layouts: tuple[str, ...],
        options: Options,
        aliased: bool,
        sizes: Sizes | None,
        schedules: Cache | None = None,
    ):
        """(pipeline.Compiled, stage -> seconds). isl's state is the process's, so one compilation at a time."""
        timings: dict[str, float] = {}
        preparation()  # beside the stages before code is needed

        def made():
            with config.scope(debug=options.debug, debug_dir=options.debug_dir):
                with _timed(timings, "parse"):
                    parsed = self._parsed()
                from polyml import pipeline

                return pipeline.compile(parsed, types, layouts, options, aliased, sizes, schedules=schedules, given=self._given)

        compiled = self._compiling(made)
        return compiled, timings | compiled.timings

    def _compiling(self, made: Callable[[], object]):
        """What the compiler makes; what goes wrong in it is a CompileError."""
        with _compiling[0], _without_collections():
            try:
                return made()
            except PolymlError:
                raise
            except Exception as problem:
                raise CompileError(
                    f"the compiler failed on `{self.__name__}`: {type(problem).__name__}: {problem}",
                    notes=["this is a defect of polyml", f"in {self._where}"],
                ) from problem

    def _from_saved(
        self, saved: Saved, types: tuple[ArgType, ...], layouts: tuple[str, ...], with_code: bool = True
    ) -> Schedule:
        def made() -> Schedule:
            from polyml import pipeline

            options = config.resolve(self.settings)
            return pipeline.schedule_from(self._parsed(), saved, types, layouts, options, _alone, with_code)

        return self._compiling(made)

    def _saved_types(self, arguments_: tuple[str, ...], where: str) -> tuple[tuple[ArgType, ...], tuple[str, ...], None]:
        """The types and layouts that a file names."""
        types, layouts = [], []
        for text in arguments_:
            is_array = text.endswith((" C", " F", " A"))
            try:
                types.append(parse_type(text[:-2] if is_array else text))
            except ValueError as problem:
                raise ScheduleError(f"{where} is damaged: {problem}") from None
            if isinstance(types[-1], ArrayType) is not is_array:
                raise ScheduleError(f"{where} is damaged: the argument `{text}` has no layout, or one too many")
            layouts += [text[-1]] if is_array else []
        if len(types) != len(self._names):
            raise ScheduleError(f"{where} is for {len(types)} arguments; `{self.__name__}` has {len(self._names)}")
        return tuple(types), tuple(layouts), None

    def _parsed(self):
        from polyml.frontend.parse import parse

        return parse(self.py_func)

    # Inspection

    def _signature(self, args_or_types: tuple) -> tuple[tuple[ArgType, ...], tuple[str, ...], Sizes | None]:
        if not args_or_types:
            if self._last is None:
                raise PolymlTypeError(
                    f"{self.__name__} has not been called, so its argument types are not known",
                    notes=['pass arguments or types, as in "f64[:, :]"'],
                )
            return self._last.types, self._last.layouts, self._last.sizes
        values = calling.bound(self.py_func, args_or_types, {})
        pairs = [self._type(name, value) for name, value in zip(self._names, values)]
        of_types = any(isinstance(value, (str, ArrayType, ScalarType)) for value in values)
        sizes = None if of_types else sizes_of(self._arguments(values))
        return tuple(kind for kind, _ in pairs), tuple(layout for _, layout in pairs if layout), sizes

    def _of_these(self, args_or_types: tuple, make: Callable[[tuple[ArgType, ...], tuple[str, ...], Sizes | None], object]):
        """What is made for these types, layouts and sizes; where it is affine for given numbers alone, for those of the arguments."""
        types, layouts, sizes = self._signature(args_or_types)
        try:
            return make(types, layouts, sizes)
        except SizesNeeded:
            values = calling.bound(self.py_func, args_or_types, {}) if args_or_types else ()
            if not values or any(isinstance(value, (str, ArrayType, ScalarType)) for value in values):
                raise
            return make(_exact(self._arguments(values)), layouts, sizes)

    def _type(self, name: str, value: object) -> tuple[ArgType, str]:
        if isinstance(value, str):
            try:
                value = parse_type(value)
            except ValueError as problem:
                raise PolymlTypeError(f"`{name}`: {problem}") from None
        if isinstance(value, (ArrayType, ScalarType)):
            return value, "C" if isinstance(value, ArrayType) else ""
        given = arguments.argument(name, value)
        return given.type, given.layout

    def _stage(self, stage: str, args_or_types: tuple) -> str:
        return self.lower(*args_or_types).stages[stage]()

    @property
    def _where(self) -> str:
        code = self.py_func.__code__
        return f"{self.__name__} ({code.co_filename}:{code.co_firstlineno})"

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()


class _PartCall:
    """A part of a function, run by a kernel of its own where that is worth a call."""

    def __init__(self, part: Part, settings: Mapping[str, object]):
        self.part, self._kernel = part, Kernel(part.function, settings)
        self._kernel._is_part = True
        self._small = self._large = self._as_python = 0  # calls
        self._is_refused = False  # it has values or operations that the language does not have, or is never compiled

    def __call__(self, *values):
        if self._is_refused:
            return self.part.function(*values)
        if self.part.is_worth_it(values):
            self._large += 1
            try:
                result = self._kernel(*values)
            except (LanguageError, PolymlTypeError):  # before anything has happened
                self._is_refused = True
            else:
                if self._kernel.compiled is False and not any(self.compiled_lines()):
                    self._as_python += 1
                    self._is_refused = self._as_python > _OFTEN
                return result
        else:
            self._small += 1
        return self.part.function(*values)

    def compiled_lines(self) -> Iterator[tuple[int, int]]:
        if self._kernel.compiled:
            yield self.part.lines
        else:
            yield from self._kernel._compiled_parts()

    @property
    def is_too_small(self) -> bool:
        return self._small > _MANY and not self._large


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


def _texts(mapping: str | Sequence[str]) -> tuple[str, ...]:
    return (mapping,) if isinstance(mapping, str) and mapping else tuple(mapping)


@dataclass(frozen=True)
class _Reference:
    """A kernel by its place, for pickles."""

    module: str
    name: str

    def __call__(self) -> Kernel:
        return functools.reduce(getattr, self.name.split("."), importlib.import_module(self.module))


def _given_to(reference: _Reference, settings: dict[str, object], given: Saved) -> Kernel:
    return Kernel(reference().py_func, settings, given)


def _alone() -> threading.RLock:
    """isl's state is the process's."""
    return _compiling[0]


_kernels: weakref.WeakSet[Kernel] = weakref.WeakSet()


@contextmanager
def _without_collections() -> Iterator[None]:
    """Python looks for cycles to free in all that was ever imported once a compilation has made some objects, which takes as
    long as a stage does; it finds few there.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _make_old()
            gc.enable()


@functools.cache
def _make_old() -> None:
    """Behind the first compilation of a process, all objects there are count as old ones: else the next new object has Python look
    through all that was imported and made meanwhile. What later compilations leave is looked through as usual.
    """
    if gc.get_freeze_count() == 0:  # of objects that someone else keeps from being looked at
        gc.freeze()
        gc.unfreeze()


_compiling = [threading.RLock()]


def _renew_locks() -> None:
    """In the child of a fork: a lock that another thread of the parent held would never be free again."""
    _compiling[0] = threading.RLock()
    for each in list(_kernels):
        each._renew_lock()


os.register_at_fork(after_in_child=_renew_locks)


class _timed:
    """Adds the seconds of a block to timings[stage]."""

    def __init__(self, timings: dict[str, float], stage: str):
        self._timings, self._stage = timings, stage

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self._timings[self._stage] = time.perf_counter() - self._start


def _from_cache(cache, name: str | None) -> Artifact | None:
    sealed = None if name is None else cache.get(name)
    if sealed is None:
        return None
    try:
        return Artifact.from_bytes(sealed)
    except Damaged:
        cache.remove(name)
        return None


def _types(given: tuple[Argument, ...]) -> tuple[tuple[ArgType, ...], tuple[str, ...]]:
    return tuple(a.type for a in given), tuple(a.layout for a in given if a.layout)


def _exact(given: tuple[Argument, ...]) -> tuple[ArgType, ...]:
    """The types with all sizes and ints."""
    return tuple(with_sizes(a.type, a.value) for a in given)


def _is_unusual(specialisation: Specialisation, outcome: Outcome) -> bool:
    """Whether the call is not one of those the code was made for; another specialisation may take it."""
    return outcome.status > 0 and specialisation.artifact.checks[outcome.status - 1].kind == "usual"


def _same(old: tuple[Guard, ...], new: tuple[Guard, ...]) -> bool:
    return len(old) == len(new) and all(a.expected is b.expected and a.place is b.place for a, b in zip(old, new))


def _for_python(argument: Argument) -> object:
    """What py_func gets: arrays that were converted as arrays, all else as it came."""
    converted = isinstance(argument.value, np.ndarray) and not isinstance(argument.original, np.ndarray)
    return argument.value if converted else argument.original


def _originals(result: object, given: tuple[Argument, ...]) -> object:
    """The result with arrays that stand for an argument replaced by the argument as the caller passed it."""
    if isinstance(result, tuple):
        return tuple(_originals(part, given) for part in result)
    return next((a.original for a in given if a.value is result), result)


def _outside() -> int:
    """The stack level of the first caller outside this file, for a warning raised in the calling function."""
    level, frame = 1, inspect.currentframe().f_back
    while frame is not None and frame.f_code.co_filename == __file__:
        level, frame = level + 1, frame.f_back
    return level
