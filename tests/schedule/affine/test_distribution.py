"""Pieces of index sets in loops of their own, and arrays for what others overwrite: the same values in another order."""

import numpy as np
import pytest

import polyml
from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter import run
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.polyhedra import points
from polyml.schedule.affine.distribution import divide, with_versions
from polyml.schedule.affine.scheduler import in_source_order
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.tree.bands import NODE, band_of
from tests.codegen.samples import scop_of
from tests.schedule.scheduling import modelled

MACHINE = catalogue.processor("avx512")


def select(path):
    for k in range(path.shape[0]):
        for i in range(path.shape[0]):
            for j in range(path.shape[0]):
                path[i, j] = path[i, j] if path[i, j] < path[i, k] + path[k, j] else path[i, k] + path[k, j]


def by_columns(path):
    for k in range(path.shape[0]):
        for j in range(path.shape[0]):
            for i in range(path.shape[0]):
                path[i, j] = max(path[i, j], path[i, k] - path[k, j])


def sums(path):
    for k in range(path.shape[0]):
        for i in range(path.shape[0]):
            for j in range(path.shape[0]):
                path[i, j] = path[i, j] + path[i, k] * path[k, j]


def by_rows(path):
    for k in range(path.shape[0]):
        for i in range(path.shape[0]):
            far = path[i, k]
            for j in range(path.shape[0]):
                path[i, j] = min(path[i, j], far + path[k, j])


def downwards(path):
    for k in range(path.shape[0] - 1, -1, -1):
        for i in range(path.shape[0]):
            for j in range(path.shape[0]):
                path[i, j] += path[i, k] ^ path[k, j]


def next_column(path):
    for k in range(path.shape[0] - 1):
        for i in range(path.shape[0]):
            for j in range(path.shape[0]):
                path[i, j] = path[i, j] - path[i, k + 1] * path[k, j]


def mirrored(path):
    for i in range(path.shape[0]):
        for j in range(path.shape[1]):
            path[i, j] = path[i, j] + 2 * path[path.shape[0] - 1 - i, j]


def halves(path):
    for i in range(path.shape[0]):
        for j in range(path.shape[1]):
            path[i, j] = path[i, j] + 3 * path[i, path.shape[1] - 1 - j]


def with_others(path):
    for i in range(path.shape[0]):
        path[i, i] = 0
    for k in range(path.shape[0]):
        for i in range(path.shape[0]):
            for j in range(path.shape[0]):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])
    for i in range(path.shape[0]):
        for j in range(path.shape[0]):
            path[i, j] *= 2


KERNELS = [select, by_columns, sums, by_rows, downwards, next_column, mirrored, halves, with_others]


def numbers(n, seed=0):
    """Some so large that sums leave 32 bits, and negative ones on the diagonal."""
    rng = np.random.default_rng(seed + n)
    found = rng.integers(-60, 1000, (n, n)).astype(np.int32)
    found[rng.random((n, n)) < 0.1] = 2**31 - 40
    return found


def in_plain_python(kernel, given):
    path = given.copy()
    with np.errstate(over="ignore"):
        kernel(path)
    return path


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.sweep(keep=6)
def test_values_are_those_of_the_source(kernel, threads):
    compiled = polyml.kernel(cache=False, threads=threads)(kernel)
    for n in (0, 1, 2, 3, 16, 33, 37):
        given = numbers(n)
        got = given.copy()
        compiled(got)
        np.testing.assert_array_equal(got, in_plain_python(kernel, given))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sweep()
def test_many_slabs_of_paths(seed):
    compiled = polyml.kernel(cache=False, threads=2)(select)
    for n in (64, 97, 130):
        given, wanted = numbers(n, seed), None
        wanted = given.copy()
        for k in range(n):
            for i in range(n):
                before = [slice(0, k + 1), slice(k + 1, n)] if i != k else [slice(j, j + 1) for j in range(n)]
                for part in before:  # within one, no element is read that it writes, but by itself
                    wanted[i, part] = np.minimum(wanted[i, part], wanted[i, k] + wanted[k, part])
        got = given.copy()
        compiled(got)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("kernel", [select, by_columns, sums, downwards, next_column], ids=lambda k: k.__name__)
def test_a_scop_with_versions_computes_the_same(kernel):
    scop = scop_of(kernel, {"path": numbers(4)})
    divided = divide(scop, dependences(scop))
    wide = with_versions(divided)
    assert set(wide.scop.arrays) > set(scop.arrays)
    for form in (divided, wide):
        for n in (0, 1, 2, 5, 7):
            given = numbers(n)
            got = given.copy()
            run.run(build(form.scop, form.scop.schedule), {"path": got})
            np.testing.assert_array_equal(got, in_plain_python(kernel, given))


@pytest.mark.parametrize("kernel", [select, by_columns, sums, downwards, next_column], ids=lambda k: k.__name__)
def test_the_dependences_of_a_divided_scop_are_those_of_its_order(kernel):
    scop = scop_of(kernel, {"path": numbers(4)})
    plain = divide(scop, dependences(scop))
    for form in (plain, with_versions(plain)):
        wanted = dependences(form.scop)
        for kind in ("flow", "anti", "output", "input"):
            assert getattr(form.found, kind).is_equal(getattr(wanted, kind)), kind


def test_what_contractions_read_of_the_row_and_the_column_is_overwritten_by_nobody():
    found = modelled("floyd_warshall")
    wide = with_versions(divide(found.scop, found.dependences)).scop
    full = [s for s in wide.statements.values() if s.name in ("S0_0", "S0_2", "S0_6", "S0_8")]
    assert len(full) == 4
    for s in full:
        assert len([a for a in s.reads if a.array == "path"]) == 1  # what it updates


def test_loops_that_are_freed_are_known_as_such():
    found = modelled("floyd_warshall")
    made = divide(found.scop, found.dependences).scop
    top = in_source_order(made.schedule, dependences(made)).get_root().child(0)
    assert band_of(top).coincident == (False,) and top.child(0).get_type() == NODE.sequence
    flags = [top.child(0).child(k).child(0) for k in range(top.child(0).n_children())]
    assert all(all(band_of(node).coincident) for node in flags if node.get_type() == NODE.band)


def test_paths_are_cut_into_slabs_of_which_the_rest_is_a_product():
    found = modelled("floyd_warshall")
    divided = with_versions(divide(found.scop, found.dependences))
    scop, sizes = divided.scop, {p.name: 500 for p in divided.scop.parameters}
    made = compute(
        scop, dependences(scop), ScheduleRequest(MACHINE, tile=True, parallel=True, pieces=frozenset(divided.pieces), sizes=sizes)
    )
    assert made.cut
    assert sum("contraction" in note for note in made.notes) == 4
    small = {name: 9 for name in sizes}
    assert len(points(scop.domain, **small)) == 9**3 + 5 * 9**2


def test_nests_without_a_reason_stay():
    for name in ("gemm", "lu", "seidel_2d", "jacobi_2d"):
        found = modelled(name)
        assert divide(found.scop, found.dependences) is None
