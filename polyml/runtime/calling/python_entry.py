"""The entry in Python: the tests of entry.ll, some twenty times slower, for interpreters that lay their objects out otherwise.

It shares nothing with entry.ll, so that each tests the other.
"""

from __future__ import annotations

import ctypes
import struct
from typing import cast

import numpy as np

from polyml.frontend.syntax import ArgType, ArrayType
from polyml.numpy_dtypes import number_type, numpy_dtype
from polyml.runtime.calling import arguments
from polyml.runtime.calling.binding import MISS, CaptureGuard, Entry, Outcome, receivers
from polyml.runtime.loading.link import Code
from polyml.runtime.storage.artifact import Artifact


def python_entry(artifact: Artifact, code: Code, threads: int, guards: tuple[CaptureGuard, ...], check_overlap: bool) -> Entry:
    """Returns the entry of an artifact in Python, a callable that checks arguments and calls the kernel.

    Its arguments are the kernel's, then the result arrays, then arrays that receive the returned numbers. It returns None after a
    run, MISS where the code is not for these arguments, and an Outcome with the status where a run fails.

    code: the loaded machine code
    guards: captured names that make a call a MISS when they change
    check_overlap: whether a call is a MISS where a written array shares memory with another argument
    """
    kernel = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(code.address(artifact.entry))
    count = len(artifact.params)
    arrays = [i for i, t in enumerate(artifact.types) if isinstance(t, ArrayType)]
    layouts = dict(zip(arrays, artifact.layouts))
    expected = count + len(artifact.result_arrays) + len(receivers(artifact))
    first_receiver = expected - len(receivers(artifact))

    def call(*args):
        if len(args) != expected or not all(g.holds() for g in guards):
            return MISS
        for i in range(count):
            if not _matches(args[i], artifact.types[i], layouts.get(i), artifact.params[i] in artifact.written):
                return MISS
        if check_overlap and arguments.overlap({artifact.params[i]: args[i] for i in arrays}, artifact.written):
            return MISS
        words = [threads]
        for i in range(first_receiver):
            words += _words(args[i])
        slots = (ctypes.c_int64 * (len(words) + expected - first_receiver))(*words)
        status = kernel(ctypes.addressof(slots))
        if status:
            return Outcome(status)
        for receiver, word in zip(args[first_receiver:], slots[len(words) :]):
            receiver.view(np.int64)[0] = word
        return None

    vars(call)["keep"] = (code, kernel)
    return call


def _matches(value: object, expected: ArgType, layout: str | None, written: bool) -> bool:
    """Returns whether an argument is of the type and layout that the compiled code takes, without any conversion.

    layout: "C", "F" or "A" for an array, else None
    written: whether the kernel writes the array
    """
    if not isinstance(expected, ArrayType):
        return type(value) is number_type(expected.dtype) and (type(value) is not int or _fits(value))
    if type(value) is not np.ndarray or value.dtype is not numpy_dtype(expected.element):
        return False
    if value.ndim != expected.ndim or (written and not value.flags.writeable):
        return False
    return layout is not None and layout in arguments.layouts(value)


def _fits(value: int) -> bool:
    return -(2**63) <= value < 2**63


def _words(value: object) -> list[int]:
    """Returns the 64-bit words as which a kernel takes an argument: for an array its address, sizes and strides, else the number's
    bits.
    """
    if isinstance(value, np.ndarray):
        strides = [s if n > 1 else value.itemsize for n, s in zip(value.shape, value.strides)]
        return [value.__array_interface__["data"][0], *value.shape, *strides]
    if isinstance(value, np.float32):
        return [struct.unpack("<i", struct.pack("<f", value))[0] & 0xFFFFFFFF]
    if isinstance(value, np.generic) and value.dtype.name in ("float16", "bfloat16"):
        return [int(value.view(np.uint16))]
    if isinstance(value, float):
        return [struct.unpack("<q", struct.pack("<d", value))[0]]
    if isinstance(value, (complex, np.complex64)):
        return _words(value.real) + _words(value.imag)
    word = int(cast(int, value))
    return [word - 2**64 if word >= 2**63 else word]
