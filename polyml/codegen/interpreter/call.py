"""The arrays and sizes with which a call of a kernel begins and what it returns, where a SCoP is run without compiled code."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polyml.codegen.interpreter.order import Env
from polyml.codegen.ir.accesses import AccessTable
from polyml.dtypes import BY_PART, DType
from polyml.errors import BoundsError, PolymlOverflowError
from polyml.model.core import call_interface
from polyml.model.core.call_interface import ArrayResult
from polyml.model.core.scop import Array, Check, Role, Scop
from polyml.numpy_dtypes import as_pairs, numpy_dtype
from polyml.polyhedra import fix
from polyml.reading import result_forms

POISON = 0xA5  # every byte of an integer that was never written


class UncertainBounds(BoundsError):
    """Raised where an access or conversion under a data-dependent condition could be out of range: such a call runs as Python."""


def begin(
    scop: Scop, arguments: Mapping[str, object], others: Mapping[str, int] = {}
) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Checks the arguments of a call, and returns its sizes and its arrays, each by name. Arrays that are no arguments are made new
    and filled with NaN, True, or integers whose bytes are all 0xA5 (POISON), according to their type.

    arguments: by the names of the kernel's parameters.
    others: values, by name, of integers other than parameters that the program's expressions contain; they are added to the sizes.

    Raises BoundsError, UncertainBounds, ValueError or PolymlOverflowError for a violated check, TypeError for an argument of
    another type.
    """
    sizes = {p.name: call_interface.value(p, arguments) for p in scop.parameters}
    for check in scop.checks:
        _test(check, sizes)
    sizes |= others
    table = AccessTable(scop.context)
    return sizes, {name: _memory(array, arguments, table, sizes) for name, array in scop.arrays.items()}


def _test(check: Check, sizes: Mapping[str, int]) -> None:
    """Raises a check's error where the sizes violate it."""
    if fix(check.violated, sizes).is_empty():
        return
    if check.may:
        raise UncertainBounds(check.what, loc=check.loc)
    if check.kind == "range":
        raise PolymlOverflowError(check.what, loc=check.loc)
    if check.kind == "shape":
        raise ValueError(check.what)
    raise BoundsError(check.what, loc=check.loc)


def _memory(array: Array, arguments: Mapping[str, object], table: AccessTable, sizes: Env) -> np.ndarray:
    """Returns the memory of an array: the caller's for an argument, else new memory. Raises TypeError for an argument of another
    type.
    """
    if array.role is Role.ARGUMENT:
        given = _argument(array, arguments)
        memory = as_pairs(given) if array.pairs else given
        if memory.dtype != numpy_dtype(array.element) or memory.ndim != len(array.shape):
            raise TypeError(f"{array.name} is not of type {array.element} with {len(array.shape)} dimensions")
        return memory
    return fresh(array.element, tuple(table.affine(extent).evaluate(sizes) for extent in array.shape))


def _argument(array: Array, arguments: Mapping[str, object]) -> np.ndarray:
    """Returns the caller's array. Raises TypeError for an argument that is no NumPy array."""
    given = arguments[array.source_name or array.name]
    if not isinstance(given, np.ndarray):
        raise TypeError(f"{array.name} is not an array, but {type(given).__name__}")
    return given


def fresh(element: DType, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a new array filled with values that stand for "never written": NaN for floats, True for bools, and integers whose
    bytes are all 0xA5 (POISON).
    """
    if element.is_float:
        return np.full(shape, np.nan, numpy_dtype(element))
    if element.kind == "b":
        return np.ones(shape, bool)
    memory = np.empty(shape, numpy_dtype(element))
    memory.fill(int.from_bytes([POISON] * memory.itemsize, "little", signed=element.kind == "i"))
    return memory


def result(scop: Scop, arrays: Mapping[str, np.ndarray], arguments: Mapping[str, object]) -> object:
    """Returns what the kernel returns: None, a number, an array, or a tuple of numbers and arrays.

    arrays: the memory of the SCoP's arrays after the run, by name.
    arguments: by the names of the kernel's parameters.
    """
    values: list[object] = []
    for result, *imaginary in call_interface.returned(scop.results):
        memory = arrays[result.array]
        if isinstance(result, ArrayResult):
            whole = _returned(scop.arrays[result.array], memory, arguments)
            part = tuple(slice(int(arrays[size.array])) for size in imaginary)
            values.append(whole[part] if part else whole)
        elif imaginary:
            joined = complex(float(memory), float(arrays[imaginary[0].array]))
            values.append(joined if result.dtype.weak else numpy_dtype(result.whole).type(joined))
        else:
            values.append(memory[()].item() if result.dtype.weak else memory[()])
    if scop.result_form:
        return result_forms.result(scop.result_form, values)
    if scop.result_is_tuple:
        return tuple(values)
    return values[0] if values else None


def _returned(array: Array, memory: np.ndarray, arguments: Mapping[str, object]) -> np.ndarray:
    """Returns the array that the caller gets for the memory of a result. If the memory has the real and imaginary parts of complex
    numbers, that is an array of complex numbers: the caller's own if it is an argument, else a new one.
    """
    if not array.pairs:
        return memory
    if array.role is Role.ARGUMENT:
        return _argument(array, arguments)
    whole = np.empty(memory.shape[1:], BY_PART[array.element].numpy_name)
    whole.real, whole.imag = memory
    return whole
