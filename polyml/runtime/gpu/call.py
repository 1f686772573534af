"""A call of a kernel on a GPU: tests at entry, copies to the device, launches, and copies back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any  # a number of a caller's, whose type is known by name

import numpy as np

from polyml.codegen.gpu.program import GpuProgram, Launch
from polyml.codegen.gpu.text.printer import LaunchSignature, LaunchSource
from polyml.codegen.interpreter import call
from polyml.codegen.interpreter.order import walk
from polyml.codegen.ir.program import Program
from polyml.dtypes import HALVES, PYINT, DType
from polyml.model.core import call_interface
from polyml.model.core.scop import Role
from polyml.numpy_dtypes import numpy_dtype
from polyml.runtime.calling.bounds_errors import of_number
from polyml.runtime.gpu.driver import DeviceBuffer, DeviceModule, Driver

_AXES = 3  # of a grid


@dataclass(frozen=True)
class GpuCode:
    """A GpuCode is a kernel that is compiled for a device.

    program: the kernel's launches, and their order
    source: the launches as text of the device's language
    module: the compiled launches
    """

    program: GpuProgram
    source: LaunchSource
    module: DeviceModule

    @property
    def written(self) -> tuple[str, ...]:
        """Returns the names of the kernel's arguments that its launches write."""
        arrays = self.program.scop.arrays
        names = {name for signature in self.source.signatures.values() for name, is_written in signature.arrays if is_written}
        return tuple({arrays[name].source_name or name for name in names if arrays[name].role is Role.ARGUMENT})


def compiled(program: GpuProgram, source: LaunchSource, driver: Driver) -> GpuCode:
    """Compiles the launches of a program for a device, and returns them.

    source: the launches as text of the device's language
    """
    return GpuCode(program, source, driver.compile(source.text))


def run(code: GpuCode, arguments: Mapping[str, object], driver: Driver) -> object:
    """Runs a kernel on a device, changes the arrays among its arguments in place, and returns what the kernel returns.

    arguments: by the names of the kernel's parameters

    Nothing is changed where an error is raised: BoundsError, UncertainBounds, ValueError or PolymlOverflowError for a violated
    check, PolymlOverflowError or PolymlValueError for a number that does not fit its type on the device, PolymlMemoryError where the device has too little
    memory.
    """
    scop = code.program.scop
    sizes, arrays = call.begin(scop, arguments)
    memory = _DeviceMemory(code, arrays, arguments, driver)

    def launch(name: str, point: tuple[int, ...]) -> None:
        found = code.program.launches[name]
        memory.launch(found, code.source.signatures[name], {**sizes, **dict(zip(found.host, point))})

    walk(Program(scop, code.program.order), sizes, launch)
    memory.finish()
    return call.result(scop, arrays, arguments)


class _DeviceMemory:
    """A _DeviceMemory holds the arrays of one call on the device; each is copied there when the first launch uses it."""

    def __init__(self, code: GpuCode, arrays: Mapping[str, np.ndarray], arguments: Mapping[str, object], driver: Driver):
        self._code, self._arrays, self._arguments, self._driver = code, arrays, arguments, driver
        self._buffers: dict[str, DeviceBuffer] = {}
        self._written: set[str] = set()
        self._status: DeviceBuffer | None = None

    def launch(self, launch: Launch, signature: LaunchSignature, values: Mapping[str, int]) -> None:
        blocks = [axis.blocks.evaluate(values) for axis in launch.axes]
        if any(number <= 0 for number in blocks):
            return
        firsts = [axis.first.evaluate(values) for axis in launch.axes]
        before: list[object] = [self._buffer(name) for name, _ in signature.arrays]
        self._written |= {name for name, is_written in signature.arrays if is_written}
        before += [np.int64(values[name]) for name in signature.integers]
        after: list[object] = [np.int64(blocks[k]) for k in signature.extents]
        after += [self._number(name, dtype) for name, dtype in signature.numbers]
        after += [self._flag()] if signature.status else []
        block = _padded([axis.threads for axis in launch.axes[:_AXES]])
        whole = _padded([*blocks[:2], prod(blocks[2:])] if len(blocks) > 2 else blocks)
        for start, grid in _parts(whole, self._driver.most_blocks):
            given = [np.int64(firsts[k] + start[min(k, 2)]) for k in signature.firsts]
            self._code.module.launch(launch.name, grid, block, [*before, *given, *after])

    def finish(self) -> None:
        """Copies the arrays that launches have written back to the caller's memory.

        Raises PolymlOverflowError or PolymlValueError, with nothing copied, where a launch met a number that does not fit its type.
        """
        if self._status is not None:
            status = np.zeros(1, np.int32)
            self._driver.download(self._status, status)
            if status[0]:
                raise of_number(int(status[0]), self._code.program.scop.name, "its arrays are as they were")
        for name in self._written:
            array = self._arrays[name]
            if self._code.program.scop.arrays[name].role is Role.LOCAL and array.ndim:
                continue
            if array.flags.c_contiguous:
                self._driver.download(self._buffers[name], array)
            else:
                whole = np.empty(array.shape, array.dtype)
                self._driver.download(self._buffers[name], whole)
                array[...] = whole

    def _buffer(self, name: str) -> DeviceBuffer:
        found = self._buffers.get(name)
        if found is None:
            array = self._arrays[name]
            found = self._buffers[name] = self._driver.allocate(array.nbytes)
            if self._code.program.scop.arrays[name].role is Role.ARGUMENT:
                self._driver.upload(found, np.ascontiguousarray(array))
        return found

    def _number(self, name: str, dtype: DType) -> object:
        value: Any = call_interface.number(name, self._arguments)
        if dtype == PYINT:
            return np.int64(value)
        made = numpy_dtype(dtype).type(value)
        return made.view(np.uint16) if dtype in HALVES else made

    def _flag(self) -> DeviceBuffer:
        if self._status is None:
            self._status = self._driver.allocate(4)
            self._driver.upload(self._status, np.zeros(1, np.int32))
        return self._status


def _padded(numbers: list[int]) -> tuple[int, ...]:
    return (*numbers, *[1] * (_AXES - len(numbers)))


def _parts(blocks: tuple[int, ...], most: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yields (first block, numbers of blocks), each along all axes, of launches that together run a grid that is too large for one.

    blocks: how many blocks the grid has along each axis
    most: how many blocks one launch may have along each axis
    """
    for start in product(*(range(0, number, limit) for number, limit in zip(blocks, most))):
        yield start, tuple(min(number - first, limit) for number, limit, first in zip(blocks, most, start))
