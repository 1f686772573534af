"""Tiles over time: which hyperplanes are found, and that what runs by them is what Python computes."""

import random

import numpy as np
import pytest

import polyml
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.schedule.affine.scheduler import affine_schedule, components
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.tiling import time_tiling
from polyml.schedule.tree.bands import PARALLEL, POINT, TILE
from tests.codegen.samples import scop_of
from tests.frontend.define import define
from tests.schedule.scheduling import marks, modelled, path_to, scheduled
from tests.schedule.sweeps import sweep

SIZES = ("A_0", "A_1", "B_0", "B_1")
MACHINE = catalogue.processor("avx2")


def tiles_of(scop, found, **given):
    sizes = given or None
    (component,) = components(affine_schedule(scop, found)[0])
    return time_tiling.time_tiles(component, scop, found, MACHINE, sizes, cores=MACHINE.cores)


def tiles_of_kernel(name, **sizes):
    found = modelled(name)
    return tiles_of(found.scop, found.dependences, **sizes)


def tiles_of_function(function, **values):
    scop = scop_of(function, values)
    return tiles_of(scop, dependences(scop))


@pytest.mark.parametrize(("name", "slope"), [("jacobi_1d", 2), ("jacobi_2d", 2), ("heat_3d", 2), ("fdtd_2d", 1)])
def test_stencils_on_two_copies_get_diamonds_as_steep_as_their_dependences(name, slope):
    up, down = tiles_of_kernel(name).waves
    assert (up.dim, up.slope, down.dim, down.slope) == (0, slope, 0, slope)


def test_a_stencil_in_place_gets_a_pipeline():
    time, forward = tiles_of_kernel("seidel_2d").waves
    assert (time.dim, forward.dim, forward.slope) == (None, 0, 1)


@pytest.mark.parametrize("name", ["lu", "durbin", "floyd_warshall", "nussinov", "adi", "gramschmidt", "trisolv", "gemm"])
def test_what_depends_on_places_far_away_gets_none(name):
    found = modelled(name)
    for component in components(affine_schedule(found.scop, found.dependences)[0]):
        assert time_tiling.time_tiles(component, found.scop, found.dependences, MACHINE, None, cores=MACHINE.cores) is None


def test_periodic_boundaries_are_folded():
    def ring(steps, A, B):
        n = A.shape[0]
        for t in range(steps):
            for i in range(n):
                B[i] = A[i - 1] + A[i + 1 - n]
            for i in range(n):
                A[i] = B[i]

    found = tiles_of_function(ring, steps=3, A=np.zeros(9), B=np.zeros(9))
    assert found.waves[0].dim == found.waves[1].dim == 0 and "min" not in str(found)
    assert str(found.waves[0].member).count("S0[t, i]") == 2  # a piece for each half of the ring


def test_tiles_fill_the_second_cache_and_leave_each_core_some():
    (size, _), cut = (lambda t: (t.sizes, t.inner))(tiles_of_kernel("jacobi_2d", A_0=1300, A_1=1300, B_0=1300, B_1=1300))
    assert [width for _, width in cut] == [time_tiling.ROW]
    assert 0.5 < size * (time_tiling.ROW + size // 2) * 16 / MACHINE.cache(2).size_bytes <= time_tiling.SHARE / 100
    few = tiles_of_kernel("jacobi_2d", A_0=100, A_1=100, B_0=100, B_1=100)
    assert few.sizes[0] * time_tiling.TILES[1] * MACHINE.cores <= 100 and few.inner == ()


def test_tiles_of_a_wave_are_parallel_and_waves_are_not():
    found = modelled("jacobi_2d")
    for parallel in (True, False):
        made = compute(
            found.scop, found.dependences, ScheduleRequest(MACHINE, tile=True, parallel=parallel, sizes=dict.fromkeys(SIZES, 900))
        )
        waves, tiles, *inner = path_to(made.tree, "S0")
        assert (waves.coincident, tiles.coincident) == ((False,), (True,))
        assert marks(made.tree, "S0")[:3] == [TILE, PARALLEL if parallel else TILE, TILE]
        assert POINT in [step.mark for step in inner]
        assert any("diamonds over time" in note for note in made.notes) and made.cut and made.sized


def test_a_sweep_of_what_a_cache_holds_is_tiled_for_threads_alone():
    found, few = modelled("jacobi_2d"), dict.fromkeys(SIZES, 90)
    for parallel in (True, False):
        made = compute(found.scop, found.dependences, ScheduleRequest(MACHINE, tile=True, parallel=parallel, sizes=few))
        assert (made.sized, made.cut) == (True, parallel)


def test_more_sizes_than_code_can_tell_apart_are_left_to_forms_that_know_them():
    found = modelled("jacobi_2d")
    made = compute(found.scop, found.dependences, ScheduleRequest(MACHINE, tile=True, parallel=True, free=9))
    assert made.sized and not made.cut


def result(kernel, given):
    values = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in given.items()}
    with np.errstate(over="ignore"):
        kernel(**values)
    return {k: v for k, v in values.items() if isinstance(v, np.ndarray)}


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sweep(keep=20)
def test_random_sweeps(seed, monkeypatch):
    def widths(self):
        rng = random.Random(seed)
        cut = {d: rng.choice((4, 8, 16)) for d in range(self.rank) if d != self.along and rng.random() < 0.7}
        return rng.choice((4, 6, 8, 16)), cut

    monkeypatch.setattr(time_tiling._Sweep, "widths", widths)
    monkeypatch.setattr(time_tiling._Sweep, "pays", True)
    given = sweep(seed)
    function = define(given.text, "sweep")
    kernel = polyml.kernel(cache=False, threads=1 + seed % 2, fallback="error")(function)
    expected, found = result(function, given.inputs(seed)), result(kernel, given.inputs(seed))
    for name in given.arrays:
        np.testing.assert_array_equal(found[name], expected[name])


def staggered(steps, E, H):
    for t in range(steps):
        for i in range(1, E.shape[0] - 10):
            for j in range(1, E.shape[1] - 9):
                E[i, j] -= H[i, j] - H[i - 1, j] + H[i, j - 1]
        for i in range(H.shape[0] - 31):
            for j in range(H.shape[1] - 20):
                H[i, j] -= E[i + 1, j] - E[i, j] + E[i, j + 1]


@pytest.mark.parametrize("first", [(100, 100), (101, 100), (100, 120)])
def test_arrays_of_sizes_that_differ_otherwise_get_a_form_of_their_own(first):
    kernel = polyml.kernel(cache=False, threads=2, fallback="error")(staggered)
    rng = np.random.default_rng(0)
    forms = []
    for rows in (first, (100, 100), (101, 100), (75, 99), (110, 100), (99, 128), first):
        given = {"steps": 23} | {n: rng.integers(-9, 9, (r, 70)) for n, r in zip("EH", rows)}
        expected, found = result(staggered, given), result(kernel, given)
        for name in "EH":
            np.testing.assert_array_equal(found[name], expected[name])
        forms.append("diamonds over time" in kernel.explain())
    assert forms[0]


@pytest.mark.parametrize("wrong", [(60, 100), (100, 60)])
def test_a_call_with_sizes_that_do_not_fit_one_another_is_refused_before_anything_is_written(wrong):
    kernel = polyml.kernel(cache=False, threads=1, fallback="error")(staggered)
    kernel(3, np.ones((100, 70)), np.ones((100, 70)))
    for rows, columns in ((wrong, (70, 70)), ((100, 100), (70, 58)), ((100, 100), (48, 70))):
        E, H = (np.ones((r, c)) for r, c in zip(rows, columns))
        with pytest.raises(IndexError):
            staggered(3, E.copy(), H.copy())
        with pytest.raises(IndexError, match="out of bounds"):
            kernel(3, E, H)
        assert (E == 1).all() and (H == 1).all()


def test_schedules_of_stencils_stay_the_same_without_tiles():
    assert not scheduled("jacobi_2d", tile=False).cut
