"""Compiles kernels for NVIDIA's GPUs:  python -m tests.cuda [--only TEXT] [--arch sm_90,sm_100]

Prints each kernel that nvcc refuses or whose registers do not suffice, and how many registers the others take. The exit status is 1 where
one is refused.

--emulate [--random N] [--order forward|backward|seeded] runs them in the emulator instead, and prints each that is wrong, that is not run
or that makes a mistake, such as a race. The exit status is 1 where one is wrong.

--mutate leaves out each barrier of ten kernels in turn, moves each bound by one, and undoes each swizzle on one side, and prints which of these
mistakes nobody notices. The exit status is 1 where there is no known reason for that.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

import numpy as np

from polyml import kernels
from polyml.kernels.arrays import workloads
from polyml.schedule.gpu import launch_plan
from tests.cuda.compiler import ARCHITECTURES, compiled, nvcc
from tests.cuda.emulator import campaign
from tests.cuda.emulator.launches import ORDERS, Run
from tests.cuda.emulator.subjects import SMALL_TILE, subjects, why_equivalent
from tests.cuda.emulator.survivors import report


def texts(only: str = "") -> Iterator[tuple[str, str]]:
    """Yields names and CUDA texts of PolyBench's kernels in loops and of the array programs."""
    for name in kernels.NAMES:
        if only in name:
            benchmark = kernels.load(name)
            arguments = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(0), benchmark.dtype)
            yield name, benchmark.kernel.inspect_cuda(*arguments.values())
    for name, workload in workloads().items():
        if only in name:
            smallest = min(workload.sizes, key=lambda each: np.prod([*workload.sizes[each].values()], dtype=float))
            yield f"arrays {name}", workload.kernel.inspect_cuda(*workload.arguments(smallest))


def main() -> int:
    """The number of refused programs decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.cuda", description=__doc__)
    parser.add_argument("--only", default="", help="the programs whose names contain this text")
    parser.add_argument("--arch", default=",".join(ARCHITECTURES), help=f"some of {', '.join(ARCHITECTURES)}")
    parser.add_argument("--emulate", action="store_true", help="run them in the emulator (tests/cuda/emulator)")
    parser.add_argument("--random", type=int, default=0, help="how many random programs to emulate")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first random program, and of the order by chance")
    parser.add_argument("--order", default="forward", choices=ORDERS, help="in which threads of a block run")
    parser.add_argument("--mutate", action="store_true", help="try mistakes in ten kernels, which the emulator has to find")
    options = parser.parse_args()
    if options.mutate:
        launch_plan.TILE = SMALL_TILE
        return report([each for each in subjects() if options.only in each.name], why_equivalent)
    if options.emulate:
        return campaign.emulate(options.only, range(options.seed, options.seed + options.random), Run(options.order, options.seed))
    compiler = nvcc()
    if compiler is None:
        parser.error("there is no nvcc; pip install polyml[gpu-test]")
    start, refused, spilling, total, most = time.monotonic(), 0, 0, 0, 0
    for name, text in texts(options.only):
        for architecture in options.arch.split(","):
            try:
                found = compiled(text, architecture, compiler)
            except ValueError as problem:
                refused += 1
                print(f"{name}, {architecture}: refused\n{problem}", flush=True)
                continue
            total += len(found)
            most = max(most, *(each.registers for each in found))
            for each in found:
                if each.spilled or each.stack_bytes:
                    spilling += 1
                    print(f"{name}, {architecture}: {each.name} spills {each.spilled} bytes, stack {each.stack_bytes}", flush=True)
    print(
        f"{total} kernels in {time.monotonic() - start:.0f} s: {refused} programs refused, {spilling} kernels spill, at most {most} registers"
    )
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
