"""Calls of a kernel on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from polyml import config
from polyml.api.calls import gpu_form
from polyml.api.calls.call_arguments import exact_types, originals, types_of
from polyml.api.calls.gpu_form import GpuForm, shapes_of
from polyml.api.calls.plain_calls import is_exact, left_to_python
from polyml.api.compiling.compile_lock import alone
from polyml.api.inspecting.texts import StageText
from polyml.api.inspection import Inspected
from polyml.api.left_to_python import LeftToPython
from polyml.api.target import AnyTarget, GpuTarget
from polyml.config import active
from polyml.errors import (
    ConfigError,
    LanguageError,
    NotAffineError,
    PolymlError,
    PolymlOverflowError,
    PolymlTypeError,
    SizesNeeded,
)
from polyml.frontend.argument_types import with_ones
from polyml.frontend.syntax import ArgType, ArrayType
from polyml.runtime.calling import arguments, bounds_errors
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.calling.guards import Captures, captures
from polyml.runtime.gpu import call, device_arrays, placement
from polyml.runtime.gpu.call import Violated
from polyml.runtime.gpu.device_arrays import DeviceArray
from polyml.runtime.gpu.driver import Driver
from polyml.runtime.gpu.recorded_calls import RecordedCall, Recording, identity
from polyml.runtime.storage import cache_key
from polyml.runtime.storage.disk_cache import Cache, open_cache
from polyml.runtime.storage.size_classes import FORMS, Sizes, sizes_of
from polyml.values import cached_property

if TYPE_CHECKING:
    from polyml.pipeline.gpu.compile import GpuCompiled
    from polyml.schedule.script.file import Saved
    from polyml.schedule.script.schedule import Schedule

_RECORDED = 64  # calls of a kernel at most


class OnGpu(Inspected, LeftToPython):
    """The part of `Kernel` that compiles a function for GPUs and runs its calls on one."""

    _run_refused: Callable[..., object]  # as `Kernel` does it
    schedule: Callable[..., Schedule]

    def __init__(
        self, function: FunctionType, settings: Mapping[str, object], given: Saved | None = None, target: AnyTarget | None = None
    ):
        super().__init__(function, settings, given, target)
        self._gpu_forms: dict[tuple, dict[tuple | None, GpuForm]] = {}  # by types and settings, by the limits of sizes
        self._facts: _Facts | None = None
        self._recorded: dict[tuple, tuple[_Facts, GpuForm, RecordedCall]] = {}
        self._sized: set[tuple[ArgType, ...]] = set()  # types for which the kernel is affine at given sizes alone
        self._gpu_form: GpuForm | None = None  # of the last call

    def inspect_opencl(self, *args_or_types: object) -> StageText:
        """Returns the kernel's code for a GPU in OpenCL C.

        args_or_types: arguments, types, or texts such as "f32[:]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] = A[i] * 2
        >>> print(double.inspect_opencl("f32[:]").rpartition("    if ")[2])
        (i < A_0)
                A[i] *= 2.0f;
        }
        <BLANKLINE>
        """
        return StageText(self._gpu_text("opencl", args_or_types))

    def inspect_cuda(self, *args_or_types: object) -> StageText:
        """Returns the kernel's code for a GPU in CUDA C++.

        args_or_types: arguments, types, or texts such as "f32[:]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] = A[i] * 2
        >>> print(double.inspect_cuda("f32[:]").rpartition("    if ")[2])
        (i < A_0)
                A[i] *= 2.0f;
        }
        <BLANKLINE>
        """
        return StageText(self._gpu_text("cuda", args_or_types))

    def inspect_schedule(self, *args_or_types: object) -> StageText:
        """Returns the text of the schedule tree, in isl's notation; of a kernel for a GPU, with its mapping to blocks and threads in
        marks.

        args_or_types: arguments, types, or texts such as "f64[:, :]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel(target="opencl")
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> print(double.inspect_schedule("f64[:]"))
        domain: "[A_0] -> { S0[i] : 0 <= i < A_0 }"
        child:
          mark: "loop i: grid(x, threads=128)"
          child:
            schedule: "[A_0] -> [{ S0[i] -> [(i)] }]"
        """
        if self.gpu is None:
            return super().inspect_schedule(*args_or_types)
        return StageText(self.schedule(*args_or_types).saved.tree)

    def _signature(self, args_or_types: tuple) -> tuple[tuple[ArgType, ...], tuple[str, ...], Sizes | None]:
        form = self._gpu_form
        if args_or_types or form is None:
            return super()._signature(args_or_types)
        return form.types, tuple("C" for each in form.types if isinstance(each, ArrayType)), form.sizes

    def _in_turn(self) -> bool:
        return self._gpu_form is not None and self._gpu_form.in_turn

    def inspect_ptx(self, *args_or_types: object, arch: str = "sm_90") -> str:
        """Returns the kernel's code for a GPU in PTX, the instructions of NVIDIA's virtual machine, as nvcc makes it of the CUDA C++.

        args_or_types: arguments, types, or texts such as "f32[:]" to compile for; none: the types of the last call.
        arch: the GPU's architecture, as in "sm_90".
        Raises ConfigError where there is no nvcc.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] = A[i] * 2
        >>> from polyml.runtime.gpu.toolkit.nvidia import tool
        >>> tool("nvcc") is None or ".target sm_80" in double.inspect_ptx("f32[:]", arch="sm_80")
        True
        """
        from polyml.runtime.gpu.toolkit import nvidia

        return nvidia.ptx(self.inspect_cuda(*args_or_types), arch)

    def inspect_sass(self, *args_or_types: object, arch: str = "sm_90") -> str:
        """Returns the kernel's code for a GPU in SASS, the instructions of one architecture, as nvcc makes and nvdisasm lists them.

        args_or_types: arguments, types, or texts such as "f32[:]" to compile for; none: the types of the last call.
        arch: the GPU's architecture, as in "sm_90".
        Raises ConfigError where there is no nvcc or no nvdisasm.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] = A[i] * 2
        >>> from polyml.runtime.gpu.toolkit.nvidia import tool
        >>> tool("nvdisasm") is None or "EXIT" in double.inspect_sass("f32[:]", arch="sm_80")
        True
        """
        from polyml.runtime.gpu.toolkit import nvidia

        return nvidia.sass(self.inspect_cuda(*args_or_types), arch)

    def _gpu_text(self, language: str, args_or_types: tuple) -> str:
        form = self._gpu_form
        if not args_or_types and form is not None and form.artifact is not None and form.artifact.dialect == language:
            return form.artifact.text
        in_turn = not args_or_types and self._in_turn()
        made = self._of_these(args_or_types, lambda types, layouts, sizes: self._compiled_for_gpu(types, sizes, language, in_turn))
        return made.source.text

    def _explained_on_gpu(self, target: GpuTarget) -> str:
        """Returns the text of `Kernel.explain` for a call on a GPU: the device, its launches, and the times of the compilation's
        stages.
        """
        form = self._gpu_form
        if form is None or form.artifact is None:
            raise ValueError("the last call did not run on a GPU")
        spent = ", ".join(f"{stage} {seconds * 1e3:.0f} ms" for stage, seconds in form.timings.items())
        how = "from the disk cache" if form.from_cache else "compiled"
        return "\n".join([f"{self._where}: {target}", *(f"  {note}" for note in form.artifact.notes), f"  {how} in {spent}"])

    def on(self, stream: object) -> Callable[..., object]:
        """Returns a callable that runs the kernel as `Kernel` does, with its copies and launches in a stream of the caller's.

        stream: a pyopencl.CommandQueue that works in order; for CUDA a stream of CuPy, PyTorch, Numba, pycuda or cuda.core, or its
            handle as an int.
        Raises ConfigError where the kernel runs on the processor.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> try:
        ...     double.on(None)
        ... except polyml.ConfigError as problem:
        ...     print(problem.message)
        `double` runs on the processor, which has no streams
        """
        target = self.gpu
        if target is None:
            raise ConfigError(
                f"`{self.__name__}` runs on the processor, which has no streams", notes=['expected target="cuda" or "opencl"']
            )
        return lambda *args, **kwargs: self._on_gpu(self._bound(args, kwargs), target, stream)

    def _on_gpu(self, values: tuple[object, ...], target: GpuTarget, stream: object = None) -> object:
        """Calls the kernel on the GPU, or as plain Python where there is no code for the arguments, and returns the result.

        values: one for each parameter of the function.
        stream: of the caller's; None: that of the arguments, or the driver's own.
        """
        key = identity(values) if stream is None else None
        if (again := self._recorded_call(key)) is not None:
            self._run_again(*again)
            return None
        try:
            given = placement.arguments_of(self._names, values, target.language, stream)
            refused: PolymlError | None = left_to_python(given)
        except (PolymlTypeError, PolymlOverflowError) as found:
            refused = found.with_traceback(None)  # which holds the arguments
        if (
            refused is not None
        ):  # behind the `except`, so that what Python raises is not told to have come while polyml's was handled
            problem = self._in_call(refused)
            if any(map(placement.is_on_device, values)):
                raise problem
            about = frozenset(name for name, value in zip(self._names, values) if not is_exact(value))
            return self._run_as_python(*self._passed(values), problem, kinds=values, about=about)
        return self._run_form(given, target, stream, types_of(given)[0], key)

    def _recorded_call(self, key: tuple | None) -> tuple[GpuForm, RecordedCall] | None:
        """Returns the call that was recorded under a key, and its form; None where there is none, or where code would be another."""
        found = self._recorded.get(key) if key is not None else None
        return None if found is None or found[0] is not self._gpu_facts() else found[1:]

    def _run_again(self, form: GpuForm, recorded: RecordedCall) -> None:
        """Starts what a call started that was like this one."""
        self._gpu_form, self.compiled, self._python_reason = form, True, ""
        try:
            recorded.run()
        except PolymlError as problem:
            raise self._in_call(problem) from None

    def _run_form(
        self,
        given: tuple[CallArgument, ...],
        target: GpuTarget,
        stream: object,
        types: tuple[ArgType, ...],
        key: tuple | None = None,
    ) -> object:
        """Runs the code for arguments of these types, made now where there is none, and returns the call's result.

        key: under which the call is recorded; None: it is not.
        """
        try:
            queue, others = placement.queues(given, target, stream)
        except PolymlError as problem:
            raise self._in_call(problem) from None
        form = self._gpu_form = self._form_for(given, types, queue.driver)
        if form.problem is not None:
            return self._left(given, form.problem)
        code = form.code_on(queue.driver, self._gpu_cache())
        if unfit := self._unfit(given, form.made.written):
            return self._left(given, unfit)
        for other in others:
            queue.follow(other)
        recording = Recording()
        try:
            result = call.run(code, given, queue, recording)
        except Violated as found:
            return self._violated(given, target, stream, form, found)
        except PolymlError as problem:
            raise self._in_call(problem) from None
        finally:
            for other in others:
                other.follow(queue)
        self.compiled, self._python_reason = True, ""
        if key is not None and recording.is_repeatable and not others:
            if len(self._recorded) >= _RECORDED:
                self._recorded.clear()  # of arrays that may be gone, and of code that is another now
            self._recorded[key] = self._gpu_facts(), form, RecordedCall(queue, tuple(recording.launches))
        return originals(result, given)

    def _left(self, given: tuple[CallArgument, ...], problem: PolymlError, decided: bool = True) -> object:
        """Runs the function as plain Python because of `problem`, and returns its result. Raises the problem where arrays are on a
        device, which Python would read element by element.

        decided: whether types and source are the reason.
        """
        if any(isinstance(each.value, DeviceArray) for each in given):
            raise problem.noted("arrays on a device are for kernels that run there; NumPy arrays run as plain Python")
        return self._run_refused(given, problem, decided)

    def _violated(
        self, given: tuple[CallArgument, ...], target: GpuTarget, stream: object, form: GpuForm, found: Violated
    ) -> object:  # fmt: skip
        """Goes on after a test at entry failed: raises the error that it stands for, runs code for these sizes, or plain Python where
        that decides. Returns the call's result.
        """
        check = form.made.checks[found.number]
        exact = tuple(with_ones(a.type, a.value) for a in given)
        if check.kind == "usual" and exact != form.types:
            return self._run_form(given, target, stream, exact)
        with alone():  # it asks isl
            problem = bounds_errors.violation(check, found.sizes)
        if not check.may:
            raise self._in_call(problem) from None
        return self._left(given, bounds_errors.left_to_python(problem, check), decided=False)

    def _unfit(self, given: tuple[CallArgument, ...], written: tuple[str, ...]) -> PolymlError | None:
        """Returns the error for arguments that are read-only but written, or that overlap, which GPU code does not take; None
        otherwise.

        written: the names of the arguments that the code writes.
        """
        found = (device_arrays.not_writable(a) or arguments.not_writable(a) for a in given if a.name in written)
        problem = next(filter(None, found), None)
        if problem is not None:
            return self._in_call(problem)
        on_host = {a.name: a.value for a in given if isinstance(a.value, np.ndarray)}
        on_device = {a.name: a.value for a in given if isinstance(a.value, DeviceArray)}
        pair = arguments.overlap(on_host, tuple(name for name in written if name in on_host))
        pair = pair or device_arrays.overlap(on_device, written)
        if pair is None:
            return None
        return self._in_call(NotAffineError(f"`{pair[0]}` and `{pair[1]}` overlap, and code for GPUs is for arrays that do not"))

    # -- compiled forms --------------------------------------------------------------------------------------------

    def _form_for(self, given: tuple[CallArgument, ...], types: tuple[ArgType, ...], driver: Driver) -> GpuForm:
        """Returns the GPU code for arguments of these types and sizes, or the reason why there is none; made at the first call with
        them.
        """
        facts = self._gpu_facts()
        if types in self._sized:
            types = exact_types(given)
        sizes = sizes_of(shapes_of(given))
        some = self._gpu_forms.setdefault((types, facts.key, driver.dialect, driver.in_turn), {})
        found = some.get(None) or some.get(sizes.limits)
        if found is not None:
            return found
        try:
            made = self._form_of(types, None if len(some) >= FORMS else sizes, facts, driver)
        except SizesNeeded:
            self._sized.add(types)
            return self._form_for(given, types, driver)
        some[sizes.limits if made.is_sized else None] = made
        return made

    def _gpu_facts(self) -> _Facts:
        """Returns what code depends on besides the arguments: looked at anew where a setting or a name of outside has changed."""
        known = self._facts
        if known is not None and known.scope is active() and all(guard.holds() for guard in known.found.guards):
            return known
        self._facts = _Facts(active(), captures(self.py_func), config.resolve(self.settings))
        return self._facts

    def _gpu_cache(self) -> Cache | None:
        return open_cache(self._gpu_facts().options)

    def _form_of(self, types: tuple[ArgType, ...], sizes: Sizes | None, facts: _Facts, driver: Driver) -> GpuForm:
        """Returns the form for arguments of these types and sizes: from the disk cache, or compiled."""
        options, found = facts.options, facts.found
        cache = open_cache(options) if found.portable and not options.debug else None
        language, in_turn = driver.dialect, driver.in_turn
        asked = f"{language}{' in turn' if in_turn else ''}"
        schedule = "" if self._given is None else self._given.text()
        inputs = cache_key.CodeInputs(found.content, types, (), options, False, schedule, asked)
        name = None if cache is None else cache_key.content_key(self.py_func, inputs)
        if cache is not None and name is not None:
            kept = gpu_form.kept(cache, cache_key.names(name, sizes), (self.__name__, self._names, types, language))
            if kept is not None:
                return GpuForm(types, sizes, in_turn, *kept, from_cache=True)
        try:
            compiled = self._compiled_for_gpu(types, sizes, language, in_turn)
        except SizesNeeded:
            raise
        except (LanguageError, PolymlTypeError, PolymlOverflowError) as problem:
            return GpuForm(types, sizes, in_turn, problem=problem)
        made = GpuForm(types, sizes, in_turn, compiled.artifact, timings=compiled.timings)
        if cache is not None and name is not None:
            cache.put(cache_key.sized_key(name, sizes) if made.is_sized else name, compiled.artifact.to_bytes())
        return made

    def _compiled_for_gpu(
        self, types: tuple[ArgType, ...], sizes: Sizes | None, language: str, in_turn: bool = False
    ) -> GpuCompiled:
        def made() -> GpuCompiled:
            from polyml.pipeline.gpu.compile import compile_for_gpu
            from polyml.pipeline.gpu.device import Device

            options = config.resolve(self.settings)
            device = Device(language, in_turn, options.tf32, options.libraries)
            return compile_for_gpu(self._parsed(), types, options, device, sizes, self._given)

        return self._compiling(made)


@dataclass(frozen=True)
class _Facts:
    """What code for a GPU depends on besides the arguments.

    scope: the settings in force, compared by identity.
    found: the values of names of outside.
    options: the settings.
    """

    scope: object
    found: Captures
    options: config.Options

    @cached_property
    def key(self) -> tuple:
        """A key that is the same where the same code serves."""
        return self.found.content, self.options.compile_key()
