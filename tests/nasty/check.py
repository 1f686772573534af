"""Compiles and runs a nasty nest, and compares with plain Python."""

from __future__ import annotations

import linecache
import time
import warnings
from dataclasses import dataclass

import numpy as np

import polyml
from tests.nasty.generate import Nest, nest


@dataclass(frozen=True)
class Outcome:
    """seconds: of the first call, which compiles. form: "compiled", "source order", "no dependences" or "Python"."""

    seed: int
    kind: str
    seconds: float
    form: str
    difference: str = ""


def check(program: Nest, budget_s: int) -> Outcome:
    """The first call and one more, against plain Python. Integers of small size in floats: no order rounds differently much."""
    function = _function(program)
    kernel = polyml.kernel(cache=False, compile_budget_s=budget_s, on_defect="raise", fp="strict")(function)
    wanted, got = program.arguments(), program.arguments()
    with np.errstate(all="ignore"):
        function(*wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        kernel(*got)
        seconds = time.perf_counter() - start
    different = [
        f"A{number}" for number, (a, b) in enumerate(zip(wanted[:-1], got[:-1])) if not np.array_equal(a, b, equal_nan=True)
    ]
    return Outcome(program.seed, program.kind, seconds, _form(kernel), f"{', '.join(different)} differ" if different else "")


def checked(seed: int, budget_s: int) -> Outcome:
    """The same for the nest of this number; what is raised is a difference too."""
    program = nest(seed)
    start = time.perf_counter()
    try:
        return check(program, budget_s)
    except Exception as problem:
        text = f"{type(problem).__name__}: {problem}"
        return Outcome(seed, program.kind, time.perf_counter() - start, "raised", text)


def _form(kernel: object) -> str:
    text = kernel.explain()
    if "runs as plain Python" in text:
        return "Python"
    if "does not suffice for its dependences" in text:
        return "no dependences"
    return "source order" if "source order" in text else "compiled"


def _function(program: Nest):
    file = f"<nasty {program.seed}>"
    linecache.cache[file] = (len(program.source), None, program.source.splitlines(keepends=True), file)
    scope: dict[str, object] = {}
    exec(compile(program.source, file, "exec"), scope)
    return scope["nest"]
