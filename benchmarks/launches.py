"""How many kernels are launched:  python -m benchmarks.launches

For each kernel of PolyBench in loops and each array program: the kernels of one iteration of the host's loops, those among them that have one
thread, and how many there would be with a launch for each nest of the source. It needs no device.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

import polyml
from polyml import kernels
from polyml.errors import PolymlError
from polyml.kernels.arrays import workloads
from polyml.schedule.gpu import launch_fusion


def main() -> None:
    print("| program | launches | of one thread | without fusion |\n|---|---|---|---|")
    for name, kernel, arguments in programs():
        print(row(name, kernel, arguments), flush=True)


def programs() -> Iterator[tuple[str, object, tuple]]:
    """The name of each program, its kernel, and arguments of the smallest size."""
    for name in kernels.NAMES:
        found = kernels.load(name)
        yield name, found.kernel, tuple(found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype).values())
    for name, program in workloads().items():
        size = min(program.sizes.values(), key=lambda each: np.prod([max(n, 1) for n in each.values()], dtype=float))
        yield f"arrays: {name}", program.kernel, tuple(program.inputs(size, np.random.default_rng(0)))


def row(name: str, kernel: object, arguments: tuple) -> str:
    try:
        fused = launches(kernel, arguments)
        with patch.object(launch_fusion, "fused", lambda tree, *given: tree):
            separate = launches(kernel, arguments)
    except PolymlError as problem:
        return f"| {name} | not run: {problem.message} |||"
    alone = sum(": one thread" in each for each in fused)
    return f"| {name} | {len(fused)} | {alone or ''} | {len(separate)} |"


def launches(kernel: object, arguments: tuple) -> tuple[str, ...]:
    """A line for each launch, as `explain` has it."""
    made = polyml.kernel(kernel, target="opencl", cache=False)
    return made._of_these(arguments, lambda types, layouts, sizes: made._compiled_for_gpu(types, sizes, "opencl")).notes


if __name__ == "__main__":
    main()
