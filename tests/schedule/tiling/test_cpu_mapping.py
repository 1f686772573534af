"""Tiles, wavefronts and threads on the loops of whole kernels."""

import re
from functools import cache

import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.order import sequence
from polyml.codegen.ir.program import loops
from polyml.machines import catalogue, cpu
from polyml.model.core.dependence import dependences
from polyml.polyhedra import points
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.legality.check import check_legal, check_parallel
from polyml.schedule.tree.bands import PARALLEL, POINT, TILE
from tests.codegen.samples import scop_of
from tests.schedule.scheduling import marks, modelled, path_to, scheduled

NAMES = ("gemm", "lu", "cholesky", "jacobi_2d", "seidel_2d", "floyd_warshall", "syrk")
OPTIONS = ({}, {"tile": False}, {"parallel": False}, {"tile": False, "parallel": False})
UPDATES = [("gemm", "S1"), ("syrk", "S1")]  # statements with three loops of which two are parallel


def iterators_in(text):
    return sorted(set(re.findall(r"(?<![a-z])[ijkt](?![a-z])", text)))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_every_schedule_is_legal_and_runs_every_instance_once(name, options):
    found, tree = modelled(name), scheduled(name, **options).tree
    check_legal(tree, found.scop, found.dependences)
    check_parallel(tree, found.scop, found.dependences)
    sizes = {p.name: 3 + k for k, p in enumerate(found.scop.parameters)}
    ran = sequence(build(found.scop, tree), sizes)
    assert len(ran) == len(set(ran)) and set(ran) == points(found.scop.domain, **sizes)


@pytest.mark.parametrize(("name", "statement"), UPDATES)
def test_a_contraction_gets_tiles_of_all_its_loops_and_threads_on_the_outermost(name, statement):
    steps = path_to(scheduled(name).tree, statement)
    assert [step.mark for step in steps] == [PARALLEL, TILE, POINT]
    assert [len(step.members) for step in steps] == [1, 2, 3]
    tiles = [*steps[0].members, *steps[1].members]
    assert [iterators_in(tile) for tile in tiles] == [["i"], ["k"], ["j"]]
    assert all("mod" in tile for tile in tiles) and steps[2].members == ("i", "j", "k")


@pytest.mark.parametrize(("name", "statement"), UPDATES)
def test_tiles_without_threads_and_threads_without_tiles(name, statement):
    assert marks(scheduled(name, parallel=False).tree, statement) == [TILE, TILE, POINT]
    threads = path_to(scheduled(name, tile=False).tree, statement)
    assert [step.mark for step in threads] == [PARALLEL, POINT, ""]  # the scaling of C shares the threads' loop
    assert [iterators_in(step.members[0]) for step in threads[:2]] == [["i"], ["i"]]
    plain = path_to(scheduled(name, tile=False, parallel=False).tree, statement)
    assert {step.mark for step in plain} == {""} and [m for step in plain for m in step.members] == ["i", "j", "k"]


def test_statements_beside_a_contraction_share_its_tiles_of_rows():
    tree = scheduled("gemm").tree
    scaling, update = path_to(tree, "S0"), path_to(tree, "S1")
    assert scaling[0].members == update[0].members and scaling[0].mark == PARALLEL
    assert [iterators_in(m) for m in scaling[1].members] == [["i"]] and scaling[1].mark == POINT


def crossed(A):
    """A factorisation that reads two columns to the left, so that a slab of it leaves no simple rest."""
    for k in range(3, A.shape[0] - 2):
        for i in range(k + 1, A.shape[0]):
            A[i, k - 2] /= A[k, k]
        for i in range(k + 1, A.shape[0]):
            for j in range(k + 1, A.shape[0]):
                A[i, j] -= A[i, k - 2] * A[k, j]


@cache
def crossed_loops():
    scop = scop_of(crossed, {"A": np.zeros((9, 9))})
    found = dependences(scop)
    return scop, {
        p: compute(scop, found, ScheduleRequest(catalogue.processor("avx2"), tile=True, parallel=p)) for p in (True, False)
    }


def test_loops_that_carry_everything_run_their_tiles_by_wavefronts():
    scop, schedules = crossed_loops()
    for statement in scop.statements:
        front, across, along, points_ = path_to(schedules[True].tree, statement)
        assert [s.mark for s in (front, across, along, points_)] == [TILE, PARALLEL, TILE, POINT]
        assert front.members[0].count("floor") + front.members[0].count("2*floor") == 2
        assert (front.coincident, across.coincident) == ((False,), (True,))
    assert any("wavefronts" in note for note in schedules[True].notes)
    assert PARALLEL not in {m for s in scop.statements for m in marks(schedules[False].tree, s)}


def test_a_wavefront_of_tiles_holds_tiles_of_equal_distance():
    front, across, *_ = path_to(crossed_loops()[1][True].tree, "S1")
    row, column = front.members[0].split(" + ")
    assert across.members == (column,) and iterators_in(row) != iterators_in(column)


def test_a_stencil_s_sweeps_are_parallel_inside_the_time_loop():
    tree = scheduled("jacobi_2d", cut=False).tree
    for statement in ("S0", "S1"):
        time, *sweep = path_to(tree, statement)
        assert (time.mark, time.members, time.coincident) == ("", ("t",), (False,))
        assert [step.mark for step in sweep] == [PARALLEL, POINT]


def test_a_skewed_stencil_has_its_threads_inside_the_wavefront():
    front, threads, *_ = path_to(scheduled("seidel_2d", cut=False).tree, "S0")
    assert (front.mark, front.coincident) == ("", (False,))
    assert iterators_in(front.members[0]) == ["i", "j", "t"]
    assert threads.mark == PARALLEL


def test_a_kernel_whose_loops_must_keep_their_order_gets_no_marks():
    assert set(marks(scheduled("floyd_warshall").tree, "S0")) == {""}


@pytest.mark.parametrize("name", NAMES)
def test_no_loop_is_for_threads_where_they_are_switched_off(name):
    found = modelled(name)
    for tile in (True, False):
        program = build(found.scop, scheduled(name, tile=tile, parallel=False).tree)
        assert not any(loop.parallel for loop in loops(program.body))


@pytest.mark.parametrize("name", NAMES)
def test_every_parallel_loop_of_the_program_is_one_that_the_schedule_marks(name):
    found, tree = modelled(name), scheduled(name).tree
    wanted = f'mark: "{PARALLEL}"' in str(tree)
    assert any(loop.parallel for loop in loops(build(found.scop, tree).body)) == wanted


@pytest.mark.parametrize("size_bytes", [8 * 1024, 32 * 1024, 64 * 1024])
def test_the_operands_of_a_tile_fit_the_second_cache(size_bytes):
    preset = catalogue.processor("avx2")
    first, second, third = preset.caches
    small = cpu.CpuMachine(**{**vars(preset), "caches": (_sized(first, size_bytes), _sized(second, 16 * size_bytes), third)})
    found = modelled("gemm")
    tree = compute(found.scop, found.dependences, ScheduleRequest(small, tile=True, parallel=True)).tree
    steps = path_to(tree, "S1")
    rows, columns, depth = (int(re.search(r"mod (\d+)", tile).group(1)) for tile in (*steps[0].members, *steps[1].members))
    # C[rows, columns] streams; A[rows, depth] and B[depth, columns] are used again
    assert 8 * (rows * depth + depth * columns) <= 16 * size_bytes


def _sized(cache, size_bytes):
    return cpu.CacheLevel(**{**vars(cache), "size_bytes": size_bytes})
