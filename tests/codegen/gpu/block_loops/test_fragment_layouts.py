"""Fragment layouts against the tables of NVIDIA's PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"."""

import pytest

from polyml.codegen.gpu.block_loops.fragment_layouts import INSTRUCTIONS, LANES
from polyml.dtypes import BF16, F16


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


@pytest.mark.parametrize("operand", [F16, BF16])
def test_lanes_have_each_element_of_a_matrix_once(operand):
    found = INSTRUCTIONS[operand]
    for layout, rows, columns in ((found.left, 16, 16), (found.right, 8, 16), (found.sums, 16, 8)):
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
