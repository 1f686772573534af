"""The decorator, which makes a function that compiles itself for the arguments of each call.

call -> native entry of the last specialisation -> the kernel
          | MISS
          v
        those used before -> convert, bind, compile or load from the cache, test overlap -> the kernel
"""

from __future__ import annotations

import inspect
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, overload

import numpy as np

from polyml import config
from polyml.api.calls import constants
from polyml.api.calls.call_arguments import for_python, originals, types_of
from polyml.api.calls.lifted_parts import PartCall
from polyml.api.calls.plain_calls import is_exact, left_to_python, may_be_refused
from polyml.api.calls.proved import NOTHING, Assumptions, Proved
from polyml.api.calls.sparse_calls import NotCompiled, SparseCalls
from polyml.api.calls.specialisation import NO_ENTRY, Hot, Request, Specialisation, is_unexpected, is_unusual
from polyml.api.compiling.compile_lock import alone
from polyml.api.explained import Explained
from polyml.api.explaining import words
from polyml.api.exploring.explorable import Explorable
from polyml.api.function import KernelReference, given_to
from polyml.api.reports import Reported
from polyml.api.status import KernelStatus, ProcessStatus
from polyml.api.status import of as status_of
from polyml.api.target import AnyTarget, as_target
from polyml.config import active
from polyml.errors import (
    CompileError,
    ConfigError,
    PolymlError,
    PolymlOverflowError,
    PolymlTypeError,
    SizesNeeded,
)
from polyml.frontend.argument_types import with_ones
from polyml.frontend.syntax import ArgType
from polyml.model.core.call_interface import PYTHON_DECIDES
from polyml.runtime.calling import arguments, bounds_errors, results
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.calling.binding import MISS, Outcome
from polyml.runtime.calling.guards import captures
from polyml.runtime.storage.artifact import Artifact
from polyml.source import reader_name
from polyml.tracebacks import for_user, guarded

if TYPE_CHECKING:
    from polyml.frontend.lifting.lifted_function import LiftedPart
    from polyml.schedule.script.file import Saved
    from polyml.systolic.simulate import ArraySimulation

_RECENT = 8  # entries tried natively before Python looks at the arguments


class Kernel(Explorable, Explained, Reported):
    """A kernel is a function that polyml compiles on its first call for each combination of argument types.

    py_func: the Python function.
    settings: the settings that were given to the decorator, by name.
    target: the systolic array that a call is simulated on; None: calls run on the processor or a GPU.
    compiled: None before the first call, then whether the last call ran as native code; False: it ran as plain Python. Calls that
        are simulated, and calls like the one before, leave it unchanged.
    timings: {stage: seconds} of the last compilation, or of the last load from the cache.
    from_cache: whether `timings` are those of a load from the cache.

    >>> import numpy as np
    >>> @kernel
    ... def total(A):
    ...     s = 0.0
    ...     for i in range(A.shape[0]):
    ...         s += A[i]
    ...     return s
    >>> float(total(np.ones(5))), total.compiled, total
    (5.0, True, <polyml.kernel total(A)>)
    """

    def __init__(
        self, function: FunctionType, settings: Mapping[str, object], given: Saved | None = None, target: AnyTarget | None = None
    ):
        super().__init__(function, settings, given, target)
        self._simulation: ArraySimulation | None = None  # the last call, where the target is an array
        self._recent: tuple[Hot, ...] = ()
        self._by_constants: dict[str, Kernel] = {}  # this function for arguments that are compiled as constants, by their text
        self._matrices = SparseCalls[Kernel](function, lambda made: _OfArrays(made, settings))
        self._assumed = Assumptions(function, self._parsed)
        self._unexpected: set[tuple] = set()  # types and layouts of calls whose index arrays are not what code expected
        self._left_by_data: set[tuple[Specialisation, int]] = set()  # forms and statuses after which Python decides
        _kernels.add(self)

    def __call__(self, *args, **kwargs):
        try:
            hot = self._hot
            if hot.scope is active() and not kwargs:
                result = hot.entry(*args)
                if result is None or type(result) is not Outcome:
                    return result
                if result.status is not None and hot.specialisation is not None and not is_unusual(hot.specialisation, result):
                    return self._ended(hot.specialisation, result.status, args)
            if self._kinds.settled and not kwargs and (settled := self._kinds.find(args, active())) is not None:
                result = settled(*args)
                if result is not MISS:
                    return result
                self._kinds.forget()
            return self._call_otherwise(args, kwargs)
        except Exception as error:
            __tracebackhide__ = True
            users = for_user(error, self.py_func.__code__.co_filename)
            raise users

    def __get__(self, instance: object, owner: type | None = None) -> Kernel | MethodType:
        """Returns the kernel bound to `instance`, so that a kernel defined in a class is a method, as a function would be."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<polyml.kernel {self.__name__}({', '.join(self._names)})>"

    def __reduce__(self) -> str | tuple:
        if self._given is not None:
            return given_to, (KernelReference(self.__module__, self.__qualname__), self.settings, self._given)
        return self.__qualname__  # pickled by reference, as functions are

    def status(self) -> KernelStatus:
        """Returns whether the kernel is compiled, the reasons why calls ran as plain Python, and how many did and for how long.

        >>> @kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> double.status().form
        'not called'
        """
        parts = tuple(dict.fromkeys(self.compiled_parts()))
        forms = [
            s
            for each in (self, *self._by_constants.values(), *self._matrices.kernels())
            for s in list(each._specialisations.values())
        ]
        signatures = tuple(dict.fromkeys(words.signature(s.request.types, s.request.layouts) for s in forms if s.artifact))
        ran = self._as_python.calls > 0
        form = "in parts" if parts else "compiled" if signatures else "plain Python" if ran else "not called"
        code, reasons = self.py_func.__code__, tuple((r.code, str(r).partition("\n")[0]) for r in self._reasons.values())
        tally, where = self._as_python, f"{reader_name(code.co_filename)}:{code.co_firstlineno}"
        return KernelStatus(self.__name__, where, form, signatures, reasons, parts, tally.calls, tally.seconds)

    def _repr_html_(self) -> str:
        """Returns the kernel's status and its compiled forms, which notebooks show."""
        return self.status()._repr_html_() + (self.signatures._repr_html_() if self.signatures else "")

    # A call that the last entry does not take

    def _call_otherwise(self, args: tuple, kwargs: Mapping[str, object]):
        """Calls the kernel where the code that ran the last call, machine code or Python, does not take these arguments."""
        if (always := self._always) is not None and always.scope is active():
            result = always(*args, **kwargs)
            if result is not MISS:
                return result
        self._always = None
        if self.py_func.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) and self.target is None:
            return self._run_as_python(args, kwargs, self._without_names())
        return self._call_slowly(self._bound(args, kwargs))

    def _without_names(self) -> PolymlError:
        """Returns the error that says why a function with *args or **kwargs is not compiled."""
        try:
            self._parsed()
        except PolymlError as problem:
            return problem
        raise CompileError(f"the parameters of `{self.__name__}` were read as named ones")

    def _call_slowly(self, values: tuple[object, ...]):
        """Calls the kernel with one value for each parameter, on its target, by native code or as plain Python; returns the result."""
        self._of_arrays = self._with_last = None
        if self.target is not None:
            given = self._arguments(values)
            self._simulation, self._simulated_types = self._simulated(given, self._target_settings()), types_of(given)[0]
            return self._simulation.result
        if self.gpu is not None:
            return self._on_gpu(values, self.gpu)
        if not self._constants and self.gpu is None and (of_arrays := self._matrices.find(values)) is not None:
            return self._on_arrays(of_arrays, values)
        found = constants.constants(self._names, values)
        proved = self._assumed.proved(self._names, values, {**self._constants, **found})
        if self._given is None and (found or proved.facts):
            return self._with_constants(found, values, proved)
        scope = active()
        for hot in self._recent:
            if hot.scope is not scope:
                continue
            result = hot.entry(*values)
            if type(result) is not Outcome:
                self._hot, self._last = hot, hot.specialisation
                self.compiled, self._python_reason = True, ""
                return result
            if result.status is not None and hot.specialisation is not None and not is_unusual(hot.specialisation, result):
                return self._ended(hot.specialisation, result.status, values)
        if self._kinds.settled and (settled := self._kinds.find(values, scope)) is not None:
            positional, named = self._passed(values)
            result = settled(*positional, **named)
            if result is not MISS:
                return result
            self._kinds.forget()
        refused: PolymlError | None = None
        try:
            given = self._arguments(values)
            if problem := left_to_python(given):
                refused = self._in_call(problem)
        except (PolymlTypeError, PolymlOverflowError) as problem:
            refused = problem.with_traceback(None)  # which holds the arguments
        if refused is not None:
            # Behind the `except`, so that what Python raises is not told to have come while polyml's error was handled.
            about = frozenset(name for name, value in zip(self._names, values) if may_be_refused(value))
            return self._run_as_python(*self._passed(values), refused, kinds=values, about=about)
        types, layouts = types_of(given)
        result = self._call_specialised(types, layouts, given)
        if type(result) is Outcome and (exact := tuple(with_ones(a.type, a.value) for a in given)) != types:
            result = self._call_specialised(exact, layouts, given)
        if type(result) is not Outcome or self._last is None or result.status is None:
            return result
        return self._failed(self._last, result.status, given)

    def _call_specialised(self, types: tuple[ArgType, ...], layouts: tuple[str, ...], given: tuple[CallArgument, ...]) -> object:
        """Calls the code for arguments of these types and layouts, made now where there is none yet, and returns its result.

        Where the code is not for the call's sizes, returns an Outcome instead, which names the test at entry that failed.
        """
        options, found = config.resolve(self.settings), captures(self.py_func)
        wanted = Request(types, layouts, options, found, expects=(types, layouts) not in self._unexpected)
        chosen = self._specialised(wanted, given)
        if isinstance(chosen.reason, SizesNeeded):
            chosen = self._for_values(wanted, given)
        self._last = chosen
        artifact = chosen.artifact
        if artifact is None:
            names, values = [a.name for a in given], [a.original for a in given]
            found_constants = constants.truth_values(names, values) | constants.needed(chosen.reason, names, values)
            if found_constants and self._given is None:
                return self._with_constants(found_constants, values)
            return self._run_refused(given, chosen.refusal)
        if problem := self._not_writable(artifact, given):
            return self._run_refused(given, problem)
        arrays = {a.name: a.value for a in given if isinstance(a.value, np.ndarray)}
        if arguments.overlap(arrays, artifact.written):
            chosen = self._last = self._form(replace(chosen.request, aliased=True, sizes=None))
            artifact = chosen.artifact
            if artifact is None:
                return self._run_refused(given, chosen.refusal)
        else:
            entry = self._assumed.asking(chosen.entry(options.threads, found.guards, True), self._names, self._constants)
            self._remember(Hot(active(), entry, chosen))
        result = chosen.entry(options.threads, (), False)(*(a.value for a in given))
        if type(result) is not Outcome:
            self.compiled, self._python_reason = True, ""
            return originals(result, given)
        if result.status is None:
            raise self._unusable(artifact, given)
        if is_unexpected(chosen, result):
            self._unexpected.add((types, layouts))
            return self._call_specialised(types, layouts, given)
        return result if is_unusual(chosen, result) else self._failed(chosen, result.status, given)

    def _with_constants(self, found: dict[str, object], values: Sequence[object], proved: Proved = NOTHING):
        """Calls the kernel of this function for some arguments as constants, and returns the result.

        found: these arguments, by parameter
        values: one value for each parameter
        proved: conditions that hold for them
        """
        found |= proved.constants
        if isinstance(whole := self._whole, Kernel):
            given, every = {**self._constants, **dict(zip(self._names, values))}, {**self._constants, **found}
            return whole._with_constants(every, [given[name] for name in whole._names], self._proved.beside(proved))
        text = constants.content(found)
        chosen = self._by_constants.get(text)
        if chosen is None:
            refused = [known for known, form in self._by_constants.items() if not form._has_code()]
            others = [known for known, form in self._by_constants.items() if not form._proved.facts]
            if not proved.facts and len(others) - len(refused) >= constants.MOST:
                many = PolymlTypeError(f"there is code for {constants.MOST} combinations of constant arguments", code="PML-F061")
                return self._run_as_python(*self._passed(values), self._in_call(many), about=frozenset(found))
            if len(refused) >= constants.MOST:
                del self._by_constants[refused[0]]
            chosen = self._by_constants[text] = type(self)(self.py_func, self.settings)
            chosen._constants, chosen._proved, chosen._whole, chosen._told = found, proved, self, self._reasons
            chosen._names, chosen._assumed = tuple(name for name in self._names if name not in found), self._assumed
        rest = tuple(k for k, name in enumerate(self._names) if name not in found)
        tests = tuple((k, found[name]) for k, name in enumerate(self._names) if name in found)
        scope = active()

        def entry(*values: object) -> object:
            values = constants.with_defaults(self.py_func, self._names, values)
            fits = len(values) == len(self._names) and all(constants.same(values[k], expected) for k, expected in tests)
            if not fits or not proved.holds(self._names, values):
                return MISS
            self._with_last = chosen
            return chosen(*[values[k] for k in rest])

        self._hot = Hot(scope, entry, None)
        result = chosen(*[values[k] for k in rest])
        self._with_last = chosen
        if chosen.compiled:
            self.compiled, self._python_reason = True, ""
            self.timings, self.from_cache = chosen.timings, chosen.from_cache
        return result

    def _has_constant_forms(self) -> bool:
        """Returns whether there is code of this function for some constants."""
        return any(each._has_code() for each in self._by_constants.values())

    def _has_code(self) -> bool:
        """Returns whether calls of some types are compiled."""
        return any(form.artifact is not None for form in self._specialisations.values())

    def _not_writable(self, artifact: Artifact, given: tuple[CallArgument, ...]) -> PolymlError | None:
        """Returns the error for the first argument that the kernel would write but that is read-only; None where there is none."""
        problem = next(filter(None, (arguments.not_writable(a) for a in given if a.name in artifact.written)), None)
        return None if problem is None else self._in_call(problem)

    def _unusable(self, artifact: Artifact, given: tuple[CallArgument, ...]) -> PolymlError:
        """Returns the error for arguments whose sizes give a result that cannot be allocated."""
        try:
            results.allocator(artifact)(*(a.value for a in given))
        except (MemoryError, ValueError) as problem:
            return self._in_call(results.impossible(problem))
        return CompileError(f"the entry of `{self.__name__}` refuses the arguments it was made for")

    def _remember(self, hot: Hot) -> None:
        """Makes an entry (a function that runs native code) the first that later calls try, before the seven others used last."""
        others = [h for h in self._recent if h.scope is hot.scope and h.specialisation is not hot.specialisation]
        self._recent = (hot, *others[: _RECENT - 1])
        self._hot = hot

    def _ended(self, chosen: Specialisation, status: int, values: Sequence[object]):
        """Runs the function as plain Python after its machine code returned the error number `status`, and returns the result; or
        raises the error that the number stands for.
        """
        if (chosen, status) in self._left_by_data and all(map(is_exact, values)):
            self._hot, self.compiled = NO_ENTRY, False  # the next call says whether it is compiled
            return self._run_plainly(values)
        return self._failed(chosen, status, self._arguments(values))

    def _run_plainly(self, values: Sequence[object]):
        """Runs the function as plain Python, all of it, and returns its result."""
        positional, named = self._passed(values)
        return self._as_python.run(self.py_func, positional, named)

    def _failed(self, chosen: Specialisation, status: int, given: tuple[CallArgument, ...]):
        """Raises the error for the number `status` that machine code returned. Where only plain Python can decide whether there is
        one, runs the function as plain Python and returns its result.
        """
        artifact, values = chosen.made, {a.name: a.value for a in given}
        check = artifact.checks[status - 1] if 0 < status <= len(artifact.checks) else None
        if bounds_errors.is_left_to_python(artifact, status):
            self._hot, self.compiled = NO_ENTRY, False
            return originals(self._run_plainly([for_python(a) for a in given]), given)
        with alone():  # it asks isl
            error = bounds_errors.failure(artifact, status, values)
        if isinstance(error, PolymlError) and (status in PYTHON_DECIDES or check is not None and check.may):
            self._left_by_data.add((chosen, status))
            return self._run_refused(given, bounds_errors.left_to_python(error, check), decided=False)
        self.compiled, self._python_reason = True, ""
        raise error

    def _run_refused(self, given: tuple[CallArgument, ...], problem: PolymlError, decided: bool = True):
        """Runs the function as plain Python because of `problem`, and returns its result. Arrays of other libraries are passed as
        NumPy's.

        decided: whether types and source are the reason, so that later calls with these types run as plain Python at once.
        """
        values = [for_python(a) for a in given]
        return originals(self._run_as_python(*self._passed(values), problem, values if decided else None, decided), given)

    def _call_of_part(self, part: LiftedPart) -> PartCall:
        """Returns a callable that runs some loops of the function, which were lifted out of it, by a kernel of their own."""
        own = Kernel(part.lifted, self.settings, target=self.gpu)
        own._told = self._reasons
        return PartCall(part, own, self._without_a_part)


class _OfArrays(Kernel):
    """A kernel that takes the arrays of sparse matrices in the place of these. Where it is not compiled, it runs nothing."""

    _is_part = True

    def _run_as_python(
        self, args: Sequence[object], kwargs: Mapping[str, object], problem: PolymlError, kinds: Sequence[object] | None = None, decided: bool = True,
        about: frozenset[str] | None = None,
    ):  # fmt: skip
        raise NotCompiled(problem, decided)


@overload
def kernel(function: Callable[..., object], /, *, target: AnyTarget | str | None = None, **settings) -> Kernel: ...


@overload
def kernel(
    function: None = None, /, *, target: AnyTarget | str | None = None, **settings
) -> Callable[[Callable[..., object]], Kernel]: ...


@guarded
def kernel(
    function: Callable[..., object] | None = None, /, *, target: AnyTarget | str | None = None, **settings
) -> Kernel | Callable[[Callable[..., object]], Kernel]:
    """Makes a function of loops over NumPy arrays a kernel, which is compiled on its first call. It is a decorator, also with
    arguments.

    settings: fields of `polyml.config.Options`; they win over scopes and the environment.
    target: what the kernel runs on instead of the processor, such as polyml.Target.systolic(rows=16, cols=16).
    Raises ConfigError for a setting that does not exist or a value that it does not take.

    >>> import numpy as np, polyml
    >>> @polyml.kernel(fp="strict", threads=1)
    ... def dot(x, y):
    ...     s = 0.0
    ...     for i in range(x.shape[0]):
    ...         s += x[i] * y[i]
    ...     return s
    >>> float(dot(np.arange(3.0), np.ones(3)))
    3.0
    """
    target = as_target(target)
    if function is None:
        config.check(settings)
        return lambda function: kernel(function, target=target, **settings)
    if isinstance(function, Kernel):
        if target is not None and function._given is not None:
            raise ConfigError(f"{function.__name__} has a schedule, which is for the processor")
        target = target or function.target or function.gpu
        return Kernel(function.py_func, {**function.settings, **settings}, function._given, target)
    if isinstance(function, (classmethod, staticmethod)) and isinstance(function.__func__, (FunctionType, Kernel)):
        return type(function)(kernel(function.__func__, target=target, **settings))
    if not isinstance(function, FunctionType):
        raise PolymlTypeError(
            f"polyml.kernel takes a function, not a {type(function).__name__}", notes=["write the kernel with `def`"]
        )
    return Kernel(function, settings, target=target)


def status() -> ProcessStatus:
    """Returns, for all kernels of the process, what they are compiled for, why calls ran as plain Python, and how long these took.

    >>> import polyml
    >>> {each.form for each in polyml.status()} <= {"compiled", "in parts", "plain Python", "not called"}
    True
    """
    return status_of(k.status() for k in list(_kernels) if k._told is None)


_kernels: weakref.WeakSet[Kernel] = weakref.WeakSet()


def _renew_locks() -> None:
    """Gives every kernel a new lock in the child of a fork, where the threads that held the old locks do not exist."""
    for each in list(_kernels):
        each._renew_lock()


os.register_at_fork(after_in_child=_renew_locks)
