"""Slabs: which parts factorisations have, and that every instance is in one of them."""

import numpy as np
import pytest

import polyml
from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.order import sequence
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.polyhedra import fix, points
from polyml.schedule.affine.scheduler import affine_schedule, components
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.legality.check import check_legal, check_parallel
from polyml.schedule.tiling import blocked_factorization as module
from polyml.schedule.tiling.blocked_factorization import SLAB, cut, in_slabs, restricted
from tests.codegen.samples import scop_of
from tests.schedule.scheduling import modelled

MACHINE = catalogue.processor("avx2")
WIDTH = 4
CUT = {"lu": 4, "cholesky": 3, "gramschmidt": 2, "ludcmp": 4}  # into how many parts
WHOLE = ("gemm", "floyd_warshall", "seidel_2d", "jacobi_2d", "heat_3d", "adi", "durbin", "trmm", "symm")


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setattr(module, "WIDTH", WIDTH)
    monkeypatch.setattr(module, "FEW_WIDTH", WIDTH)
    monkeypatch.setattr(module, "SOLVE_WIDTH", WIDTH)


def parts_of(name):
    """The component of a kernel that is cut, what it is cut into, and its Scop and dependences."""
    found = modelled(name)
    for component in components(affine_schedule(found.scop, found.dependences)[0]):
        scop, within = restricted(found.scop, found.dependences, component.get_domain())
        parts = cut(component, scop, None)
        if parts is not None:
            return component, parts, scop, within
    return None


@pytest.mark.parametrize("name", CUT)
def test_every_instance_is_in_one_part_of_one_slab(name):
    _, found, scop, _ = parts_of(name)
    sizes = {p.name: 11 + k for k, p in enumerate(scop.parameters)}
    assert len(found.parts) == CUT[name]
    seen = []
    for start in range(0, 16, WIDTH):
        for part in found.parts:
            seen += points(fix(part, {**sizes, SLAB: start}), **sizes, **{SLAB: start})
    assert len(seen) == len(set(seen)) and set(seen) == points(scop.domain, **sizes)


@pytest.mark.parametrize("name", CUT)
def test_nothing_waits_for_a_later_part_of_the_slab(name):
    _, found, scop, within = parts_of(name)
    for k, part in enumerate(found.parts):
        for earlier in found.parts[:k]:
            assert within.validity.intersect_domain(part).intersect_range(earlier).is_empty()


def test_the_rest_of_a_factorisation_is_what_lies_right_of_and_below_the_slab():
    _, found, _, _ = parts_of("lu")
    rest = points(fix(found.parts[-1], {SLAB: 4, "A_0": 12}), A_0=12, **{SLAB: 4})
    assert {i for name, (i, j, k) in rest} == {j for name, (i, j, k) in rest} == set(range(8, 12))
    assert {k for name, (i, j, k) in rest} == set(range(4, 8))


@pytest.mark.parametrize("name", WHOLE)
def test_other_kernels_stay_whole(name):
    assert parts_of(name) is None


@pytest.mark.parametrize("name", CUT)
def test_the_loop_over_slabs_runs_every_instance_once_and_in_order(name):
    component, found, scop, within = parts_of(name)
    tree, _ = in_slabs(component, found, lambda part: (component.intersect_domain(part), ()))
    check_legal(tree, scop, within)
    sizes = {p.name: 9 + k for k, p in enumerate(scop.parameters)}
    ran = sequence(build(scop, tree), sizes)
    assert len(ran) == len(set(ran)) and set(ran) == points(scop.domain, **sizes)


@pytest.mark.parametrize("name", CUT)
def test_the_schedule_of_a_kernel_in_slabs_is_legal_and_says_so(name):
    found = modelled(name)
    made = compute(found.scop, found.dependences, ScheduleRequest(MACHINE, tile=True, parallel=True))
    assert any(note.startswith(f"slabs of {WIDTH} of ") for note in made.notes)
    check_legal(made.tree, found.scop, found.dependences)
    check_parallel(made.tree, found.scop, found.dependences)


def test_loops_that_run_backwards_have_slabs_too():
    def solve(L, X):
        for i in range(X.shape[0] - 1, -1, -1):
            for j in range(X.shape[1]):
                X[i, j] /= L[i, i]
            for k in range(i):
                for j in range(X.shape[1]):
                    X[k, j] -= L[i, k] * X[i, j]

    scop = scop_of(solve, {"L": np.zeros((9, 9)), "X": np.zeros((9, 7))})
    found = dependences(scop)
    made = compute(scop, found, ScheduleRequest(MACHINE, tile=True, parallel=True))
    assert any("slabs" in note for note in made.notes)
    sizes = {p.name: 9 + k for k, p in enumerate(scop.parameters)}
    ran = sequence(build(scop, made.tree), sizes)
    assert len(ran) == len(set(ran)) and set(ran) == points(scop.domain, **sizes)


def test_a_slab_is_narrower_where_there_are_few(monkeypatch):
    monkeypatch.setattr(module, "FEW_WIDTH", 2)
    found = modelled("lu")
    (component,) = components(affine_schedule(found.scop, found.dependences)[0])
    widths = {n: cut(component, found.scop, {"A_0": n, "A_1": n}).width for n in (20, 127, 129, 4000)}
    assert widths == {20: 2, 127: 2, 129: WIDTH, 4000: WIDTH}


def test_a_solve_with_one_right_side_has_slabs_of_which_threads_share_the_rows(monkeypatch):
    found = modelled("trisolv")
    free = reductions(found.scop, "reassociate")
    monkeypatch.setattr(module, "SOLVE_WIDTH", 64)
    made = compute(found.scop, found.dependences, ScheduleRequest(MACHINE, tile=True, parallel=True), reductions=free)
    assert any("band of S1: strips of 16 for threads" in note for note in made.notes)
    assert any(f"slabs of {module.SOLVE_WIDTH} of S1, S2" in note for note in made.notes)
    strict = compute(found.scop, found.dependences, ScheduleRequest(MACHINE, tile=True, parallel=True))
    assert not any("slabs" in note for note in strict.notes)


@pytest.mark.parametrize("name", ["durbin", "jacobi_1d", "atax"])
def test_what_waits_for_the_iteration_before_has_no_such_slabs(name):
    found = modelled(name)
    free = reductions(found.scop, "reassociate")
    made = compute(found.scop, found.dependences, ScheduleRequest(MACHINE, tile=True, parallel=True), reductions=free)
    assert not any("slabs" in note for note in made.notes)


@pytest.mark.parametrize("rows", [0, 1, 2, 15, 16, 17, 63, 64, 65, 129])
@pytest.mark.parametrize("upward", [False, True])
@pytest.mark.parametrize("width", [WIDTH, 64])
def test_solves_in_slabs_give_what_python_gives(rows, upward, width, monkeypatch):
    monkeypatch.setattr(module, "SOLVE_WIDTH", width)

    def down(L, x):
        for i in range(x.shape[0]):
            for j in range(i):
                x[i] -= L[i, j] * x[j]
            x[i] = x[i] * L[i, i]

    def up(L, x):
        for i in range(x.shape[0] - 1, -1, -1):
            for j in range(i + 1, x.shape[0]):
                x[i] -= L[i, j] * x[j]
            x[i] = x[i] * L[i, i]

    function = up if upward else down
    rng = np.random.default_rng(rows)
    L, x = rng.integers(-9, 9, (rows, rows)), rng.integers(-9, 9, rows)
    expected, found = x.copy(), x.copy()
    with np.errstate(over="ignore"):
        function(L, expected)
    kernel = polyml.kernel(cache=False, threads=2, fallback="error")(function)
    kernel(L, found)
    np.testing.assert_array_equal(found, expected)
    assert "slabs of" in kernel.explain()
