"""What instructions give: the emulator's results against tables and NumPy, and against what a GPU has written, where one has.

`python -m benchmarks.gpu --vectors tests/cuda/vectors.npz` writes the file on a machine with an NVIDIA GPU.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from benchmarks.gpu.vectors import Emulated, instructions
from polyml.codegen.gpu.block_loops.fragment_layouts import INSTRUCTIONS
from polyml.dtypes import BF16, F16, F32
from tests.cuda.emulator.compiler import compiler
from tests.cuda.emulator.image import environment
from tests.gpu.tf32 import rounded

FILE = Path(__file__).parent / "vectors.npz"
pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no g++")
EVERY = {each.name: each for each in instructions()}


def emulated(name):
    each = EVERY[name]
    shape, kind = each.results
    return Emulated().run(each.text, name, each.operands, np.zeros(shape, kind))


@pytest.mark.skipif(not FILE.exists(), reason="no GPU has written vectors yet")
@pytest.mark.parametrize("name", EVERY)
def test_the_emulator_gives_what_a_gpu_did(name):
    with np.load(FILE) as known:
        if name not in known:
            pytest.skip("no GPU has written what this instruction gives yet")
        assert np.array_equal(emulated(name).view(np.uint8), known[name].view(np.uint8))


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_lane_gets_two_neighbours_of_a_row_of_each_matrix(count, transposed):
    matrices = EVERY["ldmatrix_x1"].operands[0].reshape(4, 8, 8)
    found = emulated(f"ldmatrix_x{count}{'_trans' * transposed}").view(np.uint16).reshape(count, 32, 2)
    for number in range(count):
        matrix = matrices[number].T if transposed else matrices[number]
        assert np.array_equal(found[number], matrix.reshape(32, 2))


@pytest.mark.parametrize("dtype, kind", [(F16, np.float16), (BF16, ml_dtypes.bfloat16)])
def test_a_matrix_instruction_is_a_product_of_the_matrices_that_the_tables_of_ptx_describe(dtype, kind):
    layout, each = INSTRUCTIONS[dtype], EVERY[f"mma_m16n8k16_{dtype.name}"]
    left, right, before = each.operands
    A, B, C = np.zeros((16, 16)), np.zeros((8, 16)), np.zeros((16, 8))
    for fragments, table, matrix in ((left, layout.left, A), (right, layout.right, B)):
        values = fragments.view(kind).reshape(len(fragments), 32, 2).astype(float)
        for lane in range(32):
            for element in range(2 * len(fragments)):
                matrix[table.position(lane, element)] = values[element // 2, lane, element % 2]
    for lane in range(32):
        for element in range(4):
            C[layout.sums.position(lane, element)] = before[element, lane]
    wanted, found = C + A @ B.T, emulated(each.name)
    assert all(found[element, lane] == wanted[layout.sums.position(lane, element)] for lane in range(32) for element in range(4))


def test_the_matrix_instruction_of_tf32_is_a_product_of_the_matrices_that_the_tables_of_ptx_describe():
    layout, each = INSTRUCTIONS[F32], EVERY["mma_m16n8k8_tf32"]
    left, right, before = each.operands
    A, B, C = np.zeros((16, 8)), np.zeros((8, 8)), np.zeros((16, 8))
    for fragments, table, matrix in ((left, layout.left, A), (right, layout.right, B), (before, layout.sums, C)):
        for element, values in enumerate(fragments.view(np.float32)):
            for lane, value in enumerate(values):
                matrix[table.position(lane, element)] = value
    wanted, found = C + A @ B.T, emulated(each.name)
    assert all(found[element, lane] == wanted[layout.sums.position(lane, element)] for lane in range(32) for element in range(4))


def test_numbers_are_rounded_to_tf32_to_nearest_and_ties_away_from_zero():
    """Against arithmetic on the numbers' parts; no GPU has confirmed it. Of a NaN, that it is one."""
    bits = EVERY["cvt_rna_tf32"].operands[0]
    found, wanted = emulated("cvt_rna_tf32").view(np.float32), rounded(bits.view(np.float32))
    assert len(bits) > 1000 and np.array_equal(np.signbit(found), bits >> 31 == 1)
    assert np.array_equal(np.isnan(found), np.isnan(bits.view(np.float32))) and np.array_equal(found, wanted, equal_nan=True)


def test_instructions_that_no_gpu_has_confirmed_are_named_in_the_documents():
    with np.load(FILE) as known:
        missing = {*EVERY} - {*known}
    text = (FILE.parents[2] / "docs" / "gpus.md").read_text()
    assert all(name in text for name in missing)


def test_halves_are_rounded_as_numpy_rounds_them():
    every = EVERY["float_of_half"].operands[0]
    assert np.array_equal(emulated("float_of_half"), every.view(np.float16).astype(np.float32), equal_nan=True)
    for name in ("half_of_double", "half_of_float"):
        with np.errstate(over="ignore"):
            wanted = EVERY[name].operands[0].astype(np.float16)
        assert np.array_equal(emulated(name).view(np.float16), wanted, equal_nan=True)


def test_bytes_that_are_not_copied_are_zeros():
    values, counts = EVERY["cp_async_zeros"].operands
    kept = np.arange(128) % 4 * 4 < np.repeat(counts, 4)
    assert np.array_equal(emulated("cp_async_zeros"), np.where(kept, values, 0))


def test_shuffles_take_from_lanes_of_their_own_part_of_the_warp():
    (values,) = EVERY["warp_operations"].operands
    found, lane = emulated("warp_operations"), np.arange(32)
    sources = []
    for width in (32, 8):
        first, own = lane // width * width, lane % width
        at, down, up, across = 5 % width, own + 3, own - 3, own ^ 6
        sources.append(
            (np.full(32, at) + first, np.where(down < width, down, own) + first, np.where(up >= 0, up, own) + first, across + first)
        )
    for number, pair in enumerate(zip(*sources)):
        for half, source in enumerate(pair):
            assert np.array_equal(found[2 * number + half], values[source])
    assert (found[8] == np.sum((values.astype(np.int64) & 1) << lane).astype(np.uint32).view(np.int32)).all()
    assert (found[9] == 1).all() and (found[10] == 0).all()


@pytest.mark.skipif(find_spec("cuda") is None, reason="there is no cuda.bindings")
def test_the_driver_of_a_gpu_runs_the_same_kernels(tmp_path):
    """The emulator stands for the driver's library in a process of its own."""
    text = f"""
import numpy as np
from benchmarks.gpu.vectors import Hardware, instructions
each = next(each for each in instructions() if each.name == "mma_m16n8k16_f16")
shape, kind = each.results
np.save({str(tmp_path / "found.npy")!r}, Hardware().run(each.text, each.name, each.operands, np.zeros(shape, kind)))
"""
    ran = subprocess.run([sys.executable, "-c", text], env=environment(tmp_path), capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert np.array_equal(np.load(tmp_path / "found.npy"), emulated("mma_m16n8k16_f16"))
