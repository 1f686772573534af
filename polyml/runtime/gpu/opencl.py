"""OpenCL devices, through pyopencl."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any  # pyopencl has no types

import numpy as np

from polyml.errors import CompileError, ConfigError, DeviceError, PolymlMemoryError, PolymlTypeError
from polyml.runtime.gpu.device_arrays import DeviceArray
from polyml.runtime.gpu.driver import MatrixLibrary, Queue, Start
from polyml.runtime.gpu.memory_pool import MemoryPool
from polyml.runtime.storage.disk_cache import Cache

_CONTEXTS = 8  # of callers, for which drivers are kept


class OpenCl:
    """An OpenCl is the driver of one OpenCL device in one context."""

    dialect = "opencl"
    most_blocks = (2**31 - 1,) * 3  # OpenCL has no limit but that numbers of work-items fit its size_t

    def __init__(self, cl: Any, device: Any, context: Any = None):
        self.cl, self._device = cl, device
        self.name = f"{device.name.strip()} ({device.platform.name.strip()})"
        self.memory_bytes = device.global_mem_size
        self.context = cl.Context([device]) if context is None else context
        self.pool = MemoryPool(self)
        self._alignment = max(device.mem_base_addr_align // 8, 1)
        self._own: OpenClQueue | None = None

    @property
    def in_turn(self) -> bool:
        """Whether the device runs the threads of a block one after another: all devices but GPUs do."""
        return not self._device.type & self.cl.device_type.GPU

    def compile(self, text: str, cache: Cache | None = None) -> OpenClModule:
        """Returns the kernels of a text of OpenCL C, compiled. Raises CompileError with the compiler's messages.

        cache: where the device's code of texts is kept; None: it is not kept.
        """
        name = f"binary-{self._key(text)}"
        kept = None if cache is None else cache.get(name)
        if kept is not None:
            try:
                return OpenClModule(self, self.cl.Program(self.context, [self._device], [kept]).build())
            except self.cl.Error:  # it is of another driver: the text is compiled, and takes its place
                pass
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self.cl.CompilerWarning)
            try:
                program = self.cl.Program(self.context, text).build()
            except self.cl.RuntimeError as problem:
                raise CompileError(
                    f"the OpenCL compiler of {self.name} refuses a kernel", notes=str(problem).splitlines()
                ) from None
        if cache is not None:
            with contextlib.suppress(self.cl.Error, LookupError):  # a driver need not give its code
                cache.put(name, program.get_info(self.cl.program_info.BINARIES)[0])
        return OpenClModule(self, program)

    def queue(self, stream: object = None) -> OpenClQueue:
        """Returns the queue of a pyopencl.CommandQueue; None: the driver's own. Raises ConfigError for any other object, a queue of
        another context or device, and one that does not work in order.
        """
        if stream is None:
            if self._own is None:
                self._own = OpenClQueue(self, self.cl.CommandQueue(self.context, self._device))
            return self._own
        if not isinstance(stream, self.cl.CommandQueue):
            raise ConfigError(f"a queue of OpenCL is expected, not a {type(stream).__name__}", notes=["a pyopencl.CommandQueue"])
        if stream.context != self.context or stream.device != self._device:
            raise ConfigError(f"the queue is not one of {self.name} in the context of the call's arrays")
        if stream.properties & self.cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
            raise ConfigError("kernels run in queues that work in order, and this one does not")
        return OpenClQueue(self, stream)

    def allocate(self, size_bytes: int) -> Any:
        """Returns new memory of the device, of one byte at least. Raises PolymlMemoryError where it has not so much."""
        try:
            return self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, max(size_bytes, 1))
        except (self.cl.MemoryError, self.cl.LogicError) as problem:
            raise PolymlMemoryError(f"{self.name} has no {size_bytes:,} bytes of memory left: {problem}") from None

    def matrix_library(self) -> MatrixLibrary:
        """Raises ConfigError: no library is called on devices of OpenCL."""
        raise ConfigError("libraries=True is for target cuda, whose library is cuBLAS")

    def memory_of(self, array: DeviceArray) -> Any | None:
        """Returns the buffer of an array of the caller's; None where the array begins inside of one, at an offset at which OpenCL
        makes no sub-buffer.
        """
        if not array.start:
            return array.memory
        if array.start % self._alignment:
            return None
        return array.memory.get_sub_region(array.start, array.nbytes)

    @contextlib.contextmanager
    def watched(self, what: str) -> Iterator[None]:
        """Raises a DeviceError, which says what was done, for an error of OpenCL in a `with` block; PolymlMemoryError where memory is short."""
        try:
            yield
        except self.cl.MemoryError as problem:
            raise PolymlMemoryError(f"{self.name} has too little memory left: {what}: {problem}") from None
        except self.cl.Error as problem:
            raise DeviceError(f"{self.name} failed: {what}: {problem}") from None

    def _key(self, text: str) -> str:
        """Returns a digest of all on which the device's code of a text depends."""
        device, platform = self._device, self._device.platform
        options = os.environ.get("PYOPENCL_BUILD_OPTIONS", "")
        facts = (platform.name, platform.version, device.name, device.version, device.driver_version, options, text)
        return hashlib.sha256("\0".join(map(str, facts)).encode()).hexdigest()


class OpenClQueue:
    """An OpenClQueue is a command queue of OpenCL that works in order."""

    def __init__(self, driver: OpenCl, stream: Any):
        self.driver, self.stream, self.key = driver, stream, stream.int_ptr
        self._copy = driver.cl.enqueue_copy

    def upload(self, buffer: Any, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies an array, which must be stored row by row, to the buffer from an offset on. The array may change afterwards."""
        if array.nbytes:
            with self.driver.watched("a copy to the device"):
                self._copy(self.stream, buffer, array, dst_offset=offset_bytes, is_blocking=True)

    def download(self, buffer: Any, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies the buffer from an offset on to an array, which must be stored row by row, and waits for it."""
        if array.nbytes:
            with self.driver.watched("a copy from the device"):
                self._copy(self.stream, array, buffer, src_offset=offset_bytes, is_blocking=True)

    def copy_in(self, buffer: Any, array: DeviceArray) -> None:
        """Starts a copy of an array of the caller's on the device to a buffer."""
        with self.driver.watched("a copy on the device"):
            self._copy(self.stream, buffer, array.memory, byte_count=array.nbytes, src_offset=array.start)

    def copy_out(self, buffer: Any, array: DeviceArray) -> None:
        """Starts a copy of a buffer to an array of the caller's on the device."""
        with self.driver.watched("a copy on the device"):
            self._copy(self.stream, array.memory, buffer, byte_count=array.nbytes, dst_offset=array.start)

    def fetch(self, array: DeviceArray) -> np.ndarray:
        """Returns what an array of the caller's on the device holds, as a NumPy array, and waits for it."""
        found = np.empty(array.shape, array.dtype)
        self.download(array.memory, found, array.start)
        return found

    def follow(self, other: Queue) -> None:
        """Makes what is started here from now on begin after all that was started in the other queue until now."""
        cl = self.driver.cl
        with self.driver.watched("waiting for another queue"):
            before = cl.enqueue_marker(other.stream)
            other.stream.flush()  # type: ignore[attr-defined]
            cl.enqueue_barrier(self.stream, wait_for=[before])

    def finish(self) -> None:
        """Waits for all that was started. Raises DeviceError where any of it has failed."""
        with self.driver.watched("waiting for the device"):
            self.stream.finish()


class OpenClModule:
    """An OpenClModule holds the kernels of one text, compiled for a device."""

    def __init__(self, driver: OpenCl, program: Any):
        self._driver, self._program = driver, program
        self._lock = threading.Lock()  # the arguments of a kernel belong to the kernel, not to a launch

    def kernel(self, name: str, block: tuple[int, int, int], shared_bytes: int = 0) -> Start:
        """Returns the function that starts a kernel; it takes a queue, numbers of blocks, and arguments.

        block: how many threads a block has along x, y and z.
        shared_bytes: 0, since OpenCL's kernels have what they declare.
        Raises ConfigError where the device has too little for such blocks.
        """
        driver, lock = self._driver, self._lock
        start = driver.cl.enqueue_nd_range_kernel
        kernel = driver.cl.Kernel(self._program, name)
        self._fits(kernel, name, block)
        set_arg, (x, y, z) = kernel.set_arg, block

        def started(queue: Queue, blocks: Sequence[int], arguments: Sequence[object]) -> None:
            with lock, driver.watched(f"a launch of {name}"):
                for number, argument in enumerate(arguments):
                    set_arg(number, argument)
                start(queue.stream, kernel, (blocks[0] * x, blocks[1] * y, blocks[2] * z), block)

        return started

    def _fits(self, kernel: Any, name: str, block: tuple[int, int, int]) -> None:
        """Raises ConfigError where the device cannot run blocks of so many threads, or has too little local memory for the kernel."""
        info, device = self._driver.cl.kernel_work_group_info, self._driver._device
        threads = block[0] * block[1] * block[2]
        most = min(kernel.get_work_group_info(info.WORK_GROUP_SIZE, device), device.max_work_group_size)
        if threads > most or any(mine > limit for mine, limit in zip(block, device.max_work_item_sizes)):
            raise ConfigError(f"{self._driver.name} runs at most {most} threads of {name} in a block, which has {threads}")
        shared = kernel.get_work_group_info(info.LOCAL_MEM_SIZE, device)
        if shared > device.local_mem_size:
            raise ConfigError(
                f"{name} needs {shared:,} bytes of shared memory, and {self._driver.name} has {device.local_mem_size:,}"
            )


def open_device(wanted: str = "") -> OpenCl:
    """Returns the driver of the first OpenCL device that has the text in its name or its platform's name, GPUs before others.

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
    found = [device for device in devices if _is_wanted(device, wanted)]
    if not found:
        known = ", ".join(f"{device.name} ({device.platform.name})" for device in devices) or "none"
        raise ConfigError(f"there is no OpenCL device {wanted!r}", notes=[f"devices: {known}"])
    return OpenCl(cl, found[0])


def driver_of(streams: Sequence[Any], memories: Sequence[Any], wanted: str) -> OpenCl:
    """Returns the driver of the device on which a call runs: that of its first command queue, of its first array, or `open_device`'s.

    streams: pyopencl.CommandQueue or None.
    memories: buffers of the call's arrays on the device, or None for empty arrays.
    wanted: the text that the device or its platform has to have in its name.
    Raises ConfigError where the device has not, and PolymlTypeError where an array is in another context.
    """
    queue = next((each for each in streams if each is not None and hasattr(each, "context")), None)
    buffers = [each for each in memories if each is not None]
    if queue is None and not buffers:
        return _opened(wanted)
    context = buffers[0].context if queue is None else queue.context
    if any(each.context != context for each in buffers):
        raise PolymlTypeError("arrays of a call are in several contexts of OpenCL, and a kernel runs in one")
    device = context.devices[0] if queue is None else queue.device
    if not _is_wanted(device, wanted):
        raise ConfigError(f"the arrays are on {device.name} ({device.platform.name}), and the kernel runs on {wanted!r}")
    return in_context(context, device)


@lru_cache(maxsize=_CONTEXTS)
def _opened(wanted: str) -> OpenCl:
    return open_device(wanted)


@lru_cache(maxsize=_CONTEXTS)
def in_context(context: Any, device: Any) -> OpenCl:
    """Returns the driver of a device in a context of pyopencl's, the same object for each context and device."""
    import pyopencl as cl

    return OpenCl(cl, device, context)


def _is_wanted(device: Any, wanted: str) -> bool:
    return wanted.lower() in f"{device.name} {device.platform.name}".lower()
