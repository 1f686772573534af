"""What instructions take, by hand."""

import numpy as np
import pytest

import polyml
from polyml.codegen.costs.cycle_terms import LATENCY_CYCLES, LOOP_CYCLES
from polyml.codegen.ir.array_layout import placed
from polyml.performance.throughput import START_CYCLES, cycles


def counted(function, arrays, schedule=None, **settings):
    kernel = polyml.kernel(function, cache=False, **{"threads": 1, **settings})
    if schedule is not None:
        kernel = kernel.with_schedule(schedule(kernel.schedule("source", *arrays.values())))
    program = kernel.lower(*arrays.values()).program
    sizes = {p.name: arrays[p.array].shape[p.dim] for p in program.scop.parameters}
    return cycles(program, sizes, placed(program, sizes), vector_bytes=32)


def test_a_copy_in_order_loads_and_stores():
    """A store a cycle, with a load and two halves of an instruction beside it that hardly get in the way."""

    def copied(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i]

    found = counted(copied, {"x": np.zeros(1000), "y": np.zeros(1000)}, vectorize=False)
    assert found.alone == 0 or found.shared == 0
    assert 1000 * (1 + LOOP_CYCLES) <= found.on(1) <= 1000 * (1.1 + LOOP_CYCLES) + 5 * START_CYCLES


def test_a_sum_in_order_waits():
    def total(x, s):
        for i in range(x.shape[0]):
            s[0] += x[i]

    waits = counted(total, {"x": np.zeros(1000), "s": np.zeros(1)}, vectorize=False, fp="strict").on(1)
    assert 1000 * LATENCY_CYCLES <= waits <= 1000 * (LATENCY_CYCLES + LOOP_CYCLES) + 20
    lanes = counted(total, {"x": np.zeros(1000), "s": np.zeros(1)}).on(1)
    assert lanes < waits / 3


def test_a_recurrence_waits_for_all_of_its_operations():
    def running(x):
        for i in range(1, x.shape[0]):
            x[i] = x[i] + 0.5 * (x[i - 1] + 1.0)

    found = counted(running, {"x": np.zeros(1001)}, vectorize=False, fp="strict").on(1)
    assert found >= 1000 * 2 * LATENCY_CYCLES


def test_what_a_loop_does_not_change_is_done_before_it():
    def scaled(A, x):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] = A[i, j] * x[i]

    wide = counted(scaled, {"A": np.zeros((10, 4000)), "x": np.zeros(10)}, vectorize=False).on(1)
    tall = counted(scaled, {"A": np.zeros((4000, 10)), "x": np.zeros(4000)}, vectorize=False).on(1)
    assert wide < tall < 2 * wide


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_share_what_is_parallel(threads):
    def scaled(A):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] = A[i, j] * 2.0

    found = counted(scaled, {"A": np.zeros((400, 400))}, threads=2)
    assert found.shared > 0 and found.on(threads) == found.alone + found.shared / threads
