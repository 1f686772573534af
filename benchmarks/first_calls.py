"""How long it takes from a decorated function to its first result on an OpenCL device:  python -m benchmarks.first_calls [--device TEXT]

For each kernel two processes, one after the other: the first one finds an empty folder for what is kept on disk, the second one what the first one left
there. Each prints the seconds of the call that the driver took to compile or load its program, to run launches (for which pocl compiles once more),
to copy arrays and to be waited for, and the rest, polyml's own.
The driver keeps no programs of its own (POCL_KERNEL_CACHE=0, PYOPENCL_NO_CACHE=1). Importing polyml and opening the device are not among them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import polyml
from benchmarks.gpu.programs import convolution
from benchmarks.opencl import gemm, jacobi_2d, softmax
from polyml.runtime.gpu import opencl


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, dtype=np.float32)


KERNELS: dict[str, tuple[Callable, Callable[[], tuple]]] = {
    "gemm": (gemm, lambda: (np.float32(1.5), np.float32(1.2), *(_numbers(64, 64) for _ in range(3)))),
    "jacobi_2d": (jacobi_2d, lambda: (2, _numbers(64, 64).astype(float), _numbers(64, 64).astype(float))),
    "conv2d": (convolution, lambda: (_numbers(1, 16, 14, 14), _numbers(1, 8, 16, 16), _numbers(16, 8, 3, 3))),
    "softmax": (softmax, lambda: (_numbers(16, 64),)),
}


def first_call(name: str, device: str) -> tuple[float, float]:
    """Returns the seconds from a kernel's decoration to its first result, and those of them that the driver took."""
    function, arguments = KERNELS[name]
    target, given, spent = polyml.Target.opencl(device), arguments(), [0.0]
    opened = opencl.open_device(device)

    def timed(function: Callable) -> Callable:
        def run(*args: object, **named: object) -> object:
            start = time.perf_counter()
            try:
                return function(*args, **named)
            finally:
                spent[0] += time.perf_counter() - start

        return run

    waits = ((opened.cl.CommandQueue, "finish"), (opened.cl, "enqueue_copy"))  # in which pocl compiles what is launched
    builds = ((opened.cl.Program, "build"), (opened.cl.Program, "get_info"))  # pocl compiles where it is asked for machine code
    for owner, call in (*builds, (opened.cl, "enqueue_nd_range_kernel"), *waits):
        setattr(owner, call, timed(getattr(owner, call)))
    start = time.perf_counter()
    polyml.kernel(function, target=target, fallback="error")(*given)
    return time.perf_counter() - start, spent[0]


def main() -> None:
    """Prints a row for each kernel."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_calls", description=__doc__)
    parser.add_argument("--device", default="", help="a part of the device's or its platform's name")
    parser.add_argument("--once", choices=KERNELS, help="in this process: the call's seconds and the driver's")
    parser.add_argument("--runs", type=int, default=3, help="of which the median counts")
    options = parser.parse_args()
    if options.once:
        print(*first_call(options.once, options.device))
        return
    print("kernel       first process: polyml   driver    second process: polyml   driver   seconds")
    for name in KERNELS:
        found = np.median([_processes(name, options.device) for _ in range(options.runs)], axis=0)
        print(f"{name:12s} {found[0]:22.3f} {found[1]:8.3f} {found[2]:25.3f} {found[3]:8.3f}", flush=True)


def _processes(name: str, device: str) -> list[float]:
    """Returns polyml's and the driver's seconds in a process that finds nothing on disk, and in another one behind it."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {**os.environ, "XDG_CACHE_HOME": folder, "POCL_KERNEL_CACHE": "0", "PYOPENCL_NO_CACHE": "1"}
        command = [sys.executable, "-m", "benchmarks.first_calls", "--once", name, "--device", device]
        found = list[float]()
        for _ in range(2):
            printed = subprocess.run(command, env=kept, capture_output=True, text=True, check=True).stdout
            whole, driver = map(float, printed.split())
            found += [whole - driver, driver]
    return found


if __name__ == "__main__":
    main()
