"""Schedules of a kernel: shown, changed, saved, and compiled with."""

from __future__ import annotations

from os import PathLike, fsdecode, fspath
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from polyml import config
from polyml.api.compiling.compile_lock import alone
from polyml.api.inspection import Inspected
from polyml.errors import ConfigError, PolymlTypeError, ScheduleError
from polyml.frontend.syntax import ArgType, ArrayType
from polyml.reading.input_limits import plain, shown
from polyml.reading.userfiles import called
from polyml.runtime.storage.records import parse_type

if TYPE_CHECKING:
    from polyml.pipeline.gpu.device import Device
    from polyml.schedule.script.file import Saved
    from polyml.schedule.script.schedule import Schedule


Same = TypeVar("Same", bound="Schedulable")


class Schedulable(Inspected):
    """The part of `Kernel` whose methods find, load and set the schedule with which the function is compiled."""

    def schedule(self, *args_or_types) -> Schedule:
        """Returns the kernel's schedule for some arguments, to be changed step by step as polyml.schedule.script.schedule.Schedule
        describes.

        k.schedule() is the schedule that the kernel is compiled with: the one that `with_schedule` set, or else the one that the
        compiler finds. k.schedule("auto") is always the one that the compiler finds, k.schedule("source") the order of the source.

        args_or_types: "auto" or "source", if wanted, and then arguments or types as for `lower`.

        >>> import polyml
        >>> @polyml.kernel
        ... def product(C, A, B):
        ...     for i in range(C.shape[0]):
        ...         for j in range(C.shape[1]):
        ...             for k in range(A.shape[1]):
        ...                 C[i, j] += A[i, k] * B[k, j]
        >>> source = product.schedule("source", "f64[:,:]", "f64[:,:]", "f64[:,:]")
        >>> print(source.interchange("j", "k").parallel("i"))
        schedule of product, ...
        for i:  # parallel
            for k:
                for j:
                    S0[i, j, k]: C[i, j] = C[i, j] + A[i, k]*B[k, j]
        """
        start, given = "own" if self._given is not None else "auto", args_or_types
        if given and isinstance(given[0], str) and given[0] in ("auto", "source"):
            start, given = given[0], given[1:]
        if start == "own" and self._given is not None:
            types, layouts, _ = self._signature(given) if given else self._saved_types(self._given.arguments, "the schedule")
            return self._from_saved(self._given, types, layouts)

        def made(types, layouts, sizes) -> Schedule:
            request = CompileRequest(types, layouts, config.resolve(self.settings), sizes=sizes)
            return self._scheduler().schedule_of(self._parsed(), request, start, alone, *self._device())

        with alone():
            from polyml.pipeline.stages import CompileRequest

        return self._of_these(given, lambda *of: self._compiling(lambda: made(*of)))

    def load_schedule(self, path: str | PathLike, *args_or_types) -> Schedule:
        """Returns the schedule of a file that `Schedule.save` wrote, after proving again that it is legal.

        args_or_types: arguments or types as for `lower`; none: the types that the file names.
        Raises NoFileError where the file does not exist, ScheduleError where it is damaged or for another kernel, IllegalSchedule
        where the schedule breaks a dependence.

        >>> import os, tempfile, polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "double.schedule")
        ...     double.schedule("source", "f64[:]").reverse("i").save(path)
        ...     print(double.load_schedule(path))
        schedule of double, A_0 = A.shape[0]
        ...
        """
        with alone():
            from polyml.schedule.script import file

        try:
            place = fsdecode(plain(fspath(path)))  # type: ignore[arg-type]
        except Exception:  # a class that is not ours may raise anything
            raise PolymlTypeError(f"load_schedule takes the path of a file, not {shown(path)}") from None
        saved, where = file.read(place), called(place)
        types, layouts, _ = self._signature(args_or_types) if args_or_types else self._saved_types(saved.arguments, where)
        return self._from_saved(saved, types, layouts)

    def with_schedule(self: Same, schedule: Schedule) -> Same:
        """Returns a new kernel that is compiled with `schedule` for all sizes of its arguments.

        Arguments that overlap still run in the source's order. Raises ScheduleError for a schedule of another kernel. A call raises
        it too if its argument types make other statements of the kernel than those that the schedule has.

        >>> import numpy as np, polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> reversed_loop = double.with_schedule(double.schedule("source", "f64[:]").reverse("i"))
        >>> A = np.ones(3)
        >>> reversed_loop(A)
        >>> A.tolist()
        [2.0, 2.0, 2.0]
        """
        with alone():
            from polyml.schedule.script.schedule import Schedule

        if not isinstance(schedule, Schedule):
            kind = type(schedule).__name__
            notes = ["as k.schedule() and k.load_schedule(path) give"]
            raise PolymlTypeError(f"with_schedule takes a schedule, not a {kind}", notes=notes)
        if self.target is not None:
            raise ConfigError(f"a schedule is for processors and GPUs, and {self.__name__} is for {self.target}")
        self._from_saved(schedule.saved, schedule.problem.types, schedule.problem.layouts, with_code=False)
        return type(self)(self.py_func, self.settings, schedule.saved, self.gpu)

    def _from_saved(self, saved: Saved, types: tuple[ArgType, ...], layouts: tuple[str, ...], with_code: bool = True) -> Schedule:
        """Returns a saved schedule as a `Schedule` for these argument types, after proving again that it is legal.

        with_code: whether code is generated too, so that directives that cannot be followed raise ScheduleError.
        """

        def made() -> Schedule:
            from polyml.pipeline.stages import CompileRequest

            request = CompileRequest(types, layouts, config.resolve(self.settings))
            return self._scheduler().schedule_from(self._parsed(), saved, request, alone, with_code, *self._device())

        return self._compiling(made)

    def _scheduler(self) -> ModuleType:
        """Returns the module that finds and proves schedules for what the kernel runs on: a processor or a GPU."""
        if self.gpu is not None:
            from polyml.pipeline.gpu import given

            return given
        from polyml.pipeline import compile as pipeline

        return pipeline

    def _device(self) -> tuple[Device, ...]:
        """Returns the GPU that schedules are found for, as that module takes it; () for a processor."""
        if self.gpu is None:
            return ()
        from polyml.pipeline.gpu.device import Device

        return (Device(self.gpu.language, self._in_turn(), config.resolve(self.settings).tf32),)

    def _in_turn(self) -> bool:
        """Returns whether the device of the last call runs the threads of a block one after another, as a processor does."""
        return False

    def _saved_types(self, arguments_: tuple[str, ...], where: str) -> tuple[tuple[ArgType, ...], tuple[str, ...], None]:
        """Returns (types, layouts, None) of the arguments that a schedule's file names; None is in the place of sizes, as the file
        has none. Raises ScheduleError for texts that are no types.

        arguments_: the texts, such as "f64[:] C" or "int".
        where: the file, as messages call it.
        """
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
            raise ScheduleError(
                f"{where} is for arguments of another number: {len(types)}; `{self.__name__}` has {len(self._names)}"
            )
        return tuple(types), tuple(layouts), None
