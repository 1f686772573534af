"""OpenCL devices, through pyopencl."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any  # pyopencl has no types

import numpy as np

from polyml.errors import CompileError, ConfigError, PolymlMemoryError


class OpenCl:
    """An OpenCl is the driver of one OpenCL device of this machine."""

    dialect = "opencl"
    most_blocks = (2**31 - 1,) * 3  # OpenCL has no limit but that numbers of work-items fit its size_t

    def __init__(self, cl: Any, device: Any):
        self._cl, self._device = cl, device
        self.name = f"{device.name.strip()} ({device.platform.name.strip()})"
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context)

    @property
    def in_turn(self) -> bool:
        """Whether the device runs the threads of a block one after another: all devices but GPUs do."""
        return not self._device.type & self._cl.device_type.GPU

    def compile(self, text: str) -> OpenClModule:
        """Compiles a text of OpenCL C, and returns its kernels. Raises CompileError with the compiler's messages."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._cl.CompilerWarning)
            try:
                return OpenClModule(self._cl, self._queue, self._cl.Program(self._context, text).build())
            except self._cl.RuntimeError as problem:
                raise CompileError(
                    f"the OpenCL compiler of {self.name} refuses a kernel", notes=str(problem).splitlines()
                ) from None

    def allocate(self, size_bytes: int) -> Any:
        """Returns new memory of the device, of one byte at least. Raises PolymlMemoryError where it has not so much."""
        try:
            return self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, max(size_bytes, 1))
        except (self._cl.MemoryError, self._cl.LogicError) as problem:
            raise PolymlMemoryError(f"{self.name} has no {size_bytes:,} bytes of memory left: {problem}") from None

    def upload(self, buffer: Any, array: np.ndarray) -> None:
        """Copies an array, which must be stored row by row, to the buffer on the device."""
        if array.nbytes:
            self._cl.enqueue_copy(self._queue, buffer, array, is_blocking=True)

    def download(self, buffer: Any, array: np.ndarray) -> None:
        """Copies the buffer on the device to an array, which must be stored row by row, once all launches before are done."""
        if array.nbytes:
            self._cl.enqueue_copy(self._queue, array, buffer, is_blocking=True)


class OpenClModule:
    """An OpenClModule holds the kernels of one text, compiled for a device."""

    def __init__(self, cl: Any, queue: Any, program: Any):
        self._cl, self._queue, self._program = cl, queue, program
        self._kernels: dict[str, Any] = {}

    def launch(self, name: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[object]) -> None:
        """Starts one launch of a kernel, and does not wait for its end.

        grid, block: how many blocks there are, and how many threads a block has, along each axis, x first
        """
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._cl.Kernel(self._program, name)
        items = [blocks * threads for blocks, threads in zip(grid, block)]
        kernel(self._queue, items, tuple(block), *arguments)


def open_device(wanted: str = "") -> OpenCl:
    """Returns the first OpenCL device that has the text in its name or its platform's name, GPUs before others.

    wanted: the text, in which capital letters do not count; "" for any device
    Raises ConfigError where pyopencl or a device is missing, with what there is.
    """
    try:
        import pyopencl as cl
    except ImportError as problem:
        raise ConfigError("target opencl needs pyopencl", notes=[f"pip install polyml[opencl] ({problem})"]) from None
    try:
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error as problem:
        raise ConfigError(
            "there is no OpenCL platform on this machine", notes=["expected a driver (ICD), such as pocl's", str(problem)]
        ) from None
    devices.sort(key=lambda device: not device.type & cl.device_type.GPU)
    found = [device for device in devices if wanted.lower() in f"{device.name} {device.platform.name}".lower()]
    if not found:
        known = ", ".join(f"{device.name} ({device.platform.name})" for device in devices) or "none"
        raise ConfigError(f"there is no OpenCL device {wanted!r}", notes=[f"devices: {known}"])
    return OpenCl(cl, found[0])
