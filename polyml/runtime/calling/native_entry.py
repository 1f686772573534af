"""The native entry: entry.ll as a Python function, with a description of one artifact as its `self`."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from functools import cache

import numpy as np

from polyml.dtypes import BY_NUMPY_NAME, DType
from polyml.frontend.syntax import ArgType, ArrayType
from polyml.numpy_dtypes import number_type, numpy_dtype
from polyml.runtime.calling import binding
from polyml.runtime.calling.binding import ABSENT, MISS, CaptureGuard, Entry, Outcome
from polyml.runtime.loading import embedded_ir, link
from polyml.runtime.storage.artifact import Artifact

_METH_FASTCALL = 0x80
_HEADER_WORDS = 16
_LAYOUTS = {"C": 0, "F": 1, "A": 2}
_KIND_ARRAY, _KIND_RECEIVER = 0, 10
_KINDS = {"int": 8, "float": 4, "complex": 11, "pybool": 9}  # kinds of Python's own numbers; NumPy's follow their size
_SIGNED_KINDS, _UNSIGNED_KINDS = {1: 1, 2: 2, 4: 3, 8: 4}, {1: 5, 2: 6, 4: 7, 8: 4}
_COMPLEX_KINDS = {16: 11, 8: 12}
_NOT_WRITTEN, _WRITTEN, _WRITTEN_ANYHOW = 0, 1, 2
_TYPE_AT, _VALUE_AT, _DATA_AT, _NDIM_AT, _SHAPE_AT, _STRIDES_AT, _DESCR_AT, _FLAGS_AT = 8, 16, 16, 24, 32, 40, 56, 64
_WRITEABLE = 0x400


class _MethodDef(ctypes.Structure):
    """A _MethodDef is CPython's structure PyMethodDef, which describes a C function that Python can call."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


def native_entry(artifact: Artifact, code: link.Code, threads: int, guards: tuple[CaptureGuard, ...], check_overlap: bool) -> Entry:
    """Returns the native entry of an artifact, a callable that checks arguments and calls the kernel.

    Its arguments are the kernel's, then the result arrays, then arrays that receive the returned numbers. It returns None after a
    run, MISS where the code is not for these arguments, and an Outcome with the status where a run fails.

    code: the loaded machine code
    guards: captured names that make a call a MISS when they change
    check_overlap: whether a call is a MISS where a written array shares memory with another argument
    """
    records = _argument_records(artifact, check_overlap)
    pairs = binding.pairs(artifact) if check_overlap else ()
    header = [
        code.address(artifact.entry), len(records), threads, binding.slot_count(artifact),
        id(MISS), id(Outcome), id(None), id(True), id(np.ndarray), len(guards), len(pairs),
    ]  # fmt: skip
    words = header + [0] * (_HEADER_WORDS - len(header))
    for record in (*records, *map(_guard_record, guards), *pairs):
        words += record
    description = struct.pack(f"={len(words)}Q", *words)
    keep = (artifact, code, guards, MISS, Outcome)
    return _functions()(ctypes.addressof(_method()), description, keep)


def prepare() -> None:
    """Loads the code that every native entry shares, once per process."""
    _method()


def works_for(types: Sequence[ArgType]) -> bool:
    """Returns whether the native entry can be used in this interpreter, with this NumPy, for arguments of these types."""
    numbers = (t for t in types if not isinstance(t, ArrayType) and not t.dtype.weak)
    return works() and all(_number_as_expected(number_type(t.dtype)) for t in numbers)


@cache
def works() -> bool:
    """Returns whether this interpreter and this NumPy lay their objects out in memory as entry.ll reads them."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    return _array_as_expected()


def _argument_records(artifact: Artifact, check_overlap: bool) -> list[list[int]]:
    """Returns the records by which the machine code of entry.ll checks the arguments of a call, nine numbers in each record.

    There is one record for each argument, then for each result array, then for each returned number. The comment at the beginning
    of entry.ll says what the numbers are.
    """
    layouts = iter(artifact.layouts)
    own = _WRITTEN if check_overlap else _WRITTEN_ANYHOW
    records = []
    for name, kind in zip(artifact.params, artifact.types):
        if isinstance(kind, ArrayType):
            written = own if name in artifact.written else _NOT_WRITTEN
            records.append(_array_record(numpy_dtype(kind.element), kind.ndim, next(layouts), written))
        else:
            records.append([_number_kind(kind.dtype), id(number_type(kind.dtype)), 0, 0, 0, 0, 0, int(kind.dtype.is_complex), 0])
    for array in artifact.result_arrays:
        records.append(_array_record(numpy_dtype(BY_NUMPY_NAME[array.element]), len(array.shape), "C", _NOT_WRITTEN))
    for _ in binding.receivers(artifact):
        records.append([_KIND_RECEIVER, id(np.ndarray), 0, 0, 0, 0, 0, 0, 0])
    return records


def _array_record(dtype: np.dtype, ndim: int, layout: str, written: int) -> list[int]:
    slots = 2 * ndim
    return [_KIND_ARRAY, id(np.ndarray), id(dtype), ndim, _LAYOUTS[layout], dtype.itemsize, written, slots, dtype.alignment]


def _number_kind(dtype: DType) -> int:
    if dtype.weak:
        return _KINDS[dtype.name]
    if dtype.is_complex:
        return _COMPLEX_KINDS[dtype.size_bytes]
    return (_SIGNED_KINDS if dtype.kind == "i" else _UNSIGNED_KINDS)[dtype.size_bytes]


def _guard_record(guard: CaptureGuard) -> list[int]:
    expected = 0 if guard.expected is ABSENT else id(guard.expected)
    return [id(guard.place), id(guard.key) if isinstance(guard.place, dict) else 0, expected]


@cache
def _method() -> _MethodDef:
    code = embedded_ir.loaded("entry", embedded_ir.text("entry.ll", __file__), "polyml_entry")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))  # functions made of it may be called until the very end
    return _MethodDef(b"kernel", code.address("polyml_entry"), _METH_FASTCALL, None)


@cache
def _functions():
    """Returns CPython's PyCFunction_NewEx(method, self, module), which makes a Python function of a C function, as a callable.

    The function keeps `self` and `module` alive.
    """
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return new


def _array_as_expected() -> bool:
    probe = np.arange(24, dtype=np.float64).reshape(4, 6)[::2, ::-1]
    at = id(probe)
    expected = {
        _TYPE_AT: id(np.ndarray), _DATA_AT: probe.__array_interface__["data"][0], _DESCR_AT: id(probe.dtype),
    }  # fmt: skip
    if any(_word(at + offset) != value for offset, value in expected.items()):
        return False
    if ctypes.c_int32.from_address(at + _NDIM_AT).value != 2:
        return False
    for offset, values in ((_SHAPE_AT, probe.shape), (_STRIDES_AT, probe.strides)):
        if (ctypes.c_int64 * 2).from_address(_word(at + offset))[:] != list(values):
            return False
    return (
        _writable(probe)
        and not _writable(np.broadcast_to(probe, probe.shape))
        and _number_as_expected(float)
        and _number_as_expected(complex)
    )


def _writable(array: np.ndarray) -> bool:
    return bool(ctypes.c_int32.from_address(id(array) + _FLAGS_AT).value & _WRITEABLE)


def _number_as_expected(kind: type) -> bool:
    number = kind(1)
    stored = np.asarray(number).tobytes()
    return _word(id(number) + _TYPE_AT) == id(kind) and ctypes.string_at(id(number) + _VALUE_AT, len(stored)) == stored


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value
