"""Kernels written by hand: the emulator runs them as CUDA does, and finds what is wrong with them."""

import numpy as np
import pytest

from tests.cuda.emulator.compiler import compiler
from tests.cuda.emulator.launches import ORDERS, Library, Memory, Run

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no g++")


def memory(array):
    made = Memory(array.nbytes)
    made.upload(array)
    return made


def run(text, arrays, *numbers, grid=(1, 1, 1), block=(32, 1, 1), order="forward", counts=False):
    """(faults, counts, arrays afterwards)"""
    library = Library(text)
    given = [memory(each) for each in arrays]
    (name,) = library.kernels
    faults, counted = library.launch(name, grid, block, [*given, *numbers], Run(order, 7, counts))
    after = [each.copy() for each in arrays]
    for one, array in zip(given, after):
        one.download(array)
    return faults, counted, after


REVERSED = """
extern "C" __global__ void __launch_bounds__(64)
reversed(const float *__restrict__ A, float *__restrict__ B)
{
    __shared__ float tile[64];
    const int t = threadIdx.x;
    tile[t] = A[t + 64 * blockIdx.x];
    __syncthreads();
    B[t + 64 * blockIdx.x] = tile[63 - t];
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_threads_of_a_block_meet_at_a_barrier(order):
    A = np.arange(128, dtype=np.float32)
    faults, _, (_, B) = run(REVERSED, [A, np.zeros_like(A)], grid=(2, 1, 1), block=(64, 1, 1), order=order)
    assert not faults and (B == np.concatenate([A[63::-1], A[:63:-1]])).all()


@pytest.mark.parametrize("order", ORDERS)
def test_a_barrier_that_is_left_out_is_a_race_with_both_threads_lines_and_the_array(order):
    A = np.arange(64, dtype=np.float32)
    faults, _, _ = run(REVERSED.replace("__syncthreads();", ""), [A, A.copy()], block=(64, 1, 1), order=order)
    race = next(each for each in faults if each.kind == "race in a block")
    assert race.array == "tile" and {race.one.line, race.other.line} == {7, 9}
    assert race.one.thread[0] + race.other.thread[0] == 63 and race.one.is_write != race.other.is_write


def test_shared_memory_that_nobody_wrote_is_told():
    text = REVERSED.replace("tile[t] = A[t + 64 * blockIdx.x];", "if (t < 63) tile[t] = A[t];")
    (fault,), _, _ = run(text, [np.ones(64, np.float32)] * 2, block=(64, 1, 1))
    assert (fault.kind, fault.array, fault.offset_bytes) == ("read of an element that was never written", "tile", 252)
    assert (fault.one.line, fault.one.thread) == (9, (0, 0, 0))


def test_an_index_out_of_bounds_of_shared_memory_is_told():
    (fault,), _, _ = run(REVERSED.replace("63 - t", "64 - t"), [np.ones(64, np.float32)] * 2, block=(64, 1, 1))
    assert (fault.kind, fault.array, fault.offset_bytes, fault.one.line) == ("index out of bounds", "tile", 64, 9)


@pytest.mark.parametrize(("index", "offset"), [("t + 1", 256), ("t - 1", -4), ("t + 100000000", 400000000)])
def test_an_access_out_of_bounds_of_an_argument_is_told(index, offset):
    (fault,), _, _ = run(REVERSED.replace("A[t + 64 * blockIdx.x]", f"A[{index}]"), [np.ones(64, np.float32)] * 2, block=(64, 1, 1))
    assert (fault.kind, fault.array, fault.offset_bytes, fault.one.line) == ("access out of bounds", "A", offset, 7)


def test_blocks_that_write_one_element_are_a_race():
    text = 'extern "C" __global__ void last(int *B) {\n    B[threadIdx.x] = blockIdx.x;\n}\n'
    (fault,), _, _ = run(text, [np.zeros(32, np.int32)], grid=(2, 1, 1))
    assert (fault.kind, fault.array, fault.one.block, fault.other.block) == ("race between blocks", "B", (1, 0, 0), (0, 0, 0))


@pytest.mark.parametrize("reader", [0, 1])
def test_a_block_that_reads_what_another_writes_is_a_race(reader):
    text = f'extern "C" __global__ void moved(int *A, int *B) {{\n    if (blockIdx.x == {reader}) B[threadIdx.x] = A[threadIdx.x];\n    else A[threadIdx.x] = 1;\n}}\n'
    (fault,), _, _ = run(text, [np.zeros(32, np.int32)] * 2, grid=(2, 1, 1))
    assert (fault.kind, fault.array) == ("race between blocks", "A") and {fault.one.line, fault.other.line} == {2, 3}


@pytest.mark.parametrize(("order", "last"), [("forward", 2), ("backward", 0)])
def test_blocks_run_in_the_order_of_threads(order, last):
    text = 'extern "C" __global__ void last(int *B) {\n    atomicExch(B, (int)blockIdx.x);\n}\n'
    faults, _, (B,) = run(text, [np.zeros(1, np.int32)], grid=(3, 1, 1), order=order)
    assert not faults and B[0] == last


def test_atomics_do_not_race():
    text = 'extern "C" __global__ void sum(int *B, double *C) {\n    atomicAdd(B, 1);\n    atomicAdd(&C[0], 0.5);\n    atomicMax(&B[1], (int)threadIdx.x);\n}\n'
    faults, _, (B, C) = run(text, [np.zeros(2, np.int32), np.zeros(1)], grid=(3, 1, 1), block=(40, 1, 1))
    assert not faults and B.tolist() == [120, 39] and C[0] == 60


def test_a_barrier_that_not_all_threads_reach_is_told():
    text = 'extern "C" __global__ void some(int *B) {\n    if (threadIdx.x < 5)\n        __syncthreads();\n    B[threadIdx.x] = 1;\n}\n'
    (fault,), _, _ = run(text, [np.zeros(32, np.int32)])
    assert (fault.kind, fault.one.line) == ("barrier that not all threads reach", 3)


def test_threads_at_two_barriers_are_told():
    text = 'extern "C" __global__ void two(int *B) {\n    if (threadIdx.x < 5)\n        __syncthreads();\n    else\n        __syncthreads();\n}\n'
    (fault,), _, _ = run(text, [np.zeros(32, np.int32)])
    assert fault.kind == "threads at different barriers" and {fault.one.line, fault.other.line} == {3, 5}


@pytest.mark.parametrize("order", ORDERS)
def test_shuffles_sum_up_a_warp(order):
    text = """
extern "C" __global__ void sums(const double *A, double *B, int *C)
{
    double down = A[threadIdx.x], all = down;
    for (int step = 16; step > 0; step /= 2) {
        down += __shfl_down_sync(0xffffffff, down, step);
        all += __shfl_xor_sync(0xffffffff, all, step);
    }
    if (threadIdx.x % 32 == 0) B[threadIdx.x / 32] = down;
    C[threadIdx.x] = all == __shfl_sync(0xffffffff, down, 0) && __shfl_up_sync(0xffffffffu, (int)threadIdx.x, 1, 8) == (threadIdx.x % 8 ? threadIdx.x - 1 : threadIdx.x);
}
"""
    A = np.arange(64.0)
    faults, _, (_, B, C) = run(text, [A, np.zeros(2), np.zeros(64, np.int32)], block=(64, 1, 1), order=order)
    assert not faults and B.tolist() == [A[:32].sum(), A[32:].sum()] and C.all()


def test_a_shuffle_that_some_lanes_do_not_reach_is_told():
    text = 'extern "C" __global__ void some(int *B) {\n    if (threadIdx.x == 3) __syncthreads();\n    B[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1, 1);\n}\n'
    (fault,), _, _ = run(text, [np.zeros(32, np.int32)])
    assert (fault.kind, fault.one.line) == ("warp operation that not all lanes reach", 3)


WITHIN_A_WARP = """
extern "C" __global__ void moved(int *B)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncwarp();
    B[threadIdx.x] = tile[threadIdx.x ^ LANES];
}
"""


def test_syncwarp_orders_the_lanes_of_a_warp_and_no_others():
    good, _, (B,) = run(WITHIN_A_WARP.replace("LANES", "31"), [np.zeros(64, np.int32)], block=(64, 1, 1))
    bad, _, _ = run(WITHIN_A_WARP.replace("LANES", "32"), [np.zeros(64, np.int32)], block=(64, 1, 1))
    none, _, _ = run(WITHIN_A_WARP.replace("LANES", "31").replace("__syncwarp();", ""), [np.zeros(64, np.int32)], block=(64, 1, 1))
    assert not good and (B == np.arange(64) ^ 31).all()
    assert "race in a block" in {each.kind for each in bad} and "race in a block" in {each.kind for each in none}


def test_requests_sectors_and_bank_conflicts_are_counted():
    text = """
extern "C" __global__ void strided(const float *A, float *B, double *C)
{
    __shared__ float tile[32][33];
    __shared__ float flat[32][32];
    tile[threadIdx.x][0] = A[threadIdx.x];
    flat[threadIdx.x][0] = A[2 * threadIdx.x];
    __syncthreads();
    B[8 * threadIdx.x] = tile[threadIdx.x][0];
    C[threadIdx.x] = flat[threadIdx.x / 2][0];
}
"""
    arrays = [np.ones(64, np.float32), np.ones(256, np.float32), np.ones(32)]
    _, counted, _ = run(text, arrays, counts=True)
    found = {(each.line, each.array): (each.requests, each.sectors, each.wavefronts, each.least_wavefronts) for each in counted}
    assert found == {
        (6, "tile"): (1, 0, 1, 1), (6, "A"): (1, 4, 0, 0), (7, "flat"): (1, 0, 32, 1), (7, "A"): (1, 8, 0, 0),
        (9, "B"): (1, 32, 0, 0), (9, "tile"): (1, 0, 1, 1), (10, "C"): (1, 8, 0, 0), (10, "flat"): (1, 0, 16, 1),
    }  # fmt: skip


def test_a_vector_is_one_access():
    text = 'extern "C" __global__ void four(const float *A, float *B) {\n    float4 v = *(const float4 *)&A[4 * threadIdx.x];\n    *(float4 *)&B[4 * threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);\n}\n'
    A = np.arange(128, dtype=np.float32)
    faults, counted, (_, B) = run(text, [A, np.zeros_like(A)], counts=True)
    assert not faults and (B.reshape(-1, 4) == A.reshape(-1, 4)[:, ::-1]).all()
    assert [(each.bytes, each.requests, each.sectors) for each in counted] == [(16, 1, 16)] * 2


@pytest.mark.parametrize("waits", ["", "__syncwarp();"])
def test_a_launch_that_does_not_end_is_told(waits):
    text = f'extern "C" __global__ void endless(volatile int *B) {{\n    while (B[0] == 0) {{ {waits} }}\n}}\n'
    library, B = Library(text), memory(np.zeros(1, np.int32))
    (fault,), _ = library.launch("endless", (1, 1, 1), (32, 1, 1), [B], Run(most_seconds=1))
    assert fault.kind == "launch that does not end in time"
