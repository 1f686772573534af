"""Calls of a random function, plain or as a kernel, with the same arguments each time; of polyml it knows what functions assume by."""

from __future__ import annotations

import importlib
import linecache
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import polyml
from tests.irregular.generate import Program

_WORK = """from polyml.model.index_arrays import partial_scatters
from polyml.pipeline.regions import shared_loops
shared_loops.LEAST_WORK = partial_scatters.LEAST_ITERATIONS = 0  # the shortest loops count as work for threads
"""
RAISED = (
    IndexError,
    ZeroDivisionError,
    ValueError,
    OverflowError,
    UnboundLocalError,
    AssertionError,
    RuntimeError,
)  # what is compared; a TypeError is a wrong program


@dataclass(frozen=True)
class Ran:
    """What a call did: what came back or was raised, and the arguments as they are now."""

    result: object
    error: Exception | None
    arguments: tuple[object, ...]


def function_of(program: Program, copy: str) -> Callable[..., object]:
    """Returns the function of a program, with globals of its own. copy: a word for its file."""
    file = f"<irregular {program.seed} {copy}>"
    linecache.cache[file] = (len(program.source), None, program.source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np, "math": math, "polyml": polyml}  # Any: what a text defines
    exec(compile(program.source, file, "exec"), scope)
    return scope["kernel"]


def arguments_of(program: Program, number: int) -> tuple[object, ...]:
    """Returns new arguments for the call of this number."""
    scope: dict[str, object] = {"np": np, "polyml": polyml}
    if program.uses_scipy:
        scope["sp"] = importlib.import_module("scipy.sparse")
    for name, text in zip(program.names, program.calls[number]):
        scope[name] = eval(text, scope)
    return tuple(scope[name] for name in program.names)


def run(function: Callable[..., object], arguments: tuple[object, ...]) -> Ran:
    """Returns what the call does."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return Ran(function(*arguments), None, arguments)
        except Exception as problem:
            return Ran(None, problem, arguments)


def script(program: Program) -> str:
    """Returns a script that prints what plain Python does, and a kernel with each setting, for each call."""
    calls = "\n".join(
        "\n".join([f"def call_{number}():", *(f"    {name} = {text}" for name, text in zip(program.names, texts))])
        + f"\n    return [{', '.join(program.names)}]\n\n"
        for number, texts in enumerate(program.calls)
    )
    makers = ", ".join(f"call_{number}" for number in range(len(program.calls)))
    return f"""# seed {program.seed}
import math
import numpy as np
import polyml
{_WORK if program.seed % 2 == 0 else ""}{"import scipy.sparse as sp" if program.uses_scipy else ""}
{program.source}
{calls}
def shown(function, make):
    arguments = make()
    try:
        print(function(*arguments), end=" ")
    except Exception as problem:
        print(type(problem).__name__, end=" ")
    print(arguments)

for make in ({makers}{"," * (len(program.calls) == 1)}):
    shown(kernel, make)
for fp in ("strict", "reassociate"):
    ours = polyml.kernel(kernel, fp=fp, cache=False, fallback="silent", on_defect="raise")
    for make in ({makers}{"," * (len(program.calls) == 1)}):
        for threads in (1, 2, 3, 4):
            with polyml.config.scope(threads=threads):
                print(fp, threads, end=" ")
                shown(ours, make)
    print(ours.explain())
"""
