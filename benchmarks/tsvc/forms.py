"""A loop as each peer runs it: polyml, numba and C compilers."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.tsvc.c_functions import Library, compiled
from benchmarks.tsvc.entry import ARRAYS, FULL, SMALL, Size, Tsvc, results
from benchmarks.tsvc.loops import LOOPS

WHOLE = "compiled"


@dataclass(frozen=True)
class Form:
    """A Form is a loop on arguments of one size, to be called without any.

    arrays: those of the arguments, in their order.
    result: where a call leaves the numbers that it computes, if it does not return them.
    kernel: of polyml.
    """

    call: Callable[[], object]
    arrays: Sequence[np.ndarray]
    result: np.ndarray | None = None
    kernel: object = None

    def numbers(self) -> list[float]:
        """Calls the loop; returns the numbers that it computes, and in C as many others as there is room for."""
        returned = self.call()
        return results(returned) if self.result is None else self.result.tolist()

    def explained(self) -> str:
        """Returns WHOLE, or why Python ran the last call of polyml's kernel, or a part of it."""
        lines = [WHOLE] if self.kernel is None else self.kernel.explain().splitlines()  # type: ignore[attr-defined]
        if lines[0].endswith(WHOLE):
            return WHOLE
        return next((line.split("error: ")[1] for line in lines if "error: " in line), lines[0])


Peer = Callable[[Tsvc, Size], Form]


def peer(name: str, options: Sequence[str], folder: Path) -> Peer:
    """Returns what makes the forms of a peer: "polyml", "numba" with or without the option "fastmath", or a C compiler with its command."""
    if name == "polyml":
        return _polyml()
    return _numba(options) if name == "numba" else _c(options, folder)


def python_form(loop: Tsvc, size: Size, kernel: Callable | None = None) -> Form:
    """Returns a loop as a Python function, or as a kernel made of it, runs it."""
    values = loop.values(size)
    return Form(partial(kernel or loop.function, *values), [each for each in values if isinstance(each, np.ndarray)])


def c_form(library: Library, loop: Tsvc, size: Size) -> Form:
    """Returns a loop of a library, whose arrays it fills."""
    values = dict(zip(loop.parameters, loop.values(size)))
    arrays = {name: library.arrays[name] for name in values if name in ARRAYS}
    for name, array in arrays.items():
        array[:] = values[name]
    scalars = [value for name, value in values.items() if name not in ARRAYS]
    return Form(library.bound(loop, scalars), list(arrays.values()), library.arrays["result"])


def _polyml() -> Peer:
    import polyml

    def form(loop: Tsvc, size: Size) -> Form:
        kernel = polyml.kernel(loop.function, fallback="silent", cache=False, threads=1)
        plain = python_form(loop, size, kernel)
        return Form(plain.call, plain.arrays, kernel=kernel)

    return form


def _numba(options: Sequence[str]) -> Peer:
    import numba

    # divisions need no test for zero, as in the other peers
    compile_one = numba.njit(error_model="numpy", fastmath="fastmath" in options)
    return lambda loop, size: python_form(loop, size, compile_one(_with_helpers(loop.function, compile_one)))


def _with_helpers(function: Callable, compile_one: Callable) -> types.FunctionType:
    """Returns the function with the functions of its module that it calls compiled, as numba wants them."""
    assert isinstance(function, types.FunctionType)
    known = function.__globals__
    called = {name: known[name] for name in function.__code__.co_names if isinstance(known.get(name), types.FunctionType)}
    return types.FunctionType(function.__code__, known | {name: compile_one(each) for name, each in called.items()})


def _c(command: Sequence[str], folder: Path) -> Peer:
    libraries: dict[Size, Library] = {}
    for size in (SMALL, FULL):
        made = folder / str(size.length)
        made.mkdir()
        libraries[size] = compiled(command, LOOPS.values(), size, made)
    return lambda loop, size: c_form(libraries[size], loop, size)
