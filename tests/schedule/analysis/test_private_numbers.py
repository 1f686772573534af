"""Numbers whose values live in one iteration of a loop beside regions: each thread has its own."""

import numpy as np
import pytest

import polyml
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.schedule.affine.source_threads import with_threads
from polyml.schedule.legality.check import parallel_bands
from tests.model.modelling import VECTOR, model


def beside(a, b, x):
    n = a.shape[0]
    for i in range(n):
        t = a[i] * 2.0
        if t > 1.0:
            t = t - 0.5
        b[i] = t + t * t
    for i in range(n):
        while x[i] > 1.0:
            x[i] *= 0.5
    total = 0.0
    for i in range(n):
        u = b[i] + x[i]
        total += u * u
    return total


def last_value(a, b, x):
    t = 0.0
    for i in range(a.shape[0]):
        t = a[i] * 2.0
        b[i] = t
    for i in range(a.shape[0]):
        while x[i] > 1.0:
            x[i] *= 0.5
    return t


def from_before(a, b, x):
    t = 1.0
    for i in range(a.shape[0]):
        b[i] = t
        t = a[i]
    for i in range(a.shape[0]):
        while x[i] > 1.0:
            x[i] *= 0.5
    return b[0]


def shared(function):
    """For each loop for threads, the numbers of which threads have partial results."""
    scop = model(function, VECTOR, VECTOR, VECTOR, regions=True)
    tree = with_threads(scop, dependences(scop), reductions(scop, "reassociate"))
    return [partial for _, partial in parallel_bands(tree.get_root())]


def test_a_number_that_is_assigned_first_is_no_obstacle():
    assert shared(beside) == [(), (), ("total",)]


def test_one_that_is_read_behind_the_loop_or_comes_from_before_is():
    assert shared(last_value) == [()]
    assert shared(from_before) == [()]


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("function", [beside, last_value, from_before])
def test_threads_do_not_share_them(function, threads):
    rng = np.random.default_rng(0)
    wanted = rng.random(60_000), np.zeros(60_000), rng.random(60_000) * 4
    own = tuple(each.copy() for each in wanted)
    right = function(*wanted)
    got = polyml.kernel(function, cache=False, fp="strict", threads=threads, fallback="error")(*own)
    assert got == right
    for one, other in zip(wanted, own):
        np.testing.assert_array_equal(one, other)
    relaxed = polyml.kernel(function, cache=False, threads=threads, fallback="error")(*(each.copy() for each in wanted))
    np.testing.assert_allclose(relaxed, function(*(each.copy() for each in wanted)), rtol=1e-12)


def counted(a, b, x):
    count = 0
    for i in range(a.shape[0]):
        if a[i] > 0.5:
            count += 1
    for i in range(a.shape[0]):
        while x[i] > 1.0:
            x[i] *= 0.5
    return count


def test_a_number_that_counts_has_partial_results_though_it_is_pythons():
    assert ("count",) in shared(counted)
    a = np.random.default_rng(0).random(30_000)
    for size in (30_000, 100, 0):
        for threads in (1, 3):
            kernel = polyml.kernel(counted, cache=False, threads=threads, fallback="error")
            assert kernel(a[:size], a[:size], a[:size].copy()) == (a[:size] > 0.5).sum()


def test_short_sums_are_added_up_by_one_thread():
    kernel = polyml.kernel(beside, cache=False, threads=2, fallback="error")
    text = str(kernel.inspect_ast(*(np.ones(60_000) for _ in range(3))))
    assert "if n >= 8192" in text and "total_partial[thread, 0]" in text and "total = total + (b[" in text


def flagged(a, b, x):
    changed = False
    most = 0.0
    for i in range(a.shape[0]):
        b[i] = a[i] * 0.5
        most = max(most, b[i])
        changed = True
    for i in range(a.shape[0]):
        while x[i] > 1.0:
            x[i] *= 0.5
    return changed, most


def test_a_constant_that_all_iterations_assign_is_no_obstacle():
    assert ("most",) in shared(flagged)
    a = np.random.default_rng(0).random(30_000)
    for size in (30_000, 100, 0):
        for threads in (1, 3):
            wanted, own = np.zeros(size), np.zeros(size)
            kernel = polyml.kernel(flagged, cache=False, threads=threads, fallback="error", fp="reassociate")
            assert kernel(a[:size], own, a[:size].copy()) == flagged(a[:size], wanted, a[:size].copy())
            np.testing.assert_array_equal(own, wanted)
