"""What loops do for the data, on contractions, convolutions and stencils."""

import numpy as np
import pytest

from polyml.schedule.analysis.loop_roles import LoopRole, has_reuse, leans, loop_role
from polyml.schedule.tree.bands import NODE, band_of
from tests.codegen.loop_nests import batched
from tests.codegen.samples import scop_of


def convolution(C, A, B):
    for o in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                for c in range(A.shape[0]):
                    C[o, i, j] += A[c, i, j + 1] * B[o, c, 0]


def pooled(C, A, B):
    for c in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                C[c, i, j] = A[c, i, j] + B[c, i, j]


def triangle(C, A, B):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(i):
                C[b, i, j] += A[b, i, j]


B, R, D, P = LoopRole.BATCH, LoopRole.ROWS, LoopRole.DEPTH, LoopRole.PANEL


def members(kernel):
    """One band member per loop, in order, and the SCoP."""
    scop = scop_of(kernel, {name: np.zeros((3, 3, 3)) for name in "CAB"})
    found, node = [], scop.schedule.get_root().child(0)
    while node.get_type() != NODE.leaf:
        if node.get_type() == NODE.band:
            found += band_of(node).members
        node = node.child(0)
    return found, scop, list(scop.statements)


@pytest.mark.parametrize(("kernel", "roles"), [(batched, [B, R, P, D]), (convolution, [R, R, P, D]), (pooled, [B, B, P])])
def test_roles_follow_from_what_the_accesses_do(kernel, roles):
    found, scop, names = members(kernel)
    assert [loop_role(member, scop, names) for member in found] == roles


def test_only_what_reads_an_element_again_has_reuse():
    for kernel, expected in ((batched, True), (convolution, True), (pooled, False)):
        found, scop, names = members(kernel)
        assert has_reuse(found, scop, names) == expected


def test_loops_of_a_triangle_lean_and_those_of_a_box_do_not():
    found, scop, names = members(triangle)
    assert [leans(member, scop, names) for member in found] == [False, True, True]
    found, scop, names = members(batched)
    assert not any(leans(member, scop, names) for member in found)
