"""Calls of a kernel on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from polyml import config
from polyml.api.calls.call_arguments import exact_types, originals, types_of
from polyml.api.calls.plain_calls import is_exact, left_to_python
from polyml.api.inspection import Inspected
from polyml.api.left_to_python import LeftToPython
from polyml.api.target import AnyTarget, GpuTarget
from polyml.errors import (
    ConfigError,
    LanguageError,
    NotAffineError,
    PolymlError,
    PolymlOverflowError,
    PolymlTypeError,
    SizesNeeded,
)
from polyml.frontend.syntax import ArgType, ArrayType
from polyml.runtime.calling import arguments
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.calling.guards import captures
from polyml.runtime.storage.size_classes import Sizes, sizes_of

if TYPE_CHECKING:
    from polyml.pipeline.gpu.compile import GpuCompiled
    from polyml.runtime.gpu.call import GpuCode
    from polyml.runtime.gpu.driver import Driver
    from polyml.schedule.script.file import Saved
    from polyml.schedule.script.schedule import Schedule


@dataclass(frozen=True)
class GpuForm:
    """A GPU form is a kernel compiled for a GPU, for arguments of some types and sizes, or the reason why it cannot be.

    types: the types of the arguments.
    sizes: the sizes that the code was made for; None: for all.
    compiled: the launches and their text; None where there is a problem.
    code: the text, compiled by the driver; None where there is a problem.
    problem: why there is no code; None where there is.
    in_turn: whether it was made for a device that runs the threads of a block one after another.
    """

    types: tuple[ArgType, ...]
    sizes: Sizes | None
    compiled: GpuCompiled | None = None
    code: GpuCode | None = None
    problem: PolymlError | None = None
    in_turn: bool = False


class OnGpu(Inspected, LeftToPython):
    """The part of `Kernel` that compiles a function for GPUs and runs its calls on one."""

    _run_refused: Callable[..., object]  # as `Kernel` does it
    schedule: Callable[..., Schedule]

    def __init__(
        self, function: FunctionType, settings: Mapping[str, object], given: Saved | None = None, target: AnyTarget | None = None
    ):
        super().__init__(function, settings, given, target)
        self._gpu_forms: dict[tuple, GpuForm] = {}
        self._sized: set[tuple[ArgType, ...]] = set()  # types for which the kernel is affine at given sizes alone
        self._gpu_form: GpuForm | None = None  # of the last call

    def inspect_opencl(self, *args_or_types: object) -> str:
        """Returns the kernel's code for a GPU in OpenCL C.

        args_or_types: arguments, types, or texts such as "f32[:]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] = A[i] * 2
        >>> print(double.inspect_opencl("f32[:]").rpartition("    if ")[2])
        (i < A_0)
                A[i] = A[i] * 2.0f;
        }
        <BLANKLINE>
        """
        return self._gpu_text("opencl", args_or_types)

    def inspect_cuda(self, *args_or_types: object) -> str:
        """Returns the kernel's code for a GPU in CUDA C++.

        args_or_types: arguments, types, or texts such as "f32[:]" to compile for; none: the types of the last call.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] = A[i] * 2
        >>> print(double.inspect_cuda("f32[:]").rpartition("    if ")[2])
        (i < A_0)
                A[i] = A[i] * 2.0f;
        }
        <BLANKLINE>
        """
        return self._gpu_text("cuda", args_or_types)

    def inspect_schedule(self, *args_or_types: object) -> str:
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
        return self.schedule(*args_or_types).saved.tree

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
        in_turn = not args_or_types and self._in_turn()
        made = self._of_these(args_or_types, lambda types, layouts, sizes: self._compiled_for_gpu(types, sizes, language, in_turn))
        return made.source.text

    def _explained_on_gpu(self, target: GpuTarget) -> str:
        """Returns the text of `Kernel.explain` for a call on a GPU: the device, its launches, and the times of the compilation's
        stages.
        """
        form = self._gpu_form
        if form is None or form.compiled is None:
            return f"{self._where}: plain Python: {self._python_reason}"
        spent = ", ".join(f"{stage} {seconds * 1e3:.0f} ms" for stage, seconds in form.compiled.timings.items())
        return "\n".join([f"{self._where}: {target}", *(f"  {note}" for note in form.compiled.notes), f"  compiled in {spent}"])

    def _on_gpu(self, values: tuple[object, ...], target: GpuTarget) -> object:
        """Calls the kernel on the GPU, or as plain Python where there is no code for the arguments, and returns the result.

        values: one for each parameter of the function.
        """
        try:
            given = self._arguments(values)
            if problem := left_to_python(given):
                raise self._in_call(problem)
        except (PolymlTypeError, PolymlOverflowError) as problem:
            about = frozenset(name for name, value in zip(self._names, values) if not is_exact(value))
            return self._run_as_python(*self._passed(values), problem, kinds=values, about=about)
        driver = opened(target.language, target.device)
        form = self._gpu_form = self._form_for(given, target, driver)
        if form.code is None:
            return self._run_refused(given, form.problem)
        if unfit := self._unfit(given, form.code.written):
            return self._run_refused(given, unfit)
        from polyml.codegen.interpreter.call import UncertainBounds
        from polyml.runtime.gpu import call

        try:
            result = call.run(form.code, {a.name: a.value for a in given}, driver)
        except UncertainBounds as problem:
            return self._run_refused(given, problem, decided=False)
        except PolymlError as problem:
            raise self._in_call(problem) from None
        self.compiled, self._python_reason = True, ""
        return originals(result, given)

    def _unfit(self, given: tuple[CallArgument, ...], written: tuple[str, ...]) -> PolymlError | None:
        """Returns the error for arguments that are read-only but written, or that overlap, which GPU code does not take; None
        otherwise.

        written: the names of the arguments that the code writes.
        """
        found = (arguments.not_writable(a) for a in given if a.name in written)
        problem = next(filter(None, found), None)
        if problem is not None:
            return self._in_call(problem)
        arrays = {a.name: a.value for a in given if isinstance(a.value, np.ndarray)}
        pair = arguments.overlap(arrays, written)
        if pair is None:
            return None
        return self._in_call(NotAffineError(f"`{pair[0]}` and `{pair[1]}` overlap, and code for GPUs is for arrays that do not"))

    def _form_for(self, given: tuple[CallArgument, ...], target: GpuTarget, driver: Driver) -> GpuForm:
        """Returns the GPU code for arguments of these types and sizes, or the reason why there is none; made at the first call with
        them.
        """
        options, found, types = config.resolve(self.settings), captures(self.py_func), types_of(given)[0]
        if types in self._sized:
            types = exact_types(given)
        key = (types, found.content, options.compile_key(), target)
        if key not in self._gpu_forms:
            try:
                self._gpu_forms[key] = self._form_of(given, types, target, driver)
            except SizesNeeded:
                self._sized.add(types)
                return self._form_for(given, target, driver)
        return self._gpu_forms[key]

    def _form_of(self, given: tuple[CallArgument, ...], types: tuple[ArgType, ...], target: GpuTarget, driver: Driver) -> GpuForm:
        from polyml.runtime.gpu import call

        sizes = sizes_of(arguments.shapes(given))
        try:
            compiled = self._compiled_for_gpu(types, sizes, target.language, driver.in_turn)
            code = call.compiled(compiled.program, compiled.source, driver)
            return GpuForm(types, sizes, compiled, code, in_turn=driver.in_turn)
        except SizesNeeded:
            raise
        except (LanguageError, PolymlTypeError, PolymlOverflowError) as problem:
            return GpuForm(types, sizes, problem=problem)

    def _compiled_for_gpu(
        self, types: tuple[ArgType, ...], sizes: Sizes | None, language: str, in_turn: bool = False
    ) -> GpuCompiled:
        def made() -> GpuCompiled:
            from polyml.pipeline.gpu.compile import compile_for_gpu
            from polyml.pipeline.gpu.device import Device

            options = config.resolve(self.settings)
            return compile_for_gpu(self._parsed(), types, options, Device(language, in_turn), sizes, self._given)

        return self._compiling(made)


@lru_cache(maxsize=8)
def opened(dialect: str, device: str) -> Driver:
    """Returns the driver of a device, the same object for all kernels of the process. Raises ConfigError for a dialect without a
    driver.

    dialect: "opencl" or "cuda".
    device: a part of the device's name.
    """
    if dialect == "opencl":
        from polyml.runtime.gpu.opencl import open_device

        return open_device(device)
    raise ConfigError("target cuda has no driver here yet", notes=["its text: k.inspect_cuda(*arguments)"])
