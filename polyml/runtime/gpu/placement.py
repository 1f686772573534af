"""Where a call runs: which arguments are on a device, the driver of their device, and the queue of work that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from polyml.errors import PolymlTypeError
from polyml.runtime.calling import arguments
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.gpu import device_arrays, opencl
from polyml.runtime.gpu.cuda.driver import open_device
from polyml.runtime.gpu.device_arrays import DeviceArray
from polyml.runtime.gpu.driver import Driver, Queue


class Place(Protocol):
    """A Place says where a kernel is to run: its language, a part of the device's name, and the library that calls CUDA's driver."""

    @property
    def language(self) -> str: ...

    @property
    def device(self) -> str: ...

    @property
    def library(self) -> str: ...


_PLAIN = (np.ndarray, int, float, bool, complex)


def arguments_of(
    names: Sequence[str], values: Sequence[object], language: str, stream: object = None
) -> tuple[CallArgument, ...]:  # fmt: skip
    """Returns what a call passes for each parameter: a NumPy array, an array on a device, or a number.

    language: of the device, "opencl" or "cuda".
    stream: in which the call is to run; None: the caller has not said.
    Raises PolymlTypeError for a value that is none of these, or an array on a device of another language.
    """
    return tuple(_argument(name, value, language, stream) for name, value in zip(names, values, strict=True))


def is_on_device(value: object) -> bool:
    """Returns whether a value is an array on a device, as far as it says so."""
    try:
        return device_arrays.argument("", value) is not None
    except PolymlTypeError:
        return True


def _argument(name: str, value: object, language: str, stream: object) -> CallArgument:
    if type(value) in _PLAIN or isinstance(value, np.generic):
        return arguments.argument(name, value)
    found = device_arrays.argument(name, value)
    if found is None:
        return arguments.argument(name, value)
    if isinstance(found.value, DeviceArray) and found.value.language != language:
        kinds = {"opencl": "OpenCL", "cuda": "CUDA"}
        raise PolymlTypeError(
            f"argument `{name}` is on a device of {kinds[found.value.language]}, and the kernel runs on {kinds[language]}"
        )
    return found


def queues(given: Sequence[CallArgument], place: Place, stream: object = None) -> tuple[Queue, tuple[Queue, ...]]:
    """Returns the queue in which a call runs, and the other queues that its arrays are in, which have to wait for it and it for them.

    place: where the kernel is to run.
    stream: what the caller asked for; None: the queue is that of the first array that is in one, or else the driver's own.
    Raises ConfigError where there is no such device, or the stream is none of the device's.
    """
    arrays = [each.value for each in given if isinstance(each.value, DeviceArray)]
    driver = _driver(arrays, place, stream)
    streams = [each.stream for each in arrays if each.stream is not None]
    found = driver.queue(stream if stream is not None or not streams else streams[0])
    others = {queue.key: queue for queue in map(driver.queue, streams) if queue.key != found.key}
    return found, tuple(others.values())


def _driver(arrays: Sequence[DeviceArray], place: Place, stream: object) -> Driver:
    if place.language == "opencl":
        return opencl.driver_of([stream, *(each.stream for each in arrays)], [each.memory for each in arrays], place.device)
    return cuda_device(place.device, place.library)


def cuda_device(device: str, library: str = "") -> Driver:
    """Returns the driver of a CUDA device. Raises ConfigError where there is none.

    device: a part of its name.
    library: through which it is called, "cuda-python" or "pycuda"; "": the first of them that is installed.
    """
    return open_device(device, library)
