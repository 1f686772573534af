"""Statements over slices get the iterators that their loops, written out, would have."""

import numpy as np
import pytest

import polyml
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.core.dependence import dependences
from polyml.model.scop_passes.align_slices import rebase
from polyml.pipeline.stages import extract
from polyml.polyhedra import points


def columns(A):
    for k in range(A.shape[0]):
        A[k + 1 :, k] /= A[k, k]


def columns_as_loops(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, k] /= A[k, k]


def numbered(A):
    for k in range(A.shape[0]):
        A[k, k + 2 :] = np.arange(A.shape[1] - k - 2) * 10.0 + k


def windows(B, A, n):
    for t in range(n):
        for i in range(4):
            B[t + i, 3 * t] += A[t + 2 * i, i]


def sums_of_slices(B, A):
    for k in range(B.shape[0]):
        B[k] = A[k + 1 :].sum()


def sums_of_blocks(B, A):
    for b in range(B.shape[0]):
        for i in range(8):
            B[b] += A[8 * b + i]


def everywhere(B, A):
    B[1:-1] = A[2:] + A[:-2]


def modelled(function, *args):
    return extract(infer(parse(function), tuple(map(arg_type, args))))


def test_a_slice_has_the_instances_and_dependences_of_its_loop():
    a = np.ones((6, 6))
    slices, loops = rebase(modelled(columns, a)), rebase(modelled(columns_as_loops, a))
    sizes = {"A_0": 6, "A_1": 6}
    assert points(slices.domain, **sizes) == points(loops.domain, **sizes)
    assert points(dependences(slices).flow, **sizes) == points(dependences(loops).flow, **sizes)
    (access,) = {str(s.write.subscripts[0]) for s in slices.statements.values()}
    assert access.endswith("-> [(_i1)] }")


def test_loops_that_count_from_the_beginning_stay_as_they_are():
    scop = modelled(columns_as_loops, np.ones((6, 6)))
    assert rebase(scop) is scop
    scop = modelled(everywhere, np.ones(8), np.ones(8))
    assert rebase(scop) is scop  # a start that does not move is no matter of schedules


@pytest.mark.parametrize("schedule", ["auto", "source"])
def test_values_that_know_their_place_in_the_slice_are_the_same(schedule):
    found, wanted = np.zeros((7, 9)), np.zeros((7, 9))
    numbered(wanted)
    polyml.kernel(cache=False, fallback="error", schedule=schedule)(numbered)(found)
    np.testing.assert_array_equal(found, wanted)


def test_subscripts_of_several_iterators_are_told_apart():
    A, found, wanted = np.arange(400.0).reshape(20, 20), np.zeros((12, 40)), np.zeros((12, 40))
    windows(wanted, A, 9)
    polyml.kernel(cache=False, fallback="error")(windows)(found, A, 9)
    np.testing.assert_array_equal(found, wanted)


def turning(B, n):
    for t in range(n):
        for i in range(4):
            B[(t + i) % 5] += 1.0 + t * i


def test_a_remainder_is_no_shift_of_the_iterator_in_it():
    found, wanted = np.zeros(5), np.zeros(5)
    polyml.kernel(turning)(found, 7)
    turning(wanted, 7)
    assert np.array_equal(found, wanted)


def test_a_sum_over_a_slice_counts_from_the_beginning_and_one_over_a_block_in_the_block():
    scop = modelled(sums_of_slices, np.ones(6), np.ones(8))
    assert rebase(scop) is not scop
    scop = modelled(sums_of_blocks, np.ones(6), np.ones(48))
    assert rebase(scop) is scop


def test_a_search_for_a_place_has_lanes():
    def place(A):
        return np.argmin(A)

    code = str(polyml.kernel(place, threads=1).inspect_ast("f64[:]"))
    assert "minimum" in code and "// 1024)] = minimum" not in code and "vectors of" in code.partition("minimum")[0]
