"""What an array program needs to be run, checked and timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import polyml

WORKLOADS: dict[str, Workload] = {}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One program.

    inputs(size, rng) gives its arguments, reference(*arguments) what is right after the call: {name: array} of changed
    arguments and of "result" (a tuple where it returns one), computed another way. sizes: preset -> {parameter: int}.
    determined(size): {name: index of the part that the inputs determine}, all of it where None.
    """

    name: str
    function: Callable
    kernel: Any
    inputs: Callable[[Mapping[str, int], np.random.Generator], tuple]
    reference: Callable[..., dict]
    sizes: Mapping[str, Mapping[str, int]]
    determined: Callable[[Mapping[str, int]], dict] | None = None

    def arguments(self, preset: str, seed: int = 0) -> tuple:
        """Fresh arguments."""
        return self.inputs(self.sizes[preset], np.random.default_rng(seed))

    def problem(self, preset: str, function: Callable, seed: int = 0) -> str:
        """Runs `function` on fresh arguments; where its outcome is not the reference's, in words, else ""."""
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
    """Registers the function below as a workload of its name."""

    def register(function):
        made = Workload(
            name=function.__name__, function=function, kernel=polyml.kernel(function), inputs=inputs,
            reference=reference, sizes=sizes, determined=determined,
        )  # fmt: skip
        WORKLOADS[function.__name__] = made
        return made

    return register
