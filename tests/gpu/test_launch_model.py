import dataclasses
from dataclasses import replace

import numpy as np
import pytest

import polyml
from polyml.gpu.launch_model import modelled
from polyml.gpu.register_estimate import registers
from tests.cuda.compiler import compiled, nvcc
from tests.gpu import kernels, tf32
from tests.gpu.mapping import H100, launches_of, program_of

SQUARE = [(64, 64)] * 3


def roof(found, place):
    return next((each for each in found.roofline.traffic if each.place == place), None)


def test_a_product():
    """4096 x 4096, f32, in tiles of 128 x 128: A and B are loaded once for each tile."""
    (found,) = launches_of(kernels.gemm, [(4096, 4096)] * 3)
    assert [axis.loop.name for axis in found.mapped.axes] == ["j", "i"] and found.grid == (32, 32) and found.blocks == 32 * 32
    assert found.shared_bytes == 2 * (16 * 132 + 16 * 144) * 4 and found.launches == 1
    copies = {access.touch.array: made for access, made in found.of_global() if access.touch.is_copy}
    assert {made.sectors for made in copies.values()} == {4096 * 4096 * 32 // 8}
    assert found.lanes == 1 and found.roofline.operations == 2 * 4096**3
    assert roof(found, "memory").amount == found.memory_bytes == 4 * 4096**2 * 4  # A, B and C read, C written
    assert roof(found, "L1").amount == (sum(made.lines for _, made in found.of_global()) + found.wavefronts) * 128


def test_launches_of_a_loop_over_time():
    first, second = launches_of(kernels.sweeps, [1000, 1000, 7])
    assert first.launches == second.launches == 7 and first.blocks == 7 * 8 and first.grid == (8,)
    assert first.memory_bytes == 2 * 125 * 32  # what the L2 holds is moved once


def test_loads_of_a_block_are_filtered_by_l1():
    (found,) = launches_of(kernels.five_point, [(1002, 1002)] * 2)
    assert found.is_filtered and found.sectors < found.requested
    stored = sum(made.sectors for access, made in found.of_global() if access.touch.is_write)
    rows = found.mapped.axes[1].extent
    line = found.mapped.axes[0].extent // 8  # sectors, with two more or one for the halo
    assert found.sectors - stored <= found.blocks * (rows * (line + 2) + 2 * (line + 1))


def test_a_block_that_no_multiprocessor_holds():
    small = dataclasses.replace(H100, registers_per_multiprocessor=8192)
    (found,) = launches_of(kernels.gemm, SQUARE, machine=small, block=(32, 32))
    assert found.occupancy.blocks == 0 and found.occupancy.limiters == ("registers",) and roof(found, "latency") is None


def test_few_blocks_use_few_multiprocessors():
    (found,) = launches_of(kernels.every_third, [300, 100], block=(32,))
    assert found.blocks == 4 and roof(found, "L1").rate.value == 4 * H100.read("shared", 1).value


def test_what_runs_half_way_is_found_in_loops_with_gaps():
    def thirds(A, B, T):
        for t in range(T.shape[0]):
            if t % 3 == 1:
                for i in range(1, A.shape[0] - 1):
                    B[i] = A[i - 1] + A[i + 1]
                for i in range(1, A.shape[0] - 1):
                    A[i] = B[i]

    for found in launches_of(thirds, [1000, 1000, 20]):
        assert found.launches == 7 and found.memory_bytes > 0 and found.sectors > 0


def test_few_warps_wait_for_each_load():
    """Four warps with one load each wait once, all at the same time; what they load comes from memory."""
    (found,) = launches_of(kernels.every_third, [384, 128], block=(32,))
    assert roof(found, "latency").seconds == pytest.approx(H100.memory_latency_s.value)
    assert roof(found, "latency").amount == 4 * 12 * 32


def test_nothing_is_said_of_waiting_where_latencies_are_not_known():
    plain = dataclasses.replace(H100, l2_latency_s=None)
    (found,) = launches_of(kernels.every_third, [384, 128], machine=plain)
    assert roof(found, "latency") is None and found.roofline.seconds is not None
    (found,) = launches_of(kernels.gemm, SQUARE, machine=dataclasses.replace(H100, peaks=(), bandwidths=()))
    assert found.roofline.seconds is None


def test_serial_parts_run_on_one_thread():
    def both(x, y):
        for i in range(1, x.shape[0]):
            x[i] = x[i] + x[i - 1]
        for i in range(x.shape[0]):
            y[i] = x[i]

    first, second = launches_of(both, [100, 100])
    assert first.threads.count == first.blocks == 1 and first.lanes == 1 / 32 and second.threads.count > 1
    assert first.mapped.nest.serial and {each.requests.requests for each in first.accesses} == {99}


def test_matrix_instructions_have_a_roof_of_their_own():
    """A product of halves: 989 TFLOP/s in place of float32's 67; no tile is cut."""

    def product(C, A, B):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])

    mapped, program, sizes = program_of(product, [np.zeros((4096, 4096), kind) for kind in (np.float32, np.float16, np.float16)])
    (found,) = modelled(program, mapped, sizes, H100)
    (units,) = found.roofline.work
    assert units.place == "f16 tensor" and units.amount == 2 * 4096**3
    assert units.rate.value == H100.tensor_peak("f16").value == 989.4e12
    assert found.conflicts == 0 and found.shared_bytes == 3 * 2 * 128 * 64 * 2


@pytest.mark.parametrize("name", tf32.PRODUCTS)
def test_products_whose_operands_are_rounded_have_the_roof_of_tf32(name):
    kernel = polyml.kernel(tf32.PRODUCTS[name][0], cache=False, tf32=True)
    mapped, program, sizes = program_of(kernel, [np.zeros((4096, 4096), np.float32)] * 3)
    (found,) = modelled(program, mapped, sizes, H100)
    (units,) = found.roofline.work
    assert units.place == "tf32 tensor" and units.amount == 2 * 4096**3
    assert units.rate.value == H100.tensor_peak("tf32").value == 494.7e12
    assert found.conflicts == 0 and found.shared_bytes == 3 * 2 * 128 * 32 * 4


@pytest.mark.skipif(nvcc() is None, reason="there is no nvcc")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function, shapes", [
    (kernels.gemm, SQUARE), (kernels.transpose, SQUARE[:2]), (kernels.five_point, SQUARE[:2]), (kernels.matvec, [(64, 64), 64, 64]),
])  # fmt: skip
def test_registers_are_about_what_nvcc_takes(function, shapes, dtype):
    from polyml.codegen.gpu.text.dialect import DIALECTS
    from polyml.codegen.gpu.text.printer import source

    _, program, _ = program_of(function, [np.zeros(shape, dtype) for shape in shapes])
    plain = replace(program, launches={launch.name: launch for launch in program.plain})
    for each in compiled(source(plain, DIALECTS["cuda"]).text, "sm_90", nvcc()):
        assert abs(registers(program.launches[each.name], program.scop) - each.registers) <= max(16, 0.15 * each.registers)
