"""Devices on which kernels are timed: an NVIDIA GPU through PyTorch, and any OpenCL device through pyopencl.

A device has arrays of its own, which kernels take without a copy, and measures how long work takes by its own events.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Protocol

import ml_dtypes
import numpy as np

import polyml
from benchmarks.gpu.cases import Case

_ASLEEP = 30_000_000  # cycles, about 16 ms


class NoDevice(Exception):
    """There is no device to measure on; the message says what is missing."""


class Device(Protocol):
    """What benchmarks need of a device.

    name: the device's. target: what kernels are compiled for. torch: PyTorch where the device's arrays are its tensors or can be had as
    such; None where it is missing. cache_bytes: of the last level.
    """

    name: str
    target: polyml.Target | str
    torch: Any
    cache_bytes: int

    def array(self, values: np.ndarray) -> Any:
        """Returns an array of the device."""
        ...

    def host(self, array: Any) -> np.ndarray:
        """Returns what an array of the device holds."""
        ...

    def tensor(self, array: Any) -> Any:
        """Returns an array as a tensor of PyTorch."""
        ...

    def reference(self, case: Case, given: Sequence[np.ndarray]) -> np.ndarray:
        """Returns the result of a case in float64, by a library."""
        ...

    def calls(self, run: Callable[[int], object], repeats: int) -> float:
        """Returns the mean time that the host takes to start a run, of run(0), run(1), ..., without waiting for it."""
        ...

    def seconds(self, run: Callable[[int], object], repeats: int) -> float:
        """Returns the median time of run(0), run(1), ... by the device's events, behind two runs that do not count."""
        ...


class TorchDevice:
    """An NVIDIA GPU; arrays are tensors of PyTorch. Raises NoDevice where there is none."""

    target = "cuda"

    def __init__(self) -> None:
        try:
            import torch
        except ImportError:
            raise NoDevice("target cuda is measured with PyTorch: pip install torch, on a machine with an NVIDIA GPU") from None
        if not torch.cuda.is_available():
            raise NoDevice("PyTorch finds no NVIDIA GPU (torch.cuda.is_available() is False): a GPU and its driver are needed")
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        properties = torch.cuda.get_device_properties(0)
        self.name, self.cache_bytes = properties.name, int(getattr(properties, "L2_cache_size", 64 << 20))

    def array(self, values: np.ndarray) -> Any:
        """Returns a tensor on the GPU."""
        return _tensor(self.torch, values).cuda()

    def host(self, array: Any) -> np.ndarray:
        """Returns what a tensor holds; bfloat16 as float32."""
        return (array.float() if array.dtype == self.torch.bfloat16 else array).cpu().numpy()

    def tensor(self, array: Any) -> Any:
        """Returns the tensor itself."""
        return array

    def reference(self, case: Case, given: Sequence[np.ndarray]) -> np.ndarray:
        """Returns the result by PyTorch in float64."""
        with self.torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=False):
            return self.host(case.library(self.torch, *(self.array(each).double() for each in given)))

    def calls(self, run: Callable[[int], object], repeats: int) -> float:
        """Returns the mean time that the host takes to start a run."""
        for number in range(2):
            run(number)
        self.torch.cuda.synchronize()
        start = time.perf_counter()
        for number in range(repeats):
            run(number)
        spent = time.perf_counter() - start
        self.torch.cuda.synchronize()
        return spent / repeats

    def seconds(self, run: Callable[[int], object], repeats: int) -> float:
        """Returns the median time by CUDA's events. The runs wait behind a kernel that sleeps until the host has started all of them, so
        that what the host does between two launches is not measured (`calls` measures that).
        """
        for number in range(2):
            run(number)
        self.torch.cuda.synchronize()
        self.torch.cuda._sleep(_ASLEEP)
        pairs = [(self.torch.cuda.Event(enable_timing=True), self.torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
        for number, (start, end) in enumerate(pairs):
            start.record()
            run(number)
            end.record()
        self.torch.cuda.synchronize()
        return median(start.elapsed_time(end) for start, end in pairs) * 1e-3


class OpenClDevice:
    """An OpenCL device; arrays are those of pyopencl. Raises NoDevice where there is none."""

    cache_bytes = 16 << 20

    def __init__(self, wanted: str = "") -> None:
        try:
            import pyopencl as cl
            import pyopencl.array as arrays
        except ImportError:
            raise NoDevice("target opencl needs pyopencl: pip install polyml[opencl]") from None
        from polyml.runtime.gpu.opencl import open_device

        try:
            self._queue = open_device(wanted).queue().stream
        except polyml.PolymlError as problem:
            raise NoDevice(str(problem)) from None
        self._cl, self._arrays = cl, arrays
        self.name = self._queue.device.name.strip()
        self.target = polyml.Target.opencl(wanted)
        self.torch = _torch() if self._queue.device.type & cl.device_type.CPU else None

    def array(self, values: np.ndarray) -> Any:
        """Returns an array of pyopencl."""
        return self._arrays.to_device(self._queue, values)

    def host(self, array: Any) -> np.ndarray:
        """Returns what an array holds."""
        return array.get(self._queue)

    def tensor(self, array: Any) -> Any:
        """Returns a copy on the host, which is the device where this is a processor."""
        return _tensor(self.torch, self.host(array))

    def reference(self, case: Case, given: Sequence[np.ndarray]) -> np.ndarray:
        """Returns the result by NumPy in float64."""
        return case.reference(*given)

    def calls(self, run: Callable[[int], object], repeats: int) -> float:
        """Returns the mean time that the host takes to start a run."""
        run(0)
        self._queue.finish()
        start = time.perf_counter()
        for number in range(repeats):
            run(number)
        spent = time.perf_counter() - start
        self._queue.finish()
        return spent / repeats

    def seconds(self, run: Callable[[int], object], repeats: int) -> float:
        """Returns the median time from an empty queue to an empty queue."""
        for number in range(2):
            run(number)
        spent = []
        for number in range(repeats):
            self._queue.finish()
            start = time.perf_counter()
            run(number)
            self._queue.finish()
            spent.append(time.perf_counter() - start)
        return median(spent)


def opened_device(target: str, wanted: str = "") -> Device:
    """Returns the device of a target, "cuda" or "opencl". Raises NoDevice where there is none."""
    return TorchDevice() if target == "cuda" else OpenClDevice(wanted)


def rotated(make: Callable[[], Sequence[Any]], size_bytes: int, cache_bytes: int) -> list[Sequence[Any]]:
    """Returns as many sets of arguments as are together more than twice the cache, at most eight, so that calls in turn find none of
    their own there.
    """
    return [make() for _ in range(min(8, max(1, -(-2 * cache_bytes // max(size_bytes, 1)))))]


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def _tensor(torch: Any, values: np.ndarray) -> Any:
    """Returns a tensor on the host with these values, bfloat16 too, which PyTorch does not take from NumPy."""
    if values.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)
