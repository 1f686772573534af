"""Which size of blocks a launch has."""

import numpy as np
import pytest

from polyml.codegen.gpu.program import gpu_program
from polyml.schedule.gpu.launch_plan import Traits, planned
from polyml.schedule.gpu.team_choice import MULTIPROCESSORS, cheapest, cost
from tests.gpu import kernels
from tests.gpu.mapping import problem

THREADS = 256, 256  # of a block of either form
USUAL, SMALL = cost((16, 16), (8, 8)), cost((16, 16), (4, 4))


def test_a_block_takes_longer_for_each_of_its_iterations_the_smaller_it_is():
    assert SMALL < USUAL < 4 * SMALL


@pytest.mark.parametrize(
    "n, is_small", [(64, True), (512, True), (1000, True), (1400, True), (1536, True), (2048, False), (4000, False)]
)
def test_few_blocks_are_smaller(n, is_small):
    blocks = (-(-n // 128)) ** 2, (-(-n // 64)) ** 2
    assert cheapest(blocks, (USUAL, SMALL), THREADS) == is_small


def test_equal_times_take_the_first_form():
    assert cheapest((1, 1), (5, 5), THREADS) == 0 and cheapest((0, 0), (5, 4), THREADS) == 0
    assert cheapest((2 * MULTIPROCESSORS, 2 * MULTIPROCESSORS + 1), (5, 4), THREADS) == 0


def test_a_multiprocessor_with_few_threads_takes_as_long_as_with_enough():
    """104 blocks of 128 threads keep each a quarter busy; twice as many of two thirds of the cost, a half."""
    assert cheapest((104, 200), (12288, 7168), (128, 128)) == 1


def runs(sizes, in_turn=False):
    given, _ = problem(kernels.gemm, *[np.zeros((9, 9), np.float32)] * 3)
    program = gpu_program(given.scop, planned(given.scop, given.dependences, given.reductions, Traits(in_turn)))
    return [launch.name for launch, _ in program.runs(f"{given.scop.name}_0", sizes)]


def sizes(n):
    return dict.fromkeys(("C_0", "C_1", "A_0", "A_1", "B_0", "B_1"), n)


def test_the_host_chooses_by_the_sizes():
    assert runs(sizes(1000)) == ["gemm_0_small"] and runs(sizes(4000)) == ["gemm_0"]


def test_devices_that_run_threads_in_turn_have_one_form():
    assert runs(sizes(64), in_turn=True) == ["gemm_0"]
