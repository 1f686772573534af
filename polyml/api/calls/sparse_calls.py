"""Calls with sparse matrices: a kernel of the function that takes their arrays runs in the place of the function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from polyml.api.calls.plain_calls import is_exact
from polyml.errors import PolymlError, PolymlTypeError
from polyml.frontend.sparse.matrices import SparseMatrix, recognised
from polyml.runtime.calling.binding import MISS
from polyml.runtime.calling.signature import parameters

if TYPE_CHECKING:
    from polyml.frontend.lifting.sparse_arguments import SparseFunction

_EXACT = (np.ndarray, int, float, bool, complex)
_HALVES = ("float16", "bfloat16")


class NotCompiled(Exception):
    """This is raised by a kernel that is not compiled, before it has run anything.

    problem: why it is not compiled
    decided: whether source and types are the reason, not this call's data
    """

    def __init__(self, problem: PolymlError, decided: bool = True):
        super().__init__(problem.message)
        self.problem, self.decided = problem, decided


class ArraysKernel(Protocol):
    """The protocol of a kernel of a function that takes the arrays of sparse matrices."""

    def __call__(self, *values): ...


@dataclass(frozen=True, eq=False)
class SparseCall:
    """A SparseCall runs a function for sparse matrices of some formats among its arguments.

    key: what `key_of` says of such arguments
    made: the function of their arrays; None where it cannot be compiled
    kernel: its kernel
    problem: why it cannot be compiled
    """

    key: tuple
    made: SparseFunction | None
    kernel: ArraysKernel | None
    problem: PolymlError | None = None

    def run(self, values: Sequence[object]) -> Any:
        """Calls the kernel, and returns its result. Raises NotCompiled where it is not compiled."""
        if self.made is None or self.kernel is None:
            raise NotCompiled(self.problem or PolymlError("the function is not compiled"))
        given = self.made.given(values)
        for (_, name), value in zip(self.made.values, given):
            if name is not None and name.startswith(".") and not (is_exact(value) or recognised(value)):
                raise NotCompiled(PolymlTypeError(f"the attribute `{name}` is no plain number or array"))
        return self.kernel(*given)

    def entry(self, *values: object) -> Any:
        """Calls the kernel, and returns its result; returns MISS, and runs nothing, where arguments are of other kinds or it is not
        compiled.
        """
        if len(values) != len(self.key) or key_of(values) != self.key:
            return MISS
        try:
            return self.run(values)
        except NotCompiled:
            return MISS


Kind = TypeVar("Kind", bound=ArraysKernel)


class SparseCalls(Generic[Kind]):
    """SparseCalls are the calls of one function, by the kinds of its arguments.

    function: the function
    kernel: makes a kernel of a function that takes arrays
    """

    def __init__(self, function: FunctionType, kernel: Callable[[FunctionType], Kind]):
        self._function, self._kernel = function, kernel
        self._calls: dict[tuple, SparseCall] = {}
        self._kernels: list[Kind] = []

    def find(self, values: Sequence[object]) -> SparseCall | None:
        """Returns the call for these arguments; None where no sparse matrix is among them."""
        if all(type(value) in _EXACT or isinstance(value, np.generic) for value in values):
            return None
        key = key_of(values)
        if not any(isinstance(each, SparseMatrix) for each in key):
            return None
        if key not in self._calls:
            self._calls[key] = self._made(key)
        return self._calls[key]

    def _made(self, key: tuple) -> SparseCall:
        from polyml.frontend.lifting.sparse_arguments import of_arrays

        named = dict(zip(parameters(self._function), key))
        matrices = {name: each for name, each in named.items() if isinstance(each, SparseMatrix)}
        dimensions = {name: each for name, each in named.items() if isinstance(each, int)}
        try:
            made = of_arrays(self._function, matrices, dimensions)
        except PolymlError as problem:
            return SparseCall(key, None, None, problem)
        self._kernels.append(self._kernel(made.function))
        return SparseCall(key, made, self._kernels[-1])

    def kernels(self) -> Iterator[Kind]:
        """Yields the kernels that were made so far."""
        yield from self._kernels


def key_of(values: Sequence[object]) -> tuple:
    """Returns of each argument what the function of arrays depends on: of a sparse matrix a SparseMatrix, of an array, a number, or another value
    of Python's how many dimensions it has, of all else, of which attributes are taken, None.
    """
    found = [recognised(value) for value in values]
    halves = any(isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in _HALVES for value in values)
    return tuple(
        _dimensions(value) if matrix is None else replace(matrix, operators="") if halves and matrix.small else matrix
        for value, matrix in zip(values, found)
    )


def _dimensions(value: object) -> int | None:
    is_whole = isinstance(value, (np.generic, int, float, complex, str, list, tuple, type(None)))
    return value.ndim if isinstance(value, np.ndarray) else 0 if is_whole else None
