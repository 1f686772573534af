"""Results: the arrays that a kernel returns are allocated before the call, its numbers received in arrays of one element."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from typing import cast

import numpy as np

from polyml.dtypes import BY_NUMPY_NAME, DType
from polyml.errors import PolymlError, PolymlMemoryError, PolymlValueError
from polyml.frontend.syntax import ArrayType
from polyml.model.core.call_interface import ArrayResult, Parameter, returned
from polyml.numpy_dtypes import numpy_dtype
from polyml.reading import result_forms
from polyml.runtime.calling.binding import MISS, Entry, receivers
from polyml.runtime.calling.counted_results import counted, taken
from polyml.runtime.calling.result_extents import rewritten
from polyml.runtime.loading import array_memory
from polyml.runtime.storage.artifact import Artifact, ResultArray

_UNREADABLE = (AttributeError, IndexError, MemoryError, OverflowError, TypeError, ValueError)
_RECEIVER_BYTES = 8
_LINE_BYTES = 64
_ALIGNED_BYTES, _IMPOSSIBLE_BYTES = 1 << 12, 1 << 46


def with_results(artifact: Artifact, entry: Entry) -> Entry:
    """Returns an entry that takes the kernel's arguments alone, allocates its results for `entry`, and returns what the kernel
    returns.

    The new entry returns MISS too where the shapes of the results cannot be computed from the arguments or there is no memory for
    them.
    """
    if not artifact.results:
        return entry
    allocate, select = allocator(artifact), _selector(artifact)

    def call(*args):
        try:
            fresh = allocate(*args)
        except _UNREADABLE:
            return MISS
        outcome = entry(*args, *fresh)
        return select(args, fresh) if outcome is None else outcome

    return call


def allocator(artifact: Artifact) -> Callable[..., tuple[np.ndarray, ...]]:
    """Returns a function of a call's arguments that allocates the result arrays, and arrays of one element for returned numbers.

    The function raises MemoryError or ValueError for impossible sizes, and other errors where an argument is not what the artifact
    takes. It is compiled from Python text that has none of the artifact's names: they are numbered, and extents are as `rewritten`
    returns them.
    Raises ValueError for texts of the artifact that are no extents.
    """
    return _allocator(artifact.params, artifact.parameters, artifact.result_arrays, receivers(artifact))


@lru_cache(maxsize=64)  # a form has two entries
def _allocator(
    params: tuple[str, ...], parameters: tuple[Parameter, ...], fresh: tuple[ResultArray, ...], types: tuple[DType, ...]
) -> Callable[..., tuple[np.ndarray, ...]]:
    values = [f"_a{i}" for i in range(len(params))]
    names = {p.name: f"_p{i}" for i, p in enumerate(parameters)}
    shapes = ["".join(f"_max(0, {rewritten(e, names)}), " for e in r.shape) for r in fresh]
    arrays = [f"_aligned(({shape}), _t{i})" for i, shape in enumerate(shapes)]
    numbers = [f"_empty({_RECEIVER_BYTES // t.size_bytes}, _r{i})" for i, t in enumerate(types)]
    used = {*re.findall(r"\b_p\d+\b", " ".join(arrays))}
    lines = [
        f"def allocate({', '.join(values)}):",
        *(f"    {names[p.name]} = {_value(p, params, values)}" for p in parameters if names[p.name] in used),
        f"    return ({''.join(f'{a}, ' for a in (*arrays, *numbers))})",
    ]
    known: dict[str, object] = {"_aligned": aligned, "_empty": np.empty, "_int": int, "_max": max, "_min": min}
    known |= {f"_t{i}": numpy_dtype(BY_NUMPY_NAME[r.element]) for i, r in enumerate(fresh)}
    known |= {f"_r{i}": numpy_dtype(t) for i, t in enumerate(types)}
    exec("\n".join(lines), known)
    return cast(Callable[..., tuple[np.ndarray, ...]], known["allocate"])


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Returns an array as np.empty does, whose data start a cache line unless it is small, so that no vector crosses one.

    Its memory is of `array_memory`, which keeps that of arrays that are gone, where this interpreter and this NumPy can use it.
    """
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    if not _ALIGNED_BYTES <= size < _IMPOSSIBLE_BYTES:
        return np.empty(shape, dtype)
    if (kept := array_memory.empty()) is not None:
        return kept(shape, dtype)
    room = np.empty(size + _LINE_BYTES, np.uint8)
    return np.ndarray(shape, dtype, room, -room.__array_interface__["data"][0] % _LINE_BYTES)


def impossible(problem: MemoryError | ValueError) -> PolymlError:
    """Returns the error that tells the user that result arrays cannot be allocated.

    problem: what the allocation raised
    """
    kind = PolymlMemoryError if isinstance(problem, MemoryError) else PolymlValueError
    return kind(f"there is no room for the result: {problem}")


def _value(parameter: Parameter, params: tuple[str, ...], values: list[str]) -> str:
    if parameter.extreme:
        raise ValueError(f"the extent of a result is the {parameter.extreme} of an array")
    if parameter.array is None:
        return f"_int({values[params.index(parameter.argument or parameter.name)]})"
    return f"{values[params.index(parameter.array)]}.shape[{operator.index(parameter.dim)}]"


def _selector(artifact: Artifact) -> Callable[[tuple, tuple], object]:
    """Returns a function that picks a kernel's return value out of two tuples: the call's arguments, and what `allocator` made."""
    fresh = [r.name for r in artifact.result_arrays]
    numbers = (f"fresh[{number}]" for number in count(len(fresh)))
    parts: list[str] = []
    types: dict[str, object] = {"_complex": complex, "_counted": counted, "_taken": taken}
    for place, (result, *imaginary) in enumerate(returned(artifact.results)):
        if isinstance(result, ArrayResult):
            if result.late is not None:
                types[f"_d{place}"] = numpy_dtype(result.late)
                numbers_of = ", ".join(f"{next(numbers)}.item(0)" for _ in imaginary)
                parts.append(f"_taken(_d{place}, {numbers_of})")
                continue
            new = result.array in fresh
            array = f"fresh[{fresh.index(result.array)}]" if new else _argument(artifact, result.array)
            sizes = "".join(f", {next(numbers)}.item(0)" for _ in imaginary)
            parts.append(f"_counted({array}{sizes})" if sizes else array)
            continue
        number = next(numbers)
        if not imaginary:
            parts.append(f"{number}.item(0)" if result.dtype.weak else f"{number}[0]")
            continue
        joined = f"_complex({number}.item(0), {next(numbers)}.item(0))"
        types[f"_w{place}"] = numpy_dtype(result.whole).type
        parts.append(joined if result.dtype.weak else f"_w{place}({joined})")
    if artifact.result_form:
        types |= {"_listed": result_forms.listed, **result_forms.views(artifact.result_form)}
        letters = result_forms.leaves(artifact.result_form)
        if len(letters) != len(parts):
            raise ValueError(f"{len(parts)} results are not those of {artifact.result_form!r:.40}")
        values = [part if letter == result_forms.VALUE else f"_listed({letter!r}, {part})" for letter, part in zip(letters, parts)]
        text = result_forms.replaced(artifact.result_form, values)
    else:
        text = f"({''.join(f'{p}, ' for p in parts)})" if artifact.result_is_tuple else parts[0]
    return eval(f"lambda args, fresh: {text}", types)


def _argument(artifact: Artifact, name: str) -> str:
    position = artifact.params.index(name)
    if not isinstance(artifact.types[position], ArrayType):
        raise ValueError(f"the result {name} is no array")
    return f"args[{position}]"
