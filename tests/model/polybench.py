"""PolyBench's kernels at sizes where every instance can be traced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyml import kernels

_ODD = (4, 3, 6, 5, 2, 7)


@dataclass(frozen=True)
class Case:
    name: str
    function: object
    inputs: dict

    @property
    def args(self) -> list:
        """Fresh copies of the arguments."""
        return [v.copy() if isinstance(v, np.ndarray) else v for v in self.inputs.values()]


def case(name: str) -> Case:
    """The kernel with small, unequal sizes and random inputs."""
    benchmark = kernels.load(name)
    parameters = next(iter(benchmark.sizes.values()))
    size = dict(zip(parameters, _ODD))
    inputs = benchmark.inputs(size, np.random.default_rng(7), np.dtype(benchmark.dtype))
    return Case(name, benchmark.kernel.py_func, inputs)


NAMES = kernels.NAMES
