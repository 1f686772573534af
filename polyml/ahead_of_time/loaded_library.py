"""A library in Python: its function with the checks of its arguments. Neither the compiler nor its packages are imported."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from polyml.ahead_of_time.call_signature import LibraryArgument, SizeExtent
from polyml.ahead_of_time.description import LibraryDescription, OutDescription
from polyml.dtypes import DType
from polyml.errors import (
    BoundsError,
    ConfigError,
    PolymlError,
    PolymlMemoryError,
    PolymlOverflowError,
    PolymlTypeError,
    PolymlValueError,
)
from polyml.frontend.syntax import ArrayType
from polyml.machines import cpu
from polyml.numpy_dtypes import numpy_dtype
from polyml.reading.input_limits import plain, shown
from polyml.reading.userfiles import called
from polyml.runtime.calling import arguments
from polyml.runtime.calling.result_extents import rewritten
from polyml.runtime.calling.results import aligned, impossible
from polyml.runtime.storage.checksum import Damaged

_DESCRIPTION = "polyml_description"
_MOST_THREADS = 256
_KINDS: Mapping[str, type[PolymlError]] = {"bounds": BoundsError, "range": PolymlOverflowError, "limit": PolymlOverflowError,
          "region": BoundsError, "memory": PolymlMemoryError, "number": PolymlOverflowError}  # fmt: skip
_PASSED = {
    "f64": ctypes.c_double, "f32": ctypes.c_float, "f16": ctypes.c_uint16, "bf16": ctypes.c_uint16, "bool": ctypes.c_bool,
    **{f"{kind}{bits}": getattr(ctypes, f"c_{'u' * (kind == 'u')}int{bits}") for kind in "iu" for bits in (8, 16, 32, 64)},
    "int": ctypes.c_int64, "float": ctypes.c_double, "pybool": ctypes.c_bool,
}  # fmt: skip


class LoadedKernel:
    """A LoadedKernel is the function of a library that `polyml build` made, as `polyml.load` returns it.

    A call takes the arguments of the kernel that the library was built of, tests them as a kernel does, and returns what the kernel
    returns. Arrays have to be stored row by row without gaps, of the element type that the library has; nothing is compiled.

    signature: the types of the parameters, as text.
    """

    def __init__(self, library: ctypes.CDLL, description: LibraryDescription):
        self._described = description
        self.__name__ = description.kernel
        self.signature = str(description.signature)
        self._arguments = description.signature.arguments
        self._function = getattr(library, description.symbol)
        self._function.restype, self._function.argtypes = ctypes.c_int, self._types()
        self._set_threads = getattr(library, f"{description.symbol}_set_threads") if description.threads != "none" else None
        self._codes = {code.number: code for code in description.codes}
        self._shapes = [_shape(out, self._integer_names()) for out in description.outs]

    def __repr__(self) -> str:
        names = ", ".join(f"{a.name}: {a}" for a in self._arguments)
        return f"<library function {self.__name__}({names}) for {self._described.cpu}>"

    def set_threads(self, count: int) -> None:
        """Sets how many threads run later calls; 0: one for each core, or as many as OpenMP says.

        Raises ConfigError for another number than 0 to 256, and for a library without threads.
        """
        if self._set_threads is None:
            raise ConfigError(f"the library `{self.__name__}` has no threads", notes=["it was built with --threads none"])
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MOST_THREADS:
            raise ConfigError(f"a library does not run on {shown(count)} threads", notes=["it takes 0 to 256"])
        self._set_threads(ctypes.c_int64(count))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        values = self._bound(args, kwargs)
        passed: dict[str, object] = {}
        for argument in self._arguments:
            taken = _array if isinstance(argument.type, ArrayType) else _number
            passed[argument.name] = taken(argument, values[argument.name], argument.name in self._described.written)
        sizes = self._sizes(passed)
        fresh = [self._allocated(out, shape, sizes) for out, shape in zip(self._described.outs, self._shapes)]
        words: list[object] = []
        for argument in self._arguments:
            words += _words(argument, passed[argument.name])
        words += [each.__array_interface__["data"][0] for each in fresh]
        words += [sizes[name] for name in self._described.signature.sizes]
        self._check(self._function(*words))
        return self._result(passed, fresh)

    def _types(self) -> list[type]:
        """Returns ctypes' types of the function's parameters."""
        made: list[type] = []
        for argument in self._arguments:
            if isinstance(argument.type, ArrayType):
                made.append(ctypes.c_void_p)
                continue
            dtype = argument.type.dtype
            made += [_PASSED[dtype.part.name]] * (1 + dtype.is_complex)
        return [*made, *[ctypes.c_void_p] * len(self._described.outs), *[ctypes.c_int64] * len(self._described.signature.sizes)]

    def _integer_names(self) -> tuple[str, ...]:
        return (*self._described.signature.sizes, *(a.name for a in self._arguments if not isinstance(a.type, ArrayType)))

    def _bound(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Returns {parameter: argument}. Raises PolymlTypeError for arguments that do not fit the parameters."""
        names = [a.name for a in self._arguments]
        values = dict(zip(names, args))
        problem = f"takes {len(names)} arguments, {len(args)} given" if len(args) > len(names) else ""
        for name, value in kwargs.items():
            if name not in names or name in values:
                problem = problem or (f"got `{name}` twice" if name in values else f"has no parameter `{shown(name)[1:-1]}`")
            values[name] = value
        if missing := [name for name in names if name not in values]:
            problem = problem or f"is missing {', '.join(f'`{name}`' for name in missing)}"
        if problem:
            raise PolymlTypeError(f"{self.__name__}() {problem}", notes=[f"it is {self.__name__}({', '.join(names)})"])
        return values

    def _sizes(self, passed: Mapping[str, object]) -> dict[str, int]:
        """Returns {size or integer parameter: value}. Raises PolymlValueError where extents of one name differ."""
        found = {n: int(cast(int, v)) for n, v in passed.items() if isinstance(v, (int, np.integer, np.bool_))}
        said = {name: f"`{name}` is {value}" for name, value in found.items()}
        for argument in self._arguments:
            if not isinstance(argument.type, ArrayType):
                continue
            shape = cast(np.ndarray, passed[argument.name]).shape
            for dim, (extent, size) in enumerate(zip(argument.extents, shape)):
                self._compare(f"dimension {dim} of `{argument.name}`", extent, size, (found, said))
        return found

    def _compare(self, where: str, extent: SizeExtent, size: int, known: tuple[dict[str, int], dict[str, str]]) -> None:
        """Compares an array's size with the sizes known so far, to which it is added where it is the first of its name."""
        found, said = known
        if extent.name and extent.name not in found:
            found[extent.name] = size - extent.offset
            said[extent.name] = f"{where} is {extent}: {size}"
            if found[extent.name] < 0:
                raise PolymlValueError(f"{where} is {size}, but {extent} is at least {extent.offset}")
        expected = extent.offset + (found[extent.name] if extent.name else 0)
        if size != expected:
            notes = [said[extent.name]] if extent.name else []
            raise PolymlValueError(
                f"{where} is {size}, but {extent} has to be {expected}", notes=[*notes, f"it takes {self.signature}"]
            )

    def _allocated(self, out: OutDescription, shape: Callable[..., tuple[int, ...]] | None, sizes: Mapping[str, int]) -> np.ndarray:
        if shape is None:
            return np.empty(1, numpy_dtype(out.dtype))
        try:
            return aligned(shape(*(sizes.get(name, 0) for name in self._integer_names())), numpy_dtype(out.dtype))
        except (MemoryError, ValueError) as problem:
            raise impossible(problem) from None

    def _check(self, status: int) -> None:
        """Raises the error for a number other than 0 that the function returned."""
        if status == 0:
            return
        code = self._codes.get(status)
        if code is None:
            raise PolymlError(f"`{self.__name__}` returned the unknown number {status}")
        raise _KINDS.get(code.kind, PolymlValueError)(f"in `{self.__name__}` {code.text}")

    def _result(self, passed: Mapping[str, object], fresh: Sequence[np.ndarray]) -> Any:
        found = []
        for each in self._described.results:
            if isinstance(each, str):
                found.append(passed[each])
                continue
            out = self._described.outs[each]
            number = fresh[each].item(0) if out.dtype.weak else fresh[each][0] if out.extents is None else None
            found.append(fresh[each] if out.extents is not None else number)
        if self._described.is_tuple:
            return tuple(found)
        return found[0] if found else None


def _file(path: object) -> str:
    """Returns the name of a file. Raises ConfigError for what is none."""
    try:
        return os.fsdecode(plain(path))  # type: ignore[arg-type]
    except Exception:  # a class that is not ours may raise anything
        raise ConfigError(f"load takes the path of a shared library, not {shown(path)}", notes=['as in "out/gemm.so"']) from None


def load(path: str | os.PathLike) -> LoadedKernel:
    """Returns the function of a shared library that `polyml build` made. No compiler is needed, neither polyml's nor one of C.

    path: of the library, which is trusted like any other: code in it may run at once.
    Raises ConfigError for a file that is no such library, or that is for another processor.

    >>> import numpy as np, polyml, tempfile
    >>> from polyml.ahead_of_time.library_build import LibraryRequest, build
    >>> @polyml.kernel
    ... def scale(A, factor):
    ...     for i in range(A.shape[0]):
    ...         A[i] *= factor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scaled = polyml.load(build(scale, LibraryRequest("f64[N], float"), folder).shared)
    >>> A = np.ones(3)
    >>> scaled(A, 2.0)
    >>> A
    array([2., 2., 2.])
    >>> try:
    ...     scaled(np.ones(3, np.float32), 2.0)
    ... except polyml.PolymlTypeError as problem:
    ...     print(problem.message)
    argument `A` is f32[3], but the library takes f64[N]
    """
    path = _file(path)
    if not os.path.isfile(path):
        raise ConfigError(
            f"there is no file {called(path)}", notes=["expected a shared library that `polyml build` made, as in out/gemm.so"]
        )
    try:
        library = ctypes.CDLL(os.path.abspath(os.fsdecode(path)))
    except OSError as problem:
        raise ConfigError(f"{called(path)} cannot be loaded: {problem}") from None
    try:
        place = ctypes.c_char.in_dll(library, _DESCRIPTION)
        description = LibraryDescription.from_text(ctypes.string_at(ctypes.addressof(place)).decode())
    except ValueError:
        raise ConfigError(f"{called(path)} is no library that `polyml build` made") from None
    except Damaged as problem:
        raise ConfigError(
            f"{called(path)} is of another version of polyml: {problem}", notes=["`polyml build` makes it again"]
        ) from None
    _check_processor(path, description)
    return LoadedKernel(library, description)


def _check_processor(path: str | os.PathLike, description: LibraryDescription) -> None:
    """Raises ConfigError where this processor lacks the vectors that the library's code uses."""
    host = cpu.host()
    lacks = f"vectors of {description.vector_bytes} bytes" if description.vector_bytes > host.vector_bytes else ""
    if not lacks and description.needs_fma and not host.fma:
        lacks = "fused multiply-add"
    if description.isa != host.isa or lacks:
        what = f"it lacks {lacks}" if lacks else f"it is {host.isa}"
        raise ConfigError(f"{called(path)} is for {description.cpu}, which this processor is not: {what}")


def _shape(out: OutDescription, names: Sequence[str]) -> Callable[..., tuple[int, ...]] | None:
    """Returns a function of the values of `names` that returns the shape of a result array; None for a number."""
    if out.extents is None:
        return None
    numbered = {name: f"_p{i}" for i, name in enumerate(names)}
    dims = "".join(f"_max(0, {rewritten(each, numbered)}), " for each in out.extents)
    return eval(f"lambda {', '.join(numbered.values())}: ({dims})", {"_max": max, "_min": min})


def _array(argument: LibraryArgument, value: object, is_written: bool) -> object:
    """Returns an argument as an array that the library's function takes. Raises PolymlTypeError or PolymlValueError for another."""
    kind = cast(ArrayType, argument.type)
    given = arguments.argument(argument.name, value)
    array = given.value
    if not isinstance(array, np.ndarray):
        raise PolymlTypeError(f"argument `{argument.name}` is a {type(value).__name__}, but the library takes {argument}")
    if not isinstance(given.type, ArrayType) or given.type.element != kind.element or array.ndim != kind.ndim:
        element = given.type.element if isinstance(given.type, ArrayType) else given.type
        shape = ", ".join(map(str, array.shape))
        raise PolymlTypeError(f"argument `{argument.name}` is {element}[{shape}], but the library takes {argument}")
    if is_written and (problem := arguments.not_writable(given)):
        raise problem
    if not array.flags.c_contiguous or array.__array_interface__["data"][0] % kind.element.part.size_bytes:
        raise PolymlValueError(
            f"argument `{argument.name}` is not stored row by row without gaps",
            notes=[f"np.ascontiguousarray({argument.name}) makes such a copy"],
        )
    return array


def _number(argument: LibraryArgument, value: object, is_written: bool) -> object:
    """Returns an argument as a number that the library's function takes. Raises PolymlTypeError or PolymlOverflowError for
    another.
    """
    dtype = cast(DType, getattr(argument.type, "dtype", None))
    accepted: dict[str, tuple[type, ...]] = {
        "b": (bool, np.bool_),
        "i": (bool, int, np.bool_, np.integer),
        "f": (bool, int, float, np.bool_, np.integer, np.floating),
        "c": (bool, int, float, complex, np.number, np.bool_),
    }
    own = accepted["i" if dtype.kind == "u" else dtype.kind]
    is_half = dtype.kind in "fc" and type(value).__name__ == "bfloat16"
    if not isinstance(value, own) and not is_half:
        raise PolymlTypeError(f"argument `{argument.name}` is a {type(value).__name__}, but the library takes {argument}")
    number: Any = value
    if dtype.kind == "b":
        return bool(number)
    if dtype.is_integer:
        bits, signed = dtype.bits, dtype.kind == "i"
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        if not low <= int(number) <= high:
            raise PolymlOverflowError(f"argument `{argument.name}` is {shown(int(number))}, which does not fit {dtype}")
        return int(number)
    try:
        return float(number) if dtype.is_float else complex(number)
    except OverflowError:
        raise PolymlOverflowError(f"argument `{argument.name}` is too great for {dtype}") from None


def _words(argument: LibraryArgument, value: Any) -> list[object]:
    """Returns what stands for an argument in the call of the function."""
    if isinstance(argument.type, ArrayType):
        return [value.__array_interface__["data"][0]]
    dtype = argument.type.dtype
    if dtype.is_complex:
        return [value.real, value.imag]
    if dtype.is_float and dtype.bits == 16:
        return [int(np.array(value).astype(numpy_dtype(dtype)).view(np.uint16))]
    return [value]
