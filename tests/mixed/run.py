"""Calls of a mixed program, plain or as a kernel, with the same arguments each time.

It knows nothing of polyml, so that programs can be run with another version of it.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import GeneratorType

import numpy as np

from tests.mixed.generate import Mixed


@dataclass
class Ran:
    """One call of either: what came back or was raised, what was printed, and the arguments as they are now."""

    result: object
    error: BaseException | None
    printed: str
    arguments: list[object]


def callables(program: Mixed) -> tuple[Callable, Callable]:
    """The same function twice, each with globals of its own; the second is to be decorated and finds itself so."""
    made = []
    for copy in ("plain", "ours"):
        file = f"<mixed {program.seed} {copy}>"
        linecache.cache[file] = (len(program.source), None, program.source.splitlines(keepends=True), file)
        scope = {"np": np, "COUNTS": [0]}
        exec(compile(program.source, file, "exec"), scope)
        function = scope["Holder"].kernel if "Holder" in scope else scope["kernel"]
        function.__globals__["MADE"] = function
        made.append(function)
    return made[0], made[1]


class _Held:
    """What `self` is."""

    def __init__(self):
        self.held, self.scale = np.linspace(0.0, 1.0, 11), 0.75


def bound(function: Callable) -> Callable:
    inner = getattr(function, "py_func", function)
    if inner.__code__.co_varnames[0] == "self":
        return lambda *args: function(_Held(), *args)
    if not hasattr(function, "py_func"):
        return function
    inner.__globals__["kernel"] = function  # as a decorator binds it
    return function


def run(function: Callable, program: Mixed, number: int) -> Ran:
    rng = np.random.default_rng([program.seed, number])
    A, B = _arrays(program, rng)
    arguments: list[object] = [A, B, [1.0, 2, 3.5], program.size, 1.25]
    printed = io.StringIO()
    result, error = None, None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments)
            if isinstance(result, GeneratorType):
                result = list(result)
        except Exception as problem:
            error = problem
    return Ran(result, error, printed.getvalue(), arguments)


def _arrays(program: Mixed, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n = program.size
    values = (4.0 * rng.standard_normal(2 * n + 2)).astype(program.element)
    match program.layout:
        case "one":
            one = values[:n]
            return one, one
        case "same":
            return values[:n], values[:n]
        case "reversed":
            return values[:n], values[:n][::-1]
        case "overlapping":
            return values[: n + 1], values[1 : n + 1]
        case "strided":
            return values[: 2 * n : 2], values[1 : 2 * n : 2]
        case "fortran":
            block = np.asfortranarray(values[: 2 * n].reshape(2, n))
            return block[0], block[1]
    return values[:n], values[n : 2 * n + program.seed % 3].copy()
