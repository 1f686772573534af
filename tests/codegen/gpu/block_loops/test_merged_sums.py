"""Sums for blocks whose threads run positions of merged loops."""

import numpy as np
import pytest

import polyml
from polyml.codegen.gpu.block_loops.shared_work import Instructions
from polyml.codegen.gpu.block_loops.swizzles import RowOrder
from polyml.codegen.gpu.program import gpu_program
from polyml.errors import ScheduleError
from polyml.schedule.gpu import launch_plan
from polyml.schedule.gpu.launch_plan import planned
from polyml.schedule.gpu.loop_roles import GridAxis
from polyml.schedule.gpu.mapping import Mapped
from tests.codegen.gpu.block_loops.test_swizzles import most_in_a_bank
from tests.gpu.mapping import problem, source_nests
from tests.gpu.sums import SUMS


def launch_of(name, dtype=np.float32, copies=True):
    function, calls = SUMS[name]
    given, _ = problem(function, *(np.zeros(shape, dtype) for shape in calls[0]))
    mapped = planned(given.scop, given.dependences, given.reductions)
    launch, *smaller = gpu_program(given.scop, mapped, Instructions(copies=copies)).launches.values()
    assert [each.name for each in smaller] in ([], [f"{launch.name}_small"])
    return launch, given.scop


@pytest.mark.parametrize("name", SUMS)
def test_all_blocks_run_one_version_of_positions(name):
    launch, scop = launch_of(name)
    (version,) = launch.versions
    assert version.merged.is_asynchronous and [axis.threads * axis.items for axis in launch.axes[:2]] == [128, 64]
    assert sum(each.size_bytes for each in version.merged.operands) <= 48 << 10
    assert version.merged.is_loaded(scop) == (not name.startswith("convolution"))


def test_neighbouring_threads_copy_neighbouring_elements():
    x, w = launch_of("convolution")[0].versions[0].merged.operands
    assert (x.array, x.along_sum, x.positions, x.step) == ("x", False, 1, 1)  # all threads of one position of the sum
    assert (w.array, w.along_sum, w.positions) == ("w", True, 8)
    assert x.order == RowOrder(2, 4, 32) and w.order.own == 1 and w.length == 68


def test_a_warp_stores_copies_in_all_banks():
    """Eight elements of each of four rows, whose places lie four banks apart, and 32 that follow one another."""
    x, w = launch_of("convolution")[0].versions[0].merged.operands
    lanes = range(32)
    assert most_in_a_bank([4 * (lane % 8 * w.length + lane // 8) for lane in lanes], 4) == 1
    assert most_in_a_bank([4 * x.order.column(lane) for lane in lanes], 4) == 1


def test_sums_of_wide_elements_have_half_as_many_items():
    launch, _ = launch_of("contraction", np.float64)
    assert [axis.items for axis in launch.axes] == [8, 4]


def test_elements_are_copied_while_threads_wait_where_there_are_no_asynchronous_copies():
    launch, _ = launch_of("contraction", copies=False)
    assert not launch.versions[0].merged.is_asynchronous


@pytest.mark.parametrize("tile, has", [(((8, 8), (4, 4)), True), (((6, 6), (4, 4)), False), (((16, 16), (8, 3)), False)])
def test_loops_are_merged_where_threads_have_equal_parts_of_copies(tile, has, monkeypatch):
    monkeypatch.setattr(launch_plan, "TILE", tile)
    assert bool(launch_of("contraction")[0].versions[0].merged) == has


def rows(C, A, B):
    for a in range(C.shape[0]):
        for b in range(C.shape[1]):
            for c in range(C.shape[2]):
                C[a, b, c] = A[a, b] * B[c]


def test_threads_that_sum_up_nothing_share_no_positions():
    given, _ = problem(rows, np.zeros((3, 4, 5)), np.zeros((3, 4)), np.zeros(5))
    (nest,) = source_nests(given)
    a, b, c = nest.grid
    axes = (GridAxis(c, 16, 8, True, merged=(c,)), GridAxis(b, 8, 8, True, merged=(a, b)))
    with pytest.raises(ScheduleError, match="cannot share the positions"):
        gpu_program(given.scop, [Mapped(nest, axes)])


def test_the_text_decodes_positions_and_goes_on_from_element_to_element():
    text = polyml.kernel(SUMS["convolution"][0]).inspect_cuda("f32[:,:,:,:]", "f32[:,:,:,:]", "f32[:,:,:,:]")
    assert "const long long n = n_i_j_positions_at / n_i_j_positions_of_j / n_i_j_positions_of_i;" in text
    assert "y_held[n_i_j_position_item][f_position_item] = 0.0f;" in text
    lines = [line.strip() for line in text.splitlines()]
    first = lines.index("if (w_tile_at_q >= c_p_q_chunk_of_q) {")
    carried = ["w_tile_at_q -= c_p_q_chunk_of_q;", "w_tile_at_p++;", "w_tile_distance += w_tile_at_q_carry;", "}"]
    assert lines[first + 1 : first + 5] == carried
