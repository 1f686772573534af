"""What a loop of TSVC is: its function in Python and in C, under a heading, and the arguments that it is called with.

Numbers are of both signs at random, where those of the suite are mostly of one: no processor can predict the conditions on them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

LINE = 64  # bytes: arrays begin cache lines in all languages


@dataclass(frozen=True)
class Size:
    """A Size is the length of vectors and of a side of matrices. Lengths are multiples of 40, as loops unrolled by five need."""

    length: int
    side: int

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the shape of the array of this name. `flat` is a matrix as a vector, with room to read from 64 on."""
        if name == "flat":
            return (self.side * self.side + 64,)
        return (self.side, self.side) if name in MATRICES else (self.length,)


SMALL, FULL = Size(200, 16), Size(32_000, 256)
VECTORS, MATRICES, INDICES = ("a", "b", "c", "d", "e", "x", "flat"), ("aa", "bb", "cc"), ("ip", "indx")
ARRAYS = (*VECTORS, *MATRICES, *INDICES)


@dataclass(frozen=True)
class Tsvc:
    """A Tsvc is one loop of the suite: a pass over its arrays, once.

    function: in Python. Its parameters name the arrays, which are those of the suite, and scalars.
    c: the body of the function in C, whose arrays are global; what it returns is left in `result`.
    arguments: a number for each scalar, or how to get it from the size; for an array whose values are not `signed`, their kind.
    heading: what the suite has the loop for.
    """

    name: str
    function: Callable
    c: str
    arguments: Mapping[str, object] = field(repr=False)
    heading: str

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.function).parameters)

    def values(self, size: Size) -> list[object]:
        """Returns new arguments for a call: arrays, np.float32 and int, in the order of the parameters."""
        return [self._value(name, size) for name in self.parameters]

    def _value(self, name: str, size: Size) -> object:
        if name in ARRAYS:
            return _filled(name, str(self.arguments.get(name, "signed")), size)
        given = self.arguments[name]
        value = given(size) if callable(given) else given
        return np.float32(value) if isinstance(value, float) else value


def heading(text: str) -> Callable[..., Callable[[Callable], Tsvc]]:
    """Returns a decorator of the loops under a heading, which takes a loop's text in C and its arguments."""

    def loop(c: str, /, **arguments: object) -> Callable[[Callable], Tsvc]:
        return lambda function: Tsvc(function.__name__, function, c.strip("\n"), arguments, text)

    return loop


def entries(names: Mapping[str, object]) -> list[Tsvc]:
    """Returns the loops among the names of a module, in its order."""
    return [value for value in names.values() if isinstance(value, Tsvc)]


def aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Returns a new array that begins a cache line."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.empty(count + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + count].view(dtype).reshape(shape)


def results(returned: object) -> list[float]:
    """Returns the numbers that a call returned."""
    if returned is None:
        return []
    return [float(value) for value in returned] if isinstance(returned, tuple) else [float(returned)]  # type: ignore[arg-type]


def difference(found: Iterable[object], wanted: Iterable[object]) -> float:
    """Returns the largest difference of numbers and arrays, relative to the largest value of each one; 0 for the same bits."""
    worst = 0.0
    for one, other in zip(found, wanted, strict=True):
        if np.array_equal(one, other, equal_nan=True):  # type: ignore[arg-type]
            continue
        mine, right = np.asarray(one, np.float64), np.asarray(other, np.float64)
        error = np.max(np.abs(mine - right)) / max(1.0, np.max(np.abs(right)))
        worst = max(worst, float("inf") if np.isnan(error) else float(error))
    return worst


def _filled(name: str, kind: str, size: Size) -> np.ndarray:
    shape = size.shape(name)
    array = aligned(shape, np.int32 if name in INDICES else np.float32)
    if name in INDICES:
        array[:] = _INDICES[name](np.arange(size.length))
        return array
    rng = np.random.default_rng([ARRAYS.index(name), *shape])
    array[:] = _KINDS[kind](rng, shape)
    if kind in _LAST:
        array[-1] = _LAST[kind]
    return array


# the elements of `ip` stay near their places; `indx` is one of four ways
_INDICES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ip": lambda i: i - i % 5 + np.array([4, 2, 0, 3, 1])[i % 5],
    "indx": lambda i: (i + 1) % 4 + 1,
}
_LAST = {"two at last": 2.0, "negative at last": -1.0}  # what a search finds, so that it takes the whole way
_KINDS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "signed": lambda rng, shape: rng.uniform(-1, 1, shape),
    "small": lambda rng, shape: rng.uniform(-0.25, 0.25, shape),
    "tiny": lambda rng, shape: rng.uniform(-0.01, 0.01, shape),
    "near one": lambda rng, shape: 1 + rng.uniform(-1e-4, 1e-4, shape),
    "signs": lambda rng, shape: rng.integers(-1, 2, shape),
    "two at last": lambda rng, shape: rng.uniform(-1, 1, shape),
    "negative at last": lambda rng, shape: rng.uniform(0.01, 1, shape),
}
