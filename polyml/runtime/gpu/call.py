"""A call of a kernel on a GPU: tests at entry, copies to the device, launches, and copies back.

NumPy arrays are copied to the device where a launch needs what they hold, and back where one has written them. Arrays on the device are used
where they are, and nothing waits for the launches, unless a number is returned or a launch may find that the call fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any  # a number of a caller's, whose type is known by name

import numpy as np

from polyml.dtypes import BY_PART, HALVES, PYINT, DType
from polyml.errors import PolymlValueError
from polyml.model.core import call_interface
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.numpy_dtypes import as_pairs, numpy_dtype
from polyml.reading import result_forms
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.calling.bounds_errors import of_number
from polyml.runtime.gpu.artifact import DeviceArrayRecord, GpuArtifact, GpuKernel
from polyml.runtime.gpu.device_arrays import DeviceArray
from polyml.runtime.gpu.device_results import device_result
from polyml.runtime.gpu.driver import DeviceBuffer, DeviceModule, Driver, Queue, Start
from polyml.runtime.gpu.host.code import HostCode, host_code
from polyml.runtime.gpu.host.nodes import launches, products
from polyml.runtime.gpu.library_calls import Operand, ProductStarter
from polyml.runtime.gpu.recorded_calls import Recording
from polyml.runtime.storage.disk_cache import Cache

_STATUS = np.dtype(np.int32)
_AS_BEFORE, _PARTLY_WRITTEN = "its arrays are as they were", "its arrays on the device may be partly written"


class Violated(Exception):
    """The exception that says that a test at entry failed: the check of this number, from 0 on, with these sizes."""

    def __init__(self, number: int, sizes: Mapping[str, int]):
        super().__init__(number)
        self.number, self.sizes = number, sizes


@dataclass(frozen=True)
class GpuCode:
    """A GpuCode is a kernel that is compiled for a device.

    host: what the host does in a call.
    module: the compiled launches.
    arrays: by name, the number of each array in the artifact.
    axes: by name of a kernel, the axes of which it has the first block and how many blocks there are as parameters.
    starts: by name of a kernel, the function that starts it.
    """

    artifact: GpuArtifact
    host: HostCode
    module: DeviceModule
    driver: Driver
    arrays: dict[str, int]
    axes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
    starts: dict[str, Start] = field(default_factory=dict)

    def start(self, kernel: GpuKernel) -> Start:
        """Returns the function that starts a kernel."""
        found = self.starts.get(kernel.name)
        if found is None:
            found = self.starts[kernel.name] = self.module.kernel(kernel.name, kernel.threads, kernel.shared_bytes)
        return found


def compiled(artifact: GpuArtifact, driver: Driver, cache: Cache | None = None) -> GpuCode:
    """Compiles the launches of a kernel for a device, and returns them.

    cache: where the device's code is kept; None: nowhere.
    Raises ValueError for an artifact whose texts are no expressions, and what the driver raises.
    """
    host = host_code(artifact)
    arrays = {array.name: number for number, array in enumerate(artifact.arrays)}
    axes = {each.kernel: (each.given_firsts, each.given_extents) for each in launches(artifact.host)}
    return GpuCode(artifact, host, driver.compile(artifact.text, cache), driver, arrays, axes)


def run(code: GpuCode, given: Sequence[CallArgument], queue: Queue, recording: Recording | None = None) -> object:
    """Runs a kernel on a device, changes the arrays among its arguments in place, and returns what the kernel returns.

    queue: where copies and launches are started.
    recording: where it is noted what the call starts.

    NumPy arrays are as they were where an error is raised: Violated for a test at entry, PolymlOverflowError or PolymlValueError
    for a number that does not fit its type on the device, PolymlMemoryError where the device has too little memory, DeviceError
    where it fails.
    """
    arguments = {each.name: each.value for each in given}
    artifact = code.artifact
    values = [_parameter(each, arguments, queue) for each in artifact.parameters]
    failed = code.host.violated(*values)
    if failed:
        raise Violated(failed - 1, {p.name: value for p, value in zip(artifact.parameters, values)})
    recording = recording or Recording()
    memory = _CallMemory(code, list(zip(code.host.shapes(*values), code.host.needed(*values))), given, queue)
    try:
        starters = (ProductStarter(memory, each, recording) for each in products(artifact.host).values())
        code.host.launches(*values, *(_Launcher(memory, kernel, recording) for kernel in artifact.kernels), *starters)
        result = memory.finish()
        recording.is_repeatable = memory.is_of_caller and not artifact.results and not any(p.extreme for p in artifact.parameters)
        return result
    finally:
        memory.release()


def _parameter(parameter: Parameter, arguments: Mapping[str, object], queue: Queue) -> int:
    """Returns the value of a parameter in a call. Elements of index arrays on the device are fetched from there."""
    array = arguments.get(parameter.array) if parameter.extreme and parameter.array else None
    if isinstance(array, DeviceArray):
        return call_interface.extreme(queue.fetch(array), parameter.extreme)
    return call_interface.value(parameter, arguments)


class _CallMemory:
    """A _CallMemory holds the arrays of one call on the device; each is copied there when the first launch uses it.

    arrays: for each array of the artifact its shape, and whether launches need what it holds before the call.
    """

    def __init__(
        self, code: GpuCode, arrays: Sequence[tuple[tuple[int, ...], bool]], given: Sequence[CallArgument], queue: Queue
    ):  # fmt: skip
        self.code, self.queue = code, queue
        self._shapes, self._needed = [shape for shape, _ in arrays], [is_needed for _, is_needed in arrays]
        self._given = {each.name: each for each in given}
        self._arguments = {each.name: each.value for each in given}
        passed = [each.value for each in given if isinstance(each.value, (np.ndarray, DeviceArray))]
        self.on_device = bool(passed) and all(isinstance(each, DeviceArray) for each in passed)
        self._memory: dict[str, DeviceBuffer] = {}
        self._taken: list[tuple[int, DeviceBuffer]] = []
        self._moved: dict[str, DeviceBuffer] = {}  # device arrays that do not begin where launches expect it
        self._written: set[str] = set()
        self._parts: dict[str, tuple[int, DeviceBuffer]] = {}  # partial results, by name
        self._status: DeviceBuffer | None = None

    def arguments(self, kernel: GpuKernel) -> tuple[list[object], list[object]]:
        """Returns what a kernel takes before its integers, and behind them; what it writes counts as written."""
        before: list[object] = [self._of(name) for name, _ in kernel.arrays]
        self._written |= {name for name, is_written in kernel.arrays if is_written}
        after: list[object] = [_number(name, dtype, self._arguments) for name, dtype in kernel.numbers]
        return before, [*after, self._flag()] if kernel.status else after

    def operand(self, name: str, is_written: bool = False) -> Operand:
        """Returns an array as a library takes it; what it writes counts as written."""
        self._written |= {name} if is_written else set()
        number = self.code.arrays[name]
        return Operand(self._of(name), self._shapes[number], self._record(name).element)

    def number(self, name: str) -> float:
        """Returns the value of an argument of the call that is a number."""
        found: Any = call_interface.number(name, self._arguments)
        return float(found)

    def parts(self, kernel: GpuKernel, count: int) -> list[object]:
        """Returns the memory of the partial results that a kernel stores or reads. count: how many there are of each name."""
        found: list[object] = []
        for name, element in kernel.parts:
            size, buffer = self._parts.get(name, (-1, None))
            if buffer is None or size < count * element.size_bytes:
                size, buffer = self._parts[name] = count * element.size_bytes, self._take(count * element.size_bytes)
            found.append(buffer)
        return found

    def finish(self) -> object:
        """Copies the arrays that launches have written back to the caller's memory, and returns what the kernel returns.

        Raises PolymlOverflowError or PolymlValueError where a launch met a number that does not fit its type.
        """
        for name, buffer in self._moved.items():
            if name in self._written:
                self.queue.copy_out(buffer, self._device_array(name))
        if self._status is not None:
            status = np.zeros(1, _STATUS)
            self.queue.download(self._status, status)
            if status[0]:
                raise of_number(int(status[0]), self.code.artifact.name, self._state)
        back = [(self._memory[name], array) for name in self._written if (array := self._numpy(name)) is not None]
        if back:
            self.queue.finish()  # an error of a launch comes before anything is written
        for buffer, array in back:
            self._download(buffer, array)
        return self._result()

    def release(self) -> None:
        """Gives memory that no caller has back to the pool."""
        for size, buffer in self._taken:
            self.code.driver.pool.give(self.queue, size, buffer)
        self._taken = []

    @property
    def is_of_caller(self) -> bool:
        """Whether all memory that launches use is the caller's, on the device."""
        return self.on_device and not self._taken

    @property
    def _state(self) -> str:
        """What there is to say of the arrays after a call that failed on the device."""
        written = (self._arguments.get(self._record(name).argument) for name in self._written)
        return _PARTLY_WRITTEN if any(isinstance(each, DeviceArray) for each in written) else _AS_BEFORE

    def _record(self, name: str) -> DeviceArrayRecord:
        return self.code.artifact.arrays[self.code.arrays[name]]

    def _device_array(self, name: str) -> DeviceArray:
        found = self._arguments[self._record(name).argument]
        if not isinstance(found, DeviceArray):
            raise TypeError(f"{name} is no array on the device")
        return found

    def _numpy(self, name: str) -> np.ndarray | None:
        """Returns the caller's memory of an array, complex numbers as pairs of parts; None for an array that is no NumPy argument."""
        record = self._record(name)
        given = self._arguments.get(record.argument) if record.role == "argument" else None
        if not isinstance(given, np.ndarray):
            return None
        return as_pairs(given) if record.pairs else given

    def _of(self, name: str) -> DeviceBuffer:
        """Returns the memory of an array on the device, allocated and filled if this is its first use."""
        found = self._memory.get(name)
        if found is None:
            found = self._memory[name] = self._placed(name)
        return found

    def _placed(self, name: str) -> DeviceBuffer:
        number = self.code.arrays[name]
        record = self.code.artifact.arrays[number]
        given = self._arguments.get(record.argument) if record.role == "argument" else None
        if isinstance(given, DeviceArray):
            return self._of_caller(name, given)
        size = prod(self._shapes[number]) * record.element.size_bytes
        if record.role == "result" and self.on_device:
            return self.code.driver.allocate(size)
        buffer = self._take(size)
        if self._needed[number] and (array := self._numpy(name)) is not None:
            self.queue.upload(buffer, np.ascontiguousarray(array))
        return buffer

    def _of_caller(self, name: str, given: DeviceArray) -> DeviceBuffer:
        found = self.code.driver.memory_of(given) if given.size else self._take(1)
        if found is None:
            found = self._moved[name] = self._take(given.nbytes)
            self.queue.copy_in(found, given)
        return found

    def _take(self, size_bytes: int) -> DeviceBuffer:
        found = self.code.driver.pool.take(self.queue, size_bytes)
        self._taken.append((size_bytes, found))
        return found

    def _flag(self) -> DeviceBuffer:
        if self._status is None:
            self._status = self._take(_STATUS.itemsize)
            self.queue.upload(self._status, np.zeros(1, _STATUS))
        return self._status

    def _download(self, buffer: DeviceBuffer, array: np.ndarray) -> None:
        if array.flags.c_contiguous:
            self.queue.download(buffer, array)
            return
        whole = np.empty(array.shape, array.dtype)
        self.queue.download(buffer, whole)
        array[...] = whole

    # -- what the kernel returns ----------------------------------------------------------------------------------

    def _result(self) -> object:
        artifact = self.code.artifact
        values = [
            self._array_result(parts[0]) if isinstance(parts[0], ArrayResult) else self._number_result(parts)
            for parts in call_interface.returned(artifact.results)
        ]
        if artifact.result_form:
            return result_forms.result(artifact.result_form, values)
        if artifact.result_is_tuple:
            return tuple(values)
        return values[0] if values else None

    def _array_result(self, result: ArrayResult) -> object:
        record = self._record(result.array)
        if record.role == "argument":
            return self._given[record.argument].original
        shape = self._shapes[self.code.arrays[result.array]]
        if self.on_device and not record.pairs:
            return device_result(self._of(result.array), shape, numpy_dtype(record.element), self.queue)
        memory = np.empty(shape, numpy_dtype(record.element))
        self.queue.download(self._of(result.array), memory)
        if not record.pairs:
            return memory
        whole = np.empty(shape[1:], BY_PART[record.element].numpy_name)
        whole.real, whole.imag = memory
        return whole

    def _number_result(self, parts: Sequence[ScalarResult | ArrayResult]) -> object:
        """Returns a number that the kernel stored in an array of one element, or in two, for the parts of a complex number."""
        values = []
        for part in parts:
            memory = np.empty((), numpy_dtype(self._record(part.array).element))
            self.queue.download(self._of(part.array), memory)
            values.append(memory[()])
        first = parts[0]
        if not isinstance(first, ScalarResult):
            raise TypeError("an array is no number")
        if len(values) == 2:
            joined = complex(float(values[0]), float(values[1]))
            return joined if first.dtype.weak or first.whole is None else numpy_dtype(first.whole).type(joined)
        return values[0].item() if first.dtype.weak else values[0]


class _Launcher:
    """A _Launcher starts one kernel in a call: it is called with numbers of blocks, first blocks, and integers."""

    def __init__(self, memory: _CallMemory, kernel: GpuKernel, recording: Recording):
        self._memory, self._kernel, self._recording = memory, kernel, recording
        self._arguments: tuple[list[object], list[object]] | None = None
        code = memory.code
        self._most, self._queue = code.driver.most_blocks, memory.queue
        self._firsts, self._extents = code.axes.get(kernel.name, ((), ()))

    def __call__(
        self, blocks: tuple[int, ...], firsts: tuple[int, ...], integers: tuple[int, ...], stored: tuple[int, ...] = ()
    ) -> None:
        if any(number <= 0 for number in blocks):
            return
        if self._arguments is None:
            self._arguments = self._memory.arguments(self._kernel)
            self._start = self._memory.code.start(self._kernel)
        before, after = self._arguments
        numbers = [*self._memory.parts(self._kernel, prod(stored)), *(np.int64(each) for each in integers)]
        for start, part in _parts(blocks, self._most):
            if any(start) and any(first and k not in self._firsts for k, first in enumerate(start)):
                raise PolymlValueError(f"{self._kernel.name} would need {max(blocks):,} blocks, more than one launch can have")
            given = [np.int64(firsts[k] + start[k]) for k in self._firsts] + [np.int64(part[k]) for k in self._extents]
            x, y, z = (*part[:2], prod(part[2:])) if len(part) > 2 else (*part, *(1,) * (3 - len(part)))
            launch = self._start, (x, y, z), [*before, *numbers, *given, *after]
            self._recording.launches.append(launch)
            self._start(self._queue, *launch[1:])


def _number(name: str, dtype: DType, arguments: Mapping[str, object]) -> object:
    """Returns a number of the call as a NumPy scalar of the type that a kernel takes; halves are passed as their bits."""
    value: Any = call_interface.number(name, arguments)
    if dtype == PYINT:
        return np.int64(value)
    made = numpy_dtype(dtype).type(value)
    return made.view(np.uint16) if dtype in HALVES else made


def _parts(blocks: tuple[int, ...], most: tuple[int, int, int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yields (first block, numbers of blocks), each along all axes, of launches that together run a grid that is too large for one.

    blocks: how many blocks the grid has along each axis. The axes from the third one on share the grid's third axis.
    most: how many blocks one launch may have along x, y and z.
    """
    limits, left = [], most[2]
    for axis, number in enumerate(blocks):
        limit = most[axis] if axis < 2 else max(left, 1)
        limits.append(limit)
        left = left // min(number, limit) if axis >= 2 else left
    for start in product(*(range(0, number, limit) for number, limit in zip(blocks, limits))):
        yield start, tuple(min(number - first, limit) for number, limit, first in zip(blocks, limits, start))
