"""What callers pass, made exact NumPy arrays and numbers with a type and a layout. It is the slow path, with friendly errors.

Everything that the native entry accepts is accepted here with the same type and layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from polyml.dtypes import BF16, BY_NUMPY_NAME, FIXED
from polyml.errors import PolymlError, PolymlMemoryError, PolymlOverflowError, PolymlTypeError, PolymlValueError
from polyml.frontend.argument_types import arg_type
from polyml.frontend.syntax import ArgType, ArrayType
from polyml.numpy_dtypes import numpy_dtype
from polyml.runtime.calling import foreign_arrays

_ELEMENTS = {numpy_dtype(d): d for d in FIXED if d != BF16}  # NumPy's own
_ACCEPTED = "polyml takes numbers, NumPy arrays, and objects with __array_interface__, the buffer protocol or DLPack"
_OVERLAP_WORK = 10_000  # candidate solutions np.shares_memory may try before the arrays count as overlapping


@dataclass(frozen=True)
class CallArgument:
    """A CallArgument is what a call passes for one parameter, converted to a plain array or number: not one of a subclass.

    original: what the caller passed.
    value: a plain numpy.ndarray of native byte order, or a plain number.
    type: its type in the language.
    layout: "C", "F" or "A" for an array, else "".
    copied: whether the value does not share the original's memory.
    """

    name: str
    original: object
    value: object
    type: ArgType
    layout: str
    copied: bool = False


def shapes(given: Sequence[CallArgument]) -> dict[str, tuple[int, ...]]:
    """Returns {name: shape} of the arguments that are arrays."""
    return {each.name: each.value.shape for each in given if isinstance(each.value, np.ndarray)}


def argument(name: str, original: object) -> CallArgument:
    """Returns what a call passes for the parameter `name`, converted to a plain numpy.ndarray or number: not one of a subclass.

    Raises PolymlTypeError for a value that the language does not have, PolymlOverflowError for an int that needs more than 64 bits.
    """
    if _is_number(name, original):
        value = _number(name, original)
        return CallArgument(name, original, value, arg_type(value, name), "")
    array, copied = (original, False) if type(original) is np.ndarray else _read(name, original)
    element = _ELEMENTS.get(array.dtype)
    kind = ArrayType(element, array.ndim) if element else arg_type(array, name)
    plain = numpy_dtype(cast(ArrayType, kind).element)
    if array.dtype is not plain:  # the same numbers under another of NumPy's type objects
        array = array.view(plain)
    return CallArgument(name, original, array, kind, layouts(array)[0], copied)


def layouts(array: np.ndarray) -> str:
    """Returns the letters of the layouts for which a kernel for this array may be compiled, best first, such as "CF".

    "C": the last dimension has unit stride; "F": the first one has, and not the last; "A": neither has, or the data is not
    aligned. A dimension of one element, or an empty array, has every stride.
    """
    bits = array.__array_interface__["data"][0]
    for extent, stride in zip(array.shape, array.strides):
        bits |= stride if extent > 1 else 0
    if bits & (array.dtype.alignment - 1):
        return "A"
    if array.ndim == 0:
        return "C"
    unit = [s == array.itemsize for s in array.strides]
    many = [n > 1 for n in array.shape]
    in_c, in_f = unit[-1] and many[-1], unit[0] and many[0]
    found = "C" if unit[-1] or not many[-1] or array.size == 0 else ""
    if not in_c and (unit[0] or not many[0] or array.size == 0):
        found += "F"
    return found if in_c or in_f else found + "A"


def not_writable(argument: CallArgument) -> PolymlError | None:
    """Returns the error for an argument that a kernel writes if it is a copy or a read-only array; None if it is neither."""
    if argument.copied:
        return PolymlTypeError(
            f"argument `{argument.name}` is written, but a {_type_name(argument.original)} would have to be copied",
            notes=["pass a NumPy array, or an object with __array_interface__, the buffer protocol or DLPack"],
            code="PML-F050",
        )
    if isinstance(argument.value, np.ndarray) and not argument.value.flags.writeable:
        return PolymlValueError(f"argument `{argument.name}` is written, but the array is read-only")
    return None


def overlap(arrays: dict[str, np.ndarray], written: tuple[str, ...]) -> tuple[str, str] | None:
    """Returns two argument names, perhaps the same, such that writing the first changes an element of the second; else None.

    Pairs whose memory cannot be told apart in reasonable time count as overlapping.

    arrays: the arguments that are arrays, by name
    written: the names of those that the kernel writes
    """
    for name in written:
        if not distinct(arrays[name]):
            return name, name
        for other in arrays:
            if other != name and _share(arrays[name], arrays[other]):
                return name, other
    return None


def distinct(array: np.ndarray) -> bool:
    """Returns whether no two elements of the array share a byte; False also where the strides alone do not prove it."""
    if array.size == 0:
        return True
    reach = array.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1):
        if stride < reach:
            return False
        reach += stride * (extent - 1)
    return True


def _share(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=cast(Literal[-1, 0], _OVERLAP_WORK))  # NumPy's stub knows these two alone
    except np.exceptions.TooHardError:
        return True


def _is_number(name: str, original: object) -> bool:
    try:
        return isinstance(original, (np.generic, bool, int, float, complex))
    except Exception as problem:  # the object's __class__ may raise anything
        raise _raised(name, original, problem) from problem


def _number(name: str, original: object) -> object:
    """Returns a number as a plain Python number, not one of a subclass, or as a NumPy scalar.

    Raises PolymlOverflowError for an int that needs more than 64 bits.
    """
    if isinstance(original, np.generic):
        plain = BY_NUMPY_NAME.get(original.dtype.name)
        return numpy_dtype(plain).type(original) if plain else original
    if isinstance(original, bool):
        return original
    if isinstance(original, (float, complex)):  # a class derived from them may convert itself otherwise
        return float.__float__(original) if isinstance(original, float) else complex.__pos__(original)
    value = int.__int__(cast(int, original))
    if not -(2**63) <= value < 2**63:
        raise PolymlOverflowError(
            f"argument `{name}` is {_short(value)}, which does not fit 64 bits",
            notes=["Python integers are held in 64 bits inside a kernel"],
        )
    return value


def _short(value: int) -> str:
    return str(value) if value.bit_length() < 100 else f"a number of {value.bit_length()} bits"


def _read(name: str, original: object) -> tuple[np.ndarray, bool]:
    """Returns (array, whether it is a copy) for an object of another class than numpy.ndarray.

    Raises PolymlTypeError for what is no array, also where looking at the object raises another error, and PolymlMemoryError.
    """
    try:
        return _as_array(name, original)
    except PolymlError:
        raise
    except MemoryError:
        raise PolymlMemoryError(
            f"there is not enough memory to read argument `{name}`, a {_type_name(original)}, as an array"
        ) from None
    except Exception as problem:
        raise _raised(name, original, problem) from problem


def _as_array(name: str, original: object) -> tuple[np.ndarray, bool]:
    """Returns what a caller passed as an exact ndarray, and whether that is a copy.

    Raises PolymlTypeError for what is no array.
    """
    if isinstance(original, np.ma.MaskedArray):
        raise PolymlTypeError(
            f"argument `{name}` is a masked array, whose mask a kernel would ignore",
            notes=["pass x.data, or x.filled(value)"],
            code="PML-F050",
        )
    if isinstance(original, (str, type(None), dict, set)):
        raise _no_array(name, original)
    if isinstance(original, (list, tuple)):
        return _converted(name, original, np.asarray), True
    if isinstance(original, np.ndarray):
        return _converted(name, original, np.asarray), False
    if hasattr(original, "__array_interface__"):
        return _mapped(name, original, _converted(name, original, np.asarray)), False
    if _has_buffer(original):
        return _mapped(name, original, _converted(name, original, lambda o: np.asarray(memoryview(o)))), False
    if hasattr(original, "__dlpack__"):
        return _mapped(name, original, _converted(name, original, np.from_dlpack)), False
    if hasattr(original, "__array__"):
        return _converted(name, original, np.asarray), True
    raise _no_array(name, original)


def _converted(name: str, original: object, convert) -> np.ndarray:
    try:
        return convert(original)
    except (BufferError, TypeError, ValueError) as problem:
        raise _unreadable(name, original, _text(problem)) from None


def _mapped(name: str, original: object, array: np.ndarray) -> np.ndarray:
    """Returns `array` unchanged. Raises PolymlTypeError if this process cannot have memory where the array says that its elements
    are.

    original: the object that the array was made of, for the message.
    """
    problem = foreign_arrays.missing_memory(array)
    if problem:
        raise _unreadable(name, original, problem)
    return array


def _unreadable(name: str, original: object, why: str) -> PolymlTypeError:
    return PolymlTypeError(
        f"argument `{name}`, a {_type_name(original)}, cannot be read as an array: {why}", notes=[_ACCEPTED], code="PML-F050"
    )


def _raised(name: str, original: object, problem: Exception) -> PolymlTypeError:
    """Returns the error for an argument that raised another error when it was asked what it is."""
    return _unreadable(name, original, f"{type(problem).__name__}: {_text(problem)}")


def _text(problem: Exception) -> str:
    """Returns the text of an exception, or the name of its class if str() of it raises."""
    try:
        return str(problem)
    except Exception:  # a class that is not ours may raise anything
        return type(problem).__name__


def _has_buffer(original: object) -> bool:
    try:
        memoryview(cast(bytes, original)).release()
    except TypeError:
        return False
    return True


def _no_array(name: str, original: object) -> PolymlTypeError:
    return PolymlTypeError(
        f"argument `{name}` is a {_type_name(original)}, neither a number nor an array", notes=[_ACCEPTED], code="PML-F050"
    )


def _type_name(value: object) -> str:
    return type(value).__name__
