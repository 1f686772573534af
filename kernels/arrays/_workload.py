"""The values that are needed to run, check and time an array program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import polyml

WORKLOADS: dict[str, Workload] = {}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """An array program with all that is needed to run, check and time it.

    inputs: gives its arguments, from a size and a random generator. reference: gives, from the arguments, what is right after
    the call, computed in another way: {name: array} of changed arguments and of
        "result", a tuple where it returns one.
    sizes: {preset: {parameter: int}}.
    determined: gives {name: index of the part that the inputs determine}; None where that is all of it.
    """

    name: str
    function: Callable
    kernel: Any
    inputs: Callable[[Mapping[str, int], np.random.Generator], tuple]
    reference: Callable[..., dict]
    sizes: Mapping[str, Mapping[str, int]]
    determined: Callable[[Mapping[str, int]], dict] | None = None

    def arguments(self, preset: str, seed: int = 0) -> tuple:
        """Returns fresh arguments."""
        return self.inputs(self.sizes[preset], np.random.default_rng(seed))

    def problem(self, preset: str, function: Callable, seed: int = 0) -> str:
        """Calls a function on fresh arguments; returns in words where its outcome differs from the reference, or ""."""
        wanted, arguments = self.reference(*self.arguments(preset, seed)), self.arguments(preset, seed)
        result = function(*arguments)
        names = self.function.__code__.co_varnames
        got = {**dict(zip(names, arguments)), "result": result}
        parts = self.determined(self.sizes[preset]) if self.determined else {}
        for name, right in wanted.items():
            pairs = zip(got[name], right) if isinstance(right, tuple) else ((got[name], right),)
            for one, other in pairs:
                index = parts.get(name, ...)
                one, other = np.asarray(one)[index], np.asarray(other)[index]
                scale = np.max(np.abs(other), initial=1e-300)
                apart = np.max(np.abs(one - other), initial=0.0) / scale
                if one.shape != other.shape or not apart <= (1e-4 if one.dtype == np.float32 else 1e-9):
                    return f"{name}: {one.shape} against {other.shape}, {apart:.1e} apart"
        return ""


def workload(*, sizes, inputs, reference, determined=None):
    """Returns a decorator that registers a function as a workload of its name."""

    def register(function):
        made = Workload(
            name=function.__name__, function=function, kernel=polyml.kernel(function), inputs=inputs,
            reference=reference, sizes=sizes, determined=determined,
        )  # fmt: skip
        WORKLOADS[function.__name__] = made
        return made

    return register
