"""The list of array programs, each with arguments: `corpus()`, to which the modules beside this one add theirs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# in this order, since all draw from one generator
_MODULES = ("calls", "programs", "borders", "exchanges", "flat", "gathers", "ranges", "halves", "complexes", "rebound", "ufuncs")
_rng = np.random.default_rng(20)


@dataclass(frozen=True)
class Program:
    function: Callable
    arguments: tuple

    @property
    def name(self) -> str:
        return self.function.__name__


PROGRAMS: list[Program] = []


def corpus() -> list[Program]:
    """All programs."""
    for name in _MODULES:
        importlib.import_module(f"tests.arrays.{name}")
    return PROGRAMS


def program(*arguments):
    def add(function):
        PROGRAMS.append(Program(function, arguments))
        return function

    return add


def floats(*shape, dtype="f8"):
    return _rng.normal(size=shape).astype(dtype)


def integers(*shape, dtype="i8"):
    return _rng.integers(0 if dtype[0] == "u" else -9, 9, shape).astype(dtype)


def complexes(*shape, dtype="c16"):
    return (floats(*shape) + 1j * floats(*shape)).astype(dtype)
