"""Kernels on an OpenCL device against plain OpenCL of the same loops:  python -m benchmarks.opencl [--device TEXT] [--runs N]

A plain kernel has one work-item for each element, in blocks of 16 x 16; for stencils the better of 16 x 16 and 256 x 1. Both get their arguments as NumPy arrays
and copy them to the device and back. Interleaved runs, medians; compilation is not among them. Needs pyopencl and a device.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import polyml
from polyml.runtime.gpu.opencl import OpenCl, open_device

GEMM = """
__kernel void gemm(__global float *C, __global const float *A, __global const float *B, long n, long m, long k, float alpha, float beta)
{
    long j = get_global_id(0), i = get_global_id(1);
    if (i < n && j < m) {
        float sum = beta * C[i*m + j];
        for (long l = 0; l < k; l++)
            sum += alpha * A[i*k + l] * B[l*m + j];
        C[i*m + j] = sum;
    }
}"""
JACOBI = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void sweep(__global double *B, __global const double *A, long n)
{
    long j = get_global_id(0) + 1, i = get_global_id(1) + 1;
    if (i < n - 1 && j < n - 1)
        B[i*n + j] = 0.2 * (A[i*n + j] + A[i*n + j - 1] + A[i*n + j + 1] + A[(i + 1)*n + j] + A[(i - 1)*n + j]);
}"""


def total(A):
    """Returns the sum of the numbers."""
    s = np.float32(0)
    for i in range(A.shape[0]):
        s += A[i]
    return s


def column_sums(A):
    """Returns the sum of each column."""
    return np.sum(A, axis=0)


def softmax(A):
    """Returns the softmax of each row."""
    e = np.exp(A - np.max(A, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


SHAPES = ((16, 16), (256, 1))


def gemm(alpha, beta, C, A, B):
    """C := alpha A B + beta C."""
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            C[i, j] *= beta
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def jacobi_2d(steps, A, B):
    """Runs so many pairs of sweeps of five points."""
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


def plain(device: OpenCl, text: str, launches: Callable, shape: tuple[int, int]) -> Callable[..., None]:
    """Returns a function of arrays, numbers and how many work-items there are that runs a plain kernel on them. launches: (name, arrays, numbers)."""
    module, queue = device.compile(text), device.queue()
    kernels = {name: module.kernel(name, (*shape, 1)) for name, *_ in launches()}

    def run(arrays: list[np.ndarray], items: tuple[int, int]) -> None:
        buffers = [device.allocate(array.nbytes) for array in arrays]
        for buffer, array in zip(buffers, arrays):
            queue.upload(buffer, array)
        grid = tuple(-(-number // size) for number, size in zip(items, shape))
        for name, chosen, numbers in launches():
            kernels[name](queue, (*grid, 1), [*(buffers[k] for k in chosen), *numbers])
        for buffer, array in zip(buffers, arrays):
            queue.download(buffer, array)

    return run


def seconds(function: Callable[[], object], clock: Callable[[], float]) -> float:
    """Returns how long one call takes, by the clock."""
    start = clock()
    function()
    return clock() - start


def compared(ours: Callable[[], object], others: dict[tuple[int, int], Callable[[], object]], options: argparse.Namespace) -> str:
    """Returns the medians of our calls and of the best of the others, of interleaved runs behind one that is not counted, and in how many
    of these runs our call was faster than all others.
    """
    taken: dict[object, list[float]] = {"ours": [], **{shape: [] for shape in others}}
    clock, runs = time.process_time if options.processor_time else time.perf_counter, options.runs
    for number in range(runs + 1):
        for name, function in (("ours", ours), *others.items()):
            spent = seconds(function, clock)
            if number:
                taken[name].append(spent)
    medians = {name: statistics.median(each) for name, each in taken.items()}
    mine, best = medians.pop("ours"), min(medians.values())
    rounds = sum(times[0] < min(times[1:]) for times in zip(*taken.values()))
    return f"polyml {mine:.4f} s, plain {best:.4f} s, {best / mine:.2f} times as fast, faster in {rounds} of {runs} rounds"


def main() -> None:
    """Prints both comparisons, or one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.opencl", description=__doc__)
    parser.add_argument("--device", default="", help="a part of the device's or its platform's name")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--processor-time", action="store_true", help="of all threads, for a processor that has other work too")
    parser.add_argument("--only", choices=["gemm", "jacobi_2d", "sums"], help="one of the comparisons")
    options = parser.parse_args()
    device = open_device(options.device)
    print(device.name)
    if options.only in (None, "gemm"):
        print(_of_gemm(device, options))
    if options.only in (None, "jacobi_2d"):
        print(_of_jacobi(device, options))
    if options.only in (None, "sums"):
        for line in _of_sums(options):
            print(line, flush=True)


def _of_sums(options: argparse.Namespace) -> Iterator[str]:
    """Yields comparisons of updates that threads share with the same kernels under fp="strict", where one thread runs each sum."""
    rng, target = np.random.default_rng(0), polyml.Target.opencl(options.device)
    cases: tuple[tuple[Callable, tuple[int, ...], str], ...] = (
        (total, (10_000_000,), "one sum"), (column_sums, (1_000_000, 32), "32 columns"), (softmax, (64, 100_000), "64 rows"),
    )  # fmt: skip
    for function, shape, told in cases:
        A = rng.random(shape, dtype=np.float32)
        shared, alone = (polyml.kernel(function, target=target, fallback="error", fp=fp) for fp in ("reassociate", "strict"))
        found = compared(partial(shared, A), {(1, 1): partial(alone, A)}, options)
        yield f"{function.__name__} f32 {' x '.join(map(str, shape))}, {told}: {found.replace('plain', 'one thread each')}"


def _of_gemm(device: OpenCl, options: argparse.Namespace) -> str:
    rows, rng = 1024, np.random.default_rng(0)
    X, Y, Z = (rng.random((rows, rows), dtype=np.float32) for _ in range(3))
    numbers = [*map(np.int64, (rows, rows, rows)), np.float32(1.5), np.float32(1.2)]
    kernel = polyml.kernel(gemm, target=polyml.Target.opencl(options.device), fallback="error")
    run = plain(device, GEMM, lambda: [("gemm", (0, 1, 2), numbers)], SHAPES[0])
    others = {SHAPES[0]: lambda: run([Z.copy(), X, Y], (rows, rows))}
    found = compared(lambda: kernel(np.float32(1.5), np.float32(1.2), Z.copy(), X, Y), others, options)
    return f"gemm f32 {rows}: {found}"


def _of_jacobi(device: OpenCl, options: argparse.Namespace) -> str:
    n, steps, rng = 1000, 50, np.random.default_rng(0)
    A, B = (rng.random((n, n)) for _ in range(2))
    kernel = polyml.kernel(jacobi_2d, target=polyml.Target.opencl(options.device), fallback="error")
    sweeps = [("sweep", pair, [np.int64(n)]) for _ in range(steps) for pair in ((1, 0), (0, 1))]
    runs = {shape: plain(device, JACOBI, lambda: sweeps, shape) for shape in SHAPES}
    others = {shape: partial(lambda swept: swept([A.copy(), B.copy()], (n - 2, n - 2)), swept) for shape, swept in runs.items()}
    found = compared(lambda: kernel(steps, A.copy(), B.copy()), others, options)
    return f"jacobi_2d f64 {n}, {2 * steps} sweeps: {found}"


if __name__ == "__main__":
    main()
