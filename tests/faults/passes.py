"""Passes of the compiler that fail: the call goes on with a simpler form, which is right, says so once and leaves a bundle."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType

import numpy as np

import polyml
from polyml import kernels, pass_manager
from polyml.bundles import folder as bundles
from polyml.bundles.bundle import read
from polyml.defects.repeat import repeat
from polyml.errors import CompileError
from polyml.kernels._accuracy import compare
from polyml.pass_manager import Pass
from polyml.pipeline.passes import INFERENCE, SCHEDULE_PASSES
from polyml.runtime.storage.disk_cache import Cache
from tests.faults.campaign import Fault, Tally

_ERRORS = (KeyError, IndexError, AttributeError, TypeError, ValueError, AssertionError, ZeroDivisionError)
_ALWAYS = -1
_PARTS = {step.name for step in (*INFERENCE, *SCHEDULE_PASSES)}  # of other passes, which are named where they fail


@contextmanager
def _failing(name: str, error: type[Exception], times: int) -> Iterator[None]:
    """The pass of that name fails so often."""
    left, true = [times], pass_manager.run

    def failing(step: Pass, *given: object, **named: object) -> object:
        if step.name == name and left[0]:
            left[0] -= 1
            raise error("injected")
        return true(step, *given, **named)

    pass_manager.run = failing
    try:
        yield
    finally:
        pass_manager.run = true


def _passes(function: FunctionType, arguments: Mapping[str, object]) -> list[str]:
    """What a compilation of the function runs, in order."""
    seen: dict[str, None] = {}
    with pass_manager.watched(lambda step, *_: seen.setdefault(step.name)):
        polyml.kernel(function, cache=False)(*copy.deepcopy(arguments).values())
    return [name for name in seen if name not in _PARTS]


def passes_that_fail(count: int, seed: int, folder: Path) -> Tally:
    """In each trial another pass of a kernel of PolyBench raises some exception, once, twice or whenever it runs."""
    tally, rng = Tally(), random.Random(seed)
    for number in range(count):
        benchmark = kernels.load(rng.choice(kernels.NAMES))
        arguments = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(seed), np.dtype(benchmark.dtype))
        name = rng.choice(_passes(benchmark.kernel.py_func, arguments))
        error, times = rng.choice(_ERRORS), rng.choice((1, 2, _ALWAYS))
        where = (
            f"trial {number} of seed {seed}: {name} of {benchmark.name} raises {error.__name__} {'always' if times < 0 else times}"
        )
        try:
            tally.add(_trial(benchmark, arguments, name, error, times, folder / str(number)))
        except Exception as problem:
            tally.fail(f"{where}: {type(problem).__name__}: {str(problem)[:300]}")
    return tally


def _trial(benchmark: kernels.Benchmark, arguments: Mapping[str, object], name: str, error: type[Exception], times: int,
           folder: Path) -> str:  # fmt: skip
    """How it ended. AssertionError where that is wrong."""
    compiled = polyml.kernel(benchmark.kernel.py_func, on_defect="simpler", cache_dir=str(folder))
    given = copy.deepcopy(arguments)
    with warnings.catch_warnings(record=True) as caught, _failing(name, error, times):
        warnings.simplefilter("always")
        compiled(*given.values())
        compiled(*copy.deepcopy(arguments).values())
    accuracy = compare(benchmark, benchmark.sizes["MINI"], arguments, given)
    assert accuracy.ok, accuracy
    said = [str(w.message) for w in caught if issubclass(w.category, polyml.PolymlDefectWarning)]
    assert len(said) == 1 and f"{name} failed: {error.__name__}: 'injected'" in said[0].replace(": injected", ": 'injected'"), said
    (file,) = bundles.kept(Cache(str(folder), 10**9))
    assert str(file) in said[0]
    with _failing(name, error, _ALWAYS):
        again = repeat(read(file))
    assert isinstance(again, CompileError) and again.message == read(file).message, again
    return "in a simpler form" if compiled.compiled else "as plain Python"


FAULTS = (Fault("passes that fail", 300, 6, passes_that_fail),)
