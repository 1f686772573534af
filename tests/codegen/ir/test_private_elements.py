"""Local arrays that variables take the place of in kernels for GPUs, and those that must stay."""

import numpy as np
import pytest

import polyml
from polyml.codegen.gpu.program import gpu_program
from polyml.codegen.ir.private_elements import private_elements
from polyml.kernels.arrays import workloads
from polyml.schedule.gpu.launch_plan import planned
from tests.gpu.mapping import problem


def window_sums(A):
    T = np.zeros(A.shape[0] - 2)
    out = np.zeros(A.shape[0] - 2)
    for i in range(A.shape[0] - 2):
        for k in range(3):
            T[i] += A[i + k] * k
        out[i] = T[i] * 0.5 + A[i]
    return out


def neighbours(A):
    T = np.zeros(A.shape[0])
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        T[i] = A[i] * 2.0
    for i in range(1, A.shape[0]):
        out[i] = T[i] + T[i - 1]
    return out


def carried(A):
    T = np.zeros(A.shape)
    out = np.zeros(A.shape)
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            T[i, j] = T[i, j - 1] + A[i, j]
            out[i, j] = T[i, j] * 2.0
    return out


def steps_of_a_thread(A):
    T = np.zeros(A.shape[0])
    out = np.zeros(A.shape[0])
    for t in range(3):
        for i in range(A.shape[0]):
            out[i] = T[i] + 1.0
            T[i] = out[i] + A[i]
    return out


@pytest.mark.parametrize("function, shape, expected", [
    (window_sums, (9,), {"T"}), (neighbours, (9,), set()), (carried, (4, 5), set()), (steps_of_a_thread, (6,), {"T"}),
])  # fmt: skip
def test_arrays_of_which_no_value_leaves_an_iteration_are_private(function, shape, expected):
    given, _ = problem(function, np.zeros(shape))
    program = gpu_program(given.scop, planned(given.scop, given.dependences, given.reductions))
    found = private_elements([body for launch in program.launches.values() for body in launch.bodies], given.scop)
    assert found == expected


def test_a_launch_that_another_one_reads_keeps_its_array():
    """Bodies of launches are no list of nodes, though what they write and read first has the same subscripts."""
    given, _ = problem(neighbours, np.zeros(9))
    program = gpu_program(given.scop, planned(given.scop, given.dependences, given.reductions))
    text = polyml.kernel(neighbours).inspect_opencl("f64[:]")
    assert len(program.plain) > 1 and text.count("*restrict T") == len(program.plain)


def test_private_elements_are_variables_of_a_thread():
    program = workloads()["bilateral"]
    arguments = program.inputs({name: 12 for name in program.sizes["LARGE"]}, np.random.default_rng(0))
    text = polyml.kernel(program.kernel).inspect_opencl(*arguments)
    assert text.count("__kernel") == 1 and "    double total;\n" in text and "*restrict total" not in text
