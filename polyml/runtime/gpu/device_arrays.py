"""Arrays of other libraries that are in a device's memory, found by the protocols with which they say so.

pyopencl.array.Array; __cuda_array_interface__ (CuPy, Numba, PyTorch, pycuda); DLPack (__dlpack_device__)
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast  # objects of other libraries

import numpy as np

from polyml.dtypes import BF16
from polyml.errors import PolymlError, PolymlTypeError, PolymlValueError
from polyml.frontend.argument_types import arg_type, element_of
from polyml.frontend.syntax import ArrayType
from polyml.numpy_dtypes import numpy_dtype
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.gpu import dlpack

LEGACY_STREAM = 1  # CUDA's default stream, as protocols write it
_CODE = "PML-F050"
_BFLOAT16 = "<V2"  # as ml_dtypes and PyTorch write it, for want of a code of NumPy's


@dataclass(frozen=True)
class DeviceArray:
    """A DeviceArray is an array of the caller's in a device's memory, stored row by row.

    language: "opencl" or "cuda".
    memory: the OpenCL buffer that it lies in; None for CUDA.
    start: the offset of its first element in `memory` in bytes; for CUDA its address.
    space: the same for two arrays that may share memory.
    writeable: whether a kernel may write it.
    stream: the stream or command queue in which what is done with it was started; None: anything is done with it already.
    original: what the caller passed.
    """

    language: str
    shape: tuple[int, ...]
    dtype: np.dtype
    memory: Any
    start: int
    space: object
    writeable: bool
    stream: object = None
    original: object = field(default=None, repr=False, compare=False)

    @property
    def ndim(self) -> int:
        """Returns the number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Returns the number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Returns the size of all elements in bytes."""
        return self.size * self.dtype.itemsize


def argument(name: str, original: object, stream: int = LEGACY_STREAM) -> CallArgument | None:
    """Returns what a call passes for the parameter `name` if it is an array in a device's memory; None if it is anything else.

    stream: the CUDA stream in which it is going to be used.
    Raises PolymlTypeError for an array of a device that a kernel does not take, with the reason.
    """
    found = _read(name, original, stream)
    if found is None:
        return None
    if found.dtype.kind == "c":
        raise _refused(name, original, "has complex numbers, whose parts kernels on devices keep apart", ["pass a NumPy array"])
    kind = arg_type(np.empty((0,) * found.ndim, found.dtype), name)
    return CallArgument(name, original, found, cast(ArrayType, kind), "C")


def not_writable(argument: CallArgument) -> PolymlError | None:
    """Returns the error for an argument that a kernel writes if it is a read-only array on a device; None if it is not."""
    if isinstance(argument.value, DeviceArray) and not argument.value.writeable:
        return PolymlValueError(f"argument `{argument.name}` is written, but the array is read-only")
    return None


def overlap(arrays: Mapping[str, DeviceArray], written: Sequence[str]) -> tuple[str, str] | None:
    """Returns two names of arrays such that writing the first changes an element of the second; None where there are none.

    written: the names of those that a kernel writes.
    """
    for name in written:
        one = arrays.get(name)
        for other, two in arrays.items():
            if one is None or other == name or one.space != two.space or not one.size or not two.size:
                continue
            if one.start < two.start + two.nbytes and two.start < one.start + one.nbytes:
                return name, other
    return None


def _read(name: str, original: object, stream: int) -> DeviceArray | None:
    module = sys.modules.get("pyopencl.array")
    if module is not None and isinstance(original, module.Array):
        return _of_pyopencl(name, original)
    try:
        interface = getattr(original, "__cuda_array_interface__", None)
        if interface is not None:
            return _of_interface(name, original, interface)
        device = getattr(original, "__dlpack_device__", None)
        if device is None or int(device()[0]) not in dlpack.CUDA_DEVICES:
            return None
        return _of_dlpack(name, original, stream)
    except PolymlTypeError:
        raise
    except Exception as problem:  # a class that is not ours may raise anything
        raise _refused(name, original, f"cannot be read: {type(problem).__name__}: {problem}") from problem


def _of_pyopencl(name: str, array: Any) -> DeviceArray:
    import pyopencl as cl

    if not isinstance(array.base_data, cl.MemoryObjectHolder) and array.size:
        raise _refused(name, array, "is in shared virtual memory, not in a buffer")
    _row_by_row(name, array, array.shape, array.strides, array.dtype)
    root, start = array.base_data, array.offset
    if root is not None and root.associated_memobject is not None:
        start, root = start + root.offset, root.associated_memobject
    space = None if root is None else root.int_ptr
    writeable = root is None or not root.flags & cl.mem_flags.READ_ONLY
    at = array.offset if array.base_data is root else start
    return DeviceArray("opencl", array.shape, array.dtype, root, at, space, writeable, array.queue, array)


def _of_interface(name: str, original: object, interface: Mapping[str, Any]) -> DeviceArray:
    """Returns the array that a `__cuda_array_interface__` describes, of any version up to 3."""
    if interface.get("mask") is not None:
        raise _refused(name, original, "has a mask, which a kernel would ignore")
    shape, typestr = tuple(interface["shape"]), interface["typestr"]
    dtype = numpy_dtype(BF16) if typestr == _BFLOAT16 else np.dtype(typestr)
    address, is_read_only = interface["data"]
    _row_by_row(name, original, shape, interface.get("strides"), dtype)
    stream = interface.get("stream")
    if stream == 0:
        raise _refused(name, original, "names the stream 0, which the protocol does not have")
    return DeviceArray("cuda", shape, dtype, None, int(address or 0), "cuda", not is_read_only, stream, original)


def _of_dlpack(name: str, original: object, stream: int) -> DeviceArray:
    found = dlpack.read(original, stream)
    strides = None if found.strides is None else tuple(each * found.dtype.itemsize for each in found.strides)
    _row_by_row(name, original, found.shape, strides, found.dtype)
    return DeviceArray("cuda", found.shape, found.dtype, None, found.address, "cuda", found.writeable, None, (original, found))


def _row_by_row(
    name: str, original: object, shape: Sequence[int], strides: Sequence[int] | None, dtype: np.dtype
) -> None:  # fmt: skip
    """Raises PolymlTypeError for an array that is not stored row by row without gaps, or whose elements the language does not have.

    strides: in bytes; None: it is stored so.
    """
    if element_of(dtype) is None:
        raise _refused(name, original, f"has elements of the type {dtype.name}, which kernels do not take")
    if strides is None or math.prod(shape) == 0:
        return
    expected = dtype.itemsize
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent > 1 and stride != expected:
            raise _refused(
                name, original, f"has the strides {tuple(strides)}, and kernels on devices take arrays that are stored row by row",
                ["pass a copy: A.copy(), or ascontiguousarray(A) of its library"],
            )  # fmt: skip
        expected *= extent


def _refused(name: str, original: object, why: str, notes: Sequence[str] = ()) -> PolymlTypeError:
    kind = f"{type(original).__module__}.{type(original).__name__}"
    return PolymlTypeError(f"argument `{name}`, a {kind} on a device, {why}", notes=notes, code=_CODE)
