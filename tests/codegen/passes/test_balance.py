"""Chunks of a parallel loop over tiles are equal: the same instances run, wherever the chunks begin and end."""

from dataclasses import replace

import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.order import sequence
from polyml.codegen.ir.program import Loop, Program, instances, loops, with_body
from polyml.codegen.passes.balance import balance
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.quasi_affine.affine import Affine
from polyml.schedule.compute import ScheduleRequest, compute
from tests.codegen.forms import check, programs
from tests.codegen.loop_nests import KERNELS, lower_update, matmul
from tests.codegen.samples import scop_of

SIZES = ((0, 0, 0), (1, 1, 1), (3, 9, 4), (9, 16, 7), (17, 5, 3))


def values(program, sizes):
    return {p.name: sizes[k % 3] for k, p in enumerate(program.scop.parameters)}


def shared(program):
    return [loop for loop in loops(program.body) if loop.last]


@pytest.mark.parametrize("form", ["source", "tiled"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_one_share_of_everything_is_what_ran_before(kernel, form):
    before = programs(kernel)[form]
    after = balance(before)
    for sizes in SIZES:
        assert sorted(sequence(after, values(before, sizes))) == sorted(sequence(before, values(before, sizes)))
        check(kernel, after, sizes)


@pytest.mark.parametrize("ends", [(3,), (1, 2), (0, 5, 6), (8,)])
def test_shares_together_run_every_instance_once(ends):
    program = balance(programs(matmul)["tiled"])
    (loop,) = shared(program)
    sizes = {"C_0": 9, "C_1": 8, "A_0": 9, "A_1": 4, "B_0": 4, "B_1": 8}
    ran = []
    for first, last in zip((0, *(e + 1 for e in ends)), (*ends, 8)):
        part = replace(loop, lower=(Affine(first),), upper=(Affine(last),))
        ran += sequence(Program(program.scop, _with(program.body, loop, part)), sizes)
    assert sorted(ran) == sorted(sequence(programs(matmul)["tiled"], sizes))


def _with(nodes, loop, part):
    return tuple(part if n is loop else with_body(n, _with(n.body, loop, part)) if isinstance(n, Loop) else n for n in nodes)


def test_tiles_that_other_loops_depend_on_keep_their_places():
    assert shared(balance(programs(matmul)["tiled"]))
    assert not shared(balance(programs(lower_update)["tiled"]))  # j <= i, so tiles of j know those of i


def test_bounds_that_only_the_loop_over_tiles_states_are_kept():
    """for t in 0 ... N: parallel it by 4 in 0 ... t: for i in it ... min(it + 3, t): nothing says 0 <= i but 0 <= it."""
    program = programs(matmul)["tiled"]
    assert all(Affine(0) in loop.lower for loop in shared(balance(program)))
    assert list(instances(balance(program).body)) == list(instances(program.body))


def product_and_rows(T, A, B, C, D):
    for i in range(T.shape[0]):
        for j in range(T.shape[1]):
            for k in range(A.shape[1]):
                T[i, j] += A[i, k] * B[k, j]
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            D[i, j] += T[i, j] * C[j]


@pytest.mark.parametrize("rows", [(0, 0), (0, 3), (5, 2), (40, 17), (31, 31)])
@pytest.mark.parametrize("ends", [(3,), (7, 30), (0, 31, 35)])
def test_nests_over_different_ranges_share_what_is_around_both(rows, ends):
    arrays = {"T": (40, 3), "A": (40, 2), "B": (2, 3), "C": (3,), "D": (40, 3)}
    scop = scop_of(product_and_rows, {name: np.zeros(shape) for name, shape in arrays.items()})
    tree = compute(scop, dependences(scop), ScheduleRequest(catalogue.processor("avx2"), tile=True, parallel=True)).tree
    before = build(scop, tree)
    after = balance(before)
    (loop,) = shared(after)
    sizes = {f"{a}_{d}": n for a, shape in arrays.items() for d, n in enumerate(shape)} | {"T_0": max(rows), "D_0": min(rows)}
    parts = zip((0, *(e + 1 for e in ends)), (*ends, 40))
    loops_ = (replace(loop, lower=(Affine(first),), upper=(Affine(last),)) for first, last in parts)
    ran = [ran for part in loops_ for ran in sequence(Program(scop, _with(after.body, loop, part)), sizes)]
    assert sorted(ran) == sorted(sequence(before, sizes)) == sorted(sequence(after, sizes))


def first_rows(C, A, last0):
    for i in range(last0):
        for j in range(C.shape[1]):
            C[i, j] = A[i, j] + 1


def test_a_share_s_end_has_a_name_of_its_own():
    scop = scop_of(first_rows, {"C": np.zeros((3, 3)), "A": np.zeros((3, 3)), "last0": 3})
    tree = compute(scop, dependences(scop), ScheduleRequest(catalogue.processor("avx2"), tile=True, parallel=True)).tree
    (loop,) = shared(balance(build(scop, tree)))
    assert loop.last == "last1"
