"""A function with what it is compiled with, which calls, schedules and reports of it share."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from polyml import config, interrupts, tracebacks
from polyml.api.calls.plain_calls import Kinds
from polyml.api.calls.proved import NOTHING
from polyml.api.calls.specialisation import Request, Specialisation, timed
from polyml.api.compiling import memory_shortage
from polyml.api.compiling.compile_lock import alone, is_alone, without_collections
from polyml.api.compiling.deep_stack import on_deep_stack
from polyml.api.target import AnyTarget, GpuTarget, Target
from polyml.errors import CompileError, NotAffineError, PolymlError
from polyml.runtime.calling import arguments, signature
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.calling.entry import begin_preparation
from polyml.runtime.storage.disk_cache import Cache
from polyml.source import reader_name

if TYPE_CHECKING:
    from polyml.pipeline.compile import Compiled
    from polyml.schedule.script.file import Saved


Made = TypeVar("Made")


class KernelFunction:
    """The base of `Kernel`: a Python function with its settings and target, and how it is parsed and compiled.

    py_func: the Python function.
    settings: the settings that were given to the decorator, which win over scopes and the environment.
    target: the systolic array that calls are simulated on; None: there is none.
    gpu: the GPU that calls run on; None: there is none. Where both are None, calls run on the processor.
    """

    __name__: str
    __qualname__: str
    __call__: Callable[..., Any]  # `Kernel` defines it

    def __init__(
        self, function: FunctionType, settings: Mapping[str, object], given: Saved | None = None, target: AnyTarget | None = None
    ):
        functools.update_wrapper(cast(Callable, self), function)
        self.py_func = function
        self.settings = config.check(settings)
        self.target = target if isinstance(target, Target) else None
        self.gpu = target if isinstance(target, GpuTarget) else None
        self._given = given  # the schedule to compile with
        self._constants: Mapping[str, object] = {}  # parameters that are compiled as these values
        self._proved = NOTHING  # conditions among these constants
        self._with_last: Any = None  # the kernel for some constants that ran the last call
        self._names = signature.parameters(function)
        self._last: Specialisation | None = None
        self._kinds = Kinds()  # of arguments with which calls run as plain Python

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        tracebacks.guard_methods(cls)

    @property
    def _where(self) -> str:
        code = self.py_func.__code__
        return f"{self.__name__} ({reader_name(code.co_filename)}:{code.co_firstlineno})"

    def _parsed(self, constants: Mapping[str, object] | None = None):
        from polyml.frontend.parsing.parse import parse

        return parse(self.py_func, self._constants if constants is None else constants)

    def _bound(self, args: tuple, kwargs: Mapping[str, object]) -> tuple[object, ...]:
        if self.py_func.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            self._parsed()  # says where the star is
        return args if self._constants else signature.bound(self.py_func, args, kwargs)

    def _arguments(self, values: Sequence[object]) -> tuple[CallArgument, ...]:
        try:
            return tuple(arguments.argument(name, value) for name, value in zip(self._names, values, strict=True))
        except PolymlError as problem:
            raise self._in_call(problem) from None

    def _in_call(self, problem: PolymlError) -> PolymlError:
        return problem.noted(f"in a call of {self._where}")

    def _compile(self, wanted: Request, schedules: Cache | None = None) -> tuple[Compiled, dict[str, float]]:
        """Compiles the function for a request, and returns the compiled stages and {stage: seconds}.

        Only one thread compiles at a time, since isl's state is shared by the whole process.

        schedules: the cache of schedules that were found before; None: none is kept.
        """
        timings: dict[str, float] = {}
        options = wanted.options

        def made() -> Compiled:
            begin_preparation()  # beside the stages before code is needed
            with config.scope(debug=options.debug, debug_dir=options.debug_dir):
                with timed(timings, "parse"):
                    parsed = self._parsed()
                from polyml.pipeline import compile as pipeline

                request = pipeline.CompileRequest(
                    wanted.types,
                    wanted.layouts,
                    options,
                    wanted.aliased,
                    wanted.sizes,
                    general=wanted.general,
                    expects=wanted.expects,
                )
                return pipeline.compile(parsed, request, schedules=schedules, given=self._given)

        compiled = self._compiling(made)
        return compiled, timings | compiled.timings

    def _compiling(self, made: Callable[[], Made], lasting: bool = False) -> Made:
        """Calls `made`, which uses the compiler, while no other thread does, and returns its result.

        An unexpected exception is raised as a CompileError, or as a PolymlMemoryError where memory was short. Expressions that are
        too deep for the stack are tried again on a thread with a larger one.

        lasting: whether it may take minutes, so that Ctrl-C has to be answered at once, and not only between the stages of a
            compilation.
        """
        try:
            try:
                return self._by_itself(made, lasting)
            except RecursionError:
                if is_alone():
                    raise
                return on_deep_stack(lambda: self._by_itself(made, lasting))
        except RecursionError:
            if is_alone():  # a deep stack is for the one that is outermost
                raise
            raise NotAffineError(
                f"an expression of `{self.__name__}` is nested too deeply for the compiler",
                notes=["assign parts of it to names", f"in {self._where}"],
            ) from None
        except PolymlError as problem:
            if isinstance(problem, CompileError) and (short := memory_shortage.of(problem, self.__name__)):
                raise short from problem
            raise
        except Exception as problem:
            if short := memory_shortage.of(problem, self.__name__):
                raise short from problem
            raise CompileError(
                f"the compiler failed on `{self.__name__}`: {type(problem).__name__}: {problem}",
                notes=["this is a defect of polyml", f"in {self._where}"],
            ) from problem

    @contextmanager
    def _loading(self) -> Iterator[None]:
        """Raises a CompileError for any unexpected exception inside a `with` block that loads code; a MemoryError stays one."""
        try:
            yield
        except (PolymlError, MemoryError):
            raise
        except Exception as problem:
            raise CompileError(
                f"the code of `{self.__name__}` could not be loaded: {type(problem).__name__}: {problem}",
                notes=["this is a defect of polyml", f"in {self._where}"],
            ) from problem

    def _by_itself(self, made: Callable[[], Made], lasting: bool) -> Made:
        """Calls `made` while no other thread compiles and Python's garbage collector is off, and returns its result.

        lasting: whether Ctrl-C is answered at once meanwhile.
        """
        with alone(), without_collections():
            memory_shortage.require_room(self.__name__)
            if not lasting:
                return made()
            import polyml.pipeline.compile  # noqa: F401  isl and LLVM, whose import is not to be interrupted

            with interrupts.answered():
                return made()


@dataclass(frozen=True)
class KernelReference:
    """A kernel reference names a kernel by its module and qualified name, for pickles. Calling the reference returns the kernel of
    that name.
    """

    module: str
    name: str

    def __call__(self) -> KernelFunction:
        place: object = importlib.import_module(self.module)
        return cast(KernelFunction, functools.reduce(getattr, self.name.split("."), place))


def given_to(reference: KernelReference, settings: dict[str, object], given: Saved) -> KernelFunction:
    """Returns the kernel that a reference names, with other settings and a given schedule to compile with; unpickling of a kernel
    with its own settings or schedule calls this function.
    """
    found = reference()
    return type(found)(found.py_func, settings, given, found.gpu or found.target)


def outside() -> int:
    """Returns the `stacklevel` with which a warning of the calling function points at the nearest caller outside polyml's API."""
    here, own = inspect.currentframe(), (os.path.dirname(__file__) + os.sep, tracebacks.__file__)
    level, frame = 1, here and here.f_back
    while frame is not None and frame.f_code.co_filename.startswith(own):
        level, frame = level + 1, frame.f_back
    return level
