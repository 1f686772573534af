"""Fragment layouts against the tables of NVIDIA's PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and "for mma.m16n8k8"."""

import pytest

from polyml.codegen.gpu.block_loops.fragment_layouts import INSTRUCTIONS, LANES
from polyml.dtypes import BF16, F16, F32


def of_ptx(lane):
    """{ matrix: the (row, column) of each element of a lane }, with the formulas as the manual has them."""
    group, thread_in_group = lane >> 2, lane % 4
    a = [
        (
            group if 0 <= i < 2 or 4 <= i < 6 else group + 8,
            thread_in_group * 2 + (i & 1) if i < 4 else thread_in_group * 2 + (i & 1) + 8,
        )
        for i in range(8)
    ]
    b = [(thread_in_group * 2 + (i & 1) if i < 2 else thread_in_group * 2 + (i & 1) + 8, group) for i in range(4)]
    c = [(group if i < 2 else group + 8, thread_in_group * 2 + (i & 1)) for i in range(4)]
    return {"a": a, "b": b, "c": c}


@pytest.mark.parametrize("operand", [F16, BF16])
def test_lanes_have_the_elements_that_the_manual_says(operand):
    found = INSTRUCTIONS[operand]
    for lane in range(LANES):
        table = of_ptx(lane)
        assert [found.left.position(lane, e) for e in range(8)] == table["a"]
        assert [found.right.position(lane, e)[::-1] for e in range(4)] == table["b"]
        assert [found.sums.position(lane, e) for e in range(4)] == table["c"]


def test_the_first_lanes_are_those_of_the_manuals_figures():
    found = INSTRUCTIONS[F16]
    assert [found.left.position(0, e) for e in range(8)] == [(0, 0), (0, 1), (8, 0), (8, 1), (0, 8), (0, 9), (8, 8), (8, 9)]
    assert [found.right.position(31, e) for e in range(4)] == [(7, 6), (7, 7), (7, 14), (7, 15)]
    assert [found.sums.position(5, e) for e in range(4)] == [(1, 2), (1, 3), (9, 2), (9, 3)]


def of_ptx_for_tf32(lane):
    """The same for operands of tf32: a0 to a3, b0 and b1, c0 to c3 of mma.m16n8k8."""
    group, thread_in_group = lane >> 2, lane % 4
    a = [(group if i in (0, 2) else group + 8, thread_in_group if i < 2 else thread_in_group + 4) for i in range(4)]
    b = [(thread_in_group if i == 0 else thread_in_group + 4, group) for i in range(2)]
    c = [(group if i < 2 else group + 8, thread_in_group * 2 + (i & 1)) for i in range(4)]
    return {"a": a, "b": b, "c": c}


def test_lanes_have_the_elements_of_tf32_that_the_manual_says():
    found = INSTRUCTIONS[F32]
    assert found.number == "tf32" and found.is_rounded and not INSTRUCTIONS[F16].is_rounded
    for lane in range(LANES):
        table = of_ptx_for_tf32(lane)
        assert [found.left.position(lane, e) for e in range(4)] == table["a"]
        assert [found.right.position(lane, e)[::-1] for e in range(2)] == table["b"]
        assert [found.sums.position(lane, e) for e in range(4)] == table["c"]


def test_a_register_of_tf32_has_a_number_of_a_part_of_8_x_4():
    """What ldmatrix gives a lane of a part of 8 rows of 16 bytes: bytes 4*(t % 4) to 4*(t % 4) + 3 of row t // 4."""
    found = INSTRUCTIONS[F32]
    for layout in (found.left, found.right):
        for register, (row, column) in enumerate(layout.origins):
            for lane in range(LANES):
                assert layout.position(lane, register) == (row + lane // 4, column + lane % 4)


@pytest.mark.parametrize("operand", [F16, BF16, F32])
def test_lanes_have_each_element_of_a_matrix_once(operand):
    found = INSTRUCTIONS[operand]
    depth = found.depth
    for layout, rows, columns in ((found.left, 16, depth), (found.right, 8, depth), (found.sums, 16, 8)):
        seen = sorted(layout.position(lane, e) for lane in range(LANES) for e in range(len(layout.rows)))
        assert seen == [(row, column) for row in range(rows) for column in range(columns)]


@pytest.mark.parametrize("operand", [F16, BF16])
def test_a_register_has_neighbours_of_a_part_of_8_x_8(operand):
    """What ldmatrix gives a lane of a part of 8 x 8: row t // 4, columns 2*(t % 4) and the next one (PTX ISA, ldmatrix)."""
    found = INSTRUCTIONS[operand]
    for layout in (found.left, found.right):
        for register, (row, column) in enumerate(layout.origins):
            for lane in range(LANES):
                first, second = (layout.position(lane, 2 * register + half) for half in (0, 1))
                assert first == (row + lane // 4, column + 2 * (lane % 4)) and second == (first[0], first[1] + 1)
